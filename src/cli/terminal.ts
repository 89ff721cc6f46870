/** The output of a command: answers on standard output, everything else on standard error. */

/** Minimum time between two updates of the progress line. */
const PROGRESS_MS_MIN = 100;

/** Standard output cannot be written. */
export class OutputError extends Error {
  /** True where the reader has closed the pipe: `perpinfo simulate | head` is no failure. */
  readonly isReaderGone: boolean;

  constructor(cause: NodeJS.ErrnoException) {
    super(`cannot write to standard output (${cause.code})`, { cause });
    this.name = 'OutputError';
    this.isReaderGone = cause.code === 'EPIPE';
  }
}

export class Terminal {
  #progressShownMs = 0;
  #hasProgress = false;

  constructor() {
    // `write` reports the failure to its caller.
    process.stdout.on('error', () => undefined);
  }

  /** Writes to standard output with backpressure; rejects with an OutputError. */
  async write(text: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      process.stdout.write(text, (error) => (error ? reject(new OutputError(error)) : resolve()));
    });
  }

  /** Tells a program on standard output that all blocks up to the height are durable. */
  noteDurable(height: number): void {
    // Not awaited: appending does not depend on who reads this.
    if (process.stdout.isTTY !== true) process.stdout.write(`durable ${height}\n`);
  }

  /** Resolves when all output is flushed, or cannot be. */
  async flush(): Promise<void> {
    const flushes = [process.stdout, process.stderr].map(
      (stream) => new Promise<void>((resolve) => stream.write('', () => resolve())),
    );
    await Promise.all(flushes);
  }

  say(message: string): void {
    this.#clearProgress();
    process.stderr.write(`perpinfo: ${message}\n`);
  }

  /** Updates the progress line; only on a terminal. `text` is called only when it is drawn. */
  progress(text: () => string): void {
    if (process.stderr.isTTY !== true) return;
    const now = Date.now();
    if (now - this.#progressShownMs < PROGRESS_MS_MIN) return;
    this.#progressShownMs = now;
    this.#hasProgress = true;
    // 0 where the terminal does not know its width.
    const columns = process.stderr.columns || 80;
    process.stderr.write(`\r\x1b[K${text().slice(0, columns - 1)}`);
  }

  #clearProgress(): void {
    if (this.#hasProgress) process.stderr.write('\r\x1b[K');
    this.#hasProgress = false;
  }

  /** Removes the progress line: the command is done. */
  close(): void {
    this.#clearProgress();
  }
}
