/** Decides whether a ratio of the upstream is equal to our ratio although their texts differ. */

const RELATIVE_TOLERANCE = 1e-9;
/**
 * Each text is rounded to ten decimals, so the two texts can differ by 1e-10. The rest is for the
 * rounding of doubles.
 */
const ABSOLUTE_TOLERANCE = 1.5e-10;

/**
 * Compares two figures that the exchange computes in doubles: the return on equity and the
 * liquidation price. Their texts contain rounding errors. A missing price (`null`) counts as 0,
 * because it means a price of 0 or less.
 */
export function isSameRatio(ours: string, theirs: string, slack: number): boolean {
  if (ours === theirs) return true;
  const [a, b] = [ratioOf(ours), ratioOf(theirs)];
  if (!Number.isFinite(a) || !Number.isFinite(b)) return false;
  const tolerance = Math.max(Math.abs(a), Math.abs(b)) * RELATIVE_TOLERANCE;
  return Math.abs(a - b) <= Math.max(tolerance, ABSOLUTE_TOLERANCE) + slack;
}

function ratioOf(text: string): number {
  return text === 'null' ? 0 : Number(text);
}
