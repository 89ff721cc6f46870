/**
 * Writes a ledger on JetStream. A lease excludes other writers, but the lease is only advisory. The
 * expected sequence of each publish (block-publisher.ts) ensures that two writers never mix their
 * blocks.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { KV } from '@nats-io/kv';
import {
  type ChainPoint,
  isUnavailable,
  LedgerError,
  type LedgerWriter,
  type StoredBlock,
} from '../ledger.ts';
import { BlockPublisher } from './block-publisher.ts';
import { BASE_KEY, JetStreamLedger } from './jetstream-ledger.ts';
import { describeHolder, Lease, takeLease } from './lease.ts';
import { ensureStream } from './ledger-stream.ts';
import { connectNats, type NatsLink } from './nats.ts';
import type { NatsOptions } from './nats-client.ts';
import { formatPoint, StoredHead } from './stored-head.ts';

const WRITER_KEY = 'writer';
/** The longest time after an append until the head is noted in the bucket. */
const NOTE_MS = 2_000;
const OPEN_RETRY_MS = 200;
/**
 * A loss of blocks is reported only if it lasts this long: a server that was paused may still
 * answer as if it were the leader.
 */
const LOSS_MS = 5_000;

class JetStreamLedgerWriter extends JetStreamLedger implements LedgerWriter {
  readonly #bucket: KV;
  readonly #lease: Lease;
  readonly #publisher: BlockPublisher;
  readonly #note: StoredHead;
  #isClosed = false;
  #noteTimer: NodeJS.Timeout | undefined;

  constructor(parts: { link: NatsLink; bucket: KV; lease: Lease; retryMs: number }) {
    super(parts.link);
    this.#bucket = parts.bucket;
    this.#lease = parts.lease;
    this.#publisher = new BlockPublisher(parts.link, this, parts.retryMs);
    this.#note = new StoredHead(parts.link, parts.bucket);
  }

  /** Checks that no blocks were lost, and reads the head; must be called before the first append. */
  async open({ acceptsLoss }: { readonly acceptsLoss: boolean }): Promise<void> {
    const loss = await this.#findLastingLoss();
    if (loss !== undefined) {
      if (!acceptsLoss) throw loss;
      await this.#recreateEmptyStream();
    }
    await this.#publisher.start();
    await this.#note.set(this.#publisher.head);
  }

