/**
 * The one that writes to a ledger on JetStream. Every append names the sequence that it follows, and a
 * block that is sent again is known by its id. Where it is not known what became of an append, what
 * the stream holds decides: blocks of our own are stored, others are a conflict.
 *
 * A sequence says how many blocks come before, not which. For the first block that is sent this is
 * enough: the one before it is known to be ours. A block that is sent while the one before it is still
 * on its way must name that one's id as well, or it could follow another writer's. Servers compare
 * the id with the last one in their memory, which those of a cluster need not agree on: there,
 * blocks are sent one at a time.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { StreamConfig, StreamExpectations } from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';
import {
  CHAIN_START,
  type ChainPoint,
  isUnavailable,
  LedgerError,
  type LedgerWriter,
  type StoredBlock,
} from '../ledger.ts';
import { encodeMessage } from './block-message.ts';
import { BASE_KEY, JetStreamLedger, type StoredPoint, subjectOf } from './jetstream-ledger.ts';
import { describeHolder, Lease, takeLease } from './lease.ts';
import { connectNats, type NatsLink, type NatsOptions } from './nats.ts';

const WRITER_KEY = 'writer';
const WRITTEN_KEY = 'written';
/** How often it is noted, while blocks are appended, how far they go. */
const NOTE_MS = 2_000;
/** So many appended blocks are on their way at a time, and so many bytes of them. */
const APPEND_BLOCKS_MAX = 256;
const APPEND_BYTES_MAX = 4 << 20;
/** Until it is looked up what became of an append; it may be sent again, since it is stored once. */
const APPEND_MS = 1_500;
const RETRY_MS = 200;
/** For how long the servers remember what was sent, to know it when it is sent again. */
const DUPLICATES_MS = 120_000;

class JetStreamLedgerWriter extends JetStreamLedger implements LedgerWriter {
  readonly #bucket: KV;
  readonly #lease: Lease;
  readonly #retryMs: number;
  #head = CHAIN_START;
  /** The head's height while the stream holds no block. */
  #emptyHeight: number | undefined;
  /**
   * A single server of version 2.9 whose stream was moved ahead counts from there wrongly until it is
   * started anew, but knows the last message of a subject. A cluster is the other way round: it counts
   * rightly, and compares with a subject's last message before those on their way are stored.
   */
  #countsBySubject = false;
  #isReplicated = false;
  /** Whether the stream was last seen to end before the head: a server may yet have to catch up. */
  #isShort = false;
  #isClosed = false;
  #notedMs = 0;

  constructor(parts: { link: NatsLink; bucket: KV; lease: Lease; retryMs: number }) {
    super(parts.link);
    this.#bucket = parts.bucket;
    this.#lease = parts.lease;
    this.#retryMs = parts.retryMs;
  }

  /** Where to go on from; before the first append. */
  async open({ acceptsLoss }: { readonly acceptsLoss: boolean }): Promise<void> {
    const loss = await this.#findLoss();
    if (loss !== undefined) {
      if (!acceptsLoss) throw loss;
      await this.#startOver();
    }
    this.#head = await this.head();
    const { state, config } = await this.info();
    this.#emptyHeight = state.messages === 0 ? state.last_seq : undefined;
    this.#isReplicated = config.num_replicas > 1;
    await this.#noteWritten();
  }

  /** That it has lost blocks which were written to it; undefined where it has not. */
  async #findLoss(): Promise<LedgerError | undefined> {
    const entry = await this.link.ask('reading the height', () => this.#bucket.get(WRITTEN_KEY));
    const written = entry?.operation === 'PUT' ? entry.json<StoredPoint>().height : 0;
    const { state } = await this.info();
    const hasDroppedAll = state.messages === 0 && state.last_seq > 0;
    const hasBase = !hasDroppedAll || (await this.#hasBase());
    if (written <= state.last_seq && hasBase) return undefined;
    const { name } = this.link;
    const message =
      `the stream ${name} ${hasBase ? `ends at block ${state.last_seq}` : 'was emptied'}, but block ` +
      `${Math.max(written, state.last_seq)} was written to it: put it back from a copy ` +
      '(docs/operations.md), or go on with what is left by --accept-loss';
    return new LedgerError('missing', message);
  }

  async #hasBase(): Promise<boolean> {
    try {
      return (await this.base()) !== undefined;
    } catch (error) {
      if (error instanceof LedgerError && error.fault === 'missing') return false;
      throw error;
    }
  }

