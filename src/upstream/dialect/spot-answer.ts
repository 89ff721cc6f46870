/**
 * Reads the mode of an account, and the spot balance that backs its cross positions if the account
 * is unified. The exchange moves this cash in and out of the perp accounts without a request of the
 * user.
 */

import type { FieldReader } from '../../events/fields.ts';
import { isJsonObject, STAKE_DECIMALS, USD_DECIMALS } from '../../events/fields.ts';
import { Refusal } from '../../events/refusal.ts';
import {
  add,
  DecimalError,
  divideFloor,
  type Exact,
  formatUnits,
  multiply,
  powerOfTen,
  subtract,
} from '../../exact/decimal.ts';
import type { ReportedAccount } from './account-shape.ts';
import { DialectError, readAnswer, readDecimal, readOpen } from './dialect.ts';
import { readPrinted } from './printed-amounts.ts';

/** In this mode, one spot balance backs all dexes with the same collateral token. */
export const UNIFIED_MODE = 'unifiedAccount';
/** Modes whose rules we do not know, and the rule that is missing for each mode. */
const UNKNOWN_RULES: ReadonlyMap<string, string> = new Map([
  ['portfolioMargin', 'the rule for the liquidation price and the withdrawable amount'],
  ['dexAbstraction', 'the rule for the cash behind the positions of a dex'],
]);
const MODE = /^[A-Za-z0-9]{1,40}$/;

/** Reads `userAbstraction`: the mode of an account. */
export function readMode(json: unknown): string | DialectError {
  return readAnswer(() => {
    if (typeof json === 'string' && MODE.test(json)) return json;
    throw new Refusal('', json, 'the mode of an account: 1 to 40 letters or digits as text');
  });
}

export function hasKnownRules(mode: string): boolean {
  return findUnknownRule(mode) === undefined;
}

/** Returns the rule that is not known; returns undefined if all rules of the mode are known. */
export function findUnknownRule(mode: string): string | undefined {
  return UNKNOWN_RULES.get(mode);
}

/**
 * The largest number of decimals that the exchange prints. Balances of collateral tokens have eight
 * decimals.
 */
const FINE_DECIMALS = 10;
const FINE_PER_USD_UNIT = powerOfTen(FINE_DECIMALS - USD_DECIMALS);
const FINE_PER_STAKE_UNIT = powerOfTen(FINE_DECIMALS - STAKE_DECIMALS);

/**
 * Returns the spot balance that backs the cross positions of a perp account, in millionths, rounded
 * down. The balance is computed from a `spotClearinghouseState` answer and a perp answer at the
 * same marks. A token that is not listed has a balance of 0.
 */
export function readCollateral(
  json: unknown,
  token: number,
  perp: ReportedAccount,
): number | DialectError {
  return readAnswer(() =>
    readOpen(json, (fields) => {
      const available = findAvailable(fields, token);
      const backing =
        available === undefined ? findFree(fields, token) : addDexUse(available, perp);
      return requireBacking(backing);
    }),
  );
}

/**
 * Removes this dex's part from the available amount: the amount includes the account value on this
 * dex, minus its maintenance margin.
 */
function addDexUse(
  available: Exact,
  { crossMaintenanceMarginUsed, crossMarginSummary }: ReportedAccount,
): Exact {
  const usd = (field: string, text: string) =>
    multiply(readAmount(field, text, USD_DECIMALS), FINE_PER_USD_UNIT);
  const maintenance = usd('crossMaintenanceMarginUsed', crossMaintenanceMarginUsed);
  const value = usd('crossMarginSummary.accountValue', crossMarginSummary.accountValue);
  return subtract(add(available, maintenance), value);
}

/**
 * Returns undefined if the answer has no amounts after maintenance, or has no balance of the token.
 */
function findAvailable(fields: FieldReader, token: number): Exact | undefined {
  const name = 'tokenToAvailableAfterMaintenance';
  const pairs = fields.take(name) ?? undefined;
  if (pairs === undefined) return undefined;
  if (!Array.isArray(pairs)) throw new Refusal(name, pairs, 'an array');
  const pair = pairs.find((item) => Array.isArray(item) && item[0] === token);
  if (pair !== undefined) return readFine(name, pair[1]);
  // Total minus hold is not the same figure: `hold` also contains amounts for other purposes.
  if (findBalance(fields, token) === undefined) return undefined;
  throw new Refusal(name, pairs, `a list that has the token ${token}`);
}

function findBalance(fields: FieldReader, token: number): unknown {
  const balances = fields.list('balances', (item) => item);
  return balances.find((item) => isJsonObject(item) && item['token'] === token);
}

/**
 * Returns total minus hold. If only one dex uses the token, `hold` is the account value on this
 * dex, and `total` contains this value.
 */
function findFree(fields: FieldReader, token: number): Exact {
  const balance = findBalance(fields, token);
  if (balance === undefined) return 0;
  return readOpen(balance, (amounts) =>
    subtract(
      readFine('total', readDecimal(amounts, 'total')),
      readFine('hold', readDecimal(amounts, 'hold')),
    ),
  );
}

/**
 * Reads an amount in units of 10^-10. If the text can be the rounding of an amount with eight
 * decimals, returns that amount without the digits that come from rounding.
 */
function readFine(field: string, text: unknown): Exact {
  if (typeof text !== 'string') throw new Refusal(field, text, 'a decimal as text');
  try {
    return multiply(readPrinted(text, STAKE_DECIMALS), FINE_PER_STAKE_UNIT);
  } catch (error) {
    if (!(error instanceof DecimalError)) throw error;
    return readAmount(field, text, FINE_DECIMALS);
  }
}

function readAmount(field: string, text: string, decimals: number): Exact {
  try {
    return readPrinted(text, decimals);
  } catch (error) {
    throw error instanceof DecimalError ? new Refusal(field, text, error.expected) : error;
  }
}

function requireBacking(fine: Exact): number {
  const units = divideFloor(fine, FINE_PER_USD_UNIT);
  if (typeof units === 'number' && units >= 0) return units;
  throw new DialectError('figure', {
    field: 'collateral',
    coin: undefined,
    ours: 'a spot balance of 0 or more behind the positions, of at most 2^53 millionths',
    theirs: formatUnits(fine, FINE_DECIMALS),
  });
}
