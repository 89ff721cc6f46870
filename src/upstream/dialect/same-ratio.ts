/** Decides whether a ratio of the upstream is equal to ours although their texts differ. */

const RELATIVE_TOLERANCE = 1e-9;
/**
 * Both texts are rounded to ten decimals, perhaps in different directions. A little more is for the
 * rounding of doubles.
 */
const ABSOLUTE_TOLERANCE = 1.5e-10;

/**
 * For the two figures that the exchange computes in doubles, with rounding errors in their text. A
 * missing price (`null`) means a price of 0 or less, so it counts as 0.
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
