/** Series and portfolios of a small ledger, written out whole. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAddress } from '../../src/exact/address.ts';
import { AccountSeries, CSV_HEAD, formatCsvRow } from '../../src/info/answers/account-series.ts';
import type { HistoryView } from '../../src/info/archive/history-view.ts';
import type { ArchiveQuestion } from '../../src/info/question.ts';
import { readQuestion } from '../../src/info/read-question.ts';
import { answerFrom, answerSteps, foldedHistory, historyOf, pastOf } from './histories.ts';
import { assertRefused, stateOf, TIME } from './states.ts';

const USER = `0x${'a'.repeat(40)}`;
const MARKET = {
  type: 'market',
  dex: '',
  szDecimals: 2,
  marginTiers: [{ lowerBound: '0.0', maxLeverage: 10 }],
  onlyIsolated: false,
  markPx: '50.0',
};
const buy = (coin: string, sz: string) => ({
  ...{ type: 'fill', user: USER, coin, side: 'B', sz, px: '50.0', fee: '0.0' },
});
const funding = (coin: string, amount: string) => ({
  ...{ type: 'funding', coin, payments: [[USER, amount]] },
});

/** The user closes one position and keeps another; the second dex comes with the second block. */
const BLOCKS = [
  [
    { ...MARKET, coin: 'BTC' },
    { ...MARKET, coin: 'ETH' },
  ],
  [
    { type: 'perpDex', dex: 'xyz', fullName: 'Metals', deployer: USER },
    { type: 'transfer', user: USER, dex: '', amount: '1000.0' },
    { type: 'transfer', user: USER, dex: 'xyz', amount: '7.5' },
    buy('BTC', '1.0'),
    buy('ETH', '2.0'),
    funding('BTC', '0.25'),
    funding('ETH', '0.5'),
    { ...buy('BTC', '1.0'), side: 'A' },
  ],
  [{ type: 'marks', prices: { ETH: '60.0' } }],
  [],
  [{ type: 'marks', prices: { ETH: '45.5' } }],
];

const DAY_MS = 86_400_000;

function ask(history: HistoryView, body: object) {
  const question = readQuestion({ type: 'accountHistory', user: USER, ...body }) as ArchiveQuestion;
  return answerFrom(question, history);
}

const to = (block: number) => TIME + (block - 1) * 1000;

test('a series has a row for each height, and none for what the ledger does not hold', () => {
  const { history, calls } = foldedHistory(BLOCKS);
  const { body, ...others } = ask(history, { to: to(3), step: 1000 });
  assert.equal(
    body,
    `[[1,${to(1)},"0.0","0.0","0.0","0.0","0.0","0.0","1.0"]` +
      `,[2,${to(2)},"999.25","100.0","10.0","989.25","0.0","0.75","2.0"]` +
      `,[3,${to(3)},"1019.25","120.0","12.0","1007.25","20.0","0.75","3.0"]]`,
  );
  assert.deepEqual(others, {
    ...{ format: 'json', height: 5, time: to(5), isFixed: true, accountTime: -1 },
  });
  assert.deepEqual(calls, [
    ...[['at', 3], ['release']],
    ...[['at', 1], ['load', 'account', 0], ['moveTo', 2], ['moveTo', 3], ['release']],
  ]);
  const { history: withGap } = foldedHistory(BLOCKS, { lost: [4] });
  assert.equal(
    ask(withGap, { step: 2500 }).body,
    `[[1,${to(1)},"0.0","0.0","0.0","0.0","0.0","0.0","1.0"]` +
      `,[null,${TIME + 2500},null,null,null,null,null,null,null]` +
      `,[5,${to(5)},"990.25","91.0","9.1","981.15","-9.0","0.75","5.0"]]`,
  );
});

test('as CSV a series has a head, and what is not held is empty', () => {
  const { history } = foldedHistory(BLOCKS, { lost: [4] });
  const { body, format } = ask(history, { step: 2500, format: 'csv' });
  assert.equal(format, 'csv');
  assert.equal(
    body,
    'height,time,accountValue,totalNtlPos,totalMarginUsed,withdrawable,unrealizedPnl' +
      ',cumFunding,netTransfers\r\n' +
      `1,${to(1)},0.0,0.0,0.0,0.0,0.0,0.0,1.0\r\n` +
      `,${TIME + 2500},,,,,,,\r\n` +
      `5,${to(5)},990.25,91.0,9.1,981.15,-9.0,0.75,5.0\r\n`,
  );
  const row = { height: 7, time: 5, amounts: [1_500_000, -2_000_000] };
  assert.equal(formatCsvRow(row), '7,5,1.5,-2.0\r\n');
});

