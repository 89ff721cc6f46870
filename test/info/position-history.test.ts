/** Answers about positions of the past, written out whole. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HistoryView, PositionChange } from '../../src/info/archive/history-view.ts';
import type { ArchiveQuestion } from '../../src/info/question.ts';
import { readQuestion } from '../../src/info/read-question.ts';
import { answerFrom, foldedHistory, historyOf, pastOf } from './histories.ts';
import { assertRefused, stateOf, TIME } from './states.ts';

const USER = `0x${'a'.repeat(40)}`;
const MARKET = {
  type: 'market',
  dex: '',
  coin: 'BTC',
  szDecimals: 2,
  marginTiers: [{ lowerBound: '0.0', maxLeverage: 40 }],
  onlyIsolated: false,
  markPx: '60000.5',
};
const STATE = stateOf([{ ...MARKET, coin: 'ETH' }, MARKET]);

const OPENED: PositionChange = {
  height: 2,
  size: -300,
  entryNotional: 1_000_000_000,
  isIsolated: true,
  leverage: 7,
  fundingSinceOpen: -1_500_000,
  causes: ['leverage', 'fill'],
};
const CLOSED: PositionChange = {
  ...OPENED,
  ...{ height: 3, size: 0, entryNotional: 0, isIsolated: false, fundingSinceOpen: 0 },
  causes: ['fill'],
};

/** Three blocks, a second apart; the history notes what it is asked for. */
function historyWith(changes: readonly (PositionChange | undefined)[]) {
  const asked: unknown[] = [];
  const history = historyOf([1000, 2000, 3000], {
    at: () => pastOf(STATE),
    markOf: (market, height) => market * 10_000 + height,
    positionChanges(account, market, heights) {
      asked.push({ dexIndex: account.dexIndex, market, ...heights });
      return changes;
    },
  });
  return { history, asked };
}

function ask(history: HistoryView, fields: object = {}) {
  const body = { type: 'positionHistory', user: USER, coin: 'BTC', ...fields };
  return answerFrom(readQuestion(body) as ArchiveQuestion, history);
}

test('each change is told with the position after it and the mark then', () => {
  const { history, asked } = historyWith([undefined, OPENED, undefined, CLOSED]);
  const answer = ask(history);
  assert.deepEqual(JSON.parse(answer.body), [
    {
      height: 2,
      time: 2000,
      szi: '-3.0',
      entryPx: '333.3333',
      entryNtl: '1000.0',
      markPx: '1.0002',
      leverage: { type: 'isolated', value: 7 },
      fundingSinceOpen: '-1.5',
      causes: ['leverage', 'fill'],
    },
    {
      height: 3,
      time: 3000,
      szi: '0.0',
      entryPx: '0.0',
      entryNtl: '0.0',
      markPx: '1.0003',
      leverage: { type: 'cross', value: 7 },
      fundingSinceOpen: '0.0',
      causes: ['fill'],
    },
  ]);
  const { format, height, time, isFixed, accountTime } = answer;
  assert.deepEqual([format, height, time, isFixed, accountTime], ['json', 3, 3000, false, -1]);
  assert.deepEqual(asked, [{ dexIndex: 0, market: 1, from: 1, to: 3 }]);
});

test('as CSV the rows have a head, and causes are words', () => {
  const { history } = historyWith([OPENED, CLOSED]);
  const { body, format } = ask(history, { format: 'csv' });
  assert.equal(format, 'csv');
  assert.equal(
    body,
    'height,time,szi,entryPx,entryNtl,markPx,leverageType,leverage,fundingSinceOpen,causes\r\n' +
      '2,2000,-3.0,333.3333,1000.0,1.0002,isolated,7,-1.5,leverage fill\r\n' +
      '3,3000,0.0,0.0,0.0,1.0003,cross,7,0.0,fill\r\n',
  );
});

for (const [range, heights, isFixed] of [
  [{ from: 1000 }, { from: 1, to: 3 }, false],
  [{ from: 1001 }, { from: 2, to: 3 }, false],
  [{ from: 2000, to: 2999 }, { from: 2, to: 2 }, true],
  [{ from: 2000, to: 2000 }, { from: 2, to: 2 }, true],
  [{ from: 2001, to: 2999 }, { from: 3, to: 2 }, true],
  [{ to: 500 }, { from: 1, to: 0 }, true],
  [{ from: 3001 }, { from: 4, to: 3 }, false],
] as const) {
  test(`the range ${JSON.stringify(range)} has the heights ${JSON.stringify(heights)}`, () => {
    const { history, asked } = historyWith([]);
    const answer = ask(history, range);
    assert.deepEqual(asked, [{ dexIndex: 0, market: 1, ...heights }]);
    assert.deepEqual([answer.body, answer.isFixed], ['[]', isFixed]);
  });
}

test('at most 5000 changes are told', () => {
  const { history } = historyWith(new Array(5001).fill(OPENED));
  assert.equal(JSON.parse(ask(history).body).length, 5000);
});

test('a coin that meta does not list is refused, and one that is no text', () => {
  const { history } = historyWith([]);
  assertRefused(() => ask(history, { coin: 'NONE' }), {
    code: 'invalid_field',
    field: 'coin',
    message: 'coin: got "NONE", expected a coin that meta lists',
  });
  const refusal = readQuestion({ type: 'positionHistory', user: USER, coin: 7 });
  assertRefused(
    () => {
      throw refusal;
    },
    {
      code: 'invalid_field',
      field: 'coin',
      message: 'coin: got 7, expected the name of a coin as text',
    },
  );
});

test('a coin is looked up where the range ends, or now if it is over before the first block', () => {
  const { history, calls } = foldedHistory([[], [{ ...MARKET, coin: 'ETH' }], [MARKET]]);
  assert.equal(ask(history).body, '[]');
  assert.equal(ask(history, { to: TIME - 1 }).body, '[]');
  assert.deepEqual(calls, [['at', 3], ['release'], ['at', 3], ['release']]);
  for (const [from, to] of [
    [TIME, TIME + 1999],
    [TIME + 1000, TIME + 1000],
  ]) {
    assert.throws(() => ask(history, { from, to }), { code: 'invalid_field', field: 'coin' });
  }
  assert.deepEqual(calls.slice(4), [['at', 2], ['release'], ['at', 2], ['release']]);
});

test('a position history pauses after every change, of another position as well', () => {
  const { history } = historyWith([undefined, OPENED, undefined]);
  const question = readQuestion({ type: 'positionHistory', user: USER, coin: 'BTC' });
  const steps = (question as ArchiveQuestion).answer(history);
  let pauses = 0;
  while (steps.next().done !== true) pauses++;
  assert.equal(pauses, 3);
});
