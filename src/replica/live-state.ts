/**
 * The state from which a server answers. It is restored at the start, and then follows the ledger.
 * It is undefined until the first catch-up, and for good once the hash chain is found to be broken.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { isUnavailable, type Ledger } from '../ledger/ledger.ts';
import type { StateView } from '../state/state.ts';
import { backoffMs } from '../timing/backoff.ts';
import { HeadWatch } from './head-watch.ts';
import { EXPENSIVE_REPLAY_MS } from './replayed-snapshot.ts';
import { needsPrunedBlocks, type Replica, restoreReplica } from './replica.ts';
import type { SharedSnapshots } from './shared-snapshots.ts';
import type { SnapshotFolder } from './snapshot-folder.ts';

/** A health check waits this long for the replica to reach the ledger's newest block. */
const CATCH_UP_MS = 200;
/**
 * A health check waits this long for the height of the newest block; then it uses the last known
 * height.
 */
const HEAD_MS = 500;
/**
 * The newest block is looked up at this interval if there is a limit for how far behind an answer
 * may be.
 */
const LOOK_MS = 1000;
const RETRY = { firstMs: 500, maxMs: 4_000 };
/**
 * Maximum number of requests that wait for a height, including requests whose clients have
 * disconnected.
 */
const WAITERS_MAX = 65_536;

const HEALTHY = 'caught up and fresh';
/**
 * A service whose ledger cannot be reached for a moment is still healthy; its state becomes stale
 * after --max-age.
 *
 * @internal exported for the fault simulator
 */
export const HEALTHY_HEAD_UNKNOWN = 'fresh, and caught up with the last block that could be read';

type LiveStatus =
  | 'ok'
  | 'replaying'
  | 'cut_off'
  | 'behind'
  | 'feed_failed'
  | 'stale'
  | 'ahead'
  | 'broken';

/** Why the service's own feed failed, and the last height that it may have stored. */
export interface FeedFailure {
  readonly height: number;
  readonly reason: string;
  /** The feed goes on by itself when the reason has passed. */
  readonly isRetried?: boolean;
}

export interface Health {
  readonly status: LiveStatus;
  /** The ledger's id, derived from its first block; empty until that block is known. */
  readonly ledger: string;
  readonly height: number;
  /** The ledger's time, in milliseconds. */
  readonly time: number;
  /** The age of `time`, in milliseconds; below 0 if it is ahead of this machine's clock. */
  readonly lagMs: number;
  /** The age at which the ledger becomes stale; 0 if it never does. */
  readonly maxAgeMs: number;
  /** The newest block in the ledger. */
  readonly head: number;
  readonly message: string;
}

/**
 * An event that ends a wait early, such as a client that disconnects. It calls the functions that
 * were added.
 */
export interface EarlyEnd {
  add(end: () => void): void;
  delete(end: () => void): void;
}

interface Waiter {
  readonly height: number;
  readonly wake: () => void;
}

export interface LiveStateOptions {
  readonly ledger: Ledger;
  readonly snapshots: SnapshotFolder;
  readonly shared?: SharedSnapshots | undefined;
  /**
   * If the ledger's time differs from the clock by more than this, the state is stale; 0 disables
   * the check.
   */
  readonly maxAgeMs: number;
  /**
   * A state that may be older than the ledger by more than this is not used for answers; 0 for no
   * limit.
   */
  readonly maxBehindMs?: number;
  warn(message: string): void;
  /** Called after the restore and after each batch of blocks. */
  advanced(state: StateView): void;
  /** Called before blocks are applied. They are applied when the returned promise has resolved. */
  beforeBlocks?(): Promise<void> | undefined;
  /** Called after each slice of work on blocks, with the duration of the slice. */
  worked?(seconds: number): void;
  /** Called after `advanced`, between two blocks. */
  keep?(replica: Replica): void;
  /** Called when answers from the state stop because of `maxBehindMs`. */
  cutOff?(): void;
  /**
   * Called when `advanced` or `keep` threw an error: a bug that did not harm the ledger or the
   * state.
   */
  failed(error: Error): void;
}

export class LiveState {
  readonly #options: LiveStateOptions;
  #replica: Replica | undefined;
  #replayed = { height: 0, target: 0 };
  /**
   * The reason why the last attempt to restore failed and is retried; "" if no attempt has failed.
   */
  #retryReason = '';
  #failure: Error | undefined;
  #headSeen = 0;
  /** Undefined until the first restore. */
  #headWatch: HeadWatch | undefined;
  #isCutOff = false;
  /** The ledger's time, converted to the monotonic clock. */
  #monotonicTimeMs = performance.now();
  /** The time by which the ledger was ahead of the clock when its newest block was applied. */
  #aheadMs = 0;
  readonly #waiters = new Set<Waiter>();
  #feedFailure: FeedFailure | undefined;
  /** Resolves after the first restore. */
  readonly restored: Promise<void>;
  #resolveRestored: () => void = () => undefined;

  constructor(options: LiveStateOptions) {
    this.#options = options;
    this.restored = new Promise((resolve) => {
      this.#resolveRestored = resolve;
    });
  }

