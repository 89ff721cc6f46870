/** Makes room in a buffer to which the bytes of several reads are appended. */

/** A buffer up to this size is not released, so that the next request can reuse it. */
export const SMALL_SIZE = 1 << 10;

/**
 * Returns a buffer with room for `length` bytes: the same buffer, or a larger copy of its used
 * part. A larger buffer has an eighth more than the needed size. Doubling the size would take up to
 * twice the memory; an exact size would need a copy at each of many tiny reads.
 */
export function makeRoom(buffer: Buffer, usedLength: number, length: number): Buffer {
  if (length <= buffer.length) return buffer;
  const larger = Buffer.allocUnsafeSlow(Math.max(SMALL_SIZE, length + (length >> 3)));
  buffer.copy(larger, 0, 0, usedLength);
  return larger;
}
