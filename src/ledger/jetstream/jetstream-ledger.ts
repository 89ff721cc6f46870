/**
 * The ledger on NATS JetStream: a stream that any number of processes on any number of machines
 * read. JetStream orders, replicates and stores; a replica checks the link of every block that it
 * reads.
 *
 *   stream NAME          the blocks, on the subject perpinfo.NAME.blocks; the height is the sequence
 *   bucket NAME          "base"    the point before the first block, for a stream without blocks
 *                        "writer"  the lease of the writer (lease.ts)
 *                        "written" the newest point that is known to be stored (stored-head.ts)
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { StreamInfo, StreamState } from '@nats-io/jetstream';
import { CHAIN_START } from '../hash-chain.ts';
import { type ChainPoint, type Ledger, LedgerError, type StoredBlock } from '../ledger.ts';
import { decodeMessage, readPrevious } from './block-message.ts';
import { BlockReader, GRACE_MS, hasGaps, missingBlock } from './block-reader.ts';
import { connectNats, type NatsLink, type StoredMessage } from './nats.ts';
import type { NatsOptions } from './nats-client.ts';
import { readPoint, StoredHead } from './stored-head.ts';

/** The key of the base in the ledger's bucket. */
export const BASE_KEY = 'base';
/** A read is retried for this long while NATS is unavailable. */
const READ_RETRY_MS = 15_000;
/**
 * The maximum number of attempts to read the first block, which retention may drop at any moment.
 */
const BASE_TRIES_MAX = 20;
/** The pause between attempts to read something that a server does not have yet. */
const HEAD_RETRY_MS = 100;
/** A height is cached for this long. */
const HEIGHT_TTL_MS = 250;

/** True if the stream has no gaps and contains the block. */
function isWithin(height: number, state: StreamState): boolean {
  const { messages, first_seq, last_seq } = state;
  return messages > 0 && !hasGaps(state) && height >= first_seq && height <= last_seq;
}

export class JetStreamLedger implements Ledger {
  protected readonly link: NatsLink;
  readonly #closed = new AbortController();
  /**
   * The creation time and the height of the stream when it was last read. A new stream counts from
   * 1 again.
   */
  #seen = { created: '', height: 0 };
  #heightCached: { readonly atMs: number; readonly answer: Promise<number> } | undefined;

  constructor(link: NatsLink) {
    this.link = link;
  }

  async base(): Promise<ChainPoint> {
    for (let tries = 0; tries < BASE_TRIES_MAX; tries++) {
      const state = await this.#readState();
      if (state.messages === 0) return this.#emptyBase(state.last_seq);
      const first = await this.#message(state.first_seq);
      if (first !== undefined) return readPrevious(first.seq, first.header);
    }
    throw new LedgerError(
      'unavailable',
      'retention drops blocks faster than the first one can be read',
    );
  }

