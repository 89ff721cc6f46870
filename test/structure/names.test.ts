/** One name, one thing: a reader who finds a name in src/ has found what it means. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSources } from './sources.ts';

const DECLARED =
  /^(?:export )?(?:default )?(?:abstract )?(?:async )?(?:class|const|function\*?|interface|let|type) (\w+)/gm;
const EXPORTED =
  /^export (?:default )?(?:abstract )?(?:async )?(?:class|const|function\*?|interface|let|type) (\w+)/gm;

function namesIn(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, name]) => name);
}

/** The exported names that more than one file declares, exported there or not, with those files. */
function findShared(sources: ReadonlyMap<string, string>): Map<string, string[]> {
  const exported = new Set([...sources.values()].flatMap((text) => namesIn(text, EXPORTED)));
  const files = new Map<string, string[]>();
  for (const [file, text] of sources) {
    // An overloaded function is declared several times in its file.
    for (const name of new Set(namesIn(text, DECLARED))) {
      if (exported.has(name)) files.set(name, [...(files.get(name) ?? []), file]);
    }
  }
  return new Map([...files].filter(([, places]) => places.length > 1));
}

test('no exported name of src/ is declared in a second file', () => {
  assert.deepEqual([...findShared(readSources())], []);
});

test('the check finds what it looks for', () => {
  const sources = new Map([
    [
      'a.ts',
      'export function open(): void;\nexport function open(x?: number): void {}\nconst one = 1;',
    ],
    ['b.ts', 'export async function* open() {}\nexport type Unique = 1;\nconst one = 2;'],
    ['c.ts', 'interface Local {}\nfunction f() {\n  const Unique = 1;\n}'],
    ['d.ts', 'export abstract class Local {}'],
  ]);
  assert.deepEqual(
    [...findShared(sources)],
    [
      ['open', ['a.ts', 'b.ts']],
      ['Local', ['c.ts', 'd.ts']],
    ],
  );
});
