/** Where a command writes: answers to standard output, everything else to standard error. */

/** A line of progress is drawn at most this often. */
const PROGRESS_MS_MIN = 100;

/** Standard output takes no more. */
export class OutputError extends Error {
  /** Whoever read it has seen enough: `perpinfo simulate | head` is no failure. */
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
    // What goes wrong there is told to whoever wrote, by `write`.
    process.stdout.on('error', () => undefined);
  }

  /** Writes to standard output, and waits for whoever reads it; fails where nobody can. */
  async write(text: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      process.stdout.write(text, (error) => (error ? reject(new OutputError(error)) : resolve()));
    });
  }

  /** Writes to standard output what the work does not depend on. */
  note(text: string): void {
    process.stdout.write(text);
  }

  /** Resolves when all that was written has been taken, or nobody is there to take it. */
  async flush(): Promise<void> {
    const flushes = [process.stdout, process.stderr].map(
      (stream) => new Promise<void>((resolve) => stream.write('', () => resolve())),
    );
    await Promise.all(flushes);
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
