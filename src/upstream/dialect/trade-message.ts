/**
 * Reads `trades`: which users traded, and when. Prices are not read from trades, only from
 * contexts.
 */

import { TIME_RANGE } from '../../events/event.ts';
import { readAddress } from '../../events/fields.ts';
import { prefixRefusal, Refusal } from '../../events/refusal.ts';
import type { Address } from '../../exact/address.ts';
import { DialectError, readAnswer, readItems, readOpen } from './dialect.ts';

export interface TradeNotice {
  readonly coin: string;
  /** The exchange's time in milliseconds. */
  readonly time: number;
  /** The buyer and the seller. */
  readonly users: readonly Address[];
}

export interface ReadTrades {
  readonly trades: readonly TradeNotice[];
  /**
   * The reason why the first unreadable element is not a trade; undefined if all elements are
   * trades.
   */
  readonly odd: DialectError | undefined;
}

/**
 * Reads the data of a pushed message: [{coin, side, px, sz, time, hash, tid, users: [buyer,
 * seller]}].
 */
export function readTrades(data: unknown): ReadTrades | DialectError {
  return readAnswer(() => {
    const read = readItems(data, (item, index) => readAnswer(() => readTrade(item, index)));
    const odd = read.find((trade) => trade instanceof DialectError);
    return { trades: read.flatMap((trade) => (trade instanceof DialectError ? [] : [trade])), odd };
  });
}

function readTrade(source: unknown, index: number): TradeNotice {
  try {
    return readOpen(source, (fields) => ({
      coin: fields.text('coin'),
      time: fields.whole('time', TIME_RANGE),
      users: fields.list('users', (user) => readAddress('', user)),
    }));
  } catch (error) {
    throw error instanceof Refusal ? prefixRefusal(`[${index}]`, error) : error;
  }
}
