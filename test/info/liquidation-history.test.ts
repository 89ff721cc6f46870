/** Liquidations of a small ledger, written out whole. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Reduction } from '../../src/info/archive/history-view.ts';
import type { ArchiveQuestion } from '../../src/info/question.ts';
import { readQuestion } from '../../src/info/read-question.ts';
import { checkAnswer } from '../../tools/harness/answer-checks.ts';
import { foldedHistory } from './histories.ts';
import { TIME } from './states.ts';

const user = (digit: string) => `0x${digit.repeat(40)}`;
const [ISOLATED, CROSS, NOBODY] = ['a', 'b', 'c'].map(user);
const MARKET = {
  type: 'market',
  dex: '',
  szDecimals: 2,
  marginTiers: [{ lowerBound: '0.0', maxLeverage: 10 }],
  onlyIsolated: false,
  markPx: '1000.0',
};
const open = (of: string, mode: string) => [
  { type: 'transfer', user: of, dex: '', amount: '100.0' },
  { type: 'leverage', user: of, coin: 'BTC', mode, value: 10 },
  { type: 'fill', user: of, coin: 'BTC', side: 'B', sz: '1.0', px: '1000.0', fee: '0.0' },
];

/** The positions are below their maintenance margin with the marks of the third block. */
const BLOCKS = [
  [
    { ...MARKET, coin: 'ETH' },
    { ...MARKET, coin: 'BTC' },
  ],
  [...open(ISOLATED, 'isolated'), ...open(CROSS, 'cross')],
  [{ type: 'marks', prices: { BTC: '940.0' } }],
  [],
  [{ type: 'marks', prices: { BTC: '1000.0' } }],
  [],
];

const halved = (height: number): Reduction => ({
  height,
  positions: [
    { market: 0, before: 100, after: 50 },
    { market: 1, before: 100, after: -50 },
  ],
});

const told = (height: number, marginMode: string) =>
  `{"height":${height},"time":${TIME + (height - 1) * 1000},"coin":"BTC","szi":"1.0"` +
  `,"sziAfter":"-0.5","markPx":"1.000${height}","marginMode":"${marginMode}"}`;

/** The answer about reductions, what was asked of the history for it, and how often it paused. */
function ask(
  reductions: readonly (Reduction | undefined)[],
  { lost = [] as number[], ...body }: Record<string, unknown> & { lost?: number[] } = {},
) {
  const asked: unknown[] = [];
  const { history, calls } = foldedHistory(BLOCKS, {
    lost,
    markOf: (market, height) => market * 10_000 + height,
    *reductions({ dexIndex }, heights) {
      asked.push({ dexIndex, ...heights });
      for (const [index, reduction] of reductions.entries()) {
        asked.push(index);
        yield reduction;
      }
    },
  });
  const question = readQuestion({ type: 'liquidationHistory', user: ISOLATED, ...body });
  const steps = (question as ArchiveQuestion).answer(history);
  let pauses = 0;
  for (;;) {
    const step = steps.next();
    if (step.done === true) {
      if (step.value.format === 'json') checkAnswer('liquidationHistory', String(step.value.body));
      return { answer: step.value, calls, asked, pauses };
    }
    pauses++;
  }
}

test('a position that shrinks is told if it was below its margin before the block, or with its marks', () => {
  // Below with the marks of the block, before and after it, before it only; above again.
  const reductions = [halved(3), undefined, halved(4), halved(5), halved(6)];
  const { answer, calls, asked, pauses } = ask(reductions);
  const rows = [3, 4, 5].map((height) => told(height, 'isolated'));
  assert.equal(answer.body, `[${rows.join(',')}]`);
  const { body, ...others } = answer;
  assert.deepEqual(others, {
    ...{ format: 'json', height: 6, time: TIME + 5000, isFixed: false, accountTime: -1 },
  });
  // The rows are read once, and those of the next block are what changes.
  const first = [
    ['at', 2],
    ['load', 'account', 0],
    ['revalueAt', 3],
  ];
  const next = [4, 5, 6].flatMap((height) => [
    ['moveTo', height - 1],
    ['revalueAt', height],
  ]);
  assert.deepEqual(calls, [['at', 6], ['release'], ...first, ...next, ['release']]);
  assert.deepEqual(asked, [{ dexIndex: 0, from: 1, to: 6 }, 0, 1, 2, 3, 4]);
  // After each block that is read, and each that is looked at.
  assert.equal(pauses, reductions.length + 4);
  assert.equal(ask([halved(4)], { user: CROSS }).answer.body, `[${told(4, 'cross')}]`);
});

test('nothing is told of an account that is not there, or of a block whose past is not kept', () => {
  assert.equal(ask([halved(4)], { user: NOBODY }).answer.body, '[]');
  const { answer, calls } = ask([halved(4)], { lost: [3] });
  assert.equal(answer.body, '[]');
  assert.deepEqual(calls, [['at', 6], ['release']]);
});

test('the times that are asked for are those of the blocks', () => {
  const { answer, asked } = ask([], { from: TIME + 1000, to: TIME + 3500 });
  assert.deepEqual(asked, [{ dexIndex: 0, from: 2, to: 4 }]);
  assert.deepEqual([answer.body, answer.isFixed], ['[]', true]);
});

test('as CSV the rows have a head', () => {
  const { answer } = ask([halved(4)], { format: 'csv' });
  assert.equal(answer.format, 'csv');
  assert.equal(
    answer.body,
    'height,time,coin,szi,sziAfter,markPx,marginMode\r\n' +
      `4,${TIME + 3000},BTC,1.0,-0.5,1.0004,isolated\r\n`,
  );
});

test('at most 5000 are told, and no further block is looked at then', () => {
  const position = { market: 1, before: 100, after: 50 };
  const many = (count: number) => ({ height: 4, positions: new Array(count).fill(position) });
  for (const [reductions, looked] of [
    [[many(5000), many(1)], 1],
    [[many(4999), many(2), many(1)], 2],
  ] as const) {
    const { answer, calls } = ask(reductions);
    assert.equal(JSON.parse(String(answer.body)).length, 5000);
    assert.equal(calls.filter(([call]) => call === 'revalueAt').length, looked);
  }
});

test('more than 5000 blocks are refused before the first one is looked at, with the time to ask until', () => {
  const blocks = (count: number) => new Array<Reduction>(count).fill(halved(4));
  assert.equal(JSON.parse(String(ask(blocks(5000)).answer.body)).length, 5000);
  const refused = { code: 'invalid_field', field: 'to' };
  const message =
    `to: got ${TIME + 5000}, expected a time before ${TIME + 3000}: 5000 blocks that made a position ` +
    'smaller are looked at, there are more until then';
  assert.throws(() => ask(blocks(5001)), { ...refused, message });
});