  async #findLastingLoss(): Promise<LedgerError | undefined> {
    const startedMs = performance.now();
    for (;;) {
      const loss = await this.#findLoss();
      if (loss === undefined || performance.now() - startedMs > LOSS_MS) return loss;
      await sleep(OPEN_RETRY_MS);
    }
  }

  /**
   * Returns an error if the servers say that the stream has lost blocks that were written to it.
   */
  async #findLoss(): Promise<LedgerError | undefined> {
    const written = (await this.#note.read())?.height ?? 0;
    const { state } = await this.streamInfo();
    const hasDroppedAll = state.messages === 0 && state.last_seq > 0;
    const hasBase = !hasDroppedAll || (await this.#hasBase());
    if (written <= state.last_seq && hasBase) return undefined;
    const { name } = this.link;
    const message =
      `the stream ${name} ${hasBase ? `ends at block ${state.last_seq}` : 'was emptied'}, but block ` +
      `${Math.max(written, state.last_seq)} was written to it: restore it from a copy ` +
      '(docs/guide/troubleshooting.md), or continue without the lost blocks (--accept-loss)';
    return new LedgerError('missing', message);
  }

  async #hasBase(): Promise<boolean> {
    try {
      await this.base();
      return true;
    } catch (error) {
      if (error instanceof LedgerError && error.fault === 'missing') return false;
      throw error;
    }
  }

  /**
   * Creates the stream again if it is empty, because an emptied stream continues its sequence, and
   * only a new stream starts at 1.
   */
  async #recreateEmptyStream(): Promise<void> {
    const { state } = await this.streamInfo();
    if (state.messages > 0 || state.last_seq === 0) return;
    const { name, manager } = this.link;
    await this.link.ask('deleting the empty stream', () => manager.streams.delete(name));
    await ensureStream(this.link);
  }

  async append(blocks: readonly StoredBlock[]): Promise<void> {
    await this.#publisher.append(blocks, () => this.#checkLease());
    this.#noteSoon();
  }

  /**
   * Notes the head in the background. A delay is harmless, because a stream drops its last block
   * much later, after its max_age.
   */
  #noteSoon(): void {
    if (this.#isClosed || this.#noteTimer !== undefined) return;
    this.#noteTimer = setTimeout(() => {
      this.#noteTimer = undefined;
      if (this.#isClosed || this.#lease.isLost) return;
      this.#note.raise(this.#publisher.head).catch(() => this.#noteSoon());
    }, NOTE_MS);
    this.#noteTimer.unref();
  }

  #checkLease(): void {
    if (!this.#lease.isLost) return;
    const { height } = this.#publisher.head;
    const message = `another writer has taken this ledger over after block ${height}`;
    throw new LedgerError('conflict', message);
  }

  async prune(height: number): Promise<void> {
    const point = await this.point(height);
    if (point === undefined) {
      throw new LedgerError('missing', `there is no block ${height} to prune up to`);
    }
    // If a purge ends before the first message, servers delete all messages.
    if ((await this.base()).height === height) return;
    await this.#purge(point);
    if (height === this.#publisher.head.height) this.#publisher.restartAt(point);
  }

  /**
   * Saves the base, and drops the blocks up to it. The base is saved first, because an emptied
   * stream no longer has the hash of its last block.
   */
  async #purge(point: ChainPoint): Promise<void> {
    const { name, manager } = this.link;
    const seq = point.height + 1;
    await this.link.ask('saving the base', () => this.#bucket.put(BASE_KEY, formatPoint(point)));
    await this.link.ask('dropping blocks', () => manager.streams.purge(name, { seq }));
  }

  async startAt(base: ChainPoint): Promise<void> {
    const { state } = await this.streamInfo();
    if (state.last_seq !== 0) {
      throw new LedgerError(
        'conflict',
        `this ledger is not empty: it is at block ${state.last_seq}`,
      );
    }
    if (base.height > 0) await this.#purge(base);
    this.#publisher.restartAt(base);
  }

  override async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#noteTimer);
    const isWriter = this.link.isConnected && !this.#lease.isLost;
    if (isWriter) await this.#note.raise(this.#publisher.head).catch(() => undefined);
    await this.#lease.release();
    await super.close();
  }
}

export interface WriterOptions extends NatsOptions {
  /** An append is retried for this long while the servers are unavailable. */
  readonly retryMs: number;
  /** True to continue although the stream has lost blocks. */
  readonly acceptsLoss?: boolean;
}

/**
 * Opens a ledger on JetStream for writing, and creates its stream if there is none. Opening is
 * retried while the servers are unavailable, as an append is.
 */
export async function openJetStreamLedgerWriter(options: WriterOptions): Promise<LedgerWriter> {
  const link = await connectNats(options);
  const deadlineMs = performance.now() + options.retryMs;
  for (;;) {
    try {
      return await openWithLease(link, options);
    } catch (error) {
      if (!isUnavailable(error) || performance.now() > deadlineMs) {
        await link.close();
        throw error;
      }
      await sleep(OPEN_RETRY_MS);
    }
  }
}

async function openWithLease(link: NatsLink, options: WriterOptions): Promise<LedgerWriter> {
  const { retryMs, acceptsLoss = false } = options;
  await ensureStream(link);
  const bucket = await link.openBucket(link.name);
  const lease = await takeLease({ link, bucket, key: WRITER_KEY });
  if (!(lease instanceof Lease)) {
    const who = describeHolder(lease);
    throw new LedgerError('busy', `another writer, ${who}, has this ledger open`);
  }
  try {
    const writer = new JetStreamLedgerWriter({ link, bucket, lease, retryMs });
    await writer.open({ acceptsLoss });
    return writer;
  } catch (error) {
    await lease.release();
    throw error;
  }
}
