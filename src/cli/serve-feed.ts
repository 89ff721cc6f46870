/** `serve --feed -`: the blocks that come on standard input, appended while workers answer. */

import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { addAbortSignal } from 'node:stream';
import type { Logger } from 'pino';
import { appendLines } from '../feed/ndjson.ts';
import { type FeedSettings, feedOptionsOf } from '../feed/settings.ts';
import type { LedgerWriter } from '../ledger/ledger.ts';
import type { FeedFailure } from '../replica/live-state.ts';
import { restoreReplica } from '../replica/replica.ts';
import { openStorageWriter, type Storage } from '../replica/storage.ts';
import type { Terminal } from './terminal.ts';

const STANDARD_INPUT = 0;

export interface ServeFeedOptions {
  readonly settings: FeedSettings;
  readonly log: Logger;
  readonly terminal: Terminal;
}

/**
 * Its end, whatever the reason, does not end the service: readers keep what there is, and the writer's
 * place is free for another feed. A failure turns /health to 503, and the exit code to 1 in the end.
 */
export class ServeFeed {
  readonly #storage: Storage<LedgerWriter>;
  readonly #options: ServeFeedOptions;
  readonly #stop = new AbortController();
  #durableHeight = 0;
  #error: Error | undefined;
  #tellFailure: (failure: FeedFailure) => void = () => undefined;
  /** Resolves when the feed has failed; never where it goes on or has just ended. */
  readonly failure: Promise<FeedFailure>;

  private constructor(storage: Storage<LedgerWriter>, options: ServeFeedOptions) {
    this.#storage = storage;
    this.#options = options;
    this.failure = new Promise((resolve) => {
      this.#tellFailure = resolve;
    });
  }

  /** Makes the ledger where there is none: workers find it when they start. */
  static async open(options: ServeFeedOptions): Promise<ServeFeed> {
    return new ServeFeed(await openStorageWriter(options.settings), options);
  }

  /** What it has failed with. */
  get error(): Error | undefined {
    return this.#error;
  }

  /** Appends until the input ends, a block is bad, the store fails or it is stopped. Never rejects. */
  async run(): Promise<void> {
    const { log } = this.#options;
    try {
      await this.#append();
      log.info({ height: this.#durableHeight }, 'the feed has ended; answering goes on');
    } catch (error) {
      if (this.#stop.signal.aborted && !this.#isFailure(error as Error)) return;
      this.#error = error as Error;
      const reason = this.#error.message;
      log.fatal(
        { height: this.#durableHeight },
        `the feed has failed, answering goes on: ${reason}`,
      );
      this.#tellFailure({ height: this.#durableHeight, reason });
    } finally {
      closeStandardInput();
      await this.#storage.close();
    }
  }

  #isFailure(error: Error): boolean {
    return error.name !== 'AbortError' && error !== this.#stop.signal.reason;
  }

  async #append(): Promise<void> {
    const { settings, log, terminal } = this.#options;
    const { ledger, snapshots, shared } = this.#storage;
    const { signal } = this.#stop;
    const warn = (message: string) => log.warn(message);
    const progress = () => signal.throwIfAborted();
    const replica = await restoreReplica({ ledger, snapshots, shared, warn, progress });
    this.#durableHeight = replica.point.height;
    await appendLines({
      ...feedOptionsOf(settings),
      chunks: addAbortSignal(signal, process.stdin),
      ledger,
      replica,
      snapshots,
      warn,
      durable: (height) => {
        this.#durableHeight = height;
        if (!terminal.isInteractive) terminal.note(`durable ${height}\n`);
      },
    });
  }

  /** Reads no further; `run` resolves once what was read is durable. */
  stop(): void {
    this.#stop.abort();
  }
}

/**
 * Whoever writes to the pipe is told that nobody reads it any more. Node never closes this descriptor
 * itself; another file takes its number, lest a socket does, which would then stay open for ever.
 */
function closeStandardInput(): void {
  process.stdin.destroy();
  closeSync(STANDARD_INPUT);
  openSync(devNull, 'r');
}
