/** Where a command writes: answers to standard output, everything else to standard error. */

import { once } from 'node:events';

/** A line of progress is drawn at most this often. */
const PROGRESS_MS_MIN = 100;

export class Terminal {
  #progressShownMs = 0;
  #hasProgress = false;

  /** Writes to standard output, and waits while whoever reads it is slower. */
  async write(text: string): Promise<void> {
    if (!process.stdout.write(text)) await once(process.stdout, 'drain');
  }

  /** True where a person, not a program, reads standard output. */
  get isInteractive(): boolean {
    return process.stdout.isTTY === true;
  }

  say(message: string): void {
    this.#clearProgress();
    process.stderr.write(`perpinfo: ${message}\n`);
  }

  /** Redraws the one line of progress; only on a terminal. `text` is only asked for when drawn. */
  progress(text: () => string): void {
    if (process.stderr.isTTY !== true) return;
    const now = Date.now();
    if (now - this.#progressShownMs < PROGRESS_MS_MIN) return;
    this.#progressShownMs = now;
    this.#hasProgress = true;
    // A terminal that does not know its width says 0.
    const columns = process.stderr.columns || 80;
    process.stderr.write(`\r\x1b[K${text().slice(0, columns - 1)}`);
  }

  #clearProgress(): void {
    if (this.#hasProgress) process.stderr.write('\r\x1b[K');
    this.#hasProgress = false;
  }

  /** Takes the line of progress away: the command is done. */
  close(): void {
    this.#clearProgress();
  }
}
