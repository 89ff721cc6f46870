/**
 * Decides when an account or a position is at risk. The whole page uses the same table of
 * thresholds.
 */

import { compare, type Decimal, formatPercent, roundAsJudged, toShare, WHOLE } from './decimal.ts';

/** The levels of risk, from the lowest to the highest. */
export const LEVELS = ['safe', 'watch', 'danger'] as const;
export type Level = (typeof LEVELS)[number];

/** A level, or `unknown` while there is no current answer. */
export type LevelOrUnknown = Level | 'unknown';

/**
 * Returns the worst level of many accounts. An unknown level is no danger, but the result is then
 * not `safe`.
 */
export function worstLevel(levels: readonly LevelOrUnknown[]): LevelOrUnknown {
  if (levels.includes('danger')) return 'danger';
  if (levels.includes('watch')) return 'watch';
  return levels.length === 0 || levels.includes('unknown') ? 'unknown' : 'safe';
}

const percent = (units: bigint): Decimal => ({ units, scale: 2 });

/**
 * Two thresholds for each level. `marginRatio` is the share of the cross account value that the
 * maintenance margin takes; a level starts where this share is reached. `distance` is the share of
 * the mark that is left to the liquidation price; a level starts below this share.
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

/** The colour of a level, which is a class of the style sheets. */
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

/** Returns the margin ratios at which the levels start, in per cent. */
export function marginRatioMarks(): number[] {
  const { watch, danger } = THRESHOLDS.marginRatio;
  return [watch, danger].map((share) => toShare(share, WHOLE) * 100);
}

/** Returns the table of thresholds in words. */
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
