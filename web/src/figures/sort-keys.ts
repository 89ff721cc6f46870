/** The values that rows of a table are sorted by. */

import { compare, type Decimal } from './decimal.ts';

export type SortKey = string | Decimal | undefined;

/** Compares two keys. `direction` is 1 or -1. Rows without a key are last in both directions. */
export function compareKeys(a: SortKey, b: SortKey, direction: number): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  if (typeof a === 'string' || typeof b === 'string') {
    return a === b ? 0 : direction * (a < b ? -1 : 1);
  }
  return direction * compare(a, b);
}
