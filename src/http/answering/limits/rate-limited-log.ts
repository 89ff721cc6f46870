/** Limits the rate of log lines that clients can cause, so that clients cannot fill the disk. */

import type { Logger } from 'pino';

/** Maximum number of lines in LINES_MS. Further lines are not written, only counted. */
const LINES_MAX = 30;
const LINES_MS = 60_000;

export class RateLimitedLog {
  readonly #log: Logger;
  #lines = 0;
  #sinceMs = Number.NEGATIVE_INFINITY;

  constructor(log: Logger) {
    this.#log = log;
  }

  /**
   * Writes a line within the limit. If earlier lines were left out, the first line of a new
   * interval contains their number as `leftOut`.
   */
  write(level: 'info' | 'error', entry: object, message: string): void {
    const nowMs = performance.now();
    const leftOut = Math.max(0, this.#lines - LINES_MAX);
    const isNewMinute = nowMs - this.#sinceMs >= LINES_MS;
    if (isNewMinute) {
      this.#sinceMs = nowMs;
      this.#lines = 0;
    }
    this.#lines++;
    if (this.#lines > LINES_MAX) return;
    this.#log[level](isNewMinute && leftOut > 0 ? { ...entry, leftOut } : entry, message);
  }
}
