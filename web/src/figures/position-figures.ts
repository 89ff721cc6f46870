/**
 * Exact figures derived from a position, such as the mark price and the distance to liquidation,
 * and the order of positions.
 */

import { type Holding, keyOf } from './all-dexes.ts';
import type { Position } from './answers.ts';
import {
  absolute,
  compare,
  type Decimal,
  divideRounded,
  formatDecimal,
  negateText,
  parseDecimal,
  RATIO_DECIMALS,
  subtract,
  toShare,
  ZERO,
} from './decimal.ts';
import { formatDistance, LEVEL_TONES, levelOfDistance, type Tone } from './risk-levels.ts';
import { compareKeys, type SortKey } from './sort-keys.ts';
import { group } from './text.ts';

/**
 * The maximum number of decimals of a price. A mark that is computed with this number of decimals
 * is exact.
 */
const PRICE_DECIMALS = 6;
/** The distance at which the bar is full. */
const FAR: Decimal = { units: 5n, scale: 1 };
/** Distances from this ratio on are shown as "> 999 %". */
const VERY_FAR: Decimal = { units: 10n, scale: 0 };

export const isLong = ({ szi }: Position): boolean => !szi.startsWith('-');

export function markOf({ positionValue, szi }: Position): Decimal {
  return (
    divideRounded(parseDecimal(positionValue), absolute(parseDecimal(szi)), PRICE_DECIMALS) ?? ZERO
  );
}

interface Distance {
  readonly text: string;
  /** The share of the bar that is filled, for drawing. */
  readonly share: number;
  readonly tone: Tone;
}

/** Returns true if an isolated position has no margin left, so that any price may liquidate it. */
export function isLost({ leverage, marginUsed }: Position): boolean {
  return leverage.type === 'isolated' && parseDecimal(marginUsed).units <= 0n;
}

/**
 * Returns the distance from the mark to the liquidation price as a share of the mark. The distance
 * is negative if the mark is beyond the liquidation price. A lost position without a liquidation
 * price has distance 0; other positions without a liquidation price have no distance.
 */
export function distanceOf(position: Position, mark = markOf(position)): Decimal | undefined {
  if (position.liquidationPx === null) return isLost(position) ? ZERO : undefined;
  const liquidation = parseDecimal(position.liquidationPx);
  const gap = isLong(position) ? subtract(mark, liquidation) : subtract(liquidation, mark);
  return divideRounded(gap, mark, RATIO_DECIMALS);
}

export interface Derived {
  readonly mark: string;
  /** The distance to liquidation; undefined if no price liquidates the position. */
  readonly distance: Distance | undefined;
}

export function derive(position: Position): Derived {
  const mark = markOf(position);
  const ratio = distanceOf(position, mark);
  return { mark: formatDecimal(mark), distance: ratio && judgeDistance(ratio) };
}

/** Returns the distance as text: "12.3 %", or "> 999 %". */
export function describeDistance(ratio: Decimal): string {
  const isVeryFar = compare(ratio, VERY_FAR) >= 0;
  return isVeryFar ? '> 999 %' : `${group(formatDistance(ratio))} %`;
}

function judgeDistance(ratio: Decimal): Distance {
  const share = toShare(ratio, FAR);
  const tone = LEVEL_TONES[levelOfDistance(ratio)];
  return { text: describeDistance(ratio), share, tone };
}

export const COLUMN_NAMES = [
  ...(['coin', 'dex', 'side', 'size', 'value', 'entry', 'mark', 'pnl', 'leverage'] as const),
  ...(['margin', 'funding', 'liquidation'] as const),
] as const;
export type ColumnName = (typeof COLUMN_NAMES)[number];

export interface Sort {
  readonly column: ColumnName;
  readonly isDescending: boolean;
}

const SORT_KEYS: Readonly<Record<ColumnName, (position: Position, dex: string) => SortKey>> = {
  coin: ({ coin }) => coin,
  dex: (_position, dex) => dex,
  side: (position) => (isLong(position) ? 'long' : 'short'),
  size: ({ szi }) => absolute(parseDecimal(szi)),
  value: ({ positionValue }) => parseDecimal(positionValue),
  entry: ({ entryPx }) => parseDecimal(entryPx),
  mark: (position) => markOf(position),
  pnl: ({ unrealizedPnl }) => parseDecimal(unrealizedPnl),
  leverage: ({ leverage }) => parseDecimal(String(leverage.value)),
  margin: ({ marginUsed }) => parseDecimal(marginUsed),
  funding: ({ cumFunding }) => parseDecimal(negateText(cumFunding.sinceOpen)),
  liquidation: (position) => distanceOf(position),
};

/**
 * Returns the keys of the holdings, sorted by a column. The sort is stable, and holdings without a
 * figure are last.
 */
export function sortKeys(holdings: readonly Holding[], sort: Sort | undefined): string[] {
  if (sort === undefined) return holdings.map(keyOf);
  const pick = SORT_KEYS[sort.column];
  const rows = holdings.map((holding) => ({
    name: keyOf(holding),
    key: pick(holding.position, holding.dex),
  }));
  const direction = sort.isDescending ? -1 : 1;
  rows.sort((a, b) => compareKeys(a.key, b.key, direction));
  return rows.map(({ name }) => name);
}
