/**
 * Reads the blocks of a stream in order, from any height on, over whatever happens to servers and
 * connections meanwhile. Each time something is not as expected it begins again after the last block
 * that it has handed out; only what is still wrong then is wrong with the stream.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Consumer, ConsumerMessages, JsMsg, StreamInfo } from '@nats-io/jetstream';
import type { MsgHdrs } from '@nats-io/transport-node';
import { isUnavailable, LedgerError, type StoredBlock } from '../ledger.ts';
import { decodeMessage } from './block-message.ts';
import type { NatsLink } from './nats.ts';

/** So many blocks are on their way at a time. */
const FETCH_BLOCKS = 128;
/** A portion that stays empty for so long is held against what the stream's leader says. */
const FETCH_MS = 2_500;
/** The same where each is asked for by its height. */
const SINGLE_BLOCKS = 32;
/** How often a server says that it is there while no block comes; two missing ones, and it is not. */
const HEARTBEAT_MS = 1_000;
/** The server forgets a reader that it has not heard of for so long. */
const FORGET_MS = 30_000;
const RETRY_MS = 100;
/** A reader's place may fall to a server that is cut off; the next try may find another. */
const CREATE_MS = 1_500;
/** A server that hands out no block for so long, although the stream has more, lags: another one may not. */
const LAG_MS_MAX = 2_000;
/** Servers that have just come back may not know everything for a while. */
const GRACE_MS = 15_000;

export interface ReadTerms {
  /** The last height that is wanted; infinite for whoever follows. */
  readonly to: number;
  readonly signal: AbortSignal;
  /** How long nobody may be there to ask. */
  readonly patienceMs: number;
}

/** A block that was deleted from its stream: those after it cannot be checked, and none can be added. */
export function missingBlock(height: number, last: number): LedgerError {
  const message =
    `block ${height} is not in the ledger, which goes up to ${last}: it was deleted. ` +
    'docs/operations.md says how such a ledger is repaired';
  return new LedgerError('corrupt', message);
}

async function failAfter(delayMs: number, message: string): Promise<never> {
  await sleep(delayMs, undefined, { ref: false });
  throw new Error(message);
}

export class BlockReader {
  readonly #link: NatsLink;
  readonly #terms: ReadTerms;
  /** The height of the last block that was handed out, or where the reading began. */
  #height: number;
  #hash: Buffer | undefined;
  #progressMs = performance.now();
  /** Since when the stream has had more than this server hands out. */
  #lagSinceMs: number | undefined;

  constructor(link: NatsLink, after: number, terms: ReadTerms) {
    this.#link = link;
    this.#height = after;
    this.#terms = terms;
  }

