/** Converts margin tables from the upstream's form to the form of events. */

import { readTierTerms } from '../../events/event.ts';
import { USD_DECIMALS } from '../../events/fields.ts';
import { Refusal } from '../../events/refusal.ts';
import { formatUnits } from '../../exact/decimal.ts';
import { checkTiers, type TierTerms } from '../../state/markets/margin-tiers.ts';

export type TierTable = readonly TierTerms[];

/** Returns the table in the form of events. */
export function describeTiers(tiers: TierTable) {
  return tiers.map(({ lowerBound, maxLeverage }) => ({
    lowerBound: formatUnits(lowerBound, USD_DECIMALS),
    maxLeverage,
  }));
}

export function isSameTable(first: TierTable | undefined, second: TierTable | undefined): boolean {
  return textOf(first) === textOf(second);
}

function textOf(table: TierTable = []): string {
  return table.map(({ lowerBound, maxLeverage }) => `${lowerBound}:${maxLeverage}`).join();
}

/** Returns each different table once; leaves out tables that our events cannot describe. */
export function readDistinctTables(listed: Iterable<readonly unknown[]>): TierTable[] {
  const tables = new Map<string, TierTable>();
  for (const tiers of listed) {
    const table = readTable(tiers);
    if (table !== undefined) tables.set(textOf(table), table);
  }
  return [...tables.values()];
}

function readTable(tiers: readonly unknown[]): TierTable | undefined {
  try {
    const table = tiers.map(readTierTerms);
    checkTiers(table);
    return table;
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}
