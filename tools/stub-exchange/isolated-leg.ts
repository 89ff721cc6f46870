/**
 * The cash that is left of a closed isolated position. It is in the account's totals, and in no
 * other figure.
 */

import { printDouble } from './printed-doubles.ts';

type Json = ReturnType<typeof JSON.parse>;

const LEG_USD = 25.125;

/** True for one user of sixteen, on the first dex. */
export function hasIsolatedLeg(user: string): boolean {
  return /e$/i.test(user);
}

export function addIsolatedLeg({ marginSummary }: Json, { user, dex = '' }: Json): void {
  if (dex !== '' || !hasIsolatedLeg(user)) return;
  for (const figure of ['accountValue', 'totalRawUsd']) {
    const exact = Number(marginSummary[figure]) + LEG_USD;
    marginSummary[figure] = printDouble(exact.toFixed(6));
  }
}
