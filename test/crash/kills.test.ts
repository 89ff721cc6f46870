/** A small size of `npm run test:kills`. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import { KillRun } from '../../tools/kill-runner/kill-run.ts';
import { FULL_ONLY, scale } from '../scale.ts';

const KILLS = scale(0, 0, 40);

test(
  `${KILLS} kills of writer, supervisor, worker and follower under load lose nothing ${SEED_NOTE}`,
  FULL_ONLY,
  async (context) => {
    const report = await KillRun.run(context, { kills: KILLS, seed: String(SEED) });
    context.diagnostic(JSON.stringify(report));
    assert.deepEqual(report.violations, []);
    const kills = Object.values(report.killsByKind).reduce((sum, count) => sum + count, 0);
    assert.equal(kills, KILLS);
    assert.ok(report.compared > 100 && report.followerAnswers > 0, JSON.stringify(report));
  },
);
