/**
 * The port for storing the embedded ledger: a database of two tables and a guard. LMDB implements
 * the port (lmdb-ledger-store.ts); in tests, a simulated disk that fails implements it.
 *
 *   blocks  height -> 32 bytes of hash, then the line
 *   meta    "base"   -> the height (8 bytes, big-endian) and hash before the first block
 *           "writer" -> JSON of the process that has the ledger open for writing
 *           "format" -> the number of the format as text; a ledger of format 1 has no such entry
 *           "restore" -> an empty value, present while blocks of a backup are missing
 *   guard   the head's height plus one; every append is conditional on it, so that writers can never
 *           interleave
 */

import type { WriteWatch } from './write-watch.ts';

/** A row of the table of blocks. */
export interface BlockRecord {
  readonly height: number;
  readonly value: Buffer;
}

export interface LedgerStore {
  /** The ledger's folder, for error messages. */
  readonly folder: string;
  /** Makes the newest commit visible to the reads that follow. */
  refresh(): void;
  /** Returns an object that waits for changes by other processes. */
  watchWrites(): Pick<WriteWatch, 'wait' | 'noteFound' | 'close'>;
  readBlock(height: number): Buffer | undefined;
  readLastBlock(): BlockRecord | undefined;
  /**
   * Returns the blocks from `start` to `end`, both inclusive, ascending, at most `limit` of them.
   */
  readBlocks(start: number, end: number, limit: number): Iterable<BlockRecord>;
  /** Returns the lowest heights of stored blocks up to `end`, at most `limit` of them. */
  readHeights(end: number, limit: number): readonly number[];
  readMeta(name: string): Buffer | undefined;
  /** Returns undefined if no writer has opened the ledger yet. */
  readGuard(): number | undefined;
  /** Throws if the disk has no room for a change of this size. */
  requireSpace(bytes: number): void;
  /**
   * Makes all changes in one transaction, or none if the callback throws. The callback must not be
   * async.
   */
  transact<T>(change: (changes: LedgerChanges) => T): Promise<T>;
  /**
   * Adds blocks and moves the guard in one transaction; returns false if the guard is not at
   * `from`.
   */
  append(records: readonly BlockRecord[], guard: { from: number; to: number }): Promise<boolean>;
  /** Resolves when all commits are on the disk. Commits are visible before that. */
  flush(): Promise<void>;
  /** Throws if the file was removed or replaced: no other process would see further writes. */
  checkInPlace(): void;
  /**
   * Does `checkInPlace`, and also throws if a process of another namespace opened the folder
   * earlier.
   */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** The changes of a transaction. */
export interface LedgerChanges {
  putMeta(name: string, value: Buffer): void;
  removeMeta(name: string): void;
  putGuard(guard: number): void;
  removeBlock(height: number): void;
}
