/** The order of the board's rows. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boardFiguresOf } from '../../../web/src/figures/board-figures.ts';
import {
  BOARD_COLUMN_NAMES,
  type BoardColumnName,
  BoardOrder,
  type SortedRow,
  WORST_FIRST,
} from '../../../web/src/figures/board-sort.ts';
import { parseDecimal } from '../../../web/src/figures/decimal.ts';
import type { Level } from '../../../web/src/figures/risk-levels.ts';
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
  assert.equal(order.isOrderStale(moved), true);
  assert.deepEqual(order.arrange(moved, { ...WORST_FIRST }), ['b', 'a']);
  assert.equal(order.isOrderStale(moved), false);
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

interface Told {
  readonly name: string;
  readonly change: string;
  readonly unlockTime: number;
  readonly risk: readonly [level: Level, left: string];
  /** The share of the mark to the nearest liquidation. */
  readonly share: string;
  /** Value, long, short, net and profit. */
  readonly amounts: readonly [string, string, string, string, string];
}

function toldRow(
  user: string,
  { name, change, unlockTime, risk, share, amounts }: Told,
): SortedRow {
  const [level, left] = risk;
  const [value, long, short, net, unrealizedPnl] = amounts;
  const figures = {
    ...{ value, long, short, net, unrealizedPnl, marginRatio: undefined },
    verdict: { level, word: level, cause: 'A cross', left: parseDecimal(left) },
    nearest: {
      ...{ coin: 'A', liquidationPx: '1.0', distance: '', loss: '1.0' },
      share: parseDecimal(share),
    },
  };
  return { user, name, figures, change, unlockTime };
}

/** In no column is the order of the texts that of the numbers. */
const TOLD = [
  toldRow('a', {
    ...{ name: 'beta', change: '-3.0', unlockTime: 2_000, risk: ['watch', '0.001'], share: '0.5' },
    amounts: ['9.5', '1000.0', '5.0', '7.0', '-0.1'],
  }),
  toldRow('b', {
    ...{ name: 'Alpha', change: '2.0', unlockTime: 300, risk: ['danger', '0.4'], share: '0.05' },
    amounts: ['100.25', '999.5', '0.0', '-10.0', '0.001'],
  }),
  toldRow('c', {
    ...{ name: 'gamma', change: '-20.0', unlockTime: 10_000, risk: ['danger', '0.04'] },
    ...{ share: '1.5', amounts: ['10.0', '20.0', '30.0', '-2.0', '-5.0'] },
  }),
];

const ASCENDING: Readonly<Record<BoardColumnName, string>> = {
  account: 'bac',
  value: 'acb',
  change: 'cab',
  risk: 'abc',
  liquidation: 'bac',
  long: 'cba',
  short: 'bac',
  net: 'bca',
  pnl: 'cab',
  unlock: 'bac',
};

for (const column of BOARD_COLUMN_NAMES) {
  test(`rows are sorted by ${column}, whatever order they come in`, () => {
    const descending = [...ASCENDING[column]].reverse().join('');
    for (const rows of [TOLD, TOLD.toReversed()]) {
      const order = (isDescending: boolean) =>
        new BoardOrder().arrange(rows, { column, isDescending }).join('');
      assert.deepEqual([order(false), order(true)], [ASCENDING[column], descending]);
    }
  });
}
