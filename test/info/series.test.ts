/** Questions about the past, held against a fold that notes every account after every block. */

import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { parseBlock } from '../../src/events/event.ts';
import { formatAddress } from '../../src/exact/address.ts';
import type { HistoryView } from '../../src/info/archive/history-view.ts';
import type { Present } from '../../src/info/archive/moment-height.ts';
import type { ArchiveQuestion } from '../../src/info/question.ts';
import { answerQuestion, readQuestion } from '../../src/info/read-question.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState } from '../../src/state/state.ts';
import { appendAll, NO_SNAPSHOTS } from '../../tools/harness/data-directory.ts';
import { createPlaces } from '../../tools/harness/program.ts';
import type { WireBlock } from '../../tools/naive-twin/naive-block.ts';
import { Book, usdOf } from '../../tools/naive-twin/naive-book.ts';
import { writeDecimal } from '../../tools/naive-twin/naive-decimal.ts';
import { archiveOnce, withArchive } from '../archive/archived.ts';
import { type AnswerAsText, answerFrom } from './histories.ts';

const BLOCKS = 300;
const ACCOUNTS = 10;
const STRANGER = `0x${'f'.repeat(40)}`;
const place = createPlaces();

const simulator = createSimulator({ seed: 'series', accounts: ACCOUNTS });
const lines = Array.from({ length: BLOCKS }, () => simulator.next());
const blocks = lines.map((line) => JSON.parse(line) as WireBlock);
const users = Array.from({ length: ACCOUNTS }, (_, index) =>
  formatAddress(simulator.state.addresses.addressOf(index + 1)),
);
const dexes = simulator.state.markets.dexes.map(({ name }) => name);

interface AnsweredPosition {
  readonly coin: string;
  readonly szi: string;
  readonly entryPx: string;
  readonly leverage: { readonly type: string; readonly value: number };
  readonly unrealizedPnl: string;
}

interface AnsweredAccount {
  readonly marginSummary: Readonly<Record<string, string>>;
  readonly withdrawable: string;
  readonly assetPositions: readonly { readonly position: AnsweredPosition }[];
  readonly transfers: bigint;
}

/** By height, user and dex. */
const noted = new Map<string, AnsweredAccount>();

function accountAt(height: number, user: string, dex: string): AnsweredAccount {
  return noted.get(`${height} ${user} ${dex}`) ?? assert.fail(`${user} at ${height}`);
}

let data: string;
before(async () => {
  const state = createState();
  const book = new Book();
  for (const [index, line] of lines.entries()) {
    applyBlock(state, parseBlock(line));
    for (const event of blocks[index].events) book.record(event);
    for (const user of users) {
      for (const dex of state.markets.dexes.map(({ name }) => name)) {
        const answer = JSON.parse(answerQuestion(state, { type: 'clearinghouseState', user, dex }));
        const transfers = book.valueOf(user, dex) - book.profitOf(user, dex);
        noted.set(`${state.height} ${user} ${dex}`, { ...answer, transfers });
      }
    }
  }
  data = place();
  await appendAll(data, lines, NO_SNAPSHOTS);
  await archiveOnce(data);
});

/** The answer, or the refusal. */
function ask(history: HistoryView, body: object, present?: Present): AnswerAsText | RequestError {
  const question = readQuestion(body) as ArchiveQuestion | RequestError;
  if (question instanceof RequestError) return question;
  try {
    question.findHeight(history, present ?? { height: 0, time: 0 });
    return answerFrom(question, history);
  } catch (error) {
    if (error instanceof RequestError) return error;
    throw error;
  }
}

function answerOf(history: HistoryView, body: object): AnswerAsText {
  const answer = ask(history, body);
  assert.ok(!(answer instanceof RequestError), JSON.stringify(answer));
  return answer;
}

const timeOf = (height: number) => blocks[height - 1].time;

/** The heights of a time range, found by looking at every block. */
function heightsOf(from: number, to: number, step: number): number[] {
  const heights = new Set<number>();
  for (let time = from; ; time += step) {
    const at = Math.min(time, to);
    heights.add(blocks.findLastIndex((block) => block.time <= at) + 1);
    if (time >= to) return [...heights];
  }
}

const FIRST = blocks[0].time;
const LAST = blocks[BLOCKS - 1].time;
const RANGES = [
  { step: 7_000 },
  { from: FIRST - 50_000, to: LAST + 50_000, step: 1_000 },
  { from: timeOf(40), to: timeOf(41), step: 300 },
  { from: timeOf(100) + 1, to: timeOf(200) - 1, step: 13_337 },
  { from: timeOf(250), to: timeOf(250), step: 1 },
];

