/** Reads the embedded ledger. Any number of processes may read it concurrently. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ChainPoint, type Ledger, LedgerError, type StoredBlock } from '../ledger.ts';
import { checkIsRestored, checkLedgerFormat, decodeRecord, readBase } from './ledger-records.ts';
import type { LedgerStore } from './ledger-store.ts';
import { readFileId } from './lmdb-environment.ts';
import { ledgerFolder, openLmdbLedgerStore } from './lmdb-ledger-store.ts';

/** A batch ends after this many blocks, or with the block that reaches this many bytes. */
const READ_BATCH_BLOCKS = 256;
const READ_BATCH_BYTES = 1 << 20;
/** A reader that follows the ledger checks at this interval that its file was not replaced. */
const FOLLOW_CHECK_MS = 1_000;

export class EmbeddedLedger implements Ledger {
  protected readonly store: LedgerStore;

  constructor(store: LedgerStore) {
    this.store = store;
  }

  async base(): Promise<ChainPoint> {
    this.store.refresh();
    return this.basePoint();
  }

  async head(): Promise<ChainPoint> {
    return this.headPoint();
  }

  async height(): Promise<number> {
    return this.headPoint().height;
  }

  async point(height: number): Promise<ChainPoint | undefined> {
    this.store.refresh();
    const base = this.basePoint();
    if (height === base.height) return base;
    if (height < base.height) return undefined; // The block may be left over from an interrupted prune.
    const value = this.store.readBlock(height);
    return value === undefined ? undefined : decodeRecord({ height, value });
  }

  async *read(after: number, to = this.headPoint().height): AsyncIterable<readonly StoredBlock[]> {
    for (let start = Math.max(after, this.basePoint().height) + 1; start <= to; ) {
      const batch = this.#readBatch(start, to);
      const last = batch.at(-1);
      if (last === undefined) return;
      yield batch;
      start = last.height + 1;
      // The read yields, so that signals and sockets are served during a long read.
      await nextTurn();
    }
  }

  async *follow(after: number, signal: AbortSignal): AsyncIterable<readonly StoredBlock[]> {
    const writes = this.store.watchWrites();
    try {
      let height = after;
      let checkedMs = performance.now();
      while (!signal.aborted) {
        if (performance.now() - checkedMs >= FOLLOW_CHECK_MS) {
          await this.store.check();
          checkedMs = performance.now();
        }
        for await (const batch of this.read(height)) {
          writes.noteFound();
          yield batch;
          if (signal.aborted) return;
          height = batch[batch.length - 1].height;
        }
        await writes.wait(signal);
      }
    } finally {
      writes.close();
    }
  }

  async close(): Promise<void> {
    await this.store.close();
  }

  #readBatch(start: number, to: number): StoredBlock[] {
    const batch: StoredBlock[] = [];
    try {
      let bytes = 0;
      for (const record of this.store.readBlocks(start, to, READ_BATCH_BLOCKS)) {
        batch.push(decodeRecord(record));
        bytes += record.value.length;
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
    return readBase(this.store);
  }

  protected headPoint(): ChainPoint {
    this.store.refresh();
    const last = this.store.readLastBlock();
    const head = last === undefined ? this.basePoint() : decodeRecord(last);
    this.#checkIsWhole(head.height);
    return head;
  }

  /**
   * Throws if the newest blocks are missing. The hash chain does not show this, because no later
   * block links to them; the guard shows it.
   */
  #checkIsWhole(headHeight: number): void {
    const written = (this.store.readGuard() ?? 1) - 1;
    if (headHeight === written) return;
    const message = `the ledger ends at block ${headHeight}, but was written up to block ${written}`;
    throw new LedgerError('corrupt', message);
  }
}

/** Opens the ledger in a data directory for reading. */
export async function openEmbeddedLedger(dataDirectory: string): Promise<Ledger> {
  const folder = ledgerFolder(dataDirectory);
  if (readFileId(folder) === '') {
    const created = 'the commands append, follow and demo create one';
    throw new LedgerError('missing', `there is no ledger in ${dataDirectory}: ${created}`);
  }
  const store = await openLmdbLedgerStore(folder, { readOnly: true });
  if (store === undefined) {
    const message = `there is no ledger in ${dataDirectory}: its creation was interrupted`;
    throw new LedgerError('missing', message);
  }
  try {
    checkLedgerFormat(store, dataDirectory);
    checkIsRestored(store, dataDirectory);
    return new EmbeddedLedger(store);
  } catch (error) {
    await store.close();
    throw error;
  }
}
