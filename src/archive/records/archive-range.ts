/** The heights that an archive has, and the ledger to which they belong. */

import type { ChainPoint } from '../../ledger/ledger.ts';
import type { ArchiveTables } from './archive-tables.ts';
import { packJson, unpackJson } from './record-encoding.ts';

const ENTRY = 'range';

export interface ArchiveRange {
  /** The ledger's id, which comes from its first block. */
  readonly ledgerId: string;
  readonly first: number;
  /**
   * The height of the image with which the archive begins; 0 if the archive begins with a block.
   * Absent in an archive of an earlier version whose first height has not changed since.
   */
  readonly firstImage?: number;
  readonly head: ChainPoint;
  /**
   * The gaps: ranges of heights, both ends included, that were pruned before they were archived. An
   * image of the state follows each gap. The archive does not have the changes of the image's block
   * either. If only this block is missing, the end of the gap is below its start.
   */
  readonly gaps: readonly (readonly [from: number, to: number])[];
}

interface StoredRange extends Omit<ArchiveRange, 'head'> {
  readonly height: number;
  readonly hash: string;
}

/** Returns undefined if the archive is empty, or if its first image is not complete. */
export function readRange({ meta }: ArchiveTables): ArchiveRange | undefined {
  const record = meta.get(ENTRY);
  if (record === undefined) return undefined;
  const stored = unpackJson(record, ENTRY, 'the record of the heights that it holds');
  const { height, hash, ...range } = stored as StoredRange;
  return { ...range, head: { height, hash: Buffer.from(hash, 'hex') } };
}

/** Writes the range. Call this in a transaction. */
export function putRange({ meta }: ArchiveTables, { head, ...range }: ArchiveRange): void {
  const stored: StoredRange = { ...range, height: head.height, hash: head.hash.toString('hex') };
  void meta.put(ENTRY, packJson(stored, ENTRY));
}

export function isInRange({ first, head, gaps }: ArchiveRange, height: number): boolean {
  if (height < first || height > head.height) return false;
  return !gaps.some(([from, to]) => height >= from && height <= to);
}

/**
 * True if the archive has an image of the whole state at a height instead of the changes of the
 * block.
 */
export function isImage(
  { first, firstImage = first, gaps }: ArchiveRange,
  height: number,
): boolean {
  if (height === firstImage) return height > 1;
  return gaps.some(([, to]) => height === to + 1);
}

/** True if the archive has seen the events of all blocks after one height, up to another height. */
export function hasSeen({ gaps }: ArchiveRange, after: number, to: number): boolean {
  return !gaps.some(([first, last]) => first <= to && last + 1 > after);
}

/** Returns the range in words: "heights 1 to 500". */
export function describeRange({ first, head, gaps }: ArchiveRange): string {
  const missing = gaps
    .filter(([from, to]) => from <= to)
    .map(([from, to]) => `${from} to ${to}`)
    .join(', ');
  return `heights ${first} to ${head.height}${missing === '' ? '' : ` without ${missing}`}`;
}

/**
 * Returns a message about the heights that only the archive has, because their blocks were pruned;
 * returns undefined if there are none.
 */
export function describeUnreplayable(
  { first, head }: ArchiveRange,
  base: { readonly height: number },
): string | undefined {
  if (base.height < first) return undefined;
  const last = Math.min(base.height, head.height);
  return `heights ${first} to ${last} are in the archive alone: their blocks were pruned`;
}
