/**
 * Finds the part in which the heads of one connection usually differ: the query of a GET, or the
 * Content-Length of a POST. If all other bytes are the same as in the last head, only this part is
 * parsed.
 */

import type { OrdinaryHead } from './ordinary-request.ts';

export interface VaryingPart {
  readonly kind: 'query' | 'length';
  /** The range in the bytes of the head. */
  readonly start: number;
  end: number;
}

const LENGTH_LINE = /\r\ncontent-length:[ \t]?/i;

/**
 * Finds the varying part of an ordinary head. Returns undefined if the head has no varying part.
 */
export function findVaryingPart(
  text: string,
  { method, target, bodyLength }: OrdinaryHead,
): VaryingPart | undefined {
  if (method !== 'POST') return findQuery(method, target);
  const line = LENGTH_LINE.exec(text);
  if (line === null) return undefined;
  const start = line.index + line[0].length;
  return { kind: 'length', start, end: start + String(bodyLength).length };
}

function findQuery(method: string, target: string): VaryingPart | undefined {
  const mark = target.indexOf('?');
  if (mark === -1) return undefined;
  const targetStart = method.length + 1;
  return { kind: 'query', start: targetStart + mark + 1, end: targetStart + target.length };
}

/**
 * Returns the end of the varying part in another head, which is the bytes from `start` to `end`.
 * Returns -1 if the heads also differ elsewhere.
 */
export function findPartEnd(
  part: VaryingPart,
  head: Buffer,
  bytes: Buffer,
  start: number,
  end: number,
): number {
  const partStart = start + part.start;
  const partEnd = end - (head.length - part.end);
  const isSame =
    partEnd >= partStart &&
    bytes.compare(head, 0, part.start, start, partStart) === 0 &&
    bytes.compare(head, part.end, head.length, partEnd, end) === 0;
  return isSame ? partEnd : -1;
}

/**
 * Returns true if the varying part is the same in another head. A loop is fast here, because it
 * usually ends early.
 */
export function isSamePart(
  { start, end }: VaryingPart,
  head: Buffer,
  bytes: Buffer,
  headStart: number,
): boolean {
  for (let index = start; index < end; index++) {
    if (head[index] !== bytes[headStart + index]) return false;
  }
  return true;
}

/**
 * Copies the varying part from another head of the same length. For so few bytes, a loop is faster
 * than `copy`.
 */
export function replacePart(
  { start, end }: VaryingPart,
  head: Buffer,
  bytes: Buffer,
  headStart: number,
): void {
  for (let index = start; index < end; index++) head[index] = bytes[headStart + index];
}
