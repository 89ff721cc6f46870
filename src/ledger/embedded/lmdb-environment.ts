/** Opens an LMDB environment in a folder, and detects when its file is replaced. */

import path from 'node:path';
import type { RootDatabase, RootDatabaseOptions } from 'lmdb';
import { LedgerError } from '../ledger.ts';
import { describeDiskFailure } from './disk-failure.ts';
import { muteDriver } from './driver-output.ts';
import { syncFolder } from './durable-file.ts';
import { EnvironmentLock } from './environment-lock.ts';
import { makeFolder, readStat } from './folder.ts';
import { checkDatabaseFile } from './lmdb-file.ts';
import { makeLockFile } from './lmdb-lock.ts';
import { openLmdb } from './lmdb-open.ts';
import { checkSpaceForNew } from './lmdb-space.ts';
import { Presence } from './presence.ts';

export interface OpenTerms {
  /** The name of what is opened, for error messages: "the ledger". */
  readonly what: string;
  readonly folder: string;
  readonly readOnly: boolean;
}

export function dataFile(folder: string): string {
  return path.join(folder, 'data.mdb');
}

/** Returns device and inode of the folder's database file; returns "" if there is none. */
export function readFileId(folder: string): string {
  const stat = readStat(dataFile(folder));
  return stat === undefined || stat.size === 0 ? '' : `${stat.dev}:${stat.ino}`;
}

export class LmdbFolder<V> {
  readonly environment: RootDatabase<V, string>;
  readonly #folder: string;
  readonly #fileId: string;
  readonly #presence: Presence;
  readonly #lock: EnvironmentLock;
  #isClosed = false;

  private constructor(
    folder: string,
    environment: RootDatabase<V, string>,
    { presence, lock }: { presence: Presence; lock: EnvironmentLock },
  ) {
    this.environment = environment;
    this.#folder = folder;
    this.#fileId = readFileId(folder);
    this.#presence = presence;
    this.#lock = lock;
  }

  /** Opens the environment in a folder; creates the folder if it is opened for writing. */
  static async open<V>(
    opening: OpenTerms,
    { encoding }: Pick<RootDatabaseOptions, 'encoding'> = {},
  ): Promise<LmdbFolder<V>> {
    const { folder, readOnly } = opening;
    if (!readOnly) await makeFolder(folder);
    checkDatabaseFile(dataFile(folder));
    const presence = await Presence.enter(folder);
    let lock: EnvironmentLock | undefined;
    try {
      await checkNamespace(folder, presence);
      if (!readOnly) checkSpaceForNew(folder);
      makeLockFile(folder);
      muteDriver();
      lock = await EnvironmentLock.open(folder);
      if (!readOnly && lock.fault !== undefined) throw lock.fault;
      const environment = await lock.runExclusive(() => openEnvironment<V>(opening, encoding));
      return new LmdbFolder(folder, environment, { presence, lock });
    } catch (error) {
      presence.leave();
      await lock?.close();
      if (error instanceof LedgerError) throw error;
      throw createOpeningError(error as Error, opening);
    }
  }

  /** Does work that writes. Meanwhile no other process can open the environment or write to it. */
  write<T>(work: () => T | Promise<T>): Promise<T> {
    return this.#lock.runExclusive(work);
  }

  /**
   * Does the same as `write` for synchronous work, in a process that does no other work under the
   * lock.
   */
  writeAtOnce<T>(work: () => T): T {
    return this.#lock.runExclusiveSync(work);
  }

  /** Throws if the file was removed or replaced: no other process would see further writes. */
  checkInPlace(): void {
    if (readFileId(this.#folder) === this.#fileId) return;
    const message = `${dataFile(this.#folder)} was removed or replaced while it was open: restart this process`;
    throw new LedgerError('conflict', message);
  }

  /**
   * Does `checkInPlace`, and also throws if a process of another namespace opened the folder
   * earlier.
   */
  async check(): Promise<void> {
    this.checkInPlace();
    await checkNamespace(this.#folder, this.#presence);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // The last process that closes the environment destroys its locks. No other process may open
    // the environment at that moment.
    await this.#lock.runExclusive(() => this.environment.close());
    this.#presence.leave();
    await this.#lock.close();
  }
}

async function openEnvironment<V>(
  { folder, readOnly }: OpenTerms,
  encoding: RootDatabaseOptions['encoding'],
): Promise<RootDatabase<V, string>> {
  const environment = await openLmdb<V>({
    path: folder,
    readOnly,
    ...(encoding && { encoding }),
    maxDbs: 8,
    // By default, the driver wraps each batch in another batch, whose failure would be an unhandled
    // rejection.
    eventTurnBatching: false,
  });
  try {
    // LMDB syncs the bytes of its file, but not the name of a new file.
    if (!readOnly) await syncFolder(folder);
    return environment;
  } catch (error) {
    await environment.close();
    throw error;
  }
}

export function createOpeningError(
  cause: Error,
  { what, folder, readOnly }: OpenTerms,
): LedgerError {
  const reason = describeDiskFailure(cause, folder, { readOnly });
  const message = `cannot open ${what} for ${readOnly ? 'reading' : 'writing'}: ${reason}`;
  return new LedgerError(readOnly ? 'unavailable' : 'unwritable', message, { cause });
}

/**
 * Throws if a process of another namespace opened the folder earlier. LMDB identifies its readers
 * by process id, and each container numbers its processes separately. So process 1 of one container
 * would free pages that process 1 of the other container still reads, and neither process would see
 * the other's writes.
 */
async function checkNamespace(folder: string, presence: Presence): Promise<void> {
  if (!(await presence.hasEarlierElsewhere())) return;
  const message =
    `${folder} is open in another process namespace, that is in another container: ` +
    'run both commands in one container (docker exec), or give them one process namespace ' +
    '(docker run --pid container:NAME)';
  throw new LedgerError('busy', message);
}
