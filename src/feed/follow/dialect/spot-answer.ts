/**
 * The collateral of unified accounts: their perp positions are backed by a spot balance, which the
 * exchange moves into the perp account and out of it without telling.
 */

import {
  type FieldReader,
  isJsonObject,
  STAKE_DECIMALS,
  USD_DECIMALS,
} from '../../../events/fields.ts';
import { Refusal } from '../../../events/refusal.ts';
import { divideFloor, formatUnits, powerOfTen } from '../../../exact/decimal.ts';
import { DialectError, readAnswer, readOpen } from './dialect.ts';

const UNIFIED: readonly string[] = ['unifiedAccount', 'portfolioMargin'];

/** `userAbstraction`: whether the account is backed by a spot balance. */
export function readAbstraction(json: unknown): { isUnified: boolean } | DialectError {
  return readAnswer(() => {
    if (typeof json !== 'string') throw new Refusal('', json, 'the mode of an account as text');
    return { isUnified: UNIFIED.includes(json) };
  });
}

/** `spotClearinghouseState`: the balances have the decimals of stakes, the collateral those of USD. */
const UNITS_PER_USD_UNIT = powerOfTen(STAKE_DECIMALS - USD_DECIMALS);

/**
 * What backs the perp account beside its own value, in millionths, rounded down. `hold` is the perp
 * account's value, and `total` contains it. A token that is not listed has a balance of 0.
 */
export function readCollateral(json: unknown, token: number): number | DialectError {
  return readAnswer(() => {
    const balances = readOpen(json, (fields) => fields.list('balances', (item) => item));
    const balance = balances.find((item) => isJsonObject(item) && item['token'] === token);
    return balance === undefined ? 0 : readOpen(balance, readFree);
  });
}

function readFree(fields: FieldReader): number {
  const total = fields.stake('total', 'zero or more');
  const hold = fields.stake('hold', 'zero or more');
  const free = divideFloor(total - hold, UNITS_PER_USD_UNIT);
  if (typeof free === 'number' && free >= 0) return free;
  const ours = `at least hold, ${formatUnits(hold, STAKE_DECIMALS)}, by at most 2^53 millionths`;
  const theirs = formatUnits(total, STAKE_DECIMALS);
  throw new DialectError('figure', { field: 'total', coin: undefined, ours, theirs });
}
