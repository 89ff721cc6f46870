/** The list of a user's delegations: its order, its rows, and who is told of a change. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBlock } from '../../src/events/event.ts';
import { answerQuestion, parseQuestion } from '../../src/info/read-question.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState, type State } from '../../src/state/state.ts';
import { Table } from '../../src/state/tables/table.ts';

const USER = `0x${'a'.repeat(40)}`;
const OTHER = `0x${'b'.repeat(40)}`;
const DAY_MS = 86_400_000;

const validatorAt = (index: number) => `0x${String(index).padStart(40, '0')}`;

function event(type: string, index: number, amount: string) {
  return { type, user: USER, validator: validatorAt(index), amount };
}

function delegation(index: number, amount: string, lockedUntilTimestamp = 5) {
  return { ...event('delegation', index, amount), lockedUntilTimestamp };
}

function listed(...delegations: readonly [index: number, amount: string, lock: number][]) {
  return {
    type: 'delegations',
    user: USER,
    delegations: delegations.map(([index, amount, lockedUntilTimestamp]) => {
      return { validator: validatorAt(index), amount, lockedUntilTimestamp };
    }),
  };
}

/** A block a day. */
function apply(state: State, ...events: object[]): void {
  const line = JSON.stringify({ height: state.height + 1, time: state.height * DAY_MS, events });
  applyBlock(state, parseBlock(line));
}

function stateAfter(...events: object[]): State {
  const state = createState();
  for (const each of events) apply(state, each);
  return state;
}

interface Listed {
  readonly validator: string;
  readonly amount: string;
  readonly lockedUntilTimestamp: number;
}

function listOf(state: State, user = USER): [number, string, number][] {
  const answer = JSON.parse(answerQuestion(state, { type: 'delegations', user })) as Listed[];
  return answer.map(({ validator, amount, lockedUntilTimestamp }) => {
    return [Number(validator), amount, lockedUntilTimestamp];
  });
}

test('a delegation is locked for a day from its last addition, and rewards do not lock it', () => {
  const state = stateAfter(event('delegate', 1, '5.0'), event('delegate', 1, '2.5'));
  assert.deepEqual(listOf(state), [[1, '7.5', 2 * DAY_MS]]);
  apply(state, event('delegationReward', 1, '0.00000001'));
  assert.deepEqual(listOf(state), [[1, '7.50000001', 2 * DAY_MS]]);
  apply(state, event('undelegate', 1, '7.0'));
  assert.deepEqual(listOf(state), [[1, '0.50000001', 2 * DAY_MS]]);
  apply(state, event('undelegate', 1, '0.50000001'));
  assert.deepEqual(listOf(state), []);
});

test('amounts of 64 bits are kept to the last unit', () => {
  const state = stateAfter(event('delegate', 1, '92233720368.54775806'));
  apply(state, event('delegationReward', 1, '0.00000001'));
  assert.equal(listOf(state)[0][1], '92233720368.54775807');
  const refused = /an amount that keeps the delegation within 92233720368.54775807$/;
  assert.throws(() => apply(state, event('delegationReward', 1, '0.00000001')), refused);
  apply(state, delegation(1, '42.94967296'));
  assert.equal(listOf(state)[0][1], '42.94967296');
});

test('whichever delegation is removed, the others keep their order, and new ones come last', () => {
  for (const removed of [1, 2, 3]) {
    const state = stateAfter(...[1, 2, 3].map((index) => delegation(index, `${index}.0`)));
    apply(state, delegation(removed, '0.0'));
    const left = [1, 2, 3].filter((index) => index !== removed);
    assert.deepEqual(
      listOf(state).map(([index]) => index),
      left,
    );
    apply(state, delegation(4, '4.0'), delegation(5, '5.0'));
    assert.deepEqual(
      listOf(state).map(([index]) => index),
      [...left, 4, 5],
    );
    for (const index of [...left, 4]) apply(state, delegation(index, '0.0'));
    assert.deepEqual(listOf(state), [[5, '5.0', 5]]);
  }
});

