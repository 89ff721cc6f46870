/** Runs the service's own feed: appends the blocks of the feed while workers answer. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { BlockWriter } from '../feed/block-writer.ts';
import type { Feed } from '../feed/feed.ts';
import type { FeedSettings } from '../feed/settings.ts';
import { writerOptionsOf } from '../feed/writer-options.ts';
import { LedgerError, type LedgerWriter } from '../ledger/ledger.ts';
import { EXPENSIVE_REPLAY_MS } from '../replica/replayed-snapshot.ts';
import { type Replica, restoreReplica } from '../replica/replica.ts';
import { openStorageWriter, type Storage } from '../replica/storage.ts';
import { checkStreamRoom } from '../replica/stream-room.ts';
import type { BackoffTerms } from '../timing/backoff.ts';
import { retryAppends } from './append-retries.ts';
import { FeedFailures } from './feed-failures.ts';
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
  /**
   * The source can be read again. The feed then waits while the ledger's disk is full. If the ledger fails in
   * a way that only a restart can repair, the service ends.
   */
  readonly isRepeatable?: boolean;
  /** How long to wait for room on the disk, for tests. */
  readonly retry?: BackoffTerms;
  /** Called with the last height of each batch once it is durable. */
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
  readonly failures = new FeedFailures();

  private constructor(storage: Storage<LedgerWriter>, options: ServiceFeedOptions) {
    this.#storage = storage;
    this.#options = options;
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

  /** The error that the feed failed with for good. */
  get failed(): Error | undefined {
    return this.#error;
  }

  /** True if the feed has failed, and goes on when the service is started again. */
  get endsService(): boolean {
    const error = this.#error;
    if (this.#options.isRepeatable !== true || !(error instanceof LedgerError)) return false;
    return error.fault === 'unwritable' || error.fault === 'unavailable';
  }

  /** Appends until the feed ends or fails, or is stopped. Never rejects. */
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
    const outcome = this.endsService ? 'ends, to be started again' : 'keeps answering';
    log.fatal(
      { feed: feed.name, height },
      `the feed has failed, the service ${outcome}: ${reason}`,
    );
    this.failures.report({ height: await this.#findLastStored(error), reason });
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
      storage: this.#options.isRepeatable === true ? this.#retryAppends() : undefined,
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

  #retryAppends(): Pick<LedgerWriter, 'append'> {
    const { log, feed, retry: terms } = this.#options;
    const entry = { feed: feed.name };
    return retryAppends({
      ledger: this.#storage.ledger,
      signal: this.#stop.signal,
      terms,
      failed: ({ message: reason }, height) => {
        log.error({ ...entry, height }, `the feed waits, and tries again: ${reason}`);
        this.failures.report({ height, reason, isRetried: true });
      },
      recovered: () => log.info(entry, 'the feed goes on: its blocks are stored'),
    });
  }

  /** Stops reading; `run` resolves when everything read is durable. */
  stop(): void {
    this.#stop.abort();
  }
}