  /**
   * Returns the base of a stream without blocks. The stream no longer has the hash of its last
   * block, but the bucket has it.
   */
  async #emptyBase(height: number): Promise<ChainPoint> {
    if (height === 0) return CHAIN_START;
    const bucket = await this.link.openBucket(this.link.name);
    const entry = await this.link.ask('reading the base', () => bucket.get(BASE_KEY));
    const known = [readPoint(entry), await new StoredHead(this.link, bucket).read()];
    const point = known.find((each) => each?.height === height);
    if (point !== undefined) return point;
    const message =
      `the stream ${this.link.name} has dropped all its blocks, and the hash of the last one, block ` +
      `${height}, is lost: save a snapshot of a replica that still runs (perpinfo snapshot), or ` +
      'restore the ledger from a copy (docs/guide/troubleshooting.md)';
    throw new LedgerError('missing', message);
  }

  /**
   * Returns the newest block. The stream's state says where the ledger ends, because a missing
   * message may only have been deleted.
   */
  async head(): Promise<ChainPoint> {
    this.#requireConnection();
    const startedMs = performance.now();
    for (;;) {
      const state = await this.#readState();
      if (state.messages === 0) return this.#emptyBase(state.last_seq);
      const last = await this.#message(state.last_seq);
      if (last !== undefined) return decodeMessage(last.seq, last.header, last.data);
      // If the stream has no gaps, a prune has dropped the block since, or a lagging server has
      // answered: the read is retried.
      if (hasGaps(state) || performance.now() - startedMs > GRACE_MS) {
        throw missingBlock(state.last_seq, state.last_seq);
      }
      await sleep(HEAD_RETRY_MS);
    }
  }

  /** The height is cached, so that NATS gets only a few requests a second. */
  async height(): Promise<number> {
    this.#requireConnection();
    const nowMs = performance.now();
    if (this.#heightCached === undefined || nowMs - this.#heightCached.atMs > HEIGHT_TTL_MS) {
      const answer = this.streamInfo().then(({ state }) => state.last_seq);
      this.#heightCached = { atMs: nowMs, answer };
    }
    return this.#heightCached.answer;
  }

  #requireConnection(): void {
    if (this.link.isConnected) return;
    throw new LedgerError('unavailable', `the connection to NATS at ${this.link.place} is down`);
  }

  async point(height: number): Promise<ChainPoint | undefined> {
    const startedMs = performance.now();
    for (;;) {
      const message = height < 1 ? undefined : await this.#message(height);
      if (message !== undefined) return decodeMessage(message.seq, message.header, message.data);
      const base = await this.base();
      if (base.height === height) return base;
      // If the stream should have the block, a lagging server has answered, and the read is
      // retried.
      const isLate = performance.now() - startedMs > GRACE_MS;
      if (isLate || !isWithin(height, await this.#readState())) return undefined;
      await sleep(HEAD_RETRY_MS);
    }
  }

  #message(height: number): Promise<StoredMessage | undefined> {
    return this.link.ask(`reading block ${height}`, () => this.link.readMessage(height));
  }

  streamInfo(): Promise<StreamInfo> {
    const { name, manager } = this.link;
    return this.link.ask('reading the state of the ledger', () => manager.streams.info(name));
  }

  /**
   * Returns the stream's state. A state that ends before a height that was already read comes from
   * a lagging server. Only if this persists, the stream has lost blocks. In the same way, a lagging
   * server may not know a stream that was already read.
   */
  async #readState(): Promise<StreamState> {
    const startedMs = performance.now();
    for (;;) {
      const isLate = performance.now() - startedMs > GRACE_MS;
      const info = await this.#findStream(isLate);
      const isShort =
        info?.created === this.#seen.created && info.state.last_seq < this.#seen.height;
      if (info !== undefined && (isLate || !isShort)) {
        const { created, state } = info;
        this.#seen = { created, height: state.last_seq };
        return state;
      }
      await sleep(HEAD_RETRY_MS);
    }
  }

  /**
   * Returns undefined if a server does not know the stream, although the stream was read before.
   * Throws in that case if `isFinal` is true.
   */
  async #findStream(isFinal: boolean): Promise<StreamInfo | undefined> {
    try {
      return await this.streamInfo();
    } catch (error) {
      const isMissing = error instanceof LedgerError && error.fault === 'missing';
      if (!isMissing || isFinal || this.#seen.created === '') throw error;
      return undefined;
    }
  }

  async *read(after: number, to = Number.POSITIVE_INFINITY): AsyncIterable<readonly StoredBlock[]> {
    const state = await this.#readState();
    const end = Math.min(to, state.last_seq);
    if (state.messages === 0 || end < state.first_seq) return;
    const terms = { to: end, signal: this.#closed.signal, retryMs: READ_RETRY_MS };
    yield* new BlockReader(this.link, after, terms).read();
  }

  async *follow(after: number, signal: AbortSignal): AsyncIterable<readonly StoredBlock[]> {
    const terms = {
      to: Number.POSITIVE_INFINITY,
      signal: AbortSignal.any([signal, this.#closed.signal]),
      retryMs: Number.POSITIVE_INFINITY,
    };
    yield* new BlockReader(this.link, after, terms).read();
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.link.close();
  }
}

/** Opens a ledger on JetStream for reading. */
export async function openJetStreamLedger(options: NatsOptions): Promise<Ledger> {
  const link = await connectNats(options);
  try {
    const ledger = new JetStreamLedger(link);
    await link.retryWhileUnavailable(() => ledger.base());
    return ledger;
  } catch (error) {
    await link.close();
    throw error;
  }
}
