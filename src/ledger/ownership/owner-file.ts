/** Ownership of a file: a lock file with the name FILE.lock names the process that may write FILE. */

import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { LedgerError } from '../ledger.ts';
import { describeProcess, type ProcessIdentity, processStatus } from './process-identity.ts';

/**
 * The maximum number of attempts to take the lock, after each of which the lock of an ended process
 * is removed.
 */
const ATTEMPTS_MAX = 5;

export class OwnerFile {
  readonly #lock: string;
  readonly #draft: string;
  readonly #identity = JSON.stringify(describeProcess());

  private constructor(file: string) {
    this.#lock = `${file}.lock`;
    this.#draft = `${this.#lock}.${process.pid}`;
  }

  /** Takes the lock of a file; throws if another process that may be running has the lock. */
  static take(file: string): OwnerFile {
    const lock = new OwnerFile(file);
    for (let attempt = 1; !lock.#tryTake(); attempt++) lock.#removeIfEnded(file, attempt);
    return lock;
  }

  release(): void {
    rmSync(this.#lock, { force: true });
  }

  #tryTake(): boolean {
    try {
      writeFileSync(this.#draft, this.#identity);
      // The lock is created by a link, so that it never exists without its content.
      linkSync(this.#draft, this.#lock);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    } finally {
      rmSync(this.#draft, { force: true });
    }
  }

  #removeIfEnded(file: string, attempt: number): void {
    const owner = this.#readOwner(this.#lock);
    if (owner === undefined) return;
    if (attempt === ATTEMPTS_MAX || !isEnded(owner)) throw this.#busyError(file, owner);
    // The lock is moved before it is removed, because another process may have taken it since it
    // was read.
    renameSync(this.#lock, this.#draft);
    const isSame = JSON.stringify(this.#readOwner(this.#draft)) === JSON.stringify(owner);
    if (!isSame) linkSync(this.#draft, this.#lock);
    rmSync(this.#draft, { force: true });
  }

  /** Returns undefined if the lock no longer exists. */
  #readOwner(lock: string): ProcessIdentity | undefined {
    try {
      return JSON.parse(readFileSync(lock, 'utf8')) as ProcessIdentity;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      // The lock may be empty after a power cut, and unreadable after a run of another user.
      const message =
        `${this.#lock} does not say which process holds it: ${(error as Error).message}. ` +
        'Delete it if no process is writing the file';
      throw new LedgerError('busy', message, { cause: error });
    }
  }

  #busyError(file: string, { pid }: ProcessIdentity): LedgerError {
    const message =
      `process ${pid} is writing ${file}: wait for it, ` +
      `or delete ${this.#lock} if it ran in another container and has ended`;
    return new LedgerError('busy', message);
  }
}

/**
 * True if the owner has ended. A process of an earlier boot has ended, but a process of another
 * container may be running.
 */
function isEnded(owner: ProcessIdentity): boolean {
  return processStatus(owner) === 'ended' || owner.boot !== describeProcess().boot;
}
