/**
 * Reads the blocks of a stream in order, from any height on, across failures of servers and
 * connections. After a failure or a gap, the reader starts over after the last block that it
 * returned. It reports blocks as lost only if the problem persists.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type {
  Consumer,
  ConsumerMessages,
  JsMsg,
  StreamInfo,
  StreamState,
} from '@nats-io/jetstream';
import type { MsgHdrs } from '@nats-io/transport-node';
import { isUnavailable, LedgerError, type StoredBlock } from '../ledger.ts';
import { decodeMessage } from './block-message.ts';
import { failAfter, type NatsLink } from './nats.ts';

/** The maximum number of blocks that one fetch asks for. */
const FETCH_BLOCKS = 128;
/**
 * If a fetch gets no block for this long, the reader asks the stream's leader whether there is one.
 */
const FETCH_MS = 2_500;
/** The maximum number of blocks in flight if each block is read by its height. */
const SINGLE_BLOCKS = 32;
/**
 * The interval of the server's heartbeats while no block arrives. The client gives up after two
 * missed heartbeats.
 */
const HEARTBEAT_MS = 1_000;
/** Servers remove a consumer that is idle for this long. */
const CONSUMER_IDLE_MS = 30_000;
const RETRY_MS = 100;
/**
 * The deadline for creating a consumer. The consumer may be assigned to an isolated server; a retry
 * may choose another server.
 */
const CREATE_MS = 1_500;
/** If a server lags behind the stream for longer than this, the connection moves to another server. */
const LAG_MS_MAX = 2_000;
/**
 * Servers may contradict each other for this long before blocks are considered lost: a server that
 * was restarted catches up, and a server that was paused still answers as if it were the leader.
 */
export const GRACE_MS = 15_000;

export interface ReadTerms {
  /** The last height to read; infinite to follow the ledger. */
  readonly to: number;
  readonly signal: AbortSignal;
  /** Reading is retried for this long while NATS is unavailable. */
  readonly retryMs: number;
}

/**
 * Creates the error for a block that was deleted from the stream: the chain after the block cannot
 * be checked.
 */
export function missingBlock(height: number, last: number): LedgerError {
  const message =
    `block ${height} is not in the ledger, which ends at ${last}: it was deleted. ` +
    'See docs/guide/troubleshooting.md for how to repair the ledger';
  return new LedgerError('corrupt', message);
}

/**
 * True if messages were deleted from the middle of the stream. A ledger never does this: retention
 * drops only the first messages.
 */
export function hasGaps({ messages, first_seq, last_seq }: StreamState): boolean {
  return messages > 0 && messages < last_seq - first_seq + 1;
}

/** True if retention has dropped the block. */
function isDropped(height: number, { messages, first_seq }: StreamState): boolean {
  return messages > 0 && first_seq > height;
}

export class BlockReader {
  readonly #link: NatsLink;
  readonly #terms: ReadTerms;
  /** The height of the last block returned; at the start, the height to read after. */
  #height: number;
  #hash: Buffer | undefined;
  #progressMs = performance.now();
  /** The time since which this server lags behind the stream; undefined if it does not lag. */
  #lagSinceMs: number | undefined;
  /** The time since which the next block cannot be read, although the stream claims to have it. */
  #missingSinceMs: number | undefined;
  /** The time since which servers answer that there is no such stream; undefined if they do not. */
  #notFoundSinceMs: number | undefined;

  constructor(link: NatsLink, after: number, terms: ReadTerms) {
    this.#link = link;
    this.#height = after;
    this.#terms = terms;
  }

