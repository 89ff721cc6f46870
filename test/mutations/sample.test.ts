/** A few random mutants: each is noticed by a test, or has an explanation. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { PROJECT } from '../../tools/harness/paths.ts';
import { SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import { FULL_ONLY, scale } from '../scale.ts';

const MUTANTS = scale(0, 0, 40);
/** Files without a survivor that has no explanation. */
const FILES = ['exact/address.ts'];

test(`${MUTANTS} random mutants are noticed or explained ${SEED_NOTE}`, FULL_ONLY, () => {
  const tool = path.join(PROJECT, 'build/tools/mutation-tester/run.js');
  const sample = ['--sample', String(MUTANTS), '--seed', String(SEED), '--trust-explained'];
  const chosen = FILES.flatMap((file) => ['--file', file]);
  const environment = { ...process.env };
  // The tests have their ordinary size, and the cases of every run of the tool.
  delete environment['PERPTEST_LONG'];
  delete environment['PERPTEST_FULL'];
  delete environment['PERPTEST_SEED'];
  const { status, stdout, stderr } = spawnSync(process.execPath, [tool, ...sample, ...chosen], {
    env: environment,
    encoding: 'utf8',
  });
  assert.equal(status, 0, `${stdout}${stderr}`);
});
