/** Draws marks on a line of length 100, as the dash pattern of the line. */

/** The length of a mark along the line. */
const MARK_LENGTH = 0.8;
/** The last dash is longer than the line, so that the pattern does not repeat. */
const REST = 200;

/** Returns a `stroke-dasharray` with a mark at each of these places, in this order. */
export function dashesAt(places: readonly number[]): string {
  const dashes = [0];
  let end = 0;
  for (const place of places) {
    dashes.push(Number((place - end).toFixed(2)), MARK_LENGTH);
    end = place + MARK_LENGTH;
  }
  return [...dashes, REST].join(' ');
}
