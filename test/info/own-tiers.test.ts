/** Every answer that has a position's figures has those of its own margin tiers. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerQuestion } from '../../src/info/read-question.ts';
import { stateOf } from './states.ts';

const USER = `0x${'ab'.repeat(20)}`;

const state = stateOf([
  {
    ...{
      type: 'market',
      dex: '',
      coin: 'BTC',
      szDecimals: 2,
      onlyIsolated: false,
      markPx: '100.0',
    },
    marginTiers: [{ lowerBound: '0.0', maxLeverage: 3 }],
  },
  {
    ...{ type: 'account', user: USER, dex: '', rawUsd: '-800.0' },
    positions: [
      {
        ...{ coin: 'BTC', szi: '10.0', entryNtl: '900.0', leverage: { type: 'cross', value: 5 } },
        cumFunding: { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' },
        marginTiers: [
          { lowerBound: '0.0', maxLeverage: 50 },
          { lowerBound: '500.0', maxLeverage: 25 },
        ],
      },
    ],
  },
]);

const ask = (question: object) => JSON.parse(answerQuestion(state, question));
const account = ask({ type: 'clearinghouseState', user: USER });

test('the account has the figures of the table, tier by tier', () => {
  const [{ position }] = account.assetPositions;
  // 500 / 100 + 500 / 50, and the price at which 10 * P - 800 is 10 * P / 50 - 5.
  assert.equal(account.crossMaintenanceMarginUsed, '15.0');
  assert.deepEqual([position.maxLeverage, position.liquidationPx], [25, '81.1224489796']);
});

for (const [question, pick] of [
  [{ type: 'allDexsClearinghouseState', user: USER }, (answer: unknown[][]) => answer[0][1]],
  [
    { type: 'batchClearinghouseStates', users: [USER] },
    (answer: { successful_states: unknown[][] }) => answer.successful_states[0][1],
  ],
  [
    { type: 'webData2', user: USER },
    ({ clearinghouseState }: { clearinghouseState: unknown }) => clearinghouseState,
  ],
] as const) {
  test(`${question.type} has the same account`, () => {
    assert.deepEqual(pick(ask(question)), account);
  });
}

test('the market keeps its own tiers', () => {
  assert.equal(ask({ type: 'meta' }).universe[0].maxLeverage, 3);
});
