/** A buffer that takes one read after the other. */

/** A buffer of this size is cheap to keep: the next request can use it again. */
export const SMALL_SIZE = 1 << 10;

/**
 * The buffer, of which so much is used, with room for so many bytes. It grows by an eighth: doubled, it
 * would take up to twice its bytes; made to measure, it would be copied at each of many tiny reads.
 */
export function makeRoom(buffer: Buffer, usedLength: number, length: number): Buffer {
  if (length <= buffer.length) return buffer;
  const larger = Buffer.allocUnsafeSlow(Math.max(SMALL_SIZE, length + (length >> 3)));
  buffer.copy(larger, 0, 0, usedLength);
  return larger;
}
