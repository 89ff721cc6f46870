/**
 * Refuses a question to be passed on whose coin the exchange does not list: the exchange itself answers
 * with a status 500 that says nothing, or with null.
 */

import { isJsonObject } from '../../events/fields.ts';
import { type RequestError, wrongValue } from '../../info/request-error.ts';
import type { ForwardedQuestion } from '../../wanted/wanted.ts';
import type { MarketDirectory } from './dialect/market-directory.ts';

const FIRST_DEX = '';
/** A perp: `BTC`, or `xyz:TSLA` on a dex. Spot pairs (`@107`, `PURR/USDC`) and outcomes (`#12`) are none. */
const PERP = /^(?:(\w+):)?\w+$/;

/** Undefined also where the universe that would have the coin is not known yet. */
export function refuseUnknownCoin(
  question: ForwardedQuestion,
  directory: MarketDirectory,
): RequestError | undefined {
  const { coin, req } = question;
  if (isUnknown(coin, directory)) return refuse('coin', coin);
  const inner = isJsonObject(req) ? req['coin'] : undefined;
  return isUnknown(inner, directory) ? refuse('req.coin', inner) : undefined;
}

function refuse(field: string, coin: unknown): RequestError {
  return wrongValue(field, coin, 'a market that the exchange lists');
}

function isUnknown(coin: unknown, directory: MarketDirectory): boolean {
  const match = typeof coin === 'string' ? PERP.exec(coin) : null;
  if (match === null) return false;
  const [name, dex = FIRST_DEX] = match;
  const universe = directory.universeOf(dex);
  return universe === undefined ? isDexUnknown(dex, directory) : !universe.includes(name);
}

/** A dex that is listed may not have been read; one dex alone is what a server without dexes has. */
function isDexUnknown(dex: string, directory: MarketDirectory): boolean {
  const { dexes, skipped } = directory;
  if (directory.universeOf(FIRST_DEX) === undefined || dexes.length === 1) return false;
  return ![...dexes, ...skipped].some(({ name }) => name === dex);
}