test('a time range that is over before the first block has no row', () => {
  const { history, calls } = foldedHistory(BLOCKS);
  assert.equal(ask(history, { to: TIME - 1, step: 1 }).body, '[]');
  assert.equal(ask(history, { to: TIME - 1, step: 1, format: 'csv' }).body, CSV_HEAD);
  assert.deepEqual(calls, [['at', 1], ['release'], ['at', 1], ['release']]);
});

test('a dex is looked up at the end of the time range, and looked at no longer than that', () => {
  const { history, calls } = foldedHistory(BLOCKS);
  assert.equal(
    ask(history, { dex: 'xyz', to: to(2), step: 1000 }).body,
    `[[1,${to(1)},"0.0","0.0","0.0","0.0","0.0","0.0","1.0"]` +
      `,[2,${to(2)},"7.5","0.0","0.0","7.5","0.0","0.0","2.0"]]`,
  );
  calls.length = 0;
  assertRefused(() => ask(history, { dex: 'xyz', to: to(1) }), {
    code: 'unknown_dex',
    field: 'dex',
    message: 'dex: got "xyz", expected one of ""',
  });
  assert.deepEqual(calls, [['at', 1], ['release']]);
});

test('a series pauses before its first row, and after each', () => {
  const { history } = foldedHistory(BLOCKS);
  const question = readQuestion({ type: 'accountHistory', user: USER, step: 1000 });
  const steps = (question as ArchiveQuestion).answer(history);
  let pauses = 0;
  while (steps.next().done !== true) pauses++;
  assert.equal(pauses, 1 + BLOCKS.length);
});

test('on a partial ledger an account that is not known has no figures', () => {
  const read = { type: 'account', user: USER, dex: '', rawUsd: '40.0', positions: [] };
  const { history } = foldedHistory([[{ type: 'partial' }], [read]]);
  assert.equal(
    ask(history, { step: 1000 }).body,
    `[[null,${to(1)},null,null,null,null,null,null,null]` +
      `,[2,${to(2)},"40.0","0.0","0.0","40.0","0.0","0.0","2.0"]]`,
  );
});

test('a series that was released is loaded again', () => {
  const { history, calls } = foldedHistory(BLOCKS);
  const series = new AccountSeries(history, parseAddress(USER) ?? assert.fail(), 0);
  const row = series.rowAt({ height: 2, time: to(2) });
  series.release();
  series.release();
  assert.deepEqual(series.rowAt({ height: 2, time: to(2) }), row);
  const loaded = [
    ['at', 2],
    ['load', 'account', 0],
  ];
  assert.deepEqual(calls, [...loaded, ['release'], ...loaded]);
});

test('a series may be longer than the room that its writer starts with', () => {
  const state = stateOf(...BLOCKS);
  const times = Array.from({ length: 1300 }, (_, index) => TIME + index);
  const history = historyOf(times, { at: () => pastOf(state) });
  const rows = JSON.parse(ask(history, { step: 1 }).body);
  assert.deepEqual(
    rows.map(([, time]: [number, number]) => time),
    times,
  );
  const lines = ask(history, { step: 1, format: 'csv' }).body.split('\r\n');
  assert.deepEqual(lines.slice(1), [...rows.map((row: unknown[]) => row.join(',')), '']);
});

