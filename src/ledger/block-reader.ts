/**
 * Reads the blocks of a stream in order, from any height on, over whatever happens to servers and
 * connections meanwhile. Each time something is not as expected it begins again after the last block
 * that it has handed out; only what is still wrong then is wrong with the stream.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Consumer, ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import { decodeBlock } from './block-message.ts';
import { isUnavailable, LedgerError, type StoredBlock } from './ledger.ts';
import type { NatsLink } from './nats.ts';

/** So many blocks are on their way at a time. */
const FETCH_BLOCKS = 128;
const FETCH_MS = 5_000;
/** How often a server says that it is there while no block comes; two missing ones, and it is not. */
const HEARTBEAT_MS = 1_000;
/** The server forgets a reader that it has not heard of for so long. */
const FORGET_MS = 30_000;
const RETRY_MS = 100;
/** Servers that have just come back may not know everything for a while. */
const GRACE_MS = 15_000;

export interface ReadTerms {
  /** The last height that is wanted; infinite for whoever follows. */
  readonly to: number;
  readonly signal: AbortSignal;
  /** How long nobody may be there to ask. */
  readonly patienceMs: number;
}

export class BlockReader {
  readonly #link: NatsLink;
  readonly #terms: ReadTerms;
  /** The height of the last block that was handed out, or where the reading began. */
  #height: number;
  #hash: Buffer | undefined;
  #progressMs = performance.now();

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

  /** Reads until the end, or until something is not as expected. */
  async *#readOnce(): AsyncGenerator<readonly StoredBlock[]> {
    await this.#checkNothingIsLost();
    const consumer = await this.#createConsumer();
    try {
      for (let isFirst = true; this.#isWanted(); isFirst = false) {
        const heightBefore = this.#height;
        const isComplete = yield* this.#fetch(consumer, isFirst);
        if (!isComplete) return;
        if (this.#height > heightBefore) continue;
        await this.#checkSilence();
        if (this.#terms.to !== Number.POSITIVE_INFINITY) return;
      }
    } finally {
      consumer.delete().catch(() => undefined);
    }
  }

  #isWanted(): boolean {
    return !this.#terms.signal.aborted && this.#height < this.#terms.to;
  }

  /** No block came although more are wanted: whoever reads up to a height waits for nobody to write. */
  async #checkSilence(): Promise<void> {
    if (this.#terms.to === Number.POSITIVE_INFINITY || this.#terms.signal.aborted) return;
    if (await this.#isThere(this.#height + 1)) return; // The server that was asked is behind.
    const message = `block ${this.#height + 1} is not in the ledger, which goes up to ${this.#terms.to}`;
    throw new LedgerError('corrupt', message);
  }

  /** Whether the stream has the block, as the server says that leads: others may not know yet. */
  async #isThere(height: number): Promise<boolean> {
    const { manager, name } = this.#link;
    try {
      return (await manager.streams.getMessage(name, { seq: height })) !== null;
    } catch (error) {
      if (this.#link.isMissingMessage(error)) return false;
      throw error;
    }
  }

  /** A stream that ends before a block that it has handed out has lost blocks. */
  async #checkNothingIsLost(): Promise<void> {
    if (this.#hash === undefined) return;
    const sinceMs = performance.now();
    for (;;) {
      const { state } = await this.#link.manager.streams.info(this.#link.name);
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
    const info = await manager.consumers.add(name, {
      ack_policy: AckPolicy.None,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: Math.max(1, this.#height + 1),
      inactive_threshold: nanos(FORGET_MS),
      mem_storage: true,
      num_replicas: 1,
    });
    this.#progressMs = performance.now();
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
        batch.push(this.#accept(message));
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

  #accept(message: JsMsg): StoredBlock {
    // The bytes belong to the connection's buffer, which others go on using.
    const block = decodeBlock(message.seq, message.headers, Buffer.from(message.data));
    this.#height = block.height;
    this.#hash = block.hash;
    this.#progressMs = performance.now();
    return block;
  }

  /** A block that was handed out comes again: it must be the same one. */
  #compare(message: JsMsg): void {
    if (message.seq !== this.#height || this.#hash === undefined) return;
    const { hash } = decodeBlock(message.seq, message.headers, message.data);
    if (hash.equals(this.#hash)) return;
    throw new LedgerError('corrupt', `block ${message.seq} is not the one that was read before`);
  }
}