  async *read(): AsyncGenerator<readonly StoredBlock[]> {
    const { to, signal } = this.#terms;
    while (!signal.aborted && this.#height < to) {
      try {
        yield* this.#readOnce();
      } catch (error) {
        this.#judge(this.#link.describe('reading blocks', error));
        this.#leaveLaggingServer();
        await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  /** Throws what waiting will not mend. */
  #judge(error: unknown): void {
    if (this.#terms.signal.aborted) return;
    const silentMs = performance.now() - this.#progressMs;
    if (isUnavailable(error) && silentMs < this.#terms.patienceMs) return;
    const isMissing = error instanceof LedgerError && error.fault === 'missing';
    if (isMissing && silentMs < GRACE_MS) return;
    throw error;
  }

  #leaveLaggingServer(): void {
    if (this.#lagSinceMs === undefined) return;
    if (performance.now() - this.#lagSinceMs < LAG_MS_MAX) return;
    this.#lagSinceMs = undefined;
    this.#link.leaveServer();
  }

  /** Reads until the end, or until something is not as expected. */
  async *#readOnce(): AsyncGenerator<readonly StoredBlock[]> {
    await this.#checkNothingIsLost();
    let consumer: Consumer;
    try {
      consumer = await this.#createConsumer();
    } catch (error) {
      // Making one takes the metadata leader, who may yet have to be elected; reading a block does not.
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
        // The server that keeps the consumer is behind: the next one may be kept by another.
        yield* this.#readWithoutConsumer();
        return;
      }
    } finally {
      consumer.delete().catch(() => undefined);
    }
  }

  /** What the stream holds at this moment, each block asked for by its height. */
  async *#readWithoutConsumer(): AsyncGenerator<readonly StoredBlock[]> {
    const { state } = await this.#readInfo();
    const last = Math.min(state.last_seq, this.#terms.to);
    if (this.#height < last) this.#lagSinceMs ??= performance.now();
    while (this.#isWanted() && this.#height < last) {
      const count = Math.min(SINGLE_BLOCKS, last - this.#height);
      const heights = Array.from({ length: count }, (_, index) => this.#height + 1 + index);
      const reads = await Promise.allSettled(heights.map((at) => this.#link.readMessage(at)));
      const batch: StoredBlock[] = [];
      for (const read of reads) {
        if (read.status === 'rejected' || read.value === undefined) break;
        const { seq, header, data } = read.value;
        batch.push(this.#accept(seq, header, data));
      }
      if (batch.length > 0) yield batch;
      // What came before one that could not be read is sound; the rest is asked for again.
      const failed = reads[batch.length];
      if (failed?.status === 'rejected') throw failed.reason;
      if (failed !== undefined) return;
    }
  }

  #isWanted(): boolean {
    return !this.#terms.signal.aborted && this.#height < this.#terms.to;
  }

  /** No block came. Where the stream's leader says that it has more, one must be there, or it is damaged. */
  async #isOverdue(): Promise<boolean> {
    if (this.#terms.signal.aborted) return false;
    const { state } = await this.#readInfo();
    const isFollowing = this.#terms.to === Number.POSITIVE_INFINITY;
    const last = isFollowing ? state.last_seq : this.#terms.to;
    const next = this.#height + 1;
    if (last < next) return false;
    if (await this.#isThere(next)) return true;
    const isDroppedBefore = isFollowing && state.messages > 0 && state.first_seq > next;
    if (!isDroppedBefore) throw missingBlock(next, last);
    return false;
  }

  /** Whether the stream has the block; that it has not is for its leader to say: others may not know yet. */
  async #isThere(height: number): Promise<boolean> {
    return (await this.#link.readMessage(height)) !== undefined;
  }

  #readInfo(): Promise<StreamInfo> {
    const { manager, name } = this.#link;
    return this.#link.untilInterrupted(manager.streams.info(name));
  }

  /** A stream that ends before a block that it has handed out has lost blocks. */
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
      inactive_threshold: nanos(FORGET_MS),
      mem_storage: true,
      num_replicas: 1,
    });
    const info = await this.#link.untilInterrupted(
      Promise.race([creating, failAfter(CREATE_MS, 'no server keeps a place for this reader')]),
    );
    return streams.consumers.getConsumerFromInfo(info);
  }

  /** One portion; false where the blocks after it are not the ones that should be. */
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
    for await (const message of messages) {
      if (message.seq <= this.#height) {
        this.#compare(message);
        continue;
      }
      // One that was lost on its way here is asked for again; one that is not there stays away.
      const isNext = message.seq === this.#height + 1;
      if (!isNext && (!mayJump || (await this.#isThere(Math.max(1, this.#height + 1))))) {
        if (batch.length > 0) yield batch;
        return false;
      }
      mayJump = false;
      if (message.seq > this.#terms.to) {
        this.#height = this.#terms.to;
        break;
      }
      try {
        // The bytes belong to the connection's buffer, which others go on using.
        batch.push(this.#accept(message.seq, message.headers, Buffer.from(message.data)));
      } catch (error) {
        if (batch.length > 0) yield batch; // What came before it is sound.
        throw error;
      }
      if (messages.getPending() > 0 && this.#isWanted()) continue;
      yield batch;
      if (!this.#isWanted()) return true;
      batch = [];
    }
    if (batch.length > 0) yield batch;
    return this.#link.isConnected;
  }

  #accept(height: number, headers: MsgHdrs | undefined, payload: Uint8Array): StoredBlock {
    const block = decodeMessage(height, headers, payload);
    this.#height = block.height;
    this.#hash = block.hash;
    this.#lagSinceMs = undefined;
    this.#progressMs = performance.now();
    return block;
  }

  /** A block that was handed out comes again: it must be the same one. */
  #compare(message: JsMsg): void {
    if (message.seq !== this.#height || this.#hash === undefined) return;
    const { hash } = decodeMessage(message.seq, message.headers, message.data);
    if (hash.equals(this.#hash)) return;
    throw new LedgerError('corrupt', `block ${message.seq} is not the one that was read before`);
  }
}
