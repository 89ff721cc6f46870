/**
 * The trades of a block. The simulator writes each trade as two fills: first the taker's fill, then
 * the maker's.
 */

export interface Trade {
  readonly coin: string;
  readonly side: string;
  readonly px: string;
  readonly sz: string;
  readonly time: number;
  readonly hash: string;
  readonly tid: number;
  /** The buyer and the seller. */
  readonly users: readonly [string, string];
}

/** A funding payment that a user has paid or received. */
export interface Payment {
  readonly coin: string;
  readonly user: string;
}

interface Fill {
  readonly type: 'fill';
  readonly user: string;
  readonly coin: string;
  readonly side: 'B' | 'A';
  readonly sz: string;
  readonly px: string;
}

interface Line {
  readonly height: number;
  readonly time: number;
  readonly events: readonly { readonly type: string }[];
}

/** Trades of one block share its number, like trades of one transaction on the exchange. */
const TRADES_PER_BLOCK_MAX = 1000;

export function readTrades(line: string): Trade[] {
  const { height, time, events } = JSON.parse(line) as Line;
  const fills = events.filter((event): event is Fill => event.type === 'fill');
  const hash = `0x${height.toString(16).padStart(64, '0')}`;
  return pairsOf(fills).map(([taker, maker], index) => ({
    coin: taker.coin,
    side: taker.side,
    px: taker.px,
    sz: taker.sz,
    time,
    hash,
    tid: height * TRADES_PER_BLOCK_MAX + index,
    users: taker.side === 'B' ? [taker.user, maker.user] : [maker.user, taker.user],
  }));
}

function pairsOf(fills: readonly Fill[]): [Fill, Fill][] {
  const pairs: [Fill, Fill][] = [];
  for (let index = 0; index + 1 < fills.length; index += 2) {
    pairs.push([fills[index], fills[index + 1]]);
  }
  return pairs;
}

interface Funding {
  readonly type: 'funding';
  readonly coin: string;
  readonly payments: readonly (readonly [user: string, amount: string])[];
}

export function readPayments(line: string): Payment[] {
  const { events } = JSON.parse(line) as Line;
  const rounds = events.filter((event): event is Funding => event.type === 'funding');
  return rounds.flatMap(({ coin, payments }) => payments.map(([user]) => ({ coin, user })));
}