test('a portfolio has value, profit and volume of all dexes since the period began', () => {
  const { history, calls } = foldedHistory(BLOCKS.slice(0, 3), { dexesOf: () => [0, 1] });
  const question = readQuestion({ type: 'portfolio', user: USER }) as ArchiveQuestion;
  const { body, ...others } = answerFrom(question, history);
  const ends =
    `{"accountValueHistory":[[${to(1)},"0.0"],[${to(3)},"1026.75"]]` +
    `,"pnlHistory":[[${to(1)},"0.0"],[${to(3)},"1020.75"]],"vlm":"60.0"}`;
  const all =
    `{"accountValueHistory":[[${to(1)},"0.0"],[${to(2)},"1006.75"],[${to(3)},"1026.75"]]` +
    `,"pnlHistory":[[${to(1)},"0.0"],[${to(2)},"1002.75"],[${to(3)},"1020.75"]],"vlm":"60.0"}`;
  const periods = (names: readonly string[]) =>
    names.map((name, index) => `["${name}",${index === 3 ? all : ends}]`);
  assert.equal(
    body,
    `[${[
      ...periods(['day', 'week', 'month', 'allTime']),
      ...periods(['perpDay', 'perpWeek', 'perpMonth', 'perpAllTime']),
    ].join(',')}]`,
  );
  assert.deepEqual(others, {
    ...{ format: 'json', height: 3, time: to(3), isFixed: false, accountTime: -1 },
  });
  const loaded = [
    ['at', 1],
    ['load', 'account', 0],
    ['load', 'account', 1],
  ];
  const each = [...loaded, ['moveTo', 3], ['release']];
  const last = [...loaded, ['moveTo', 2], ['moveTo', 3], ['release']];
  assert.deepEqual(calls, [...each, ...each, ...each, ...last]);
});

test('the volume of a portfolio counts from the last block before the period, or with the first block', () => {
  const asked: number[] = [];
  const sumsAt = (_account: unknown, height: number) => {
    asked.push(height);
    return { netTransfers: 0, volume: height * 1_000_000 };
  };
  const times = [0, 40 * DAY_MS, 80 * DAY_MS];
  const history = historyOf(times, { dexesOf: () => [0], sumsAt });
  const question = readQuestion({ type: 'portfolio', user: USER }) as ArchiveQuestion;
  answerFrom(question, history);
  assert.deepEqual(asked, [2, 2, 2, 0]);
});

test('a portfolio of a user that a partial ledger does not know has no points', () => {
  const { history } = foldedHistory([[{ type: 'partial' }]]);
  const question = readQuestion({ type: 'portfolio', user: USER }) as ArchiveQuestion;
  const periods = new Map(JSON.parse(answerFrom(question, history).body));
  const nothing = { accountValueHistory: [], pnlHistory: [], vlm: '0.0' };
  assert.deepEqual(periods.get('day'), nothing);
});

test('a portfolio begins where a partial ledger knows the user, and has no points in gaps', () => {
  const read = { type: 'account', user: USER, dex: '', rawUsd: '40.0', positions: [] };
  const blocks = [[{ type: 'partial' }], [read], [], [], [], []];
  // The block before the missing one may not be the last one of its time.
  const { history } = foldedHistory(blocks, { lost: [4], dexesOf: () => [0, 1] });
  const question = readQuestion({ type: 'portfolio', user: USER }) as ArchiveQuestion;
  const steps = question.answer(history);
  let pauses = 0;
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) {
      const periods = new Map(JSON.parse(String(step.value.body)));
      assert.deepEqual(periods.get('allTime'), {
        accountValueHistory: [
          [to(2), '40.0'],
          [to(5), '40.0'],
          [to(6), '40.0'],
        ],
        pnlHistory: [
          [to(2), '0.0'],
          [to(5), '-3.0'],
          [to(6), '-4.0'],
        ],
        vlm: '60.0',
      });
      assert.deepEqual(periods.get('day'), {
        accountValueHistory: [[to(6), '40.0']],
        pnlHistory: [[to(6), '0.0']],
        vlm: '60.0',
      });
      break;
    }
    pauses++;
  }
  assert.equal(pauses, 1 + 3 * 2 + 4);
});

for (const type of ['accountHistory', 'liquidationHistory', 'positionHistory', 'portfolio']) {
  test(`${type} is of the height at which it was begun, also if the archive goes on meanwhile`, () => {
    // Blocks without a change of the position are steps as well.
    const steps = () => [undefined, undefined];
    const history = {
      ...foldedHistory(BLOCKS).history,
      ...{ reductions: steps, positionChanges: steps },
    };
    const { range } = history;
    const fields = type === 'positionHistory' ? { coin: 'ETH' } : {};
    const question = readQuestion({ type, user: USER, ...fields }) as ArchiveQuestion;
    const answering = question.answer(history);
    answering.next();
    const { last, lastTime } = range();
    history.range = () => ({ ...range(), last: last + 1, lastTime: lastTime + 1000 });
    const { height, time } = answerSteps(answering);
    assert.deepEqual([height, time], [last, lastTime]);
  });
}