test('the row of a delegation that was removed is used again, as new', () => {
  const state = stateAfter(...[1, 2, 3].map((index) => delegation(index, '900.5', 77)));
  apply(state, delegation(1, '0.0'), delegation(2, '0.0'));
  apply(state, { ...event('delegate', 8, '1.0'), user: OTHER });
  apply(state, event('delegate', 9, '2.0'));
  assert.equal(state.delegations.rowCount, 4);
  assert.deepEqual(listOf(state), [
    [3, '900.5', 77],
    [9, '2.0', 4 * DAY_MS + 2 * DAY_MS],
  ]);
  assert.deepEqual(listOf(state, OTHER), [[8, '1.0', 4 * DAY_MS + DAY_MS]]);
});

test('a delegation that never was can be set to zero: nothing is listed, and no free row is lost', () => {
  const state = stateAfter(delegation(1, '1.0'), delegation(2, '2.0'), delegation(1, '0.0'));
  apply(state, delegation(9, '0.0'));
  assert.deepEqual(listOf(state), [[2, '2.0', 5]]);
  apply(state, delegation(3, '3.0'));
  assert.equal(state.delegations.rowCount, 3);
});

test('a delegation is free at the very time until which it was locked', () => {
  const state = stateAfter(event('delegate', 1, '5.0'));
  apply(state, event('undelegate', 1, '5.0'));
  assert.deepEqual([state.time, listOf(state)], [DAY_MS, []]);
});

test('whoever delegates to the first address of all, or to itself, has one delegation', () => {
  const toItself = { type: 'delegate', user: OTHER, validator: OTHER, amount: '1.0' };
  const state = stateAfter(toItself, toItself, { ...toItself, user: USER });
  apply(state, { ...toItself, user: USER });
  for (const user of [OTHER, USER])
    assert.deepEqual(
      listOf(state, user).map(([, amount]) => amount),
      ['2.0'],
    );
});

function changedAt(state: State): number {
  return parseQuestion({ type: 'delegations', user: USER }).changedAt(state);
}

test('each event about delegations changes them, a list only if it is another one', () => {
  const state = stateAfter(event('delegate', 1, '5.0'), event('delegate', 2, '5.0'));
  for (const each of [
    event('delegate', 2, '1.0'),
    event('delegationReward', 1, '1.0'),
    event('undelegate', 1, '1.0'),
    event('undelegate', 1, '5.0'),
    delegation(2, '7.0', 9),
    delegation(2, '0.0'),
    listed([3, '1.0', 0], [4, '2.0', 0]),
    listed([3, '1.0', 0]),
    listed([5, '1.0', 0]),
    listed([3, '1.0', 0], [4, '2.0', 0]),
    listed([4, '2.0', 0], [3, '1.0', 0]),
    listed([4, '2.0', 0], [3, '1.5', 0]),
    listed([4, '2.0', 0], [3, '1.5', 6]),
    listed(),
  ]) {
    apply(state, each);
    assert.equal(changedAt(state), state.height, JSON.stringify(each));
    const same = 'delegations' in each ? each : listed(...listOf(state));
    apply(state, same);
    assert.equal(changedAt(state), state.height - 1, JSON.stringify(same));
  }
});

test('a list that names a validator twice is refused, and the list before it stays', () => {
  const state = stateAfter(listed([3, '1.0', 0]));
  assert.throws(() => apply(state, listed([4, '1.0', 0], [5, '1.0', 0], [4, '2.0', 0])), {
    message: new RegExp(
      `delegations\\[2\\]\\.validator: got "${validatorAt(4)}", expected each validator once$`,
    ),
  });
  assert.deepEqual(listOf(state), [[3, '1.0', 0]]);
});

class BrokenTable extends Table {
  override addRow(): number {
    throw new RangeError('broken');
  }
}

test('a bug in the middle of a list is not told as a refusal', () => {
  const state = { ...createState(), delegations: new BrokenTable() };
  assert.throws(() => apply(state, listed([4, '1.0', 0])), { name: 'RangeError' });
});
