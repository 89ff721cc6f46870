/** The purity of the core that the linter cannot see. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { PROJECT } from '../paths.ts';

/** The folders of src/ that are pure. */
const CORE = ['exact', 'events', 'state', 'info'].map((name) => path.join(PROJECT, 'src', name));

const FORBIDDEN = [/\basync\b/, /\bawait\b/, /\bMath\.random\b/, /\bimport\s*\(/, /\bFIXME\b/];

/** A module's name, in quotes after `from`, `import` or `require`. */
const IMPORTED = /\b(?:from|import|require)\s*\(?\s*['"]([^'"]*)['"]/g;

function listSources(place: string): string[] {
  if (!statSync(place).isDirectory()) return [place];
  return readdirSync(place, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => path.join(place, file));
}

function findForbidden(text: string): string[] {
  return FORBIDDEN.flatMap((pattern) => pattern.exec(text)?.[0] ?? []);
}

function isWithinCore(file: string): boolean {
  return CORE.some((place) => file === place || file.startsWith(place + path.sep));
}

/** The modules that a file imports although they are no part of the core. */
function findForeignImports(file: string, text: string): string[] {
  return [...text.matchAll(IMPORTED)]
    .map(([, module]) => module)
    .filter((module) => {
      const isRelative = module.startsWith('./') || module.startsWith('../');
      return !isRelative || !isWithinCore(path.resolve(path.dirname(file), module));
    });
}

for (const file of CORE.flatMap(listSources)) {
  const name = path.relative(PROJECT, file);
  const text = readFileSync(file, 'utf8');

  test(`${name} runs to completion, without chance and without loose ends`, () => {
    assert.deepEqual(findForbidden(text), []);
  });

  test(`${name} imports nothing but the core`, () => {
    assert.deepEqual(findForeignImports(file, text), []);
  });
}

test('the checks find what they look for', () => {
  const file = path.join(PROJECT, 'src/state/state.ts');
  const text = [
    "import { add } from '../exact/decimal.ts';",
    "import type { Table } from './table.ts';",
    "import { readFileSync } from 'node:fs';",
    "import '../http/server.ts';",
    "export { open } from 'lmdb';",
    "import {\n  config,\n} from '../config/config.ts';",
    "async () => await import('../../test/paths.ts'); // FIXME",
    'Math.random();',
  ].join('\n');
  assert.deepEqual(findForbidden(text), ['async', 'await', 'Math.random', 'import(', 'FIXME']);
  assert.deepEqual(findForeignImports(file, text), [
    'node:fs',
    '../http/server.ts',
    'lmdb',
    '../config/config.ts',
    '../../test/paths.ts',
  ]);
});
