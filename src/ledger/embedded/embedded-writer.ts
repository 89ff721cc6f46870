/** Writes the embedded ledger. Only one process may have it open for writing. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { HASH_BYTES } from '../hash-chain.ts';
import { type ChainPoint, LedgerError, type LedgerWriter, type StoredBlock } from '../ledger.ts';
import { type EntryPlace, OwnerEntry } from '../ownership/owner-entry.ts';
import { describeProcess } from '../ownership/process-identity.ts';
import { describeDiskFailure, findReason } from './disk-failure.ts';
import { EmbeddedLedger } from './embedded-ledger.ts';
import {
  checkIsRestored,
  checkLedgerFormat,
  encodePoint,
  encodeRecord,
  META_BASE,
  META_RESTORE,
  META_WRITER,
} from './ledger-records.ts';
import type { LedgerChanges, LedgerStore } from './ledger-store.ts';
import { createOpeningError } from './lmdb-environment.ts';
import { LEDGER_LABEL, ledgerFolder, openLmdbLedgerStore } from './lmdb-ledger-store.ts';

/**
 * The number of blocks that a prune drops per transaction. The prune yields to the event loop after
 * each transaction.
 */
const PRUNE_BATCH_BLOCKS = 2048;
/** Upper bound for the B+ tree pages that a batch rewrites, in bytes, in addition to its blocks. */
const TREE_BYTES = 65_536;
const PAGE_BYTES = 4096;

/**
 * Returns an upper bound for the bytes that a batch takes on the disk: LMDB stores each long value
 * in separate pages.
 */
function estimateBytes(blocks: readonly StoredBlock[]): number {
  return blocks.reduce((sum, { line }) => {
    const pages = Math.ceil((line.length + HASH_BYTES + PAGE_BYTES / 2) / PAGE_BYTES);
    return sum + pages * PAGE_BYTES;
  }, TREE_BYTES);
}

/** Returns the place in which the ledger names its writer. */
function ownerPlace(store: LedgerStore, changes: LedgerChanges): EntryPlace {
  return {
    read: () => store.readMeta(META_WRITER),
    write: (owner) => changes.putMeta(META_WRITER, owner),
    remove: () => changes.removeMeta(META_WRITER),
  };
}

/** The writer of a ledger to which a backup is restored. */
export interface RestoringWriter extends LedgerWriter {
  /**
   * Marks the ledger as incomplete. Until `endRestore`, only a restore can open the ledger, even
   * after a crash.
   */
  startRestore(): Promise<void>;
  endRestore(): Promise<void>;
}

/** @internal Exported for the fault simulator, which gives it another store. */
export class EmbeddedLedgerWriter extends EmbeddedLedger implements RestoringWriter {
  #headHeight = 0;
  #isClosed = false;
  /** False while a batch is being written, and always after a failed write. */
  #isFlushed = true;
  readonly #owner = new OwnerEntry(describeProcess());

  /**
   * Registers this process as the writer, in one transaction: of two concurrent writers exactly one
   * succeeds.
   */
  async register(): Promise<void> {
    const { store } = this;
    const owner = await store.transact((changes) => {
      const running = this.#owner.take(ownerPlace(store, changes));
      if (running !== undefined) return running;
      if (store.readGuard() === undefined) changes.putGuard(1);
      return undefined;
    });
    if (owner !== undefined) {
      const message = `another writer, process ${owner.pid}, has this ledger open`;
      throw new LedgerError('busy', message);
    }
    this.#headHeight = this.headPoint().height;
  }

  async append(blocks: readonly StoredBlock[]): Promise<void> {
    const next = this.#headHeight + 1;
    const wrong = blocks.findIndex(({ height }, index) => height !== next + index);
    if (wrong !== -1) {
      const message = `got block ${blocks[wrong].height}, expected block ${next + wrong}`;
      throw new LedgerError('conflict', message);
    }
    let isRepeatable = true;
    try {
      this.store.requireSpace(estimateBytes(blocks));
      isRepeatable = false;
      await this.#store(blocks);
    } catch (error) {
      if (error instanceof LedgerError) throw error;
      throw await this.#fail(error, blocks.length, isRepeatable);
    }
    // If the file was moved away during the write, the blocks are not in this ledger.
    this.store.checkInPlace();
    this.#headHeight += blocks.length;
  }

