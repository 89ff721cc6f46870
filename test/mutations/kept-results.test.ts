/** What has come of a mutant counts as long as it rests on the same code and tests. */

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { KeptResults } from './kept-results.ts';
import type { Verdict } from './trial.ts';

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
  for (const file of ['src/state/a.js', 'test/state/a.test.js', 'test/state/b.test.js']) {
    write(file, 'before');
  }
  const open = () => new KeptResults(path.join(folder, 'results'), folder);
  const kept = open();
  kept.add(NOTICED, KILLED);
  kept.add(SURVIVOR, SURVIVED);
  return { write, find: () => [NOTICED, SURVIVOR].map((mutant) => open().find(mutant)) };
}

test('results are kept for the next run', (context) => {
  const { find } = keepResults(context);
  assert.deepEqual(find(), [KILLED, SURVIVED]);
});

test('after a change of the code all mutants are tried again', (context) => {
  const { write, find } = keepResults(context);
  write('src/state/a.js', 'after');
  assert.deepEqual(find(), [undefined, undefined]);
});

test('after a change of what tests share all mutants are tried again', (context) => {
  const { write, find } = keepResults(context);
  write('test/state/shared.js', 'after');
  assert.deepEqual(find(), [undefined, undefined]);
});

test('after a change of another test only survivors are tried again', (context) => {
  const { write, find } = keepResults(context);
  write('test/state/b.test.js', 'after');
  assert.deepEqual(find(), [KILLED, undefined]);
});

test('after a change of the test that has noticed it, a mutant is tried again', (context) => {
  const { write, find } = keepResults(context);
  write('test/state/a.test.js', 'after');
  assert.deepEqual(find(), [undefined, undefined]);
});