test('a series has the figures of the account at each of its heights', async () => {
  await withArchive(data, (history) => {
    for (const user of users) {
      for (const range of RANGES) {
        const { body, isFixed } = answerOf(history, { type: 'accountHistory', user, ...range });
        const from = Math.max(range.from ?? FIRST, FIRST);
        const to = Math.min(range.to ?? LAST, LAST);
        const expected = heightsOf(from, to, range.step).map((height) => rowOf(height, user));
        assert.deepEqual(JSON.parse(body), expected);
        assert.equal(isFixed, range.to !== undefined && range.to < LAST);
      }
    }
  });
});

function rowOf(height: number, user: string): unknown[] {
  const { marginSummary, withdrawable, assetPositions, transfers } = accountAt(height, user, '');
  const unrealized = assetPositions.reduce((sum, { position }) => {
    return sum + usdOf(position.unrealizedPnl);
  }, 0n);
  return [
    ...[height, timeOf(height), marginSummary['accountValue'], marginSummary['totalNtlPos']],
    ...[marginSummary['totalMarginUsed'], withdrawable, writeDecimal(unrealized, 6)],
    ...[writeDecimal(fundingUpTo(height, user), 6), writeDecimal(transfers, 6)],
  ];
}

/** What the user has paid on the first dex, with what it had paid when its account was first read. */
function fundingUpTo(height: number, user: string): bigint {
  let sum = 0n;
  for (const { events } of blocks.slice(0, height)) {
    for (const event of events) {
      if (event.type === 'account' && event.user === user && event.dex === '') {
        for (const { cumFunding } of event.positions) sum += usdOf(cumFunding.allTime);
      }
      if (event.type !== 'funding' || event.coin.includes(':')) continue;
      for (const [payer, amount] of event.payments) if (payer === user) sum += usdOf(amount);
    }
  }
  return sum;
}

test('of an account that there never was, all figures are zero', async () => {
  await withArchive(data, (history) => {
    const { body } = answerOf(history, { type: 'accountHistory', user: STRANGER, step: 60_000 });
    for (const [, , ...amounts] of JSON.parse(body)) {
      assert.deepEqual(new Set(amounts), new Set(['0.0']));
    }
  });
});

test('where the ledger has no block for long, a series has a gap and no line', async () => {
  const own = place();
  const start = Date.UTC(2026, 0, 1);
  const times = [0, 1, 2, 600, 601].map((seconds) => start + seconds * 1000);
  const empty = times.map((time, index) => JSON.stringify({ height: index + 1, time, events: [] }));
  await appendAll(own, empty, NO_SNAPSHOTS);
  await archiveOnce(own);
  await withArchive(own, (history) => {
    const question = { type: 'accountHistory', user: STRANGER, step: 100_000 };
    const rows = JSON.parse(answerOf(history, question).body) as (number | null)[][];
    assert.deepEqual(
      rows.map(([height]) => height),
      [1, 3, null, null, null, null, 4, 5],
    );
    assert.deepEqual(rows[2].slice(2), new Array(7).fill(null));
    const csv = answerOf(history, { ...question, format: 'csv' }).body.split('\r\n');
    assert.equal(csv[3], `,${start + 200_000},,,,,,,`);
  });
});

/** The events of a block that change a user's position in a coin. */
function causesOf({ events }: WireBlock, user: string, coin: string): Set<string> {
  const causes = new Set<string>();
  for (const event of events) {
    const isPaid =
      event.type === 'funding' &&
      event.coin === coin &&
      event.payments.some(([payer, amount]) => payer === user && usdOf(amount) !== 0n);
    const isOwn = 'user' in event && event.user === user;
    const isOfCoin = event.type === 'account' || ('coin' in event && event.coin === coin);
    if (isPaid || (isOwn && isOfCoin)) causes.add(event.type);
  }
  return causes;
}

