/**
 * Keeps an archive up to date: adds the ledger's blocks from the end of the archive on, until the
 * signal is aborted.
 */

import { CHAIN_START } from '../../ledger/hash-chain.ts';
import { LedgerError, type StoredBlock } from '../../ledger/ledger.ts';
import { EXPENSIVE_REPLAY_MS } from '../../replica/replayed-snapshot.ts';
import { Replica, restoreReplica, stateDigest } from '../../replica/replica.ts';
import type { Storage } from '../../replica/storage.ts';
import { createState } from '../../state/state.ts';
import { Archive } from '../reading/archive.ts';
import { type ArchiveRange, describeUnreplayable, readRange } from '../records/archive-range.ts';
import { type ArchiveFolder, archiveFolder, openArchiveFolder } from '../records/archive-tables.ts';
import { adviseOnDamage } from '../records/damage-advice.ts';
import { requireOwnArchive } from '../records/ledger-match.ts';
import { createArchiveOwner, requireArchiveOwner, takeOverArchive } from './archive-owner.ts';
import { Archiver } from './archiver.ts';
import { rebuildReplica } from './rebuilt-replica.ts';

/** The maximum time for which a block waits before it is written. */
const FLUSH_MS = 1_000;
/**
 * The same limit while the archive catches up. Large batches of blocks show that it is catching up.
 * No question needs these blocks soon, and each flush writes the newest pack of every account that
 * has changed.
 */
const CATCH_UP_FLUSH_MS = 10_000;
const CATCH_UP_BLOCKS = 64;
/** After blocks with this number of bytes, their changes are written without waiting. */
const FLUSH_BYTES = 32 << 20;
/**
 * The same limit for changed accounts. A funding event names an account in 70 bytes, but the pack
 * of the account takes 30 times as many bytes.
 */
const FLUSH_ACCOUNTS = 20_000;
/** The time between two removals of old versions. */
const RETENTION_MS = 3_600_000;
const DAY_MS = 86_400_000;

export interface UpdateOptions {
  readonly data: string;
  readonly storage: Storage;
  readonly days: number | undefined;
  readonly signal: AbortSignal;
  /** Ends at the current head of the ledger instead of following the ledger. */
  readonly isOnce?: boolean;
  warn(message: string): void;
  /**
   * Called after each write with the last height that is in the archive, and the last height of the
   * ledger.
   */
  progress(height: number, head: number): void;
}

export async function updateArchive(options: UpdateOptions): Promise<void> {
  const folder = await openArchiveFolder(options.data, { readOnly: false });
  if (folder === undefined) {
    throw new LedgerError('missing', `LMDB created no tables in ${archiveFolder(options.data)}`);
  }
  try {
    await adviseOnDamage(options.data, () => new ArchiveUpdater(folder, options).run());
  } finally {
    await folder.close();
  }
}

class ArchiveUpdater {
  readonly #folder: ArchiveFolder;
  readonly #options: UpdateOptions;
  readonly #owner = createArchiveOwner();
  #flushedMs = performance.now();
  #retainedMs = Number.NEGATIVE_INFINITY;
  /** The flush that is running. No block is applied until it ends. */
  #flushing: Promise<void> | undefined;

  constructor(folder: ArchiveFolder, options: UpdateOptions) {
    this.#folder = folder;
    this.#options = options;
  }

