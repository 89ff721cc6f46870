/** A very long next block of a simulated exchange: events of every user, and new users. */

import { formatAddress } from '../../src/exact/address.ts';
import type { StateView } from '../../src/state/state.ts';

const NEWCOMERS = 50;

function addressesOf({ addresses }: StateView): string[] {
  const known = Array.from({ length: addresses.table.rowCount - 1 }, (_, index) =>
    formatAddress(addresses.addressOf(index + 1)),
  );
  const newcomers = Array.from(
    { length: NEWCOMERS },
    (_, index) => `0x${String(index).padStart(40, 'c')}`,
  );
  return [...newcomers, ...known];
}

export function longLine(state: StateView, count: number): string {
  const users = addressesOf(state);
  const coins = state.markets.markets.filter(({ dexIndex }) => dexIndex === 0);
  const filled = { coin: coins[0].coin, side: 'B', sz: '1.0', px: '100.0', fee: '0.0' };
  const events = Array.from({ length: count }, (_, index) => {
    const user = users[index % users.length];
    const turn = Math.floor(index / users.length);
    if (index < users.length) return { type: 'fill', user, ...filled, sz: '100000.0' };
    if (turn % 7 === 1) return { type: 'transfer', user, dex: '', amount: '2.5' };
    if (turn % 7 === 2)
      return { type: 'delegate', user, validator: users[turn % users.length], amount: '1.5' };
    if (turn % 7 === 3) return { type: 'orderMargin', user, dex: '', amount: `${turn}.5` };
    const { coin } = coins[turn % coins.length];
    return { type: 'fill', user, ...filled, coin, side: turn % 2 === 0 ? 'B' : 'A' };
  });
  const payments = Array.from({ length: count }, (_, index) => [
    users[index % users.length],
    '0.01',
  ]);
  const paid = { type: 'funding', coin: filled.coin, payments };
  return JSON.stringify({ height: state.height + 1, time: state.time, events: [...events, paid] });
}
