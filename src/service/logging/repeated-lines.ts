/**
 * Writes the log lines of a process that is restarted again and again. Each line is written once,
 * and a repetition is written at most every ten minutes, with the number of repetitions that were
 * left out. Lines that differ only in their numbers, such as free bytes, count as the same line.
 */

import type { Logger } from 'pino';

const AGAIN_MS = 600_000;
/** Maximum number of lines that are remembered. A further line replaces the oldest line. */
const LINES_MAX = 100;

interface KnownLine {
  readonly writtenMs: number;
  leftOut: number;
}

export class RepeatedLines {
  readonly #log: Pick<Logger, 'info' | 'error'>;
  readonly #nowMs: () => number;
  /** The lines in the order in which they were written. */
  readonly #known = new Map<string, KnownLine>();

  constructor(log: Pick<Logger, 'info' | 'error'>, nowMs = () => performance.now()) {
    this.#log = log;
    this.#nowMs = nowMs;
  }

  write(level: 'info' | 'error', entry: object, message: string): void {
    const line = JSON.stringify([entry, message]).replaceAll(/\d+/g, '0');
    const known = this.#known.get(line);
    const writtenMs = this.#nowMs();
    if (known !== undefined && writtenMs - known.writtenMs < AGAIN_MS) {
      known.leftOut++;
      return;
    }
    this.#known.delete(line);
    this.#known.set(line, { writtenMs, leftOut: 0 });
    this.#forgetOldest();
    const { leftOut = 0 } = known ?? {};
    this.#log[level](leftOut > 0 ? { ...entry, leftOut } : entry, message);
  }

  #forgetOldest(): void {
    const [oldest] = this.#known.keys();
    if (this.#known.size > LINES_MAX) this.#known.delete(oldest);
  }
}
