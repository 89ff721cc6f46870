/** When a ratio of the upstream and ours are the same, although their texts differ. */

const RELATIVE_TOLERANCE = 1e-9;
/** Both texts are rounded to ten decimals, perhaps to either side; a little more, for the doubles. */
const ABSOLUTE_TOLERANCE = 1.5e-10;

/**
 * For the two figures that the exchange computes in doubles, and whose text has their noise. A missing
 * price (`null`) stands for one of 0 or less, so it may differ from a price by no more than the noise.
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
