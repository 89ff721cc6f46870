/**
 * Lets one process at a time open an LMDB environment or commit to it.
 *
 * A process that opens an environment reads which transaction is the last, and a moment later sets that
 * for all processes. A commit in between would be undone, although it was acknowledged. (Fixed in LMDB
 * as ITS#9496, but not in the driver's copy of it.)
 *
 * The gate is the write lock of a second environment, which stays empty. The system frees it when a
 * process ends, however that happens.
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

export class Gate {
  readonly #folder: string;
  readonly #opening: Promise<void>;
  #environment: Environment | undefined;
  #fault: Error | undefined;
  #abort: unknown;
  #entries = 0;
  #isClosed = false;
  /** Resolves when all of this process who came before have passed. */
  #previous: Promise<unknown> = Promise.resolve();

  private constructor(folder: string) {
    this.#folder = folder;
    this.#opening = this.#open();
  }

  /** By folder: those of one process pass one after the other. */
  static readonly #gates = new Map<string, Gate>();

  /** The gate of a folder that holds an environment. */
  static async enter(folder: string): Promise<Gate> {
    // The same gate by whatever name: a process that takes its lock twice would wait for itself.
    const resolved = realpathSync(folder);
    const gate = Gate.#gates.get(resolved) ?? new Gate(resolved);
    Gate.#gates.set(resolved, gate);
    gate.#entries += 1;
    try {
      await gate.#opening;
      return gate;
    } catch (error) {
      await gate.leave();
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

  /** Why there is no lock: this process cannot write there. A reader then sets nothing for others. */
  get fault(): Error | undefined {
    return this.#fault;
  }

  /** Waits until no other process passes, and keeps others waiting until the work is done. */
  pass<T>(work: () => T | Promise<T>): Promise<T> {
    const passing = this.#previous.then(() => this.#passNow(work));
    this.#previous = passing.catch(() => undefined);
    return passing;
  }

  async #passNow<T>(work: () => T | Promise<T>): Promise<T> {
    if (this.#environment === undefined) return work();
    let result: T | undefined;
    await this.#environment.transactionSync(async () => {
      result = await work();
      return this.#abort;
    });
    return result as T;
  }

  /** The same, for work that does not wait, in a process that has no other under way. */
  passAtOnce<T>(work: () => T): T {
    if (this.#environment === undefined) return work();
    let result: T | undefined;
    this.#environment.transactionSync(() => {
      result = work();
      return this.#abort;
    });
    return result as T;
  }

  /** Closes the gate once all have left. */
  async leave(): Promise<void> {
    this.#entries -= 1;
    await this.#previous;
    if (this.#entries > 0 || this.#isClosed) return;
    this.#isClosed = true;
    Gate.#gates.delete(this.#folder);
    await this.#environment?.close();
  }
}

async function openEnvironment(folder: string): Promise<Environment> {
  await makeFolder(folder);
  makeLockFile(folder);
  return openLmdb({ path: folder, mapSize: MAP_BYTES, overlappingSync: false });
}