  async run(): Promise<void> {
    const { storage, signal, isOnce } = this.#options;
    const archiver = await this.#open();
    const idle = new IdleFlush(() => this.#flush(archiver));
    try {
      const end = AbortSignal.any([signal, idle.failed]);
      const batches = isOnce
        ? storage.ledger.read(archiver.height)
        : storage.ledger.follow(archiver.height, end);
      for await (const batch of batches) {
        await this.#applyAll(archiver, batch, end);
        if (end.aborted) break;
      }
    } finally {
      await idle.close();
    }
    await this.#flush(archiver);
    await this.#reportProgress(archiver);
    const { days } = this.#options;
    if (isOnce && days !== undefined) await this.#forgetOld(archiver, days);
  }

  async #applyAll(
    archiver: Archiver,
    batch: readonly StoredBlock[],
    end: AbortSignal,
  ): Promise<void> {
    for (const block of batch) {
      if (this.#flushing !== undefined) await this.#flushing;
      if (end.aborted) return;
      archiver.apply(block);
      if (this.#isFlushDue(archiver, batch.length)) await this.#flush(archiver);
    }
  }

  #isFlushDue({ bytesPending, accountsPending }: Archiver, blocksRead: number): boolean {
    if (bytesPending >= FLUSH_BYTES || accountsPending >= FLUSH_ACCOUNTS) return true;
    const waitMs = blocksRead >= CATCH_UP_BLOCKS ? CATCH_UP_FLUSH_MS : FLUSH_MS;
    return performance.now() - this.#flushedMs >= waitMs;
  }

  async #flush(archiver: Archiver): Promise<void> {
    await this.#flushing;
    if (!this.#folder.isInPlace()) {
      throw new LedgerError(
        'conflict',
        'the archive was removed while it was written: start again',
      );
    }
    if (!archiver.hasPending) return;
    this.#flushing = this.#write(archiver);
    try {
      await this.#flushing;
    } finally {
      this.#flushing = undefined;
      this.#flushedMs = performance.now();
    }
  }

  async #write(archiver: Archiver): Promise<void> {
    await archiver.flush();
    await this.#reportProgress(archiver);
    const { days } = this.#options;
    const nowMs = performance.now();
    if (days === undefined || nowMs - this.#retainedMs < RETENTION_MS) return;
    this.#retainedMs = nowMs;
    await this.#forgetOld(archiver, days);
  }