  /** A stream without blocks does not count from 1 again unless it is made anew. */
  async #startOver(): Promise<void> {
    const { state } = await this.info();
    if (state.messages > 0 || state.last_seq === 0) return;
    const { name, manager } = this.link;
    await this.link.ask('making the stream anew', () => manager.streams.delete(name));
    await ensureStream(this.link);
  }

  /** So that a stream that is deleted or emptied is not taken for a new one. */
  async #noteWritten(): Promise<void> {
    this.#notedMs = performance.now();
    const { height, hash } = this.#head;
    const stored: StoredPoint = { height, hash: hash.toString('hex') };
    await this.link.ask('noting the height', () =>
      this.#bucket.put(WRITTEN_KEY, JSON.stringify(stored)),
    );
  }

  async append(blocks: readonly StoredBlock[]): Promise<void> {
    const next = this.#head.height + 1;
    if (blocks.some(({ height }, index) => height !== next + index)) {
      throw new LedgerError('conflict', `the next block of this ledger is block ${next}`);
    }
    let rest = blocks;
    let deadlineMs = performance.now() + this.#retryMs;
    while (rest.length > 0) {
      const before = this.#head.height;
      await this.#send(rest, deadlineMs);
      rest = blocks.slice(this.#head.height + 1 - next);
      if (this.#head.height > before) deadlineMs = performance.now() + this.#retryMs;
    }
    // A note that is a little late, or lost, still tells a ledger from an empty one.
    if (performance.now() - this.#notedMs > NOTE_MS) this.#noteWritten().catch(() => undefined);
  }

  /** Sends what fits on the way at once, and moves the head by what is then known to be stored. */
  async #send(blocks: readonly StoredBlock[], deadlineMs: number): Promise<void> {
    if (this.#lease.isLost) {
      const message = `another writer has taken this ledger over after block ${this.#head.height}`;
      throw new LedgerError('conflict', message);
    }
    const portion = takePortion(blocks, this.#isReplicated ? 1 : APPEND_BLOCKS_MAX);
    const outcomes = await Promise.allSettled(
      portion.map((block, index) =>
        index === 0
          ? this.#publish(block, this.#head)
          : this.#publish(block, portion[index - 1], idOf(portion[index - 1])),
      ),
    );
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    const storedCount = failed === undefined ? portion.length : outcomes.indexOf(failed);
    if (storedCount > 0) this.#head = portion[storedCount - 1];
    if (failed === undefined) return;
    const before = this.#head.height;
    await this.#recover(blocks, failed.reason, deadlineMs);
    const isMiscounted = this.link.isWrongSequence(failed.reason) && this.#head.height === before;
    if (isMiscounted && (storedCount === 0 || this.#countsBySubject)) {
      this.#countsBySubject = !this.#countsBySubject;
    }
  }

  /** With the id of the block before, where that one is still on its way. */
  async #publish(block: StoredBlock, previous: ChainPoint, lastMsgID?: string): Promise<void> {
    const { link } = this;
    const { height } = block;
    const empty = link.modules.transport.headers();
    const { payload, headers } = encodeMessage(previous, block, empty, link.messageBytesMax);
    const publishing = link.streams.publish(subjectOf(link.name), payload, {
      headers,
      msgID: idOf(block),
      expect: {
        streamName: link.name,
        ...this.#expectBefore(previous),
        ...(lastMsgID === undefined ? {} : { lastMsgID }),
      },
      timeout: APPEND_MS,
    });
    const { seq } = await link.untilInterrupted(publishing);
    if (seq === height) return;
    throw new LedgerError('corrupt', `block ${height} was stored in the place of block ${seq}`);
  }

  /** What must be true for a block to be stored: that the one before it is the last. */
  #expectBefore(previous: ChainPoint): Partial<StreamExpectations> {
    if (previous.height === this.#emptyHeight) return { lastSubjectSequence: 0 };
    return this.#countsBySubject
      ? { lastSubjectSequence: previous.height }
      : { lastSequence: previous.height };
  }

  /** An append failed, or its acknowledgement was lost: what the stream holds decides. */
  async #recover(
    blocks: readonly StoredBlock[],
    reason: unknown,
    deadlineMs: number,
  ): Promise<void> {
    const error = this.link.isWrongSequence(reason)
      ? reason
      : this.link.describe('appending', reason);
    if (error instanceof LedgerError && !isUnavailable(error)) throw error;
    try {
      await this.#catchUp(blocks);
    } catch (failure) {
      if (!isUnavailable(failure)) throw failure;
    }
    const isStored = this.#head.height >= (blocks.at(-1)?.height ?? 0);
    if (isStored) return;
    if (performance.now() > deadlineMs) {
      if (this.#isShort) throw lostBlocks(this.#head.height);
      throw isUnavailable(error) ? error : this.link.describe('appending', error);
    }
    await sleep(RETRY_MS);
  }

  /** Takes those of the blocks for stored that the stream holds; another in their place is a conflict. */
  async #catchUp(blocks: readonly StoredBlock[]): Promise<void> {
    const { state } = await this.info();
    const lastHeight = blocks.at(-1)?.height ?? 0;
    const height = Math.min(state.last_seq, lastHeight);
    this.#isShort = state.last_seq < this.#head.height;
    if (height <= this.#head.height) return;
    const stored = await this.point(height);
    const ours = blocks[height - blocks[0].height];
    if (stored !== undefined && !stored.hash.equals(ours.hash)) {
      const message = `someone else has written block ${this.#head.height + 1} of this ledger`;
      throw new LedgerError('conflict', message);
    }
    if (stored !== undefined) this.#head = ours;
  }

  async prune(height: number): Promise<void> {
    const point = await this.point(height);
    if (point === undefined) {
      throw new LedgerError('missing', `there is no block ${height} to prune up to`);
    }
    // To the servers, to drop what comes before the first block is to drop everything.
    if ((await this.base()).height === height) return;
    await this.#purge(point);
  }

  /** The bucket first: a stream that has just lost its last block cannot tell its hash. */
  async #purge({ height, hash }: ChainPoint): Promise<void> {
    const { name, manager } = this.link;
    const stored: StoredPoint = { height, hash: hash.toString('hex') };
    await this.link.ask('keeping the base', () =>
      this.#bucket.put(BASE_KEY, JSON.stringify(stored)),
    );
    await this.link.ask('dropping blocks', () => manager.streams.purge(name, { seq: height + 1 }));
    if (height === this.#head.height) this.#emptyHeight = height;
  }

  async startAt(base: ChainPoint): Promise<void> {
    const { state } = await this.info();
    if (state.last_seq !== 0) {
      throw new LedgerError(
        'conflict',
        `this ledger is not empty: it is at block ${state.last_seq}`,
      );
    }
    this.#head = base;
    if (base.height > 0) await this.#purge(base);
  }

  override async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const isWriter = this.link.isConnected && !this.#lease.isLost;
    if (isWriter) await this.#noteWritten().catch(() => undefined);
    await this.#lease.release();
    await super.close();
  }
}

function lostBlocks(height: number): LedgerError {
  return new LedgerError('corrupt', `the ledger has lost blocks: block ${height} was stored in it`);
}

/** What the servers know a block by when it is sent again. */
function idOf({ height, hash }: StoredBlock): string {
  return `${height}:${hash.toString('hex')}`;
}

/** The first of the blocks that may be on their way together; always one. */
function takePortion(blocks: readonly StoredBlock[], countMax: number): readonly StoredBlock[] {
  let bytes = 0;
  let count = 0;
  while (count < Math.min(blocks.length, countMax)) {
    bytes += blocks[count].line.length;
    if (count > 0 && bytes > APPEND_BYTES_MAX) break;
    count++;
  }
  return blocks.slice(0, count);
}

export interface WriterOptions extends NatsOptions {
  /** How long an append goes on trying while the servers do not take it. */
  readonly retryMs: number;
  /** Go on although the stream has lost blocks that were written to it. */
  readonly acceptsLoss?: boolean;
}

/**
 * Opens a ledger on JetStream for writing, and makes its stream where there is none. Servers that are
 * there, but have yet to agree on who leads, are waited for as in an append.
 */
export async function openJetStreamLedgerWriter(options: WriterOptions): Promise<LedgerWriter> {
  const link = await connectNats(options);
  const deadlineMs = performance.now() + options.retryMs;
  for (;;) {
    try {
      return await takeWriterPlace(link, options);
    } catch (error) {
      if (!isUnavailable(error) || performance.now() > deadlineMs) {
        await link.close();
        throw error;
      }
      await sleep(RETRY_MS);
    }
  }
}

async function takeWriterPlace(link: NatsLink, options: WriterOptions): Promise<LedgerWriter> {
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

/** Refuses a stream that cannot keep a ledger: what it acknowledges might be gone, or never was. */
function checkStream({ name, modules }: NatsLink, config: StreamConfig): void {
  const { RetentionPolicy, StorageType } = modules.stream;
  const { subjects = [], retention, storage, no_ack } = config;
  const faults = [
    subjects.join() === subjectOf(name) ? '' : `its subjects are ${subjects.join(', ')}`,
    retention === RetentionPolicy.Limits ? '' : `its retention is ${retention}`,
    storage === StorageType.File ? '' : `its storage is ${storage}`,
    no_ack === true ? 'it does not acknowledge' : '',
  ].filter((fault) => fault !== '');
  if (faults.length === 0) return;
  const expected = `expected the subject ${subjectOf(name)}, retention limits, storage file, acknowledged`;
  throw new LedgerError(
    'limit',
    `the stream ${name} cannot keep a ledger: ${faults.join('; ')}; ${expected}`,
  );
}

/** A stream that is there stays as its operator has set it up. */
async function ensureStream(link: NatsLink): Promise<void> {
  const { manager, name, modules, options } = link;
  const { RetentionPolicy, StorageType } = modules.stream;
  try {
    const { config } = await link.ask('looking for the stream', () => manager.streams.info(name));
    checkStream(link, config);
  } catch (error) {
    if (!(error instanceof LedgerError) || error.fault !== 'missing') throw error;
    await link.ask('making the stream', () =>
      manager.streams.add({
        name,
        subjects: [subjectOf(name)],
        retention: RetentionPolicy.Limits,
        storage: StorageType.File,
        num_replicas: options.replicas,
        // Blocks can then be read while the servers have no metadata leader.
        allow_direct: true,
        duplicate_window: modules.transport.nanos(DUPLICATES_MS),
      }),
    );
  }
}
