/** Fills written out: what opening, reducing, closing and turning a position moves, to the last unit. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBlock } from '../../src/events/event.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState, type State } from '../../src/state/state.ts';
import * as column from '../../src/state/tables/columns.ts';

const USER = '0xa11ce00000000000000000000000000000000001';
const MARKET = {
  type: 'market',
  dex: '',
  coin: 'A',
  szDecimals: 0,
  marginTiers: [{ lowerBound: '0.0', maxLeverage: 10 }],
  onlyIsolated: false,
  markPx: '10.0',
};

function apply(state: State, ...events: object[]): void {
  applyBlock(state, parseBlock(JSON.stringify({ height: state.height + 1, time: 0, events })));
}

function prepare(mode: 'cross' | 'isolated'): State {
  const state = createState();
  const onUser = { user: USER, coin: 'A' };
  apply(state, MARKET, { type: 'transfer', user: USER, dex: '', amount: '100.0' });
  apply(state, { type: 'leverage', ...onUser, mode, value: 10 });
  return state;
}

const fill = (side: string, sz: string, px: string, fee = '0.0') => {
  return { type: 'fill', user: USER, coin: 'A', side, sz, px, fee };
};

/** Cash, size, entry notional, raw USD; in dollars, and funding since opening and since the last change. */
function rowsOf({ accounts, positions }: State): number[] {
  const usd = [
    accounts.get(1, column.CASH),
    positions.get(1, column.ENTRY_NOTIONAL),
    positions.get(1, column.RAW_USD),
    positions.get(1, column.FUNDING_SINCE_OPEN),
    positions.get(1, column.FUNDING_SINCE_CHANGE),
  ].map((units) => units / 1e6);
  return [positions.get(1, column.SIZE), ...usd];
}

type Step = readonly [event: object, rows: readonly number[]];
const funding = { type: 'funding', coin: 'A', payments: [[USER, '1.0']] };

const CROSS: readonly Step[] = [
  [fill('B', '4.0', '10.0', '0.5'), [4, 59.5, 40, 0, 0, 0]],
  [funding, [4, 58.5, 40, 0, 1, 1]],
  [fill('A', '1.0', '12.0'), [3, 70.5, 30, 0, 1, 0]],
  [fill('A', '3.0', '8.0'), [0, 94.5, 0, 0, 0, 0]],
  [fill('A', '2.0', '10.0'), [-2, 114.5, 20, 0, 0, 0]],
  [funding, [-2, 113.5, 20, 0, 1, 1]],
  [fill('A', '1.0', '13.0'), [-3, 126.5, 33, 0, 1, 0]],
  [fill('B', '5.0', '10.0'), [2, 76.5, 20, 0, 0, 0]],
  [fill('A', '1.0', '10.0'), [1, 86.5, 10, 0, 0, 0]],
  [fill('B', '1.0', '12.0'), [2, 74.5, 22, 0, 0, 0]],
  [fill('A', '1.0', '10.0'), [1, 84.5, 11, 0, 0, 0]],
  [fill('A', '3.0', '10.0'), [-2, 114.5, 20, 0, 0, 0]],
  [fill('B', '3.0', '10.0'), [1, 84.5, 10, 0, 0, 0]],
];

const ISOLATED: readonly Step[] = [
  // The margin is a tenth of the value at the larger one of price and mark.
  [fill('B', '4.0', '9.0'), [4, 96, 36, -32, 0, 0]],
  [fill('B', '1.0', '20.0', '0.5'), [5, 94, 56, -50.5, 0, 0]],
  [funding, [5, 94, 56, -51.5, 1, 1]],
  // A fifth of the equity, 60 - 51.5, goes back.
  [fill('A', '1.0', '12.0'), [4, 95.7, 44.8, -41.2, 1, 0]],
  // Without equity nothing goes back.
  [fill('A', '2.0', '1.0'), [2, 95.7, 22.4, -39.2, 1, 0]],
  [fill('A', '2.0', '10.0', '0.25'), [0, 76.25, 0, 0, 0, 0]],
];

for (const [mode, steps] of [
  ['cross', CROSS],
  ['isolated', ISOLATED],
] as const) {
  test(`fills of a ${mode} position move what they must, and nothing else`, () => {
    const state = prepare(mode);
    for (const [event, rows] of steps) {
      apply(state, event);
      assert.deepEqual(rowsOf(state), rows, JSON.stringify(event));
      assert.equal(state.accounts.get(1, column.ACCOUNT_CHANGED_AT), state.height);
    }
  });
}

test('the size, not the fee, is to blame for a raw USD that is too large before the fee is paid', () => {
  const rawUsd = '-9007199254.740991';
  const position = {
    coin: 'A',
    szi: '1.0',
    entryNtl: '10.0',
    leverage: { type: 'isolated', value: 10, rawUsd },
    cumFunding: { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' },
  };
  const state = createState();
  apply(state, MARKET, {
    type: 'account',
    user: USER,
    dex: '',
    rawUsd: '100.0',
    positions: [position],
  });
  const refused = /sz: got "1.0", expected a value that keeps the rawUsd within ±2\^53 units$/;
  assert.throws(() => apply(state, fill('B', '1.0', '10.0', '0.5')), refused);
});
