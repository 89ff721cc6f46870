/**
 * The embedded ledger: LMDB in a folder. Any number of processes read it; one at a time writes.
 *
 *   blocks  height -> 32 bytes of hash, then the line
 *   meta    "base"   -> the height (8 bytes, big-endian) and hash before the first block
 *           "guard"  -> nothing; its version is the head's height plus one, and every append is
 *                       conditional on it, so that writers can never interleave
 *           "writer" -> JSON of the process that has the ledger open for writing
 */

import path from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Database, RootDatabase } from 'lmdb';
import { describeValue } from '../../events/refusal.ts';
import {
  CHAIN_START,
  type ChainPoint,
  HASH_BYTES,
  type Ledger,
  LedgerError,
  type LedgerWriter,
  type StoredBlock,
} from '../ledger.ts';
import { describeProcess, type ProcessIdentity, processStatus } from '../process-identity.ts';
import { describeDiskFailure, findReason } from './disk-failure.ts';
import { describeOpening, LmdbFolder, readFileId } from './lmdb-environment.ts';
import { checkRoom } from './lmdb-room.ts';

/** As messages call it. */
const LEDGER = 'the ledger';
const META_BASE = 'base';
const META_GUARD = 'guard';
const META_WRITER = 'writer';

/** A batch of a read ends after so many blocks, or with the block that makes it this long. */
const READ_BATCH_BLOCKS = 256;
const READ_BATCH_BYTES = 1 << 20;
/** Blocks are dropped this many in a transaction: others have their turn, and it stays small. */
const PRUNE_BATCH_BLOCKS = 2048;
/** How often a follower looks for new blocks: LMDB tells nobody, but looking costs microseconds. */
const FOLLOW_POLL_MS = 10;
/** How often it looks whether the file that it reads is still the one that others write. */
const FOLLOW_CHECK_MS = 1_000;

interface Stores {
  readonly folder: LmdbFolder<Buffer>;
  readonly environment: RootDatabase<Buffer, string>;
  readonly blocks: Database<Buffer, number>;
  readonly meta: Database<Buffer, string>;
}

async function openStores(path: string, { readOnly }: { readOnly: boolean }): Promise<Stores> {
  const options = { what: LEDGER, folder: path, readOnly };
  const folder = await LmdbFolder.open<Buffer>(options, { encoding: 'binary' });
  const { environment } = folder;
  return {
    folder,
    environment,
    blocks: environment.openDB<Buffer, number>({ name: 'blocks', encoding: 'binary' }),
    meta: environment.openDB<Buffer, string>({
      name: 'meta',
      encoding: 'binary',
      useVersions: true,
    }),
  };
}

function encodePoint({ height, hash }: ChainPoint): Buffer {
  const bytes = Buffer.alloc(8 + HASH_BYTES);
  bytes.writeBigUInt64BE(BigInt(height));
  hash.copy(bytes, 8);
  return bytes;
}

function decodePoint(bytes: Buffer): ChainPoint {
  return { height: Number(bytes.readBigUInt64BE()), hash: Buffer.from(bytes.subarray(8)) };
}

function decodeRecord(height: number, value: Buffer): StoredBlock {
  if (!Number.isSafeInteger(height)) {
    const message = `the ledger is damaged: it holds ${describeValue(height)} in the place of a height`;
    throw new LedgerError('corrupt', message);
  }
  if (value.length < HASH_BYTES) {
    throw new LedgerError('corrupt', `block ${height} is damaged: it holds ${value.length} bytes`);
  }
  return { height, hash: value.subarray(0, HASH_BYTES), line: value.subarray(HASH_BYTES) };
}

/** Pages of the tree that a batch writes anew, beside its blocks. */
const TREE_BYTES = 65_536;
const PAGE_BYTES = 4096;

/** What a batch takes at most: LMDB gives each long value pages of its own. */
function estimateBytes(blocks: readonly StoredBlock[]): number {
  return blocks.reduce((sum, { line }) => {
    const pages = Math.ceil((line.length + HASH_BYTES + PAGE_BYTES / 2) / PAGE_BYTES);
    return sum + pages * PAGE_BYTES;
  }, TREE_BYTES);
}

class EmbeddedLedger implements Ledger {
  protected readonly stores: Stores;

  constructor(stores: Stores) {
    this.stores = stores;
  }

  async base(): Promise<ChainPoint> {
    return this.basePoint();
  }

  async head(): Promise<ChainPoint> {
    return this.headPoint();
  }

  async height(): Promise<number> {
    return this.headPoint().height;
  }

