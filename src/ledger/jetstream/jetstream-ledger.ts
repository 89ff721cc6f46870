/**
 * The ledger on NATS JetStream: a stream that any number of processes on any number of machines read.
 * JetStream orders, replicates and stores; what it hands out is checked by whoever reads it.
 *
 *   stream NAME          the blocks, on the subject perpinfo.NAME.blocks; the height is the sequence
 *   bucket NAME          "base"    the point before the first block, where the stream holds none
 *                        "writer"  who has the ledger open for writing (lease.ts)
 *                        "written" a block that was written, about the newest
 *
 * That writers cannot interleave is not the lease's doing but the stream's: every append names the
 * sequence that it follows, and one that comes second is refused.
 */

import type { StreamInfo } from '@nats-io/jetstream';
import {
  CHAIN_START,
  type ChainPoint,
  type Ledger,
  LedgerError,
  type StoredBlock,
} from '../ledger.ts';
import { decodeMessage, readPrevious } from './block-message.ts';
import { BlockReader, missingBlock } from './block-reader.ts';
import { connectNats, type NatsLink, type NatsOptions, type StoredMessage } from './nats.ts';

/** The key of the base in the ledger's bucket. */
export const BASE_KEY = 'base';
/** How long reading what is there goes on trying when nobody answers. */
const READ_PATIENCE_MS = 15_000;
/** Between looking what is first and reading it, it may have been dropped. */
const BASE_LOOKS_MAX = 20;
/** Between looking what is last and reading it, all may have been dropped. */
const HEAD_LOOKS_MAX = 3;
/** For how long the height that was told last is good enough. */
const HEIGHT_MS = 250;

/** A point as the bucket has it. */
export interface StoredPoint {
  readonly height: number;
  readonly hash: string;
}

export class JetStreamLedger implements Ledger {
  protected readonly link: NatsLink;
  readonly #closed = new AbortController();
  #heightAsked: { readonly atMs: number; readonly answer: Promise<number> } | undefined;

  constructor(link: NatsLink) {
    this.link = link;
  }

  async base(): Promise<ChainPoint> {
    for (let looks = 0; looks < BASE_LOOKS_MAX; looks++) {
      const { state } = await this.info();
      if (state.messages === 0) return this.#emptyBase(state.last_seq);
      const first = await this.#message(state.first_seq);
      if (first !== undefined) return readPrevious(first.seq, first.header);
    }
    throw new LedgerError(
      'unavailable',
      'the blocks are dropped faster than the first can be read',
    );
  }

  /** Where the stream holds no block, only the bucket knows the hash of the last one. */
  async #emptyBase(height: number): Promise<ChainPoint> {
    if (height === 0) return CHAIN_START;
    const bucket = await this.link.openBucket(this.link.name);
    const entry = await this.link.ask('reading the base', () => bucket.get(BASE_KEY));
    const stored = entry?.json<StoredPoint>();
    if (stored?.height === height) return { height, hash: Buffer.from(stored.hash, 'hex') };
    const message = `the stream ${this.link.name} has dropped all its blocks, up to ${height}: nothing says what came before the next`;
    throw new LedgerError('missing', message);
  }

  /** That there is no message does not mean that there is no block: the stream's state says which. */
  async head(): Promise<ChainPoint> {
    this.#requireConnection();
    for (let looks = 1; ; looks++) {
      const { state } = await this.info();
      if (state.messages === 0) return this.#emptyBase(state.last_seq);
      const last = await this.#message(state.last_seq);
      if (last !== undefined) return decodeMessage(last.seq, last.header, last.data);
      if (looks === HEAD_LOOKS_MAX) throw missingBlock(state.last_seq, state.last_seq);
    }
  }

  /** Asked for at most a few times a second, however many want to know. */
  async height(): Promise<number> {
    this.#requireConnection();
    const nowMs = performance.now();
    if (this.#heightAsked === undefined || nowMs - this.#heightAsked.atMs > HEIGHT_MS) {
      const answer = this.info().then(({ state }) => state.last_seq);
      this.#heightAsked = { atMs: nowMs, answer };
    }
    return this.#heightAsked.answer;
  }

  #requireConnection(): void {
    if (this.link.isConnected) return;
    throw new LedgerError('unavailable', `the connection to NATS at ${this.link.place} is down`);
  }

  async point(height: number): Promise<ChainPoint | undefined> {
    const message = height < 1 ? undefined : await this.#message(height);
    if (message !== undefined) return decodeMessage(message.seq, message.header, message.data);
    const base = await this.base();
    return base.height === height ? base : undefined;
  }

  #message(height: number): Promise<StoredMessage | undefined> {
    return this.link.ask(`reading block ${height}`, () => this.link.readMessage(height));
  }

  protected info(): Promise<StreamInfo> {
    const { name, manager } = this.link;
    return this.link.ask('reading the state of the ledger', () => manager.streams.info(name));
  }

  async *read(after: number, to = Number.POSITIVE_INFINITY): AsyncIterable<readonly StoredBlock[]> {
    const { state } = await this.info();
    const end = Math.min(to, state.last_seq);
    if (state.messages === 0 || end < state.first_seq) return;
    const terms = { to: end, signal: this.#closed.signal, patienceMs: READ_PATIENCE_MS };
    yield* new BlockReader(this.link, after, terms).read();
  }

  async *follow(after: number, signal: AbortSignal): AsyncIterable<readonly StoredBlock[]> {
    const terms = {
      to: Number.POSITIVE_INFINITY,
      signal: AbortSignal.any([signal, this.#closed.signal]),
      patienceMs: Number.POSITIVE_INFINITY,
    };
    yield* new BlockReader(this.link, after, terms).read();
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.link.close();
  }
}

/** What blocks are published on. */
export function subjectOf(name: string): string {
  return `perpinfo.${name}.blocks`;
}

/** Opens a ledger on JetStream for reading. */
export async function openJetStreamLedger(options: NatsOptions): Promise<Ledger> {
  const link = await connectNats(options);
  try {
    const ledger = new JetStreamLedger(link);
    await link.tryPatiently(() => ledger.base());
    return ledger;
  } catch (error) {
    await link.close();
    throw error;
  }
}
