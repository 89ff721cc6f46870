/** What has come of a mutant counts as long as it rests on the same code and tests. */

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { KeptResults } from '../../tools/mutation-tester/kept-results.ts';
import type { Verdict } from '../../tools/mutation-tester/trial.ts';

const NOTICED = { file: 'state/a.ts', start: 7, mutated: 'false' };
const SURVIVOR = { file: 'state/a.ts', start: 7, mutated: 'true' };
const KILLED: Verdict = { outcome: 'killed', killer: { file: 'state/a.test.js', name: 'a' } };
const SURVIVED: Verdict = { outcome: 'survived' };

/** A build with two files of tests, and the results of two mutants. */
function keepResults(context: TestContext) {
  const folder = mkdtempSync(path.join(tmpdir(), 'perpinfo-kept-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const write = (file: string, text: string) => {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    writeFileSync(path.join(folder, file), text);
  };
  write('src/state/a.js', 'before');
  write('test/state/shared.js', 'before');
  write('test/state/a.test.js', "import '../../src/state/a.js';\nimport { b } from './shared.js';");
  write('test/state/b.test.js', 'before');
  const tests = ['state/a.test.js', 'state/b.test.js'];
  const open = () =>
    new KeptResults(path.join(folder, 'results'), path.join(folder, 'test'), tests);
  const kept = open();
  kept.add(NOTICED, KILLED);
  kept.add(SURVIVOR, SURVIVED);
  return { write, find: () => [NOTICED, SURVIVOR].map((mutant) => open().find(mutant)) };
}

test('results are kept for the next run', (context) => {
  const { find } = keepResults(context);
  assert.deepEqual(find(), [KILLED, SURVIVED]);
});

for (const file of ['src/state/a.js', 'test/state/shared.js', 'test/state/a.test.js']) {
  test(`after a change of ${file} all mutants are tried again`, (context) => {
    const { write, find } = keepResults(context);
    write(file, 'after');
    assert.deepEqual(find(), [undefined, undefined]);
  });
}

test('after a change of another test only survivors are tried again', (context) => {
  const { write, find } = keepResults(context);
  write('test/state/b.test.js', 'after');
  assert.deepEqual(find(), [KILLED, undefined]);
});
