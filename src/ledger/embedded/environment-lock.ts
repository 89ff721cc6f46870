/**
 * A mutex between processes: one process at a time may open an LMDB environment or commit to it.
 * Unlike the ownership of a ledger, the mutex is locked for short moments only.
 *
 * A process that opens an environment reads the number of the last transaction, and a moment later
 * sets this number for all processes. A commit between these two steps would be undone, although it
 * was acknowledged. (LMDB fixed this as ITS#9496, but the driver's copy of LMDB does not have the
 * fix.)
 *
 * The lock is the write lock of a second environment, which stays empty. The system frees the lock
 * when a process ends, even if the process crashes.
 */

import { realpathSync } from 'node:fs';
import path from 'node:path';
import type { RootDatabase } from 'lmdb';
import { isUnwritable } from './disk-failure.ts';
import { makeFolder } from './folder.ts';
import { makeLockFile } from './lmdb-lock.ts';
import { openLmdb } from './lmdb-open.ts';

const FOLDER = 'gate';
const MAP_BYTES = 65_536;

type Environment = RootDatabase<unknown, string>;

export class EnvironmentLock {
  readonly #folder: string;
  readonly #opening: Promise<void>;
  #environment: Environment | undefined;
  #fault: Error | undefined;
  #abort: unknown;
  #users = 0;
  #isClosed = false;
  /** Resolves when all earlier work of this process under the lock has ended. */
  #previous: Promise<unknown> = Promise.resolve();

  private constructor(folder: string) {
    this.#folder = folder;
    this.#opening = this.#open();
  }

  /** The locks of this process by folder: all users of a folder share one lock. */
  static readonly #locks = new Map<string, EnvironmentLock>();

  /** Opens the lock of a folder that contains an environment. */
  static async open(folder: string): Promise<EnvironmentLock> {
    // Each real path has one lock: a process that locked the same environment twice would deadlock.
    const resolved = realpathSync(folder);
    const lock = EnvironmentLock.#locks.get(resolved) ?? new EnvironmentLock(resolved);
    EnvironmentLock.#locks.set(resolved, lock);
    lock.#users += 1;
    try {
      await lock.#opening;
      return lock;
    } catch (error) {
      await lock.close();
      throw error;
    }
  }

  async #open(): Promise<void> {
    const { ABORT } = await import('lmdb');
    this.#abort = ABORT;
    try {
      this.#environment = await openEnvironment(path.join(this.#folder, FOLDER));
    } catch (error) {
      if (!isUnwritable(error)) throw error;
      this.#fault = error as Error;
    }
  }

  /**
   * The reason why there is no lock: this process cannot write to the folder. Without the
   * permission to write, the process cannot change what other processes see.
   */
  get fault(): Error | undefined {
    return this.#fault;
  }

  /** Waits for the lock, does the work, and then releases the lock. */
  runExclusive<T>(work: () => T | Promise<T>): Promise<T> {
    const running = this.#previous.then(() => this.#runLocked(work));
    this.#previous = running.catch(() => undefined);
    return running;
  }

  async #runLocked<T>(work: () => T | Promise<T>): Promise<T> {
    if (this.#environment === undefined) return work();
    let result: T | undefined;
    await this.#environment.transactionSync(async () => {
      result = await work();
      return this.#abort;
    });
    return result as T;
  }

  /**
   * Does the same as `runExclusive` for synchronous work, in a process that does no other work
   * under the lock.
   */
  runExclusiveSync<T>(work: () => T): T {
    if (this.#environment === undefined) return work();
    let result: T | undefined;
    this.#environment.transactionSync(() => {
      result = work();
      return this.#abort;
    });
    return result as T;
  }

  /** Closes the environment once all users have closed the lock. */
  async close(): Promise<void> {
    this.#users -= 1;
    await this.#previous;
    if (this.#users > 0 || this.#isClosed) return;
    this.#isClosed = true;
    EnvironmentLock.#locks.delete(this.#folder);
    await this.#environment?.close();
  }
}

async function openEnvironment(folder: string): Promise<Environment> {
  await makeFolder(folder);
  makeLockFile(folder);
  return openLmdb({ path: folder, mapSize: MAP_BYTES, overlappingSync: false });
}
