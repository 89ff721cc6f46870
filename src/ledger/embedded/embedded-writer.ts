/** Writes the embedded ledger. Only one process may have it open for writing. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { HASH_BYTES } from '../hash-chain.ts';
import { type ChainPoint, LedgerError, type LedgerWriter, type StoredBlock } from '../ledger.ts';
import { describeProcess, type ProcessIdentity, processStatus } from '../process-identity.ts';
import { describeDiskFailure, findReason } from './disk-failure.ts';
import { EmbeddedLedger } from './embedded-ledger.ts';
import {
  encodePoint,
  LEDGER_LABEL,
  ledgerFolder,
  META_BASE,
  META_GUARD,
  META_WRITER,
  openStores,
  type Stores,
} from './ledger-stores.ts';
import { createOpeningError } from './lmdb-environment.ts';
import { checkSpace } from './lmdb-space.ts';

/** Blocks dropped per transaction: a prune yields to the event loop after each. */
const PRUNE_BATCH_BLOCKS = 2048;
/** Upper bound for the B+ tree pages that a batch rewrites, in addition to its blocks. */
const TREE_BYTES = 65_536;
const PAGE_BYTES = 4096;

/** Upper bound for a batch on the disk: LMDB stores each long value in its own pages. */
function estimateBytes(blocks: readonly StoredBlock[]): number {
  return blocks.reduce((sum, { line }) => {
    const pages = Math.ceil((line.length + HASH_BYTES + PAGE_BYTES / 2) / PAGE_BYTES);
    return sum + pages * PAGE_BYTES;
  }, TREE_BYTES);
}

class EmbeddedLedgerWriter extends EmbeddedLedger implements LedgerWriter {
  readonly #folder: string;
  #headHeight = 0;
  #isClosed = false;
  /** False while a batch is being written, and forever after a failed one. */
  #isFlushed = true;
  readonly #identity = JSON.stringify(describeProcess());

  constructor(stores: Stores, folder: string) {
    super(stores);
    this.#folder = folder;
  }

  /** In one transaction, so that of two concurrent writers exactly one succeeds. */
  async register(): Promise<void> {
    const { meta } = this.stores;
    const owner = await this.#transact(() => {
      const taken = meta.get(META_WRITER);
      const current = taken && (JSON.parse(taken.toString()) as ProcessIdentity);
      if (current !== undefined && processStatus(current) === 'running') return current;
      meta.put(META_WRITER, Buffer.from(this.#identity));
      if (meta.get(META_GUARD) === undefined) meta.put(META_GUARD, Buffer.alloc(0), 1);
      return undefined;
    });
    if (owner !== undefined) {
      const message = `another writer, process ${owner.pid}, has this ledger open`;
      throw new LedgerError('busy', message);
    }
    this.#headHeight = this.headPoint().height;
  }

  #transact<T>(change: () => T): Promise<T> {
    const { environment, folder } = this.stores;
    return folder.write(() => environment.transactionSync(change));
  }

  async append(blocks: readonly StoredBlock[]): Promise<void> {
    const { blocks: stored, meta } = this.stores;
    const next = this.#headHeight + 1;
    if (blocks.some(({ height }, index) => height !== next + index)) {
      throw new LedgerError('conflict', `the next block of this ledger is block ${next}`);
    }
    try {
      checkSpace(this.#folder, [stored, meta], estimateBytes(blocks));
      await this.#store(blocks);
    } catch (error) {
      throw error instanceof LedgerError ? error : await this.#fail(error, blocks.length);
    }
    // If the file was moved away meanwhile, the blocks are not in this ledger.
    this.stores.folder.checkInPlace();
    this.#headHeight += blocks.length;
  }

  async #store(blocks: readonly StoredBlock[]): Promise<void> {
    const { environment, folder, blocks: stored, meta } = this.stores;
    const next = this.#headHeight + 1;
    this.#isFlushed = false;
    const commit = () =>
      meta.ifVersion(META_GUARD, next, () => {
        for (const { height, hash, line } of blocks) {
          stored.put(height, Buffer.concat([hash, line]));
        }
        meta.put(META_GUARD, Buffer.alloc(0), next + blocks.length);
      });
    const isCommitted = await folder.write(commit);
    // A commit is visible before it is durable: only a flushed one survives a power cut.
    await environment.flushed;
    this.#isFlushed = true;
    if (isCommitted) return;
    const message = `another writer has written block ${next} of this ledger`;
    throw new LedgerError('conflict', message);
  }

  async #fail(error: unknown, count: number): Promise<LedgerError> {
    const reason = await findReason(error);
    const [first, last] = [this.#headHeight + 1, this.#headHeight + count];
    const what = count === 1 ? `block ${first}` : `blocks ${first} to ${last}`;
    const message = `cannot store ${what}: ${describeDiskFailure(reason, this.#folder)}`;
    return new LedgerError('unwritable', message, { cause: error });
  }

  async prune(height: number): Promise<void> {
    const { blocks, meta } = this.stores;
    const point = await this.point(height);
    if (point === undefined) {
      throw new LedgerError('missing', `there is no block ${height} to prune up to`);
    }
    try {
      // The base first: blocks below it count as dropped, so a crash after this is harmless.
      if (height > this.basePoint().height) {
        await this.#transact(() => void meta.put(META_BASE, encodePoint(point)));
      }
      for (;;) {
        const keys = [...blocks.getKeys({ end: height + 1, limit: PRUNE_BATCH_BLOCKS })];
        if (keys.length === 0) return;
        await this.#transact(() => {
          for (const key of keys) blocks.remove(key);
        });
        await nextTurn();
      }
    } catch (error) {
      const reason = describeDiskFailure(error as Error, this.#folder);
      throw new LedgerError('unwritable', `cannot prune: ${reason}`, { cause: error });
    }
  }

  async startAt(base: ChainPoint): Promise<void> {
    const { environment, meta } = this.stores;
    const head = this.headPoint();
    if (head.height !== 0) {
      throw new LedgerError('conflict', `this ledger is not empty: it is at block ${head.height}`);
    }
    await this.#transact(() => {
      meta.put(META_BASE, encodePoint(base));
      meta.put(META_GUARD, Buffer.alloc(0), base.height + 1);
    });
    await environment.flushed;
    this.#headHeight = base.height;
  }

  override async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#unregister();
    // After a failed commit the driver would wait forever for a flush.
    if (this.#isFlushed) await super.close();
  }

  /** Best effort: the next writer also checks whether this process has ended. */
  async #unregister(): Promise<void> {
    const { blocks, meta } = this.stores;
    try {
      checkSpace(this.#folder, [blocks, meta], TREE_BYTES / 2);
      await this.#transact(() => {
        if (meta.get(META_WRITER)?.toString() === this.#identity) meta.remove(META_WRITER);
      });
    } catch {
      // On a full disk the removal fails too.
    }
  }
}

/**
 * Opens the ledger in a data directory for writing, and creates it if there is none. A process that
 * also reads it must open the writer first: LMDB has one environment per process, which keeps the mode
 * that it was first opened in.
 */
export async function openEmbeddedLedgerWriter(dataDirectory: string): Promise<LedgerWriter> {
  const folder = ledgerFolder(dataDirectory);
  const stores = await openStores(folder, { readOnly: false });
  try {
    const writer = new EmbeddedLedgerWriter(stores, folder);
    await writer.register();
    return writer;
  } catch (error) {
    await stores.folder.close();
    if (error instanceof LedgerError) throw error;
    throw createOpeningError(error as Error, { what: LEDGER_LABEL, folder, readOnly: false });
  }
}