test('a position is told after every block that changed it', async () => {
  let changes = 0;
  await withArchive(data, (history) => {
    for (const user of users) {
      for (const { coin } of simulator.state.markets.markets.slice(0, 6)) {
        const { body } = answerOf(history, { type: 'positionHistory', user, coin });
        for (const { height, time, szi, entryPx, markPx, leverage, causes } of JSON.parse(body)) {
          const dex = coin.includes(':') ? coin.split(':')[0] : '';
          const mids = answerOf(history, { type: 'allMids', dex, atHeight: height });
          assert.equal(markPx, JSON.parse(mids.body)[coin]);
          assert.ok(causes.length > 0);
          const held = accountAt(height, user, dex).assetPositions.find(
            ({ position }) => position.coin === coin,
          )?.position;
          assert.equal(time, timeOf(height));
          assert.equal(szi, held?.szi ?? '0.0');
          if (held !== undefined) {
            assert.equal(entryPx, held.entryPx);
            const { type, value } = held.leverage;
            assert.deepEqual(leverage, { type, value });
          }
          for (const cause of causes) {
            assert.ok(causesOf(blocks[height - 1], user, coin).has(cause), `${cause} ${height}`);
          }
          changes++;
        }
        const told = new Set(JSON.parse(body).map(({ height }: { height: number }) => height));
        for (const block of blocks) {
          if (causesOf(block, user, coin).has('fill')) assert.ok(told.has(block.height));
        }
      }
    }
  });
  assert.ok(changes > 100, `${changes} changes`);
});

test('positions as CSV have the same rows, within the times that are asked for', async () => {
  await withArchive(data, (history) => {
    const [user] = users;
    const { coin } = simulator.state.markets.markets[0];
    const asked = { type: 'positionHistory', user, coin, from: timeOf(100), to: timeOf(200) };
    const rows = JSON.parse(answerOf(history, asked).body);
    const csv = answerOf(history, { ...asked, format: 'csv' })
      .body.split('\r\n')
      .slice(1, -1);
    assert.deepEqual(
      csv.map((line) => Number(line.split(',')[0])),
      rows.map(({ height }: { height: number }) => height),
    );
    assert.ok(rows.every(({ height }: { height: number }) => height >= 100 && height <= 200));
  });
});

test('a portfolio sums value, profit and volume over all dexes', async () => {
  await withArchive(data, (history) => {
    for (const user of users) {
      const { body, isFixed } = answerOf(history, { type: 'portfolio', user });
      assert.equal(isFixed, false);
      const periods = new Map<string, Portfolio>(JSON.parse(body));
      const { accountValueHistory, pnlHistory, vlm } = periods.get('allTime') ?? assert.fail();
      assert.deepEqual(periods.get('perpAllTime'), periods.get('allTime'));
      const opening = sumsAt(accountValueHistory[0][0], user);
      for (const [index, [time, value]] of accountValueHistory.entries()) {
        const sums = sumsAt(time, user);
        assert.equal(value, writeDecimal(sums.value, 6));
        const profit = sums.profit - opening.profit;
        assert.deepEqual(pnlHistory[index], [time, writeDecimal(profit, 6)]);
      }
      const [end] = accountValueHistory.at(-1) ?? assert.fail();
      assert.equal(vlm, writeDecimal(volumeAt(end, user), 6));
    }
  });
  assert.ok(users.some((user) => volumeAt(LAST, user) > 0n));
});

/** Size times price of the user's fills up to a time. */
function volumeAt(time: number, user: string): bigint {
  let sum = 0n;
  for (const block of blocks) {
    if (block.time > time) return sum;
    for (const event of block.events) {
      if (event.type !== 'fill' || event.user !== user) continue;
      sum += (usdOf(event.sz) * usdOf(event.px)) / 1_000_000n;
    }
  }
  return sum;
}

interface Portfolio {
  readonly accountValueHistory: readonly (readonly [time: number, value: string])[];
  readonly pnlHistory: readonly (readonly [time: number, value: string])[];
  readonly vlm: string;
}

function sumsAt(time: number, user: string) {
  const { height } = blocks.findLast((block) => block.time === time) ?? assert.fail(`${time}`);
  let [value, profit] = [0n, 0n];
  for (const dex of dexes) {
    const account = noted.get(`${height} ${user} ${dex}`);
    if (account === undefined) continue;
    value += usdOf(account.marginSummary['accountValue']);
    profit += usdOf(account.marginSummary['accountValue']) - account.transfers;
  }
  return { time, value, profit };
}

