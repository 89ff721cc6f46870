/** Reads the embedded ledger. Any number of processes may read it concurrently. */

import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { type ChainPoint, type Ledger, LedgerError, type StoredBlock } from '../ledger.ts';
import {
  decodeRecord,
  ledgerFolder,
  META_GUARD,
  openStores,
  readBase,
  type Stores,
} from './ledger-stores.ts';
import { readFileId } from './lmdb-environment.ts';

/** A batch ends after this many blocks, or with the block that reaches this many bytes. */
const READ_BATCH_BLOCKS = 256;
const READ_BATCH_BYTES = 1 << 20;
/** How often a follower polls for new blocks: LMDB has no notifications, and a poll costs microseconds. */
const FOLLOW_POLL_MS = 5;
/** How often a follower checks that its file has not been replaced. */
const FOLLOW_CHECK_MS = 1_000;

export class EmbeddedLedger implements Ledger {
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
    if (height < base.height) return undefined; // An interrupted prune may have left the block.
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
      // Yields to signals and sockets during a long read.
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
    return readBase(this.stores);
  }

  protected headPoint(): ChainPoint {
    // The driver keeps a read transaction per turn of the event loop, which would hide newer blocks.
    this.stores.environment.resetReadTxn();
    const [last] = this.stores.blocks.getRange({ reverse: true, limit: 1 });
    const head = last === undefined ? this.basePoint() : decodeRecord(last.key, last.value);
    this.#checkIsWhole(head.height);
    return head;
  }

  /** No later block links to the newest one, so only the guard reveals that the last are missing. */
  #checkIsWhole(headHeight: number): void {
    const written = (this.stores.meta.getEntry(META_GUARD)?.version ?? 1) - 1;
    if (headHeight === written) return;
    const message = `the ledger ends at block ${headHeight}, but was written up to block ${written}`;
    throw new LedgerError('corrupt', message);
  }
}

/** Opens the ledger in a data directory for reading. */
export async function openEmbeddedLedger(dataDirectory: string): Promise<Ledger> {
  const folder = ledgerFolder(dataDirectory);
  if (readFileId(folder) === '') {
    throw new LedgerError('missing', `there is no ledger in ${dataDirectory}`);
  }
  const stores = await openStores(folder, { readOnly: true });
  // Opening read-only creates no tables: they are undefined until a writer has created them.
  if (stores.blocks !== undefined && stores.meta !== undefined) return new EmbeddedLedger(stores);
  await stores.folder.close();
  throw new LedgerError(
    'missing',
    `there is no ledger in ${dataDirectory}: its creation was interrupted`,
  );
}
