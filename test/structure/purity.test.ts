/** The purity of the core that the linter cannot see. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importedFiles, importedModules, readSources } from './sources.ts';

/** The folders of src/ that are pure. */
const CORE = ['exact/', 'events/', 'state/', 'info/'];

const FORBIDDEN = [/\basync\b/, /\bawait\b/, /\bMath\.random\b/, /\bimport\s*\(/, /\bFIXME\b/];

function isOfCore(file: string): boolean {
  return CORE.some((folder) => file.startsWith(folder));
}

function findForbidden(text: string): string[] {
  return FORBIDDEN.flatMap((pattern) => pattern.exec(text)?.[0] ?? []);
}

/** The modules that a file imports although they are no part of the core. */
function findForeignImports(file: string, text: string): string[] {
  const packages = importedModules(text).filter((module) => !module.startsWith('.'));
  return [...packages, ...importedFiles(file, text).filter((imported) => !isOfCore(imported))];
}

for (const [file, text] of readSources()) {
  if (!isOfCore(file)) continue;

  test(`${file} runs to completion, without chance and without loose ends`, () => {
    assert.deepEqual(findForbidden(text), []);
  });

  test(`${file} imports nothing but the core`, () => {
    assert.deepEqual(findForeignImports(file, text), []);
  });
}

test('the checks find what they look for', () => {
  const text = [
    "import { add } from '../exact/decimal.ts';",
    "import type { Table } from './table.ts';",
    "import { readFileSync } from 'node:fs';",
    "import '../http/create-server.ts';",
    "export { open } from 'lmdb';",
    "import {\n  config,\n} from '../config/settings.ts';",
    "async () => await import('../../tools/harness/paths.ts'); // FIXME",
    'Math.random();',
  ].join('\n');
  assert.deepEqual(findForbidden(text), ['async', 'await', 'Math.random', 'import(', 'FIXME']);
  assert.deepEqual(findForeignImports('state/state.ts', text), [
    'node:fs',
    'lmdb',
    'http/create-server.ts',
    'config/settings.ts',
    '../tools/harness/paths.ts',
  ]);
});