  /** The state to answer from; undefined while questions cannot be answered. */
  get state(): StateView | undefined {
    return this.#failure === undefined ? this.#replica?.state : undefined;
  }

  /** The reason why `state` is undefined. */
  get unavailableReason(): string {
    if (this.#failure !== undefined) return `the ledger is broken: ${this.#failure.message}`;
    const { height, target } = this.#replayed;
    if (target === 0 && this.#retryReason !== '') {
      return `the ledger cannot be restored yet: ${this.#retryReason}`;
    }
    return `the ledger is being replayed: height ${height} of ${target}`;
  }

  /**
   * Returns why the ledger's time is stale; returns undefined if it is fresh. A time too far ahead
   * of the clock is reported as well: clocks may differ by no more than the maximum age.
   */
  findStaleness(nowMs: number): Pick<Health, 'status' | 'message'> | undefined {
    const { maxAgeMs } = this.#options;
    if (maxAgeMs === 0) return undefined;
    const time = this.#replica?.state.time ?? 0;
    const newest = `the newest block is of ${formatUtc(time)}`;
    if (time - nowMs > maxAgeMs) {
      const seconds = Math.round((time - nowMs) / 1000);
      return { status: 'ahead', message: `${newest}, ${seconds} s ahead of this machine's clock` };
    }
    if (this.#ageAt(nowMs) <= maxAgeMs) return undefined;
    return { status: 'stale', message: `${newest}, more than ${maxAgeMs / 1000} s ago` };
  }

  /** Returns the age of the ledger's time. Setting the clock back never lowers it. */
  #ageAt(nowMs: number): number {
    const time = this.#replica?.state.time ?? 0;
    return Math.max(nowMs - time, performance.now() - this.#monotonicTimeMs);
  }

  /**
   * Returns the age of the ledger's time, as a negative number while the ledger is ahead of the
   * clock. Setting the clock back never lowers it.
   */
  #lagAt(nowMs: number): number {
    const time = this.#replica?.state.time ?? 0;
    return Math.max(nowMs - time, performance.now() - this.#monotonicTimeMs - this.#aheadMs);
  }

  /**
   * Returns this machine's time, but at least the ledger's time plus the monotonic time that has
   * passed since.
   */
  nowMs(): number {
    const time = this.#replica?.state.time ?? 0;
    return Math.max(Date.now(), time + (performance.now() - this.#monotonicTimeMs));
  }

  /** Makes the service unhealthy until another process appends blocks. */
  noteFeedFailure(failure: FeedFailure): void {
    this.#feedFailure = failure;
  }

  /** Restores and follows until the signal aborts; rejects when the ledger is broken. */
  async run(signal: AbortSignal): Promise<void> {
    const looking = this.#lookAtHeads();
    try {
      while (await this.#restoreAndFollow(signal));
    } catch (error) {
      if (error === signal.reason) return;
      this.#failure = error as Error;
      this.#wake(Number.POSITIVE_INFINITY);
      throw error;
    } finally {
      clearInterval(looking);
    }
  }

  #lookAtHeads(): NodeJS.Timeout | undefined {
    const { maxBehindMs = 0 } = this.#options;
    if (maxBehindMs === 0) return undefined;
    return setInterval(() => void this.#lookAtHead(), Math.min(LOOK_MS, maxBehindMs / 4)).unref();
  }

  async #lookAtHead(): Promise<void> {
    if (this.state === undefined) return;
    await this.#readHead();
    const wasCutOff = this.#isCutOff;
    this.#isCutOff = this.findCutOff() !== undefined;
    if (this.#isCutOff && !wasCutOff) this.#options.cutOff?.();
  }

  /**
   * Returns why the state may not be used for answers although it exists; returns undefined if it
   * may be used.
   */
  findCutOff(): Pick<Health, 'status' | 'message'> | undefined {
    const { maxBehindMs = 0 } = this.#options;
    const watch = this.#headWatch;
    if (maxBehindMs === 0 || watch === undefined) return undefined;
    const doubtMs = watch.doubtMs(performance.now());
    if (doubtMs <= maxBehindMs) return undefined;
    const { heightAhead } = watch;
    const ledger =
      heightAhead === undefined ? 'the ledger cannot be read' : `the ledger is at ${heightAhead}`;
    const height = this.#replica?.state.height ?? 0;
    const since = `not known to be up to date for ${Math.round(doubtMs / 1000)} s`;
    return { status: 'cut_off', message: `at height ${height}, ${since}: ${ledger}` };
  }

  /**
   * Returns true if the state must be restored again, because the next blocks were pruned before
   * they were read.
   */
  async #restoreAndFollow(signal: AbortSignal): Promise<boolean> {
    const { ledger, warn } = this.#options;
    const startedMs = performance.now();
    const replica = await this.#restore(signal);
    if (replica === undefined) return false;
    this.#replica = replica;
    // The replica has every block that existed when the restore started.
    this.#headWatch ??= new HeadWatch(startedMs);
    this.#resolveRestored();
    this.#advance(replica);
    try {
      const { beforeBlocks, worked } = this.#options;
      const advanced = () => this.#advance(replica);
      await replica.follow(ledger, signal, { beforeBlocks, advanced, worked });
      return false;
    } catch (error) {
      if (!(await needsPrunedBlocks(replica, ledger))) throw error;
      warn(`the blocks after height ${replica.point.height} were pruned: restoring again`);
      return true;
    }
  }

  /**
   * Restores a replica, and retries while the ledger is unavailable; returns undefined if the
   * signal aborts first.
   */
  async #restore(signal: AbortSignal): Promise<Replica | undefined> {
    const { ledger, snapshots, shared, warn } = this.#options;
    const progress = (height: number, target: number) => {
      signal.throwIfAborted();
      this.#replayed = { height, target };
    };
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        return await restoreReplica({
          ...{ ledger, snapshots, shared, warn, progress },
          saveAfterMs: EXPENSIVE_REPLAY_MS,
        });
      } catch (error) {
        if (!isUnavailable(error)) throw error;
        this.#retryReason = error.message;
        warn(error.message);
        await sleep(backoffMs(failures, RETRY), undefined, { signal }).catch(() => undefined);
      }
    }
    return undefined;
  }

  #advance(replica: Replica): void {
    const ageMs = Date.now() - replica.state.time;
    this.#monotonicTimeMs = performance.now() - Math.max(0, ageMs);
    this.#aheadMs = Math.max(0, -ageMs);
    this.#headWatch?.reach(replica.point.height);
    this.#wake(replica.point.height);
    try {
      this.#options.advanced(replica.state);
      this.#options.keep?.(replica);
    } catch (error) {
      this.#options.failed(error as Error);
    }
  }

