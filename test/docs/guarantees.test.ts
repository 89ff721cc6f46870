/** docs/reference/guarantees.md names a test for every promise, and every test that it names is there. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { PROJECT } from '../../tools/harness/paths.ts';
import { readDocument, readSections } from './documents.ts';

/** Sections that promise nothing. */
const NO_PROMISES = ['What is not promised'];
const NAMED_TEST = /^- `([\w/-]+)`: (.+)$/gm;
/** Whatever differs from run to run, on the page and in the code. */
const VARYING = /…|\$\{[^}]*\}/;

const promises = [...readSections(readDocument('docs/reference/guarantees.md'), 2)].filter(
  ([title]) => !NO_PROMISES.includes(title),
);

interface NamedTest {
  readonly file: string;
  readonly name: string;
}

function listNamed(section: string): NamedTest[] {
  return Array.from(section.matchAll(NAMED_TEST), ([, file, name]) => ({ file, name }));
}

/** The names of a file's tests, as they are in the code. */
function readNames(file: string): string[] {
  const text = readFileSync(path.join(PROJECT, 'test', `${file}.test.ts`), 'utf8');
  const calls = text.matchAll(/\b(?:test|browserTest|screenTest)\(\s*(?:'([^'\n]+)'|`([^`\n]+)`)/g);
  return Array.from(calls, ([, plain, template]) => plain ?? template);
}

/** Whether a name of the page is one of the code's: the same words in the same order. */
function isSame(onPage: string, inCode: string): boolean {
  const words = (text: string) => text.split(VARYING).map((part) => part.trim());
  const [paged, coded] = [words(onPage), words(inCode)];
  // What the code says after the last varying part, such as the seed, is not on the page.
  return paged.every((part, index) => coded[index]?.startsWith(part));
}

test('every promise names tests', () => {
  assert.ok(promises.length >= 9);
  for (const [title, section] of promises) assert.ok(listNamed(section).length > 0, title);
});

const TESTING = readDocument('docs/internals/testing.md');

for (const [title, section] of [...promises, ['the page about testing', TESTING]]) {
  test(`the tests of "${title}" are there`, () => {
    for (const { file, name } of listNamed(section)) {
      const names = readNames(file);
      assert.ok(
        names.some((each) => isSame(name, each)),
        `${file} has no test "${name}"`,
      );
    }
  });
}
