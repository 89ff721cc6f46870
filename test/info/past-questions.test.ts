/** How a question about the past is answered: of which height, what is loaded for it, and for how long. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAddress } from '../../src/exact/address.ts';
import { HistoryUntil } from '../../src/info/archive/history-until.ts';
import type { HistoryView } from '../../src/info/archive/history-view.ts';
import type { ArchiveQuestion } from '../../src/info/question.ts';
import { answerQuestion, readQuestion } from '../../src/info/read-question.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { answerFrom, foldedHistory, historyOf } from './histories.ts';
import { assertRefused, stateOf, TIME } from './states.ts';

const USER = `0x${'a'.repeat(40)}`;
const VALIDATOR = `0x${'b'.repeat(40)}`;
const BLOCKS = [
  [{ type: 'transfer', user: USER, dex: '', amount: '5.0' }],
  [{ type: 'perpDex', dex: 'xyz', fullName: 'Metals', deployer: USER }],
  [{ type: 'delegate', user: USER, validator: VALIDATOR, amount: '1.0' }],
];
const PRESENT = { height: 9, time: TIME + 9000 };

function read(body: object): ArchiveQuestion {
  const question = readQuestion(body);
  assert.ok(!(question instanceof RequestError), JSON.stringify(question));
  return question as ArchiveQuestion;
}

function ask(history: HistoryView, body: object) {
  return answerFrom(read(body), history);
}

test('a question is answered from the state of its moment', () => {
  for (const [body, height, isFixed] of [
    [{ type: 'delegations', user: USER, atHeight: 2 }, 2, true],
    [{ type: 'delegations', user: USER, atHeight: 3 }, 3, true],
    [{ type: 'delegations', user: USER, atTime: TIME + 1999 }, 2, true],
    // A block of the same time may still follow.
    [{ type: 'delegations', user: USER, atTime: TIME + 2000 }, 3, false],
    [{ type: 'perpDexs', atHeight: 1 }, 1, true],
  ] as const) {
    const { history } = foldedHistory(BLOCKS);
    const question = read(body);
    assert.equal(question.findHeight(history, PRESENT), height);
    assert.equal(question.isFixedAt(height, history), isFixed);
    const state = stateOf(...BLOCKS.slice(0, height));
    const { atHeight, atTime, ...present } = { atHeight: 0, atTime: 0, ...body };
    assert.deepEqual(answerFrom(question, history), {
      body: answerQuestion(state, present),
      format: 'json',
      height,
      time: TIME + (height - 1) * 1000,
      isFixed,
      accountTime: -1,
    });
  }
});

test('what the answer is about is loaded, and marks unless it says what it depends on', () => {
  for (const [body, loaded] of [
    [{ type: 'delegations', user: USER }, [['load', 'delegations', undefined]]],
    [{ type: 'clearinghouseState', user: USER, dex: 'xyz' }, [['load', 'account', 1]]],
    [
      { type: 'allDexsClearinghouseState', user: USER },
      [
        ['load', 'account', 0],
        ['load', 'account', 1],
      ],
    ],
    [{ type: 'webData2', user: USER }, [['load', 'account', 0], ['loadMarks']]],
    [{ type: 'allMids' }, [['loadMarks']]],
  ] as const) {
    const { history, calls } = foldedHistory(BLOCKS);
    const steps = read({ ...body, atHeight: 2 }).answer(history);
    let pauses = 0;
    while (steps.next().done !== true) pauses++;
    assert.deepEqual(calls, [['at', 2], ...loaded, ['release']]);
    // Before what is loaded, and after each account.
    assert.equal(pauses, 1 + loaded.filter(([call]) => call === 'load').length);
  }
});

test('a question that is refused leaves the state as well', () => {
  const { history, calls } = foldedHistory(BLOCKS);
  assertRefused(() => ask(history, { type: 'allMids', dex: 'xyz', atHeight: 1 }), {
    code: 'unknown_dex',
    field: 'dex',
    message: 'dex: got "xyz", expected one of ""',
  });
  assert.deepEqual(calls, [['at', 1], ['release']]);
});

test('on a partial ledger the answer tells when the oldest of its accounts was read', () => {
  const account = { type: 'account', user: USER, rawUsd: '1.0', positions: [] };
  const { history } = foldedHistory([
    [{ type: 'partial' }, ...BLOCKS[1]],
    [{ ...account, dex: '' }],
    [{ ...account, dex: 'xyz' }],
  ]);
  const timeOf = (body: object) => ask(history, { ...body, atHeight: 3 }).accountTime;
  assert.equal(timeOf({ type: 'allDexsClearinghouseState', user: USER }), TIME + 1000);
  assert.equal(timeOf({ type: 'clearinghouseState', user: USER, dex: 'xyz' }), TIME + 2000);
  assert.equal(timeOf({ type: 'perpDexs' }), -1);
  assertRefused(() => ask(history, { type: 'spotClearinghouseState', user: USER, atHeight: 3 }), {
    code: 'unknown_type',
    field: 'type',
    message: 'type: got "spotClearinghouseState", expected a type that a partial ledger records',
  });
});

test('what a partial ledger did not know yet is refused for good, with the moment and the first height', () => {
  const account = { type: 'account', user: USER, dex: '', rawUsd: '1.0', positions: [] };
  const blocks = [[{ type: 'partial' }, ...BLOCKS[1]], [{ ...account, dex: 'xyz' }], [account]];
  const { history } = foldedHistory(blocks, {
    nextChange: ({ dexIndex }, height) => (dexIndex === 0 && height < 3 ? 3 : undefined),
  });
  const lead = 'expected a moment at which the ledger had the answer: this ledger';
  for (const [body, field, message] of [
    [
      { type: 'clearinghouseState', user: USER, atHeight: 2 },
      'atHeight',
      `atHeight: got 2, ${lead} knows the account of ${USER} on dex "" from height 3 on, time ${TIME + 2000}`,
    ],
    [
      { type: 'clearinghouseState', user: VALIDATOR, dex: 'xyz', atTime: TIME + 1500 },
      'atTime',
      `atTime: got ${TIME + 1500}, ${lead} did not know the account of ${VALIDATOR} on dex "xyz" at height 2`,
    ],
    [
      { type: 'delegations', user: USER, atHeight: 1 },
      'atHeight',
      `atHeight: got 1, ${lead} did not know the delegations of ${USER} at height 1`,
    ],
    [
      { type: 'perpDeployAuctionStatus', atHeight: 1 },
      'atHeight',
      `atHeight: got 1, ${lead} does not hold the auction: it is partial, and no event has named it`,
    ],
  ] as const) {
    assertRefused(() => ask(history, body), { code: 'unknown_height', field, message });
  }
  assert.equal(ask(history, { type: 'clearinghouseState', user: USER, atHeight: 3 }).height, 3);
});

test('among many accounts, those that a partial ledger did not know yet say so', () => {
  const account = { type: 'account', user: USER, dex: '', rawUsd: '1.0', positions: [] };
  const { history } = foldedHistory([[{ type: 'partial' }, ...BLOCKS[1]], [account]]);
  const body = { type: 'batchClearinghouseStates', users: [USER, VALIDATOR], atHeight: 2 };
  const answer = ask(history, body).body;
  assert.match(answer, /atHeight: got 2, .* did not know the account of 0xb+ on dex /);
  assert.doesNotMatch(answer, /no event has named it|account of 0xa/);
});

const NOT_HELD = {
  code: 'unknown_height',
  field: 'atHeight',
  message: `atHeight: got 12, expected what the archive holds: heights 1 to 3, times ${TIME} to ${TIME + 2000}`,
} as const;
const NOT_YET = {
  code: 'behind',
  field: 'atHeight',
  message: 'atHeight: got 9, expected at most 3: the archive is catching up',
} as const;

test('a moment that is not held is refused before the answer, and instead of it', () => {
  const { history } = foldedHistory(BLOCKS);
  for (const body of [{ type: 'allMids' }, { type: 'portfolio', user: USER }]) {
    const late = read({ ...body, atHeight: 12 });
    assertRefused(() => late.findHeight(history, PRESENT), NOT_HELD);
    assertRefused(() => answerFrom(late, history), NOT_HELD);
    const early = read({ ...body, atHeight: 9 });
    assertRefused(() => early.findHeight(history, PRESENT), NOT_YET);
  }
});

test('a question about a time range has no height of its own, and says what it costs', () => {
  const { history } = foldedHistory(BLOCKS);
  for (const moment of [{}, { atHeight: 2 }]) {
    const question = read({ type: 'accountHistory', user: USER, ...moment });
    assert.equal(question.findHeight(history, PRESENT), undefined);
    assert.equal(question.isFixedAt(2, history), false);
    assert.deepEqual([question.type, question.weight], ['accountHistory', 20]);
  }
  const past = read({ type: 'clearinghouseState', user: USER, atHeight: 2 });
  assert.deepEqual([past.type, past.weight], ['clearinghouseState', 2]);
});

test('a time range ends with its moment', () => {
  const { history } = foldedHistory(BLOCKS);
  const series = { type: 'accountHistory', user: USER, step: 1000 };
  const { body, height, time } = ask(history, { ...series, atHeight: 2 });
  const rows = JSON.parse(ask(history, series).body);
  assert.deepEqual(JSON.parse(body), rows.slice(0, 2));
  assert.deepEqual([height, time], [2, TIME + 1000]);
});

test('CSV is given to who asks for no format, where there are rows', () => {
  const { history } = foldedHistory(BLOCKS);
  const formatOf = (body: object) => {
    const question = read({ user: USER, ...body });
    return answerFrom(question.asCsv?.() ?? question, history).format;
  };
  assert.equal(formatOf({ type: 'accountHistory' }), 'csv');
  assert.equal(formatOf({ type: 'accountHistory', format: 'json' }), 'json');
  assert.equal(formatOf({ type: 'accountHistory', format: 'csv' }), 'csv');
  assert.equal(formatOf({ type: 'portfolio' }), 'json');
  assert.equal(formatOf({ type: 'portfolio', format: 'json' }), 'json');
  const asCsv = read({ type: 'accountHistory', user: USER, atHeight: 2 }).asCsv?.();
  assert.ok(asCsv !== undefined);
  const { height } = answerFrom(asCsv, history);
  assert.equal(height, 2);
});

test('a history until a height knows nothing later, and all else as it is', () => {
  const asked: unknown[] = [];
  const note =
    (name: string) =>
    (...values: unknown[]) => {
      asked.push([name, ...values]);
      return [name] as never;
    };
  const names = ['at', 'dexesOf', 'markOf', 'positionChanges', 'reductions'] as const;
  const spies = Object.fromEntries(names.map((name) => [name, note(name)]));
  const whole = historyOf([1000, 2000, 3000, 4000], { ...spies, lost: [2], ledgerId: 'own' });
  const until = new HistoryUntil(whole, 3);
  const text = 'heights 1 to 4';
  assert.deepEqual(until.range(), { first: 1, firstTime: 1000, last: 3, lastTime: 3000, text });
  assert.deepEqual(
    [1, 2, 3, 4].map((height) => until.holds(height)),
    [true, false, true, false],
  );
  assert.deepEqual(
    [999, 1000, 3000, 9000].map((time) => until.heightAt(time)),
    [undefined, 1, 3, 3],
  );
  assert.deepEqual([until.ledgerId, until.timeOf(2)], ['own', 2000]);
  const user = parseAddress(USER) ?? assert.fail();
  const account = { user, dexIndex: 1 };
  const heights = { from: 1, to: 3 };
  assert.deepEqual(
    [
      ...[until.at(2), until.dexesOf(user), until.markOf(5, 2)],
      ...[until.positionChanges(account, 5, heights), until.reductions(account, heights)],
    ],
    names.map((name) => [name]),
  );
  assert.deepEqual(asked, [
    ['at', 2],
    ['dexesOf', user],
    ['markOf', 5, 2],
    ['positionChanges', account, 5, heights],
    ['reductions', account, heights],
  ]);
});
