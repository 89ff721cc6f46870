/** A minute of the soak; `npm run soak` runs it for an hour. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import { drawSoak } from '../../tools/soak/picture.ts';
import { countAnswers, Soak } from '../../tools/soak/soak.ts';
import { judgeGrowth } from '../../tools/soak/verdict.ts';
import { FULL_ONLY } from '../scale.ts';

test(
  `a minute of mixed load, killed workers and faults makes no process grow ${SEED_NOTE}`,
  FULL_ONLY,
  async (context) => {
    const result = await Soak.run(context, { minutes: 1, seed: String(SEED) });
    assert.deepEqual(result.violations, []);
    const growths = judgeGrowth(result.samplesByRole, result.span);
    const grown = growths.filter(({ isWithin }) => isWithin === false);
    assert.deepEqual(grown, []);
    const last = result.reports.at(-1);
    assert.ok(last !== undefined && countAnswers(last) > 1_000, JSON.stringify(last));
    // Every kind of load has had its effect.
    for (const what of ['questions 200', 'bulk 200', 'keys 429', 'keys 401', 'follower 200']) {
      assert.ok(last.counts[what] > 0, what);
    }
    assert.match(drawSoak(result), /^<svg [\s\S]*<\/svg>\n$/);
  },
);
