/** When an account or a position is at risk: the one table that the whole page uses. */

import { compare, type Decimal, formatPercent, roundAsJudged, toShare, WHOLE } from './decimal.ts';

/** The levels of risk, from the lowest to the highest. */
export const LEVELS = ['safe', 'watch', 'danger'] as const;
export type Level = (typeof LEVELS)[number];

/** Unknown as long as there is no current answer. */
export type LevelOrUnknown = Level | 'unknown';

/**
 * Returns the worst level of many accounts. An account with an unknown level is no danger, but the others
 * are then not called safe.
 */
export function worstLevel(levels: readonly LevelOrUnknown[]): LevelOrUnknown {
  if (levels.includes('danger')) return 'danger';
  if (levels.includes('watch')) return 'watch';
  return levels.length === 0 || levels.includes('unknown') ? 'unknown' : 'safe';
}

const percent = (units: bigint): Decimal => ({ units, scale: 2 });

/**
 * The share of the cross account value that maintenance takes: a level starts where the share is reached. And
 * the share of the mark that is left to the liquidation price: a level starts below the share.
 */
const THRESHOLDS = {
  marginRatio: { watch: percent(50n), danger: percent(80n) },
  distance: { watch: percent(15n), danger: percent(5n) },
} as const;

export const LEVEL_WORDS: Readonly<Record<Level, string>> = {
  safe: 'healthy',
  watch: 'watch',
  danger: 'at risk',
};

/** The colour of a level: a class of the style sheets. */
export type Tone = 'gain' | 'warn' | 'loss';

export const LEVEL_TONES: Readonly<Record<Level, Tone>> = {
  safe: 'gain',
  watch: 'warn',
  danger: 'loss',
};

export function levelOfMarginRatio(ratio: Decimal): Level {
  const { watch, danger } = THRESHOLDS.marginRatio;
  if (compare(ratio, danger) >= 0) return 'danger';
  return compare(ratio, watch) >= 0 ? 'watch' : 'safe';
}

export function levelOfDistance(distance: Decimal): Level {
  const { watch, danger } = THRESHOLDS.distance;
  if (compare(distance, danger) < 0) return 'danger';
  return compare(distance, watch) < 0 ? 'watch' : 'safe';
}

/** Writes the ratio in per cent. Rounding never moves the text across a limit. */
export function formatMarginRatio(ratio: Decimal): string {
  return formatPercent(roundAsJudged(ratio, 4, levelOfMarginRatio));
}

/** Writes a distance in the same way: 4.97 % is "4.9", because it is below 5 %. */
export function formatDistance(distance: Decimal): string {
  return formatPercent(roundAsJudged(distance, 3, levelOfDistance), 1);
}

/** Returns where the levels of the margin ratio start, in per cent. */
export function marginRatioMarks(): number[] {
  const { watch, danger } = THRESHOLDS.marginRatio;
  return [watch, danger].map((share) => toShare(share, WHOLE) * 100);
}

/** The table in words, for the page. */
export function describeThresholds(): string {
  const { marginRatio, distance } = THRESHOLDS;
  const say = (share: Decimal) => `${formatPercent(share, 0)} %`;
  const levels = (['watch', 'danger'] as const).map(
    (level) =>
      `“${LEVEL_WORDS[level]}” from ${say(marginRatio[level])} of the cross margin, ` +
      `or below ${say(distance[level])} to liquidation`,
  );
  return `${levels.join('; ')}.`;
}
