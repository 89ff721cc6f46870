/** Runs the service's own feed: appends the blocks of the feed while workers answer. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { BlockWriter } from '../feed/block-writer.ts';
import type { Feed } from '../feed/feed.ts';
import type { FeedSettings } from '../feed/settings.ts';
import { writerOptionsOf } from '../feed/writer-options.ts';
import { LedgerError, type LedgerWriter } from '../ledger/ledger.ts';
import type { FeedFailure } from '../replica/live-state.ts';
import { EXPENSIVE_REPLAY_MS } from '../replica/replayed-snapshot.ts';
import { type Replica, restoreReplica } from '../replica/replica.ts';
import { openStorageWriter, type Storage } from '../replica/storage.ts';
import { checkStreamRoom } from '../replica/stream-room.ts';
import type { FollowerRetention } from './follower-retention.ts';

/**
 * Maximum time to wait, after a failure, for the ledger to report the last block that it has
 * stored.
 */
const HEAD_MS_MAX = 1_000;

export interface ServiceFeedOptions {
  readonly settings: FeedSettings;
  readonly feed: Feed;
  readonly log: Logger;
  /** Replaces the settings of retention. */
  readonly retention?: FollowerRetention;
  /** Called after each batch is durable, with the height of the batch's last block. */
  durable(height: number): void;
  /** Called when the feed is no longer read, for any reason. */
  closed(): void;
}

/**
 * Writes the blocks of a feed. The service outlives its feed: workers continue to answer, and
 * another process may become the writer. After a failure of the feed, /health answers with status
 * 503, and the final exit code is 1.
 */
export class ServiceFeed {
  readonly #storage: Storage<LedgerWriter>;
  readonly #options: ServiceFeedOptions;
  readonly #stop = new AbortController();
  #durableHeight = 0;
  #replica: Replica | undefined;
  #isAppending = false;
  #error: Error | undefined;
  #reportFailure: (failure: FeedFailure) => void = () => undefined;
  /** Resolves when the feed fails. If the feed ends normally, this promise never resolves. */
  readonly failure: Promise<FeedFailure>;

  private constructor(storage: Storage<LedgerWriter>, options: ServiceFeedOptions) {
    this.#storage = storage;
    this.#options = options;
    this.failure = new Promise((resolve) => {
      this.#reportFailure = resolve;
    });
  }

  /** Creates the ledger if there is none, so that workers find it when they start. */
  static async open(options: ServiceFeedOptions): Promise<ServiceFeed> {
    const warn = (message: string) => options.log.warn(message);
    const storage = await openStorageWriter(options.settings, warn);
    try {
      await checkStreamRoom({ ...storage, ...options.settings, warn });
    } catch (error) {
      await storage.close();
      throw error;
    }
    return new ServiceFeed(storage, options);
  }

  /**
   * Returns the error that the feed failed with. While the feed still appends, returns an error
   * that says which blocks would be lost if the process ended now. Otherwise returns undefined.
   */
  get error(): Error | undefined {
    if (this.#error !== undefined || !this.#isAppending) return this.#error;
    const height = this.#durableHeight;
    return new Error(
      `the feed did not end in time: what it read after block ${height} is not stored`,
    );
  }

  /** Appends blocks until the feed ends, fails, or is stopped. Never rejects. */
  async run(): Promise<void> {
    const { log, feed, closed } = this.#options;
    try {
      await this.#append();
      if (this.#stop.signal.aborted) return;
      const height = this.#durableHeight;
      log.info({ feed: feed.name, height }, 'the feed has ended; the service keeps answering');
    } catch (error) {
      if (error !== this.#stop.signal.reason) await this.#fail(error as Error);
    } finally {
      this.#isAppending = false;
      closed();
      await this.#storage.close().catch((error: Error) => {
        log.warn(`the ledger could not be closed: ${error.message}`);
      });
    }
  }

  async #fail(error: Error): Promise<void> {
    const { log, feed } = this.#options;
    const height = this.#durableHeight;
    const reason = error.message;
    this.#error = error;
    log.fatal(
      { feed: feed.name, height },
      `the feed has failed, the service keeps answering: ${reason}`,
    );
    this.#reportFailure({ height: await this.#findLastStored(error), reason });
  }

  /**
   * Returns the height of the last block that this feed may have stored. The blocks of a failed
   * append may be visible in the ledger, although the append was not acknowledged.
   */
  async #findLastStored(error: Error): Promise<number> {
    const durable = this.#durableHeight;
    const applied = this.#replica?.point.height ?? durable;
    const isOfOthers = error instanceof LedgerError && error.fault === 'conflict';
    if (applied === durable || isOfOthers) return durable;
    const { ledger } = this.#storage;
    const late = sleep(HEAD_MS_MAX, undefined, { ref: false });
    const head = await Promise.race([ledger.head(), late]).catch(() => undefined);
    return head === undefined ? applied : Math.min(Math.max(head.height, durable), applied);
  }

  async #append(): Promise<void> {
    const { settings, feed, log, retention, durable } = this.#options;
    const { ledger, snapshots, shared } = this.#storage;
    const { signal } = this.#stop;
    const warn = (message: string) => log.warn(message);
    const progress = () => signal.throwIfAborted();
    const saveAfterMs = EXPENSIVE_REPLAY_MS;
    const options = { ledger, snapshots, shared, warn, progress, saveAfterMs };
    const replica = await restoreReplica(options);
    this.#durableHeight = replica.point.height;
    this.#replica = replica;
    const writer = new BlockWriter({
      ...writerOptionsOf(settings),
      ...retention,
      ledger,
      replica,
      snapshots,
      warn,
      durable: (height) => {
        this.#durableHeight = height;
        durable(height);
      },
    });
    this.#isAppending = true;
    await writer.run(feed, signal);
  }

  /** Stops reading from the feed. `run` resolves when all blocks that were read are durable. */
  stop(): void {
    this.#stop.abort();
  }
}
