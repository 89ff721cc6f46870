/**
 * A clock that somebody sets back: loaded into a process (`node --import`), it makes `Date.now` early by
 * as many milliseconds as a file says.
 */

import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const FILE_VARIABLE = 'SHIFTED_CLOCK_FILE';
const LOOK_MS = 10;

export class ShiftedClock {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
    this.setBack(0);
  }

  /** The environment of processes that go by this clock. */
  get variables(): Record<string, string> {
    const script = pathToFileURL(import.meta.filename).href;
    return { NODE_OPTIONS: `--import=${script}`, [FILE_VARIABLE]: this.#file };
  }

  /** In all to so many milliseconds before the true time. */
  setBack(ms: number): void {
    // A process must not read half of it.
    writeFileSync(`${this.#file}.new`, String(ms));
    renameSync(`${this.#file}.new`, this.#file);
  }
}

function shiftClock(file: string): void {
  const trueNow = Date.now;
  let backMs = Number(readFileSync(file, 'utf8'));
  setInterval(() => {
    backMs = Number(readFileSync(file, 'utf8'));
  }, LOOK_MS).unref();
  Date.now = () => trueNow() - backMs;
}

const file = process.env[FILE_VARIABLE];
if (file !== undefined) shiftClock(file);
