/** `trades`: who has traded, and when. Prices are not taken from trades, only from contexts. */

import { TIME_RANGE } from '../../../events/event.ts';
import { readAddress } from '../../../events/fields.ts';
import type { Address } from '../../../exact/address.ts';
import { type DialectError, readAnswer, readItems, readOpen } from './dialect.ts';

export interface TradeNotice {
  readonly coin: string;
  /** In milliseconds, of the exchange. */
  readonly time: number;
  /** The buyer and the seller. */
  readonly users: readonly Address[];
}

/** The data of a pushed message: [{coin, side, px, sz, time, hash, tid, users: [buyer, seller]}]. */
export function readTrades(data: unknown): TradeNotice[] | DialectError {
  return readAnswer(() =>
    readItems(data, (item) =>
      readOpen(item, (fields) => ({
        coin: fields.text('coin'),
        time: fields.whole('time', TIME_RANGE),
        users: fields.list('users', (user) => readAddress('', user)),
      })),
    ),
  );
}