  async point(height: number): Promise<ChainPoint | undefined> {
    const base = this.basePoint();
    if (height === base.height) return base;
    if (height < base.height) return undefined; // A prune that was killed may have left it.
    const value = this.stores.blocks.get(height);
    return value === undefined ? undefined : decodeRecord(height, value);
  }

  async *read(after: number, to = this.headPoint().height): AsyncIterable<readonly StoredBlock[]> {
    for (let start = Math.max(after, this.basePoint().height) + 1; start <= to; ) {
      const batch = this.#readBatch(start, to);
      const last = batch.at(-1);
      if (last === undefined) return;
      yield batch;
      start = last.height + 1;
      // A long read must not keep signals and sockets waiting.
      await nextTurn();
    }
  }

  async *follow(after: number, signal: AbortSignal): AsyncIterable<readonly StoredBlock[]> {
    let height = after;
    let checkedMs = performance.now();
    while (!signal.aborted) {
      if (performance.now() - checkedMs >= FOLLOW_CHECK_MS) {
        await this.stores.folder.check();
        checkedMs = performance.now();
      }
      for await (const batch of this.read(height)) {
        yield batch;
        if (signal.aborted) return;
        height = batch.at(-1)?.height ?? height;
      }
      await sleep(FOLLOW_POLL_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  async close(): Promise<void> {
    await this.stores.folder.close();
  }

  #readBatch(start: number, to: number): StoredBlock[] {
    const batch: StoredBlock[] = [];
    try {
      const range = this.stores.blocks.getRange({ start, end: to + 1, limit: READ_BATCH_BLOCKS });
      let bytes = 0;
      for (const { key, value } of range) {
        batch.push(decodeRecord(key, value));
        bytes += value.length;
        if (bytes >= READ_BATCH_BYTES) break;
      }
    } catch (error) {
      if (error instanceof LedgerError) throw error;
      const reason = (error as Error).message;
      const height = batch.at(-1)?.height ?? start - 1;
      const message = `the ledger cannot be read after block ${height}: ${reason}`;
      throw new LedgerError('corrupt', message, { cause: error });
    }
    return batch;
  }

  protected basePoint(): ChainPoint {
    const base = this.stores.meta.get(META_BASE);
    return base === undefined ? CHAIN_START : decodePoint(base);
  }

  protected headPoint(): ChainPoint {
    // Without this a reader may go on seeing the ledger as it was when its event turn began.
    this.stores.environment.resetReadTxn();
    const [last] = this.stores.blocks.getRange({ reverse: true, limit: 1 });
    const head = last === undefined ? this.basePoint() : decodeRecord(last.key, last.value);
    this.#checkIsWhole(head.height);
    return head;
  }

  /** Nothing links to the newest block, so only the guard can tell that blocks at the end are gone. */
  #checkIsWhole(headHeight: number): void {
    const written = (this.stores.meta.getEntry(META_GUARD)?.version ?? 1) - 1;
    if (headHeight === written) return;
    const message = `the ledger ends at block ${headHeight}, but was written up to block ${written}`;
    throw new LedgerError('corrupt', message);
  }
}

class EmbeddedLedgerWriter extends EmbeddedLedger implements LedgerWriter {
  readonly #folder: string;
  #headHeight: number;
  #isClosed = false;
  /** False while a batch is written, and for good after one that failed. */
  #isFlushed = true;
  readonly #identity = JSON.stringify(describeProcess());

  constructor(stores: Stores, folder: string) {
    super(stores);
    this.#folder = folder;
    this.#takeWriterPlace();
    this.#headHeight = this.headPoint().height;
  }

