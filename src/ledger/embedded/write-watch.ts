/**
 * Waits until another process may have written to a file. LMDB has no notifications, but the
 * operating system notifies of writes to its file, within a millisecond. Network shares, and
 * folders that a container gets from its host, have no such notifications. So the file is also
 * polled, and more often as long as no notifications arrive.
 */

import { type FSWatcher, watch } from 'node:fs';

/** The pause between polls, unless a notification arrived for the last change that was found. */
const POLL_MS = 5;
const POLL_NOTIFIED_MS = 50;

export class WriteWatch {
  readonly #watcher: FSWatcher | undefined;
  /** True if a notification of a write has arrived since the last wait ended. */
  #isWritten = false;
  /** True if a notification of a write had arrived when the last wait ended. */
  #wasNotified = false;
  #pauseMs = POLL_MS;
  #endPause: () => void = () => undefined;

  constructor(file: string) {
    this.#watcher = watchFile(file, () => {
      this.#isWritten = true;
      this.#endPause();
    });
  }

  /** Resolves when the file has been written to, after a pause, or when the signal aborts. */
  async wait(signal: AbortSignal): Promise<void> {
    if (!this.#isWritten) await this.#pause(signal);
    this.#wasNotified = this.#isWritten;
    this.#isWritten = false;
  }

  #pause(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = setTimeout(end, this.#pauseMs);
      signal.addEventListener('abort', end);
      this.#endPause = end;
    });
  }

  /** Call this if the file had new content after the last wait. */
  noteFound(): void {
    this.#pauseMs = this.#wasNotified ? POLL_NOTIFIED_MS : POLL_MS;
  }

  close(): void {
    this.#watcher?.close();
  }
}

/** Returns undefined if the system cannot watch files, or already watches too many files. */
function watchFile(file: string, written: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(file, { persistent: false }, written);
    watcher.on('error', () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}
