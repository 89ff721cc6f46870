/** The level of many accounts, for the tab: never better than the worst, never safe on a guess. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LevelOrUnknown, worstLevel } from '../../../web/src/figures/risk-levels.ts';

const CASES: readonly (readonly [expected: LevelOrUnknown, levels: readonly LevelOrUnknown[]])[] = [
  ['unknown', []],
  ['safe', ['safe', 'safe']],
  ['unknown', ['safe', 'unknown']],
  ['watch', ['unknown', 'watch', 'safe']],
  ['danger', ['watch', 'unknown', 'safe', 'danger']],
];

test('many accounts are as bad as the worst, and not safe while one is unknown', () => {
  for (const [expected, levels] of CASES) assert.equal(worstLevel(levels), expected, `${levels}`);
});