  /** In one transaction, so that of two that try at once exactly one gets it. */
  #takeWriterPlace(): void {
    const { environment, meta } = this.stores;
    const owner = environment.transactionSync(() => {
      const taken = meta.get(META_WRITER);
      const current = taken && (JSON.parse(taken.toString()) as ProcessIdentity);
      if (current !== undefined && processStatus(current) === 'running') return current;
      meta.put(META_WRITER, Buffer.from(this.#identity));
      if (meta.get(META_GUARD) === undefined) meta.put(META_GUARD, Buffer.alloc(0), 1);
      return undefined;
    });
    if (owner === undefined) return;
    throw new LedgerError('busy', `another writer, process ${owner.pid}, has this ledger open`);
  }

  async append(blocks: readonly StoredBlock[]): Promise<void> {
    const { environment, blocks: stored, meta } = this.stores;
    const next = this.#headHeight + 1;
    if (blocks.some(({ height }, index) => height !== next + index)) {
      throw new LedgerError('conflict', `the next block of this ledger is block ${next}`);
    }
    try {
      checkRoom(this.#folder, [stored, meta], estimateBytes(blocks));
      this.#isFlushed = false;
      const isCommitted = await meta.ifVersion(META_GUARD, next, () => {
        for (const { height, hash, line } of blocks) {
          stored.put(height, Buffer.concat([hash, line]));
        }
        meta.put(META_GUARD, Buffer.alloc(0), next + blocks.length);
      });
      // A commit is visible before it is on the disk: only now would it survive a power cut.
      await environment.flushed;
      this.#isFlushed = true;
      if (!isCommitted) {
        throw new LedgerError('conflict', `someone else has written block ${next} of this ledger`);
      }
    } catch (error) {
      throw error instanceof LedgerError ? error : await this.#fail(error, blocks.length);
    }
    // What was written to a file that is no longer in its folder is not durable.
    this.stores.folder.checkInPlace();
    this.#headHeight += blocks.length;
  }

  async #fail(error: unknown, count: number): Promise<LedgerError> {
    const reason = await findReason(error);
    const [first, last] = [this.#headHeight + 1, this.#headHeight + count];
    const what = count === 1 ? `block ${first}` : `blocks ${first} to ${last}`;
    const message = `cannot store ${what}: ${describeDiskFailure(reason, this.#folder)}`;
    return new LedgerError('unwritable', message, { cause: error });
  }

  async prune(height: number): Promise<void> {
    const { environment, blocks, meta } = this.stores;
    const point = await this.point(height);
    if (point === undefined) {
      throw new LedgerError('missing', `there is no block ${height} to prune up to`);
    }
    try {
      // First, and alone: blocks below the base count as gone, so it may end anywhere after that.
      if (height > this.basePoint().height) {
        environment.transactionSync(() => meta.put(META_BASE, encodePoint(point)));
      }
      for (;;) {
        const keys = [...blocks.getKeys({ end: height + 1, limit: PRUNE_BATCH_BLOCKS })];
        if (keys.length === 0) return;
        environment.transactionSync(() => {
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
    environment.transactionSync(() => {
      meta.put(META_BASE, encodePoint(base));
      meta.put(META_GUARD, Buffer.alloc(0), base.height + 1);
    });
    await environment.flushed;
    this.#headHeight = base.height;
  }

  override async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#leaveWriterPlace();
    // The driver would wait for the flush of a commit that failed, which never comes.
    if (this.#isFlushed) await super.close();
  }

  /** A convenience: the next writer finds out by itself that this process is gone. */
  #leaveWriterPlace(): void {
    const { environment, blocks, meta } = this.stores;
    try {
      checkRoom(this.#folder, [blocks, meta], TREE_BYTES / 2);
      environment.transactionSync(() => {
        if (meta.get(META_WRITER)?.toString() === this.#identity) meta.remove(META_WRITER);
      });
    } catch {
      // A disk that is full takes no removal either.
    }
  }
}

/** The folder below a data directory that holds the ledger. */
function ledgerFolder(dataDirectory: string): string {
  return path.join(dataDirectory, 'ledger');
}

/** Opens the ledger in a data directory for reading. */
export async function openEmbeddedLedger(dataDirectory: string): Promise<Ledger> {
  const folder = ledgerFolder(dataDirectory);
  if (readFileId(folder) === '') {
    throw new LedgerError('missing', `there is no ledger in ${dataDirectory}`);
  }
  const stores = await openStores(folder, { readOnly: true });
  // Whoever opens for reading makes no tables: they are undefined where nobody else has made them.
  if (stores.blocks !== undefined && stores.meta !== undefined) return new EmbeddedLedger(stores);
  await stores.folder.close();
  throw new LedgerError(
    'missing',
    `there is no ledger in ${dataDirectory}: one was begun and never finished`,
  );
}

/**
 * Opens the ledger in a data directory for writing, and makes it where there is none. A process that
 * wants both opens the writer first: LMDB has one environment in a process, with the rights of
 * whoever opened it first.
 */
export async function openEmbeddedLedgerWriter(dataDirectory: string): Promise<LedgerWriter> {
  const folder = ledgerFolder(dataDirectory);
  const stores = await openStores(folder, { readOnly: false });
  try {
    return new EmbeddedLedgerWriter(stores, folder);
  } catch (error) {
    await stores.folder.close();
    if (error instanceof LedgerError) throw error;
    throw describeOpening(error as Error, { what: LEDGER, folder, readOnly: false });
  }
}