test('a period of a portfolio is as long as its name says, and ends with the newest block', async () => {
  const HOUR = 3_600_000;
  const slow = createSimulator({ seed: 'periods', accounts: ACCOUNTS, intervalMs: HOUR });
  const own = place();
  await appendAll(
    own,
    Array.from({ length: 1_000 }, () => slow.next()),
    NO_SNAPSHOTS,
  );
  await archiveOnce(own);
  const { time: end } = slow.state;
  const user = formatAddress(slow.state.addresses.addressOf(1));
  await withArchive(own, (history) => {
    const periods = new Map<string, Portfolio>(
      JSON.parse(answerOf(history, { type: 'portfolio', user }).body),
    );
    const { firstTime } = history.range();
    for (const [name, length, step] of [
      ['day', 24 * HOUR, HOUR],
      ['week', 7 * 24 * HOUR, 2 * HOUR],
      ['month', 30 * 24 * HOUR, 8 * HOUR],
      ['allTime', end - firstTime, undefined],
    ] as const) {
      const { accountValueHistory, pnlHistory } = periods.get(name) ?? assert.fail(name);
      const perp = `perp${name[0].toUpperCase()}${name.slice(1)}`;
      assert.deepEqual(periods.get(perp), periods.get(name));
      const times = accountValueHistory.map(([time]) => time);
      assert.deepEqual([times[0], times.at(-1)], [end - length, end], name);
      assert.ok(times.length <= 102, `${times.length} points of ${name}`);
      for (const [index, time] of times.entries()) {
        if (step !== undefined) assert.equal(time, end - length + index * step);
        assert.equal(pnlHistory[index][0], time);
      }
      assert.equal(pnlHistory[0][1], '0.0');
    }
  });
});

test('a range outside of what is kept has no rows', async () => {
  await withArchive(data, (history) => {
    const { coin } = simulator.state.markets.markets[0];
    for (const range of [{ to: FIRST - 1 }, { from: LAST + 1 }]) {
      const series = { type: 'accountHistory', user: USER, ...range, step: 1000 };
      assert.equal(answerOf(history, series).body, '[]');
      const changes = { type: 'positionHistory', user: USER, coin, ...range };
      assert.equal(answerOf(history, changes).body, '[]');
    }
  });
});

test('a range as of a moment ends there, whatever came later', async () => {
  const height = 180;
  await withArchive(data, async (history) => {
    const then = place();
    await appendAll(then, lines.slice(0, height), NO_SNAPSHOTS);
    await archiveOnce(then);
    const { coin } = simulator.state.markets.markets[0];
    const questions = [
      { type: 'accountHistory', step: 3_000 },
      { type: 'accountHistory', from: timeOf(50), format: 'csv' },
      { type: 'positionHistory', coin },
      { type: 'liquidationHistory' },
      { type: 'portfolio' },
    ];
    await withArchive(then, (past) => {
      for (const user of users.slice(0, 4)) {
        for (const question of questions) {
          const { body, height: last } = answerOf(past, { ...question, user });
          assert.equal(last, height);
          const now = answerOf(history, { ...question, user, atHeight: height });
          assert.equal(now.body, body, `${question.type} of ${user}`);
          assert.equal(now.height, height);
          const byTime = answerOf(history, { ...question, user, atTime: timeOf(height) });
          assert.equal(byTime.body, body);
        }
      }
    });
  });
});

const [USER] = users;
const REFUSED: [body: object, code: string, field: string][] = [
  [{ type: 'accountHistory', user: USER, from: 5, to: 4 }, 'invalid_field', 'to'],
  [{ type: 'accountHistory', user: USER, from: -1 }, 'invalid_field', 'from'],
  [{ type: 'accountHistory', user: USER, to: 1.5 }, 'invalid_field', 'to'],
  [{ type: 'accountHistory', user: USER, step: 0 }, 'invalid_field', 'step'],
  [{ type: 'accountHistory', user: USER, step: 1 }, 'invalid_field', 'step'],
  [{ type: 'accountHistory', user: USER, dex: 'none' }, 'unknown_dex', 'dex'],
  [{ type: 'accountHistory', user: USER, format: 'xml' }, 'invalid_field', 'format'],
  [{ type: 'accountHistory' }, 'missing_field', 'user'],
  [{ type: 'positionHistory', user: USER, coin: 'NONE' }, 'invalid_field', 'coin'],
  [{ type: 'positionHistory', user: USER, coin: 7 }, 'invalid_field', 'coin'],
  [{ type: 'portfolio', user: USER, atHeight: BLOCKS + 1 }, 'unknown_height', 'atHeight'],
  [{ type: 'accountHistory', user: USER, atTime: FIRST - 1 }, 'unknown_height', 'atTime'],
  [{ type: 'accountHistory', user: USER, atHeight: 'x' }, 'invalid_field', 'atHeight'],
  [{ type: 'portfolio', user: USER, format: 'csv' }, 'invalid_field', 'format'],
  [{ type: 'delegations', user: USER, atHeight: 0 }, 'invalid_field', 'atHeight'],
  [{ type: 'delegations', user: USER, atHeight: 1, atTime: 1 }, 'invalid_field', 'atTime'],
  [{ type: 'delegations', user: USER, atHeight: BLOCKS + 1 }, 'unknown_height', 'atHeight'],
  [{ type: 'delegations', user: USER, atTime: FIRST - 1 }, 'unknown_height', 'atTime'],
  [{ type: 'delegations', user: USER, atTime: LAST + 1 }, 'unknown_height', 'atTime'],
];

