/**
 * The embedded ledger's tables in LMDB. The guard is the version number of an entry of `meta` that
 * has no content.
 */

import path from 'node:path';
import type { Database } from 'lmdb';
import type { BlockRecord, LedgerChanges, LedgerStore } from './ledger-store.ts';
import { dataFile, LmdbFolder } from './lmdb-environment.ts';
import { checkSpace } from './lmdb-space.ts';
import { WriteWatch } from './write-watch.ts';

/** The ledger's name in error messages. */
export const LEDGER_LABEL = 'the ledger';
const GUARD = 'guard';
const EMPTY = Buffer.alloc(0);

interface Tables {
  readonly blocks: Database<Buffer, number>;
  readonly meta: Database<Buffer, string>;
}

class LmdbLedgerStore implements LedgerStore {
  readonly folder: string;
  readonly #environment: LmdbFolder<Buffer>;
  readonly #blocks: Database<Buffer, number>;
  readonly #meta: Database<Buffer, string>;
  readonly #changes: LedgerChanges;

  constructor(folder: string, environment: LmdbFolder<Buffer>, { blocks, meta }: Tables) {
    this.folder = folder;
    this.#environment = environment;
    this.#blocks = blocks;
    this.#meta = meta;
    this.#changes = {
      putMeta: (name, value) => void meta.put(name, value),
      removeMeta: (name) => void meta.remove(name),
      putGuard: (guard) => void meta.put(GUARD, EMPTY, guard),
      removeBlock: (height) => void blocks.remove(height),
    };
  }

  /**
   * The driver reuses one read transaction during a turn of the event loop; it would hide newer
   * blocks.
   */
  refresh(): void {
    this.#environment.environment.resetReadTxn();
  }

  watchWrites(): WriteWatch {
    return new WriteWatch(dataFile(this.folder));
  }

  readBlock(height: number): Buffer | undefined {
    return this.#blocks.get(height);
  }

  readLastBlock(): BlockRecord | undefined {
    const [last] = this.#blocks.getRange({ reverse: true, limit: 1 });
    return last === undefined ? undefined : { height: last.key, value: last.value };
  }

  *readBlocks(start: number, end: number, limit: number): Iterable<BlockRecord> {
    for (const { key, value } of this.#blocks.getRange({ start, end: end + 1, limit })) {
      yield { height: key, value };
    }
  }

  readHeights(end: number, limit: number): readonly number[] {
    return [...this.#blocks.getKeys({ end: end + 1, limit })];
  }

  readMeta(name: string): Buffer | undefined {
    return this.#meta.get(name);
  }

  readGuard(): number | undefined {
    return this.#meta.getEntry(GUARD)?.version;
  }

  requireSpace(bytes: number): void {
    checkSpace(this.folder, [this.#blocks, this.#meta], bytes);
  }

  transact<T>(change: (changes: LedgerChanges) => T): Promise<T> {
    const { environment } = this.#environment;
    return this.#environment.write(() => environment.transactionSync(() => change(this.#changes)));
  }

  append(records: readonly BlockRecord[], guard: { from: number; to: number }): Promise<boolean> {
    const commit = () =>
      this.#meta.ifVersion(GUARD, guard.from, () => {
        for (const { height, value } of records) putLast(this.#blocks, height, value);
        this.#meta.put(GUARD, EMPTY, guard.to).catch(ignoreFailedWrite);
      });
    return this.#environment.write(commit);
  }

  async flush(): Promise<void> {
    await this.#environment.environment.flushed;
  }

  checkInPlace(): void {
    this.#environment.checkInPlace();
  }

  check(): Promise<void> {
    return this.#environment.check();
  }

  close(): Promise<void> {
    return this.#environment.close();
  }
}

/**
 * Adds a block at the end. The `append` hint fills the pages: without the hint, LMDB splits a full
 * page into two half empty pages.
 */
function putLast(blocks: Database<Buffer, number>, height: number, value: Buffer): void {
  // The driver's types have options of a put that waits, but not of one in a conditional batch.
  const put: (key: number, value: Buffer, options: object) => Promise<unknown> =
    blocks.put.bind(blocks);
  put(height, value, { append: true }).catch(ignoreFailedWrite);
}

/** A failed commit also fails each write in it, and one that nobody handles would end the process. */
function ignoreFailedWrite(): void {}

/** Undefined if the tables do not exist: opening read-only does not create them. */
export async function openLmdbLedgerStore(
  folder: string,
  { readOnly }: { readOnly: boolean },
): Promise<LedgerStore | undefined> {
  const opening = { what: LEDGER_LABEL, folder, readOnly };
  const opened = await LmdbFolder.open<Buffer>(opening, { encoding: 'binary' });
  const { environment } = opened;
  const tables = await opened.write(() => ({
    blocks: environment.openDB<Buffer, number>({ name: 'blocks', encoding: 'binary' }),
    meta: environment.openDB<Buffer, string>({
      name: 'meta',
      encoding: 'binary',
      useVersions: true,
    }),
  }));
  if (tables.blocks !== undefined && tables.meta !== undefined) {
    return new LmdbLedgerStore(folder, opened, tables);
  }
  await opened.close();
  return undefined;
}

/** Returns the folder of the ledger below a data directory. */
export function ledgerFolder(dataDirectory: string): string {
  return path.join(dataDirectory, 'ledger');
}
