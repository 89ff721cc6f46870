/** What an answer about the past adds to the weight of its question, as it is computed. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ArchiveAnswer, ArchiveSteps } from '../../src/info/archive/archive-answer.ts';
import type { HistoryView } from '../../src/info/archive/history-view.ts';
import { describeSurcharge, withSurcharge } from '../../src/info/archive/surcharge.ts';
import type { ArchiveQuestion } from '../../src/info/question.ts';
import { readQuestion } from '../../src/info/read-question.ts';
import { foldedHistory, pastOf } from './histories.ts';
import { stateOf } from './states.ts';

const USER = `0x${'a'.repeat(40)}`;
const MARKET = {
  type: 'market',
  dex: '',
  coin: 'BTC',
  szDecimals: 2,
  marginTiers: [{ lowerBound: '0.0', maxLeverage: 10 }],
  onlyIsolated: false,
  markPx: '1000.0',
};
const BLOCKS = [[MARKET], [{ type: 'transfer', user: USER, dex: '', amount: '100.0' }]];

const ANSWER: ArchiveAnswer = {
  ...{ body: '[]', format: 'json', height: 1, time: 1, isFixed: true, accountTime: -1 },
};

/** What each step adds to the weight. */
function listSurcharges(steps: ArchiveSteps): number[] {
  const surcharges: number[] = [];
  for (let step = steps.next(); step.done !== true; step = steps.next()) {
    surcharges.push(step.value);
  }
  return surcharges;
}

function surchargesOf(body: object, history: HistoryView): number[] {
  return listSurcharges((readQuestion(body) as ArchiveQuestion).answer(history));
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/** Steps that read so many marks and changes, and yield so much. */
function createSteps(parts: readonly { marks?: number; changes?: number; yields: number }[]) {
  const reads = { marks: 1000, changes: 1000 };
  function* answer(): ArchiveSteps {
    for (const { marks = 0, changes = 0, yields } of parts) {
      reads.marks += marks;
      reads.changes += changes;
      if (yields >= 0) yield yields;
    }
    return ANSWER;
  }
  return { reads, steps: answer() };
}

test('the base weight covers the first shares, and each step yields what it adds beyond', () => {
  const { reads, steps } = createSteps([
    { marks: 16, yields: 1 },
    { changes: 32 * 17, yields: 0 },
    { changes: 32, yields: 0.5 },
    { marks: 8, yields: 0 },
    { marks: 32, yields: -1 },
  ]);
  assert.deepEqual(listSurcharges(withSurcharge({ reads }, 20, steps)), [0, 0, 0.5, 0.5, 2]);
});

test('what others read between the steps is theirs', () => {
  const { reads, steps } = createSteps([{ yields: 20 }, { yields: 1 }]);
  const metered = withSurcharge({ reads }, 20, steps);
  assert.deepEqual(metered.next(), { done: false, value: 0 });
  reads.marks += 1600;
  assert.deepEqual(metered.next(), { done: false, value: 1 });
  assert.deepEqual(metered.next(), { done: true, value: ANSWER });
});

test('an answer that nobody wants any more gives back what it has loaded', () => {
  const { history, calls } = foldedHistory(BLOCKS);
  const question = readQuestion({ type: 'accountHistory', user: USER, step: 1000 });
  const steps = (question as ArchiveQuestion).answer(history);
  for (let step = 0; step < 2; step++) steps.next();
  assert.notDeepEqual(calls.at(-1), ['release']);
  steps.return(undefined as never);
  assert.deepEqual(calls.at(-1), ['release']);
});

test('the points of a series are charged before the first one is looked at, whether they make rows or not', () => {
  const { history, calls } = foldedHistory(BLOCKS);
  const question = readQuestion({ type: 'accountHistory', user: USER, step: 1 }) as ArchiveQuestion;
  const steps = question.answer(history);
  // 1,001 times, a millisecond apart.
  assert.deepEqual(steps.next(), { done: false, value: 1001 / 16 - 20 });
  assert.deepEqual(calls, [['at', 2], ['release']]);
});

test('a portfolio is charged for the points of its periods', () => {
  const { history } = foldedHistory(BLOCKS);
  // Of each of three periods its beginning and its end, and 101 of all time: less than 20 weighs.
  assert.equal(sum(surchargesOf({ type: 'portfolio', user: USER }, history)), 0);
});

test('a question about an account at a moment weighs at least 13', () => {
  const { history } = foldedHistory(BLOCKS);
  for (const [type, surcharge] of [
    ['clearinghouseState', 11],
    ['delegations', 0],
  ] as const) {
    assert.equal(sum(surchargesOf({ type, user: USER, atHeight: 2 }, history)), surcharge, type);
  }
});

test('rows of changes and of liquidations have a share each', () => {
  const change = {
    ...{ height: 2, size: 1, entryNotional: 1, isIsolated: false, leverage: 1 },
    ...{ fundingSinceOpen: 0, causes: [] },
  };
  const state = stateOf(...BLOCKS);
  const { history } = foldedHistory(BLOCKS, {
    at: () => pastOf(state),
    positionChanges: () => new Array(200).fill(change),
  });
  const body = { type: 'positionHistory', user: USER, coin: 'BTC' };
  assert.equal(sum(surchargesOf(body, history)), 200 / 8 - 20);
});

test('a surcharge is described by its shares', () => {
  assert.equal(
    describeSurcharge(['change', 'row']),
    'It weighs the sum of this instead, if that is more: 1/32 for a change of the account, or of one of ' +
      'its positions, by a block; 1/8 for a row of `positionHistory` or `liquidationHistory`.',
  );
});
