/** The order of the board's rows. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boardFiguresOf } from '../../web/src/figures/board-row.ts';
import { BoardOrder, type SortedRow, WORST_FIRST } from '../../web/src/figures/board-sort.ts';
import { accountState } from './account-state.ts';
import { position } from './position.ts';

/** A row whose one position is so far from its liquidation; without a distance it has no answer. */
function row(user: string, distance?: number, value = '100.0'): SortedRow {
  const positions = [
    position('A', '1.0', '100.0', { liquidationPx: `${100 - (distance ?? 0)}.0` }),
  ];
  const figures =
    distance === undefined ? undefined : boardFiguresOf([['', accountState({ value, positions })]]);
  return { user, name: user, figures, change: undefined, unlockTime: undefined };
}

const BY_VALUE = { column: 'value', isDescending: true } as const;

test('the worst is first, then the nearest, and what is unknown is last', () => {
  const rows = [row('far', 60), row('unknown'), row('near', 2), row('nearer', 1), row('watch', 9)];
  const idle = { ...row('idle'), figures: boardFiguresOf([['', accountState({})]]) };
  const order = new BoardOrder().arrange([...rows, idle], { ...WORST_FIRST });
  assert.deepEqual(order, ['nearer', 'near', 'watch', 'far', 'idle', 'unknown']);
});

test('rows hold still while figures move, until they are sorted again', () => {
  const order = new BoardOrder();
  order.arrange([row('a', 1), row('b', 2)], WORST_FIRST);
  const moved = [row('a', 9), row('b', 2)];
  assert.deepEqual(order.arrange(moved, WORST_FIRST), ['a', 'b']);
  assert.equal(order.isOvertaken(moved), true);
  assert.deepEqual(order.arrange(moved, { ...WORST_FIRST }), ['b', 'a']);
  assert.equal(order.isOvertaken(moved), false);
});

test('what comes later is put where it belongs, and moves nothing else', () => {
  const order = new BoardOrder();
  order.arrange([row('a', 1), row('b', 4), row('c'), row('d')], WORST_FIRST);
  const later = [row('a', 9), row('b', 4), row('c', 5), row('d'), row('e', 2)];
  assert.deepEqual(order.arrange(later, WORST_FIRST), ['e', 'c', 'a', 'b', 'd']);
  assert.deepEqual(order.arrange(later.slice(1), WORST_FIRST), ['e', 'c', 'b', 'd']);
});

test('any column sorts in both directions, with what is missing last', () => {
  const rows = [row('a', 5, '9.0'), row('b', 5, '10.0'), row('c')];
  const order = new BoardOrder();
  assert.deepEqual(order.arrange(rows, BY_VALUE), ['b', 'a', 'c']);
  assert.deepEqual(order.arrange(rows, { ...BY_VALUE, isDescending: false }), ['a', 'b', 'c']);
  const byName = { column: 'account', isDescending: true } as const;
  assert.deepEqual(order.arrange(rows, byName), ['c', 'b', 'a']);
});