  async *read(): AsyncGenerator<readonly StoredBlock[]> {
    const { to, signal } = this.#terms;
    while (!signal.aborted && this.#height < to) {
      const heightBefore = this.#height;
      try {
        yield* this.#readOnce();
        if (this.#height > heightBefore) continue;
      } catch (error) {
        this.#throwIfFinal(this.#link.toLedgerError('reading blocks', error));
      }
      this.#leaveLaggingServer();
      await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Throws the error if a retry will not fix it. */
  #throwIfFinal(error: unknown): void {
    if (this.#terms.signal.aborted) return;
    const silentMs = performance.now() - this.#progressMs;
    const isMissing = error instanceof LedgerError && error.fault === 'missing';
    if (!isMissing) this.#notFoundSinceMs = undefined;
    if (isUnavailable(error) && silentMs < this.#terms.retryMs) return;
    if (!isMissing) throw error;
    // The time counts from this answer and not from the last block, because an outage does not say
    // whether the stream exists.
    this.#notFoundSinceMs ??= performance.now();
    if (performance.now() - this.#notFoundSinceMs > GRACE_MS) throw error;
  }

  #leaveLaggingServer(): void {
    if (this.#lagSinceMs === undefined) return;
    if (performance.now() - this.#lagSinceMs < LAG_MS_MAX) return;
    this.#lagSinceMs = undefined;
    this.#link.leaveServer();
  }

  /** Reads until the end, or until something unexpected happens. */
  async *#readOnce(): AsyncGenerator<readonly StoredBlock[]> {
    await this.#checkNothingIsLost();
    let consumer: Consumer;
    try {
      consumer = await this.#createConsumer();
    } catch (error) {
      // Creating a consumer needs the metadata leader, which may not be elected yet. Reading by
      // height does not need it.
      yield* this.#readWithoutConsumer();
      throw error;
    }
    try {
      for (let isFirst = true; this.#isWanted(); isFirst = false) {
        const heightBefore = this.#height;
        this.#progressMs = performance.now();
        const isComplete = yield* this.#fetch(consumer, isFirst);
        if (!isComplete) return;
        if (this.#height > heightBefore || !(await this.#isOverdue())) continue;
        // The consumer's server lags. The next consumer may be on another server.
        yield* this.#readWithoutConsumer();
        return;
      }
    } finally {
      consumer.delete().catch(() => undefined);
    }
  }

  /** Reads the blocks that the stream contains now, each by its height. */
  async *#readWithoutConsumer(): AsyncGenerator<readonly StoredBlock[]> {
    const { state } = await this.#readInfo();
    const last = Math.min(state.last_seq, this.#terms.to);
    if (this.#height < last) this.#lagSinceMs ??= performance.now();
    while (this.#isWanted() && this.#height < last) {
      // Retention has dropped the blocks before the first message.
      const first = Math.max(this.#height + 1, state.first_seq);
      if (first > last) return;
      const count = Math.min(SINGLE_BLOCKS, last - first + 1);
      const heights = Array.from({ length: count }, (_, index) => first + index);
      const reads = await Promise.allSettled(heights.map((at) => this.#link.readMessage(at)));
      const batch: StoredBlock[] = [];
      for (const read of reads) {
        if (read.status === 'rejected' || read.value === undefined) break;
        const { seq, header, data } = read.value;
        batch.push(this.#accept(seq, header, data));
      }
      if (batch.length > 0) yield batch;
      // Blocks before a failed read are returned; the rest is retried.
      const failed = reads[batch.length];
      if (failed?.status === 'rejected') throw failed.reason;
      if (failed !== undefined) return;
    }
  }

  #isWanted(): boolean {
    return !this.#terms.signal.aborted && this.#height < this.#terms.to;
  }

  /**
   * Called when no block arrived. Returns true if the stream has a block that this server did not
   * deliver.
   */
  async #isOverdue(): Promise<boolean> {
    if (this.#terms.signal.aborted) return false;
    const { state } = await this.#readInfo();
    const isFollowing = this.#terms.to === Number.POSITIVE_INFINITY;
    const last = isFollowing ? state.last_seq : this.#terms.to;
    const next = this.#height + 1;
    if (last < next) return false;
    if (isFollowing && isDropped(next, state)) return false;
    await this.#checkIsThere(next, state);
    return true;
  }

  /**
   * Called at a gap in the delivered blocks. Returns true if retention has dropped the blocks in
   * between; returns false if the blocks must be read again; throws if they are lost.
   */
  async #mayJump(): Promise<boolean> {
    const { state } = await this.#readInfo();
    const next = Math.max(1, this.#height + 1);
    if (isDropped(next, state)) return true;
    this.#lagSinceMs ??= performance.now();
    await this.#checkIsThere(next, state);
    return false;
  }

  /**
   * Throws if the block is certainly not in the stream. The answer of a single server is not
   * certain: a server that led the stream until it was paused lacks the newest blocks, and does not
   * know yet that another server leads.
   */
  async #checkIsThere(height: number, state: StreamState): Promise<void> {
    if ((await this.#link.readMessage(height)) !== undefined) {
      this.#missingSinceMs = undefined;
      return;
    }
    this.#missingSinceMs ??= performance.now();
    const isCertain = state.messages === 0 || hasGaps(state);
    if (isCertain || performance.now() - this.#missingSinceMs > GRACE_MS) {
      throw missingBlock(height, Math.min(state.last_seq, this.#terms.to));
    }
    await sleep(RETRY_MS);
  }

  async #readInfo(): Promise<StreamInfo> {
    const { manager, name } = this.#link;
    const info = await this.#link.untilInterrupted(manager.streams.info(name));
    this.#notFoundSinceMs = undefined;
    return info;
  }

  /** Throws if the stream ends before a block that was already read: the stream has lost blocks. */
  async #checkNothingIsLost(): Promise<void> {
    if (this.#hash === undefined) return;
    const sinceMs = performance.now();
    for (;;) {
      const { state } = await this.#readInfo();
      if (state.last_seq >= this.#height || this.#terms.signal.aborted) return;
      if (performance.now() - sinceMs > GRACE_MS) {
        const message = `the ledger ends at block ${state.last_seq}, but block ${this.#height} was read from it`;
        throw new LedgerError('corrupt', message);
      }
      await sleep(RETRY_MS);
    }
  }

  async #createConsumer(): Promise<Consumer> {
    const { manager, streams, name, modules } = this.#link;
    const { AckPolicy, DeliverPolicy } = modules.stream;
    const { nanos } = modules.transport;
    const creating = manager.consumers.add(name, {
      ack_policy: AckPolicy.None,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: Math.max(1, this.#height + 1),
      inactive_threshold: nanos(CONSUMER_IDLE_MS),
      mem_storage: true,
      num_replicas: 1,
    });
    const info = await this.#link.untilInterrupted(
      Promise.race([creating, failAfter(CREATE_MS, 'no server created a consumer in time')]),
    );
    return streams.consumers.getConsumerFromInfo(info);
  }

  /** Fetches once; returns false if reading must start over. */
  async *#fetch(
    consumer: Consumer,
    isFirst: boolean,
  ): AsyncGenerator<readonly StoredBlock[], boolean> {
    const { signal, to } = this.#terms;
    const wanted = Math.min(FETCH_BLOCKS, to - this.#height);
    const messages = await consumer.fetch({
      max_messages: wanted,
      expires: FETCH_MS,
      idle_heartbeat: HEARTBEAT_MS,
    });
    const stop = () => void messages.close();
    const forget = this.#link.onInterrupt(stop);
    signal.addEventListener('abort', stop);
    try {
      if (signal.aborted) return false;
      return yield* this.#take(messages, isFirst);
    } finally {
      forget();
      signal.removeEventListener('abort', stop);
      stop();
    }
  }

  async *#take(
    messages: ConsumerMessages,
    isFirst: boolean,
  ): AsyncGenerator<readonly StoredBlock[], boolean> {
    let mayJump = isFirst;
    let batch: StoredBlock[] = [];
    try {
      for await (const message of messages) {
        if (message.seq <= this.#height) {
          this.#compare(message);
          continue;
        }
        // At a gap, reading starts over if messages were lost in delivery. Messages are skipped
        // only if retention dropped them.
        const isNext = message.seq === this.#height + 1;
        if (!isNext && !(mayJump && (await this.#mayJump()))) {
          if (batch.length > 0) yield batch;
          return false;
        }
        mayJump = false;
        if (message.seq > this.#terms.to) {
          this.#height = this.#terms.to;
          break;
        }
        // A copy: the bytes belong to the connection's buffer, which is reused.
        batch.push(this.#accept(message.seq, message.headers, Buffer.from(message.data)));
        if (messages.getPending() > 0 && this.#isWanted()) continue;
        yield batch;
        if (!this.#isWanted()) return true;
        batch = [];
      }
    } catch (error) {
      // The blocks before a damaged block, or before the delivery was interrupted, are valid.
      if (batch.length > 0) yield batch;
      throw error;
    }
    if (batch.length > 0) yield batch;
    return this.#link.isConnected;
  }

  #accept(height: number, headers: MsgHdrs | undefined, payload: Uint8Array): StoredBlock {
    const block = decodeMessage(height, headers, payload);
    this.#height = block.height;
    this.#hash = block.hash;
    this.#lagSinceMs = undefined;
    this.#missingSinceMs = undefined;
    this.#progressMs = performance.now();
    return block;
  }

  /** Throws if a block that is delivered again differs from the block that was read before. */
  #compare(message: JsMsg): void {
    if (message.seq !== this.#height || this.#hash === undefined) return;
    const { hash } = decodeMessage(message.seq, message.headers, message.data);
    if (hash.equals(this.#hash)) return;
    throw new LedgerError('corrupt', `block ${message.seq} has changed since it was read`);
  }
}
