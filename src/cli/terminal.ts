/** The output of a command. Answers go to standard output, everything else to standard error. */

/** Minimum time between two updates of the progress line. */
const PROGRESS_MS_MIN = 100;
/**
 * If the reader of standard output has left more bytes than this unread, only the newest height is
 * stored for printing.
 */
const UNREAD_BYTES_MAX = 1 << 16;

/** The error that standard output cannot be written. */
export class OutputError extends Error {
  /** True if the reader closed the pipe: `perpinfo simulate | head` is not a failure. */
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
  /**
   * The newest height that has not been printed yet. It is printed when the reader of standard
   * output has read the earlier lines.
   */
  #unprintedHeight: number | undefined;
  /** The reason why a height was not printed. */
  #printFailure: OutputError | undefined;

  constructor() {
    // The errors are handled by `write`, which rejects.
    process.stdout.on('error', () => undefined);
    // If standard error is closed, the command continues without messages.
    process.stderr.on('error', () => undefined);
  }

  /** Writes to standard output with backpressure; rejects with an OutputError. */
  async write(text: string): Promise<void> {
    // On a terminal, the answer would otherwise continue the progress line.
    if (process.stdout.isTTY === true) this.#clearProgress();
    await new Promise<void>((resolve, reject) => {
      process.stdout.write(text, (error) => (error ? reject(new OutputError(error)) : resolve()));
    });
  }

  /** Prints that all blocks up to the height are durable, unless standard output is a terminal. */
  printDurable(height: number): void {
    const { stdout } = process;
    if (stdout.isTTY === true) return;
    // Does not wait for the reader: a slow reader must not delay appending.
    if (stdout.writableLength <= UNREAD_BYTES_MAX) {
      this.#print(height);
      return;
    }
    if (this.#unprintedHeight === undefined) stdout.once('drain', () => this.#printUnprinted());
    this.#unprintedHeight = height;
  }

  #print(height: number): void {
    process.stdout.write(`durable ${height}\n`, (error) => {
      const failure = error ? new OutputError(error) : undefined;
      if (failure?.isReaderGone === false) this.#printFailure ??= failure;
    });
  }

  #printUnprinted(): void {
    if (this.#unprintedHeight === undefined) return;
    this.#print(this.#unprintedHeight);
    this.#unprintedHeight = undefined;
  }

  /** Throws if a height could not be printed, because other programs rely on these lines. */
  throwIfUnprinted(): void {
    if (this.#printFailure !== undefined) throw this.#printFailure;
  }

  /** Resolves when all output is flushed or has failed. */
  async flush(): Promise<void> {
    this.#printUnprinted();
    const flushes = [process.stdout, process.stderr].map(
      (stream) => new Promise<void>((resolve) => stream.write('', () => resolve())),
    );
    await Promise.all(flushes);
  }

  say(message: string): void {
    this.#clearProgress();
    process.stderr.write(`perpinfo: ${message}\n`);
  }

  /** Updates the progress line, only on a terminal. `text` is called only if the line is drawn. */
  progress(text: () => string): void {
    if (process.stderr.isTTY !== true) return;
    const now = Date.now();
    if (now - this.#progressShownMs < PROGRESS_MS_MIN) return;
    this.#progressShownMs = now;
    this.#hasProgress = true;
    // `columns` is 0 if the width is unknown.
    const columns = process.stderr.columns || 80;
    process.stderr.write(`\r\x1b[K${text().slice(0, columns - 1)}`);
  }

  #clearProgress(): void {
    if (this.#hasProgress) process.stderr.write('\r\x1b[K');
    this.#hasProgress = false;
  }

  /** Removes the progress line. */
  close(): void {
    this.#clearProgress();
  }
}
