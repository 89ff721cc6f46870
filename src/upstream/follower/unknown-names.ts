/**
 * Refuses a forwarded question if the exchange does not list its coin or dex. The exchange itself
 * would answer with an unhelpful status 500, or with null.
 */

import { isJsonObject } from '../../events/fields.ts';
import type { QuestionBody } from '../../info/question.ts';
import { OWN_TYPES } from '../../info/question-types.ts';
import { type RequestError, wrongValue } from '../../info/request-error.ts';
import type { MarketDirectory } from '../dialect/market-directory.ts';

const FIRST_DEX = '';
/** By type: names that the exchange accepts as a dex, in addition to the dexes that it lists. */
const OTHER_DEX_NAMES: ReadonlyMap<string, readonly string[] | undefined> = new Map(
  OWN_TYPES.map(({ type, upstreamFirst }) => [type, upstreamFirst?.dexNames]),
);
/**
 * Matches the coin of a perp market: `BTC`, or `xyz:TSLA` on a dex. Spot pairs (`@107`,
 * `PURR/USDC`) and outcomes (`#12`) do not match.
 */
const PERP = /^(?:(\w+):)?\w+$/;

/**
 * Returns the refusal; returns undefined if the name is listed, or if the list with the name is not
 * known yet.
 */
export function refuseUnknownName(
  question: QuestionBody,
  directory: MarketDirectory,
): RequestError | undefined {
  const { type, coin, req, dex } = question;
  if (isUnknown(coin, directory)) return refuse('coin', coin);
  const inner = isJsonObject(req) ? req['coin'] : undefined;
  if (isUnknown(inner, directory)) return refuse('req.coin', inner);
  const otherNames = OTHER_DEX_NAMES.get(type);
  if (typeof dex !== 'string' || otherNames === undefined || otherNames.includes(dex)) {
    return undefined;
  }
  if (!isDexUnknown(dex, directory)) return undefined;
  return wrongValue('dex', dex, 'a perp dex that the exchange lists', 'unknown_dex');
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

/**
 * Returns true if the dex is certainly not listed. A list with only one dex proves nothing: a
 * server that does not know the question for dexes gives the same list.
 */
function isDexUnknown(dex: string, { dexNames }: MarketDirectory): boolean {
  return dexNames !== undefined && dexNames.size > 1 && !dexNames.has(dex);
}