  async #store(blocks: readonly StoredBlock[]): Promise<void> {
    const next = this.#headHeight + 1;
    this.#isFlushed = false;
    const records = blocks.map(encodeRecord);
    const isCommitted = await this.store.append(records, { from: next, to: next + blocks.length });
    // A commit is visible before it is durable: only a flushed commit survives a power cut.
    await this.store.flush();
    this.#isFlushed = true;
    if (isCommitted) return;
    const message = `another writer has written block ${next} of this ledger`;
    throw new LedgerError('conflict', message);
  }

  async #fail(error: unknown, count: number, isRepeatable: boolean): Promise<LedgerError> {
    const reason = await findReason(error);
    const [first, last] = [this.#headHeight + 1, this.#headHeight + count];
    const what = count === 1 ? `block ${first}` : `blocks ${first} to ${last}`;
    const message = `cannot store ${what}: ${describeDiskFailure(reason, this.store.folder)}`;
    return new LedgerError('unwritable', message, { cause: error, isRepeatable });
  }

  async prune(height: number): Promise<void> {
    const { store } = this;
    const point = await this.point(height);
    if (point === undefined) {
      throw new LedgerError('missing', `there is no block ${height} to prune up to`);
    }
    try {
      // The base is written first: blocks below the base count as dropped, so a crash after this
      // transaction is harmless.
      if (height > this.basePoint().height) {
        await store.transact((changes) => changes.putMeta(META_BASE, encodePoint(point)));
      }
      for (;;) {
        const heights = store.readHeights(height, PRUNE_BATCH_BLOCKS);
        if (heights.length === 0) return;
        await store.transact((changes) => {
          for (const each of heights) changes.removeBlock(each);
        });
        await nextTurn();
      }
    } catch (error) {
      const reason = describeDiskFailure(error as Error, this.store.folder);
      throw new LedgerError('unwritable', `cannot prune: ${reason}`, { cause: error });
    }
  }

  async startAt(base: ChainPoint): Promise<void> {
    const head = this.headPoint();
    if (head.height !== 0) {
      throw new LedgerError('conflict', `this ledger is not empty: it is at block ${head.height}`);
    }
    await this.store.transact((changes) => {
      changes.putMeta(META_BASE, encodePoint(base));
      changes.putGuard(base.height + 1);
    });
    await this.store.flush();
    this.#headHeight = base.height;
  }

  startRestore(): Promise<void> {
    return this.#changeMark((changes) => changes.putMeta(META_RESTORE, Buffer.alloc(0)));
  }

  endRestore(): Promise<void> {
    return this.#changeMark((changes) => changes.removeMeta(META_RESTORE));
  }

  async #changeMark(change: (changes: LedgerChanges) => void): Promise<void> {
    try {
      this.store.requireSpace(TREE_BYTES / 2);
      await this.store.transact(change);
      await this.store.flush();
    } catch (error) {
      const reason = describeDiskFailure(error as Error, this.store.folder);
      throw new LedgerError('unwritable', `cannot restore: ${reason}`, { cause: error });
    }
  }

  override async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // After a failed commit the driver would wait forever for a flush, and another failed write would end the
    // process. The next writer checks whether this process has ended.
    if (!this.#isFlushed) return;
    await this.#unregister();
    await super.close();
  }

  /**
   * Removes the entry that names this process as the writer. A failure is ignored, because the next
   * writer checks whether this process has ended.
   */
  async #unregister(): Promise<void> {
    const { store } = this;
    try {
      store.requireSpace(TREE_BYTES / 2);
      await store.transact((changes) => this.#owner.release(ownerPlace(store, changes)));
    } catch {
      // On a full disk, the entry cannot be removed.
    }
  }
}

/**
 * Opens the ledger in a data directory for writing, and creates the ledger if there is none. A
 * process that also reads the ledger must open the writer first: LMDB has one environment per
 * process, and the first opening decides whether that environment can write.
 */
export function openEmbeddedLedgerWriter(dataDirectory: string): Promise<LedgerWriter> {
  return openWriter(dataDirectory, checkIsRestored);
}

/**
 * Does the same as `openEmbeddedLedgerWriter`, but also opens a ledger whose restore was
 * interrupted.
 */
export function openRestoringWriter(dataDirectory: string): Promise<RestoringWriter> {
  return openWriter(dataDirectory, () => undefined);
}

async function openWriter(
  dataDirectory: string,
  checkRestore: typeof checkIsRestored,
): Promise<RestoringWriter> {
  const folder = ledgerFolder(dataDirectory);
  const store = await openLmdbLedgerStore(folder, { readOnly: false });
  if (store === undefined) throw new Error(`LMDB created no tables in ${folder}`);
  try {
    checkLedgerFormat(store, dataDirectory);
    checkRestore(store, dataDirectory);
    const writer = new EmbeddedLedgerWriter(store);
    await writer.register();
    return writer;
  } catch (error) {
    await store.close();
    if (error instanceof LedgerError) throw error;
    throw createOpeningError(error as Error, { what: LEDGER_LABEL, folder, readOnly: false });
  }
}
