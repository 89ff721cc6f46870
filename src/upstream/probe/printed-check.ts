/** Finds amounts in an account's answer that are not printed as the exchange prints amounts. */

import { isJsonObject, USD_DECIMALS } from '../../events/fields.ts';
import { describeValue } from '../../events/refusal.ts';
import { DecimalError } from '../../exact/decimal.ts';
import { readPrinted } from '../dialect/printed-amounts.ts';

export interface PrintedAmounts {
  readonly checked: number;
  /**
   * Each path with a strange amount once, with the first strange amount. An amount is strange if it
   * is not the nearest double of an amount in millionths.
   */
  readonly strange: readonly { readonly path: string; readonly got: string }[];
}

/** The names of members with amounts in USD, at any place of an answer. */
const USD_NAMES: ReadonlySet<string> = new Set([
  ...['accountValue', 'totalNtlPos', 'totalRawUsd', 'totalMarginUsed', 'withdrawable'],
  ...['crossMaintenanceMarginUsed', 'rawUsd', 'positionValue', 'unrealizedPnl', 'marginUsed'],
  ...['allTime', 'sinceOpen', 'sinceChange'],
]);
const STRANGE_MAX = 20;

export function checkPrintedAmounts(json: unknown): PrintedAmounts {
  const strange = new Map<string, string>();
  let checked = 0;
  const look = (value: unknown, path: string, name: string): void => {
    if (Array.isArray(value)) for (const item of value) look(item, `${path}[]`, '');
    else if (isJsonObject(value)) {
      for (const [key, member] of Object.entries(value)) look(member, `${path}.${key}`, key);
    } else if (USD_NAMES.has(name)) {
      checked++;
      const isStrange = !isPrinted(value) && strange.size < STRANGE_MAX && !strange.has(path);
      if (isStrange) strange.set(path, describeValue(value));
    }
  };
  look(json, '', '');
  const places = [...strange].map(([path, got]) => ({ path: path.slice(1), got }));
  return { checked, strange: places };
}

function isPrinted(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  try {
    readPrinted(value, USD_DECIMALS);
    return true;
  } catch (error) {
    if (error instanceof DecimalError) return false;
    throw error;
  }
}