  /** Ignores a failed read of the height: following decides whether the ledger is available. */
  async #reportProgress({ height }: Archiver): Promise<void> {
    const { storage, progress } = this.#options;
    progress(height, await storage.ledger.height().catch(() => height));
  }

  async #forgetOld(archiver: Archiver, days: number): Promise<void> {
    const range = readRange(this.#folder.tables);
    if (range === undefined) return;
    const archive = new Archive(this.#folder, range);
    const oldest = archive.heightAt(archive.timeOf(range.head.height) - days * DAY_MS);
    if (oldest !== undefined) await archiver.forgetBefore(oldest);
  }

  async #open(): Promise<Archiver> {
    // The archive is taken over first, so that no other process changes what is read next.
    await this.#folder.transact(0, () => takeOverArchive(this.#folder.tables, this.#owner));
    const range = readRange(this.#folder.tables);
    if (range === undefined) return this.#begin();
    await requireOwnArchive(range, this.#options.storage, this.#options.data);
    await this.#warnOfUnreplayable(range);
    const replica = (await this.#restoreAt(range.head.height)) ?? (await this.#rebuild(range));
    return replica === undefined ? this.#beginAgain(range) : this.#createArchiver(replica, range);
  }

  #createArchiver(replica: Replica, range: ArchiveRange | undefined): Archiver {
    return new Archiver({ folder: this.#folder, owner: this.#owner, replica, range });
  }

  /** Warns of heights that could not be built again if the archive were deleted. */
  async #warnOfUnreplayable(range: ArchiveRange): Promise<void> {
    const { storage, warn } = this.#options;
    const unreplayable = describeUnreplayable(range, await storage.ledger.base());
    if (unreplayable !== undefined) warn(unreplayable);
  }

  /**
   * Returns a replica at the height; returns undefined if the blocks and snapshots that lead to
   * this height were deleted.
   */
  async #restoreAt(height: number): Promise<Replica | undefined> {
    try {
      return await this.#restore(height);
    } catch (error) {
      const isLost = error instanceof LedgerError && error.fault === 'missing';
      if (isLost) return undefined;
      throw error;
    }
  }

  /**
   * Returns a replica at the archive's end, built from the archive itself. Returns undefined if
   * blocks after the end were pruned, or if replaying these blocks does not lead to the state of
   * the oldest snapshot.
   */
  async #rebuild(range: ArchiveRange): Promise<Replica | undefined> {
    const { storage, warn } = this.#options;
    if ((await storage.ledger.base()).height > range.head.height) return undefined;
    const { point, state } = await this.#restoreOldest();
    const archive = new Archive(this.#folder, range);
    try {
      const tried = rebuildReplica(archive, state);
      await this.#replay(tried, point.height);
      if (stateDigest(tried.state) === stateDigest(state)) return rebuildReplica(archive, state);
      warn(`the archive does not lead to the snapshot of height ${point.height}`);
    } catch (error) {
      if (!(error instanceof LedgerError) || error.fault !== 'corrupt') throw error;
      warn(`cannot go on from the state in the archive: ${error.message}`);
    }
    return undefined;
  }

  async #replay(replica: Replica, height: number): Promise<void> {
    const { storage, signal } = this.#options;
    for await (const batch of storage.ledger.read(replica.point.height, height)) {
      for (const block of batch) replica.apply(block);
      signal.throwIfAborted();
    }
  }

  async #begin(): Promise<Archiver> {
    // Records without a range are the rest of an image whose writing was interrupted.
    await this.#folder.transact(0, () => {
      requireArchiveOwner(this.#folder.tables, this.#owner);
      for (const [name, table] of Object.entries(this.#folder.tables)) {
        if (name !== 'meta') table.clearSync();
      }
    });
    const base = await this.#options.storage.ledger.base();
    if (base.height === 0) {
      return this.#createArchiver(new Replica(createState(), CHAIN_START), undefined);
    }
    return this.#noteImage(undefined);
  }

  /**
   * Continues the archive with an image. The ledger was pruned, and the state at the archive's end
   * cannot be restored, so the heights in between are lost.
   */
  #beginAgain(range: ArchiveRange): Promise<Archiver> {
    const { warn } = this.#options;
    warn(
      `the ledger was pruned, and cannot be replayed from ${range.head.height} on: a gap remains`,
    );
    return this.#noteImage(range);
  }

  async #noteImage(range: ArchiveRange | undefined): Promise<Archiver> {
    const { signal } = this.#options;
    const replica = await this.#restoreOldest();
    const archiver = this.#createArchiver(replica, range);
    await archiver.noteImage(() => signal.throwIfAborted());
    await this.#reportProgress(archiver);
    return archiver;
  }

  /** Returns a replica at the oldest snapshot whose next blocks were not pruned. */
  async #restoreOldest(): Promise<Replica> {
    const { storage } = this.#options;
    const base = await storage.ledger.base();
    const [oldest] = storage.snapshots.heights().filter((height) => height >= base.height);
    return this.#restore(oldest);
  }

  #restore(height: number | undefined): Promise<Replica> {
    const { storage, warn, signal } = this.#options;
    const progress = () => signal.throwIfAborted();
    const saveAfterMs = EXPENSIVE_REPLAY_MS;
    return restoreReplica({ ...storage, height, saveAfterMs, warn, progress });
  }
}

/** Flushes regularly, even while no block arrives. */
class IdleFlush {
  readonly #timer: NodeJS.Timeout;
  readonly #failure = new AbortController();
  #last: Promise<void> = Promise.resolve();

  constructor(flush: () => Promise<void>) {
    this.#timer = setInterval(() => {
      this.#last = flush().catch((error: Error) => this.#failure.abort(error));
    }, FLUSH_MS);
  }

  /** Aborted if a flush fails. */
  get failed(): AbortSignal {
    return this.#failure.signal;
  }

  /** Stops flushing. Throws the error of a flush that failed. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#last;
    this.failed.throwIfAborted();
  }
}