for (const [body, code, field] of REFUSED) {
  test(`${JSON.stringify(body).replace(USER, '0x…')} is refused for ${field}`, async () => {
    await withArchive(data, (history) => {
      const refusal = ask(history, body);
      assert.ok(refusal instanceof RequestError);
      assert.deepEqual([refusal.code, refusal.field], [code, field]);
    });
  });
}

test('what the ledger has and the archive has not yet is a matter of waiting', async () => {
  await withArchive(data, (history) => {
    const present = { height: BLOCKS + 5, time: LAST + 5_000 };
    for (const moment of [{ atHeight: BLOCKS + 5 }, { atTime: LAST + 5_000 }]) {
      const refusal = ask(history, { type: 'delegations', user: USER, ...moment }, present);
      assert.equal(refusal instanceof RequestError && refusal.code, 'behind');
    }
  });
});

test('a time between two blocks is the moment of the earlier one', async () => {
  await withArchive(data, (history) => {
    for (const [time, height] of [
      [timeOf(50), 50],
      [timeOf(51) - 1, 50],
      [LAST, BLOCKS],
    ]) {
      const question = { type: 'perpDeployAuctionStatus', atTime: time };
      assert.equal(answerOf(history, question).height, height);
    }
  });
});

test('a time is settled when a later block is kept: another one of the same time may come', async () => {
  const own = place();
  const lineOf = (height: number, time: number) => JSON.stringify({ height, time, events: [] });
  const found: [height: number, isFixed: boolean][] = [];
  for (const [height, time] of [
    [1, 5_000],
    [2, 5_000],
    [3, 5_001],
  ]) {
    await appendAll(own, [lineOf(height, time)], NO_SNAPSHOTS);
    await archiveOnce(own);
    await withArchive(own, (history) => {
      const answer = answerOf(history, { type: 'perpDeployAuctionStatus', atTime: 5_000 });
      found.push([answer.height, answer.isFixed]);
      const byHeight = answerOf(history, { type: 'perpDeployAuctionStatus', atHeight: height });
      assert.equal(byHeight.isFixed, true);
    });
  }
  assert.deepEqual(found, [
    [1, false],
    [2, false],
    [2, true],
  ]);
});

test('on a partial ledger, history begins when the account was first read', async () => {
  const own = place();
  const HALF_HOUR = 1_800_000;
  const read = { type: 'account', user: USER, dex: '', rawUsd: '40.0', positions: [] };
  const transfer = { type: 'transfer', user: USER, dex: '', amount: '2.0' };
  const events = [[{ type: 'partial' }], [], [read], [], [{ ...transfer }]];
  const times = events.map((_, index) => FIRST + index * HALF_HOUR);
  const toLine = (each: object[], index: number) =>
    JSON.stringify({ height: index + 1, time: times[index], events: each });
  await appendAll(own, events.map(toLine), NO_SNAPSHOTS);
  await archiveOnce(own);
  await withArchive(own, (history) => {
    const seriesOf = (user: string) =>
      JSON.parse(answerOf(history, { type: 'accountHistory', user, step: HALF_HOUR }).body);
    const told = (seriesOf(USER) as unknown[][]).map((row) => [row[0], row[1], row[2], row[8]]);
    assert.deepEqual(told, [
      [null, times[0], null, null],
      [null, times[1], null, null],
      [3, times[2], '40.0', '40.0'],
      [4, times[3], '40.0', '40.0'],
      [5, times[4], '42.0', '42.0'],
    ]);
    assert.ok(seriesOf(STRANGER).every(([height]: unknown[]) => height === null));
    const dayOf = (user: string) =>
      JSON.parse(answerOf(history, { type: 'portfolio', user }).body)[0] as [string, Portfolio];
    const values = ['40.0', '40.0', '42.0'].map((value, index) => [times[index + 2], value]);
    const profits = values.map(([time]) => [time, '0.0']);
    const day = { accountValueHistory: values, pnlHistory: profits, vlm: '0.0' };
    assert.deepEqual(dayOf(USER), ['day', day]);
    const nothing = { accountValueHistory: [], pnlHistory: [], vlm: '0.0' };
    assert.deepEqual(dayOf(STRANGER), ['day', nothing]);
  });
});
