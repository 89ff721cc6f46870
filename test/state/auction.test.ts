/** Auctions at their edges. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBlock } from '../../src/events/event.ts';
import { currentGas } from '../../src/state/auction.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState, type State } from '../../src/state/state.ts';

const AUCTION = {
  type: 'deployAuction',
  startTimeSeconds: 100,
  durationSeconds: 10,
  startGas: '0.00000010',
  floorGas: '0.00000003',
};
const END = { type: 'deployAuctionEnd', endGas: '0.00000009' };

function stateAfter(...events: object[]): State {
  const state = createState();
  applyBlock(state, parseBlock(JSON.stringify({ height: 1, time: 0, events })));
  return state;
}

function gasAt(state: State, time: number): bigint {
  assert.ok(state.auction);
  return currentGas(state.auction, time);
}

test('the price falls from start to floor, rounded down, and stays there', () => {
  const state = stateAfter(AUCTION);
  const times = [0, 100_000, 100_001, 105_000, 109_999, 110_000, 200_000];
  assert.deepEqual(
    times.map((time) => gasAt(state, time)),
    [10n, 10n, 9n, 6n, 3n, 3n, 3n],
  );
  assert.equal(gasAt(stateAfter(AUCTION, END), 200_000), 9n);
});

test('a price may have its floor where it starts, and not above', () => {
  const state = stateAfter({ ...AUCTION, floorGas: AUCTION.startGas });
  assert.equal(gasAt(state, 105_000), 10n);
  const above = { ...AUCTION, floorGas: '0.00000011' };
  assert.throws(
    () => stateAfter(above),
    /floorGas: got "0.00000011", expected at most startGas, 0.0000001$/,
  );
});

test('an auction that there is not, or that has ended, cannot end', () => {
  for (const events of [[END], [{ type: 'noDeployAuction' }, END], [AUCTION, END, END]]) {
    assert.throws(
      () => stateAfter(...events),
      /expected a running auction; start one with deployAuction$/,
    );
  }
});