  /**
   * Resolves when the state reaches the height, at the deadline, or at an early end. Resolves at
   * once if too many requests are waiting.
   */
  async waitFor(height: number, timeoutMs: number, early?: EarlyEnd): Promise<void> {
    if ((this.state?.height ?? 0) >= height || this.#waiters.size === WAITERS_MAX) return;
    await new Promise<void>((resolve) => {
      const waiter = {
        height,
        wake: () => {
          clearTimeout(timer);
          this.#waiters.delete(waiter);
          early?.delete(waiter.wake);
          resolve();
        },
      };
      const timer = setTimeout(waiter.wake, timeoutMs);
      this.#waiters.add(waiter);
      early?.add(waiter.wake);
    });
  }

  #wake(height: number): void {
    for (const waiter of this.#waiters) if (waiter.height <= height) waiter.wake();
  }

  async health(nowMs: number): Promise<Health> {
    const { head, isRead } = await this.#readHead();
    if (this.state !== undefined) await this.waitFor(head, CATCH_UP_MS);
    const unknown = { height: this.#replayed.height, time: 0, ledgerId: '' };
    const { height, time, ledgerId: ledger } = this.#replica?.state ?? unknown;
    const lagMs = Math.round(this.#lagAt(nowMs));
    const judged = this.#judge(head, isRead, nowMs);
    const { maxAgeMs } = this.#options;
    return { ...judged, ledger, height, time, lagMs, maxAgeMs, head: Math.max(head, height) };
  }

  /**
   * Returns the height of the newest block, or the last known height if the ledger does not answer
   * in time. Only the replica decides that the ledger is broken, because the replica knows which
   * failures are temporary.
   */
  async #readHead(): Promise<{ head: number; isRead: boolean }> {
    const askedMs = performance.now();
    let height: number | undefined;
    try {
      const late = sleep(HEAD_MS, undefined, { ref: false });
      height = await Promise.race([this.#options.ledger.height(), late]);
    } catch {
      // The replica gets the same failure, and retries.
    }
    if (height !== undefined) this.#seeHead(height, askedMs);
    return { head: this.#headSeen, isRead: height !== undefined };
  }

  #seeHead(head: number, askedMs: number): void {
    this.#headSeen = head;
    this.#headWatch?.seeHead(head, this.#replica?.point.height ?? 0, askedMs);
  }

  #judge(head: number, isRead: boolean, nowMs: number): Pick<Health, 'status' | 'message'> {
    const { state } = this;
    if (state === undefined) {
      const status = this.#failure === undefined ? 'replaying' : 'broken';
      return { status, message: this.unavailableReason };
    }
    const cutOff = this.findCutOff();
    if (cutOff !== undefined) return cutOff;
    if (state.height < head) {
      return { status: 'behind', message: `at height ${state.height}, the ledger is at ${head}` };
    }
    const failure = this.#feedFailure;
    if (failure !== undefined && state.height <= failure.height) {
      return { status: 'feed_failed', message: describeFeedFailure(failure) };
    }
    const message = isRead ? HEALTHY : HEALTHY_HEAD_UNKNOWN;
    return this.findStaleness(nowMs) ?? { status: 'ok', message };
  }
}

function describeFeedFailure({ reason, isRetried = false }: FeedFailure): string {
  if (isRetried) return `the feed waits, and tries again: ${reason}`;
  return `the feed has failed: ${reason}; restart the service when that is repaired`;
}

/** Precise to the second. */
function formatUtc(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}
