/**
 * Publishes blocks to the stream of a ledger. Every publish names the expected last sequence and
 * has a message id, so that a retry is idempotent. If an acknowledgement is lost, the publisher
 * reads the stream: blocks of this writer in the stream are stored, and any other block at their
 * heights is a conflict.
 *
 * A sequence says how many blocks come before, not which blocks. That is enough for the first block
 * in flight, because its predecessor is known to be ours. Every further block in flight also names
 * the message id of its predecessor; otherwise it could follow a block of another writer. Servers
 * compare this id with the last id in their memory, which can differ between the servers of a
 * cluster. So on a cluster only one block is in flight.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { StreamExpectations } from '@nats-io/jetstream';
import { CHAIN_START } from '../hash-chain.ts';
import { type ChainPoint, isUnavailable, LedgerError, type StoredBlock } from '../ledger.ts';
import { encodeMessage } from './block-message.ts';
import type { JetStreamLedger } from './jetstream-ledger.ts';
import { subjectOf } from './ledger-stream.ts';
import type { NatsLink } from './nats.ts';

/** The maximum number of unacknowledged publishes, and the maximum of their bytes. */
const IN_FLIGHT_BLOCKS_MAX = 256;
const IN_FLIGHT_BYTES_MAX = 4 << 20;
/** The writer waits this long for an acknowledgement before it reads the stream. */
const ACKNOWLEDGE_MS = 1_500;
const RETRY_MS = 200;

export class BlockPublisher {
  readonly #link: NatsLink;
  readonly #ledger: JetStreamLedger;
  readonly #retryMs: number;
  #head = CHAIN_START;
  /**
   * The height of the head when the stream was last known to contain no block; otherwise undefined.
   */
  #emptyHeight: number | undefined;
  /**
   * True if a publish names the last sequence of the subject, and not that of the stream. A single
   * server of version 2.9 whose stream was moved ahead compares the stream's last sequence wrongly
   * until the server is restarted, but compares a subject's last sequence correctly. A cluster does
   * the opposite: it compares a subject's last sequence without the messages in flight.
   */
  #countsBySubject = false;
  #isReplicated = false;
  /**
   * True if the stream ended before the head when it was last read: a server may still be catching
   * up.
   */
  #isShort = false;

  constructor(link: NatsLink, ledger: JetStreamLedger, retryMs: number) {
    this.#link = link;
    this.#ledger = ledger;
    this.#retryMs = retryMs;
  }

  /** The last block that is known to be stored. */
  get head(): ChainPoint {
    return this.#head;
  }

  /** Reads the head; must be called before the first append. */
  async start(): Promise<void> {
    this.#head = await this.#ledger.head();
    const { state, config } = await this.#ledger.streamInfo();
    this.#emptyHeight = state.messages === 0 ? state.last_seq : undefined;
    this.#isReplicated = config.num_replicas > 1;
  }

  /** Moves the head to this point, because the stream now contains no block. */
  restartAt(point: ChainPoint): void {
    this.#head = point;
    if (point.height > 0) this.#emptyHeight = point.height;
  }

  /** Resolves when all blocks are stored; `checkLease` runs before each portion. */
  async append(blocks: readonly StoredBlock[], checkLease: () => void): Promise<void> {
    const next = this.#head.height + 1;
    const wrong = blocks.findIndex(({ height }, index) => height !== next + index);
    if (wrong !== -1) {
      const message = `got block ${blocks[wrong].height}, expected block ${next + wrong}`;
      throw new LedgerError('conflict', message);
    }
    let rest = blocks;
    let deadlineMs = performance.now() + this.#retryMs;
    while (rest.length > 0) {
      checkLease();
      const before = this.#head.height;
      await this.#publishPortion(rest, deadlineMs);
      rest = blocks.slice(this.#head.height + 1 - next);
      if (this.#head.height > before) deadlineMs = performance.now() + this.#retryMs;
    }
  }

  /** Publishes as many blocks as may be in flight, and moves the head to the last stored block. */
  async #publishPortion(blocks: readonly StoredBlock[], deadlineMs: number): Promise<void> {
    const portion = takePortion(blocks, this.#isReplicated ? 1 : IN_FLIGHT_BLOCKS_MAX);
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
    const isMiscounted = this.#link.isWrongSequence(failed.reason) && this.#head.height === before;
    if (isMiscounted && (storedCount === 0 || this.#countsBySubject)) {
      this.#countsBySubject = !this.#countsBySubject;
    }
  }

  /**
   * `lastMsgID` is the message id of the previous block, if the previous block is in flight too.
   */
  async #publish(block: StoredBlock, previous: ChainPoint, lastMsgID?: string): Promise<void> {
    const link = this.#link;
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
      timeout: ACKNOWLEDGE_MS,
    });
    const { seq } = await link.untilInterrupted(publishing);
    if (seq === height) return;
    throw new LedgerError('corrupt', `block ${height} was stored at sequence ${seq}`);
  }

  /**
   * Returns the condition of a publish: the server stores the block only if `previous` is the last
   * block.
   */
  #expectBefore(previous: ChainPoint): Partial<StreamExpectations> {
    if (previous.height === this.#emptyHeight) return { lastSubjectSequence: 0 };
    return this.#countsBySubject
      ? { lastSubjectSequence: previous.height }
      : { lastSequence: previous.height };
  }

  /** After a failed publish or a lost acknowledgement, finds out which blocks were stored. */
  async #recover(
    blocks: readonly StoredBlock[],
    reason: unknown,
    deadlineMs: number,
  ): Promise<void> {
    const link = this.#link;
    const error = link.isWrongSequence(reason) ? reason : link.toLedgerError('appending', reason);
    if (error instanceof LedgerError && !isUnavailable(error)) throw error;
    try {
      await this.#catchUp(blocks);
    } catch (failure) {
      if (!isUnavailable(failure)) throw failure;
    }
    if (this.#head.height >= blocks[blocks.length - 1].height) return;
    if (performance.now() > deadlineMs) {
      if (this.#isShort) throw lostBlocks(this.#head.height);
      throw isUnavailable(error) ? error : link.toLedgerError('appending', error);
    }
    await sleep(RETRY_MS);
  }

  /**
   * Moves the head to the last of our blocks in the stream; throws if another writer has written a
   * block there.
   */
  async #catchUp(blocks: readonly StoredBlock[]): Promise<void> {
    const { state } = await this.#ledger.streamInfo();
    const height = Math.min(state.last_seq, blocks[blocks.length - 1].height);
    this.#isShort = state.last_seq < this.#head.height;
    if (height <= this.#head.height) return;
    const stored = await this.#ledger.point(height);
    const ours = blocks[height - blocks[0].height];
    if (stored !== undefined && !stored.hash.equals(ours.hash)) {
      const message = `another writer has written block ${this.#head.height + 1} of this ledger`;
      throw new LedgerError('conflict', message);
    }
    if (stored !== undefined) this.#head = ours;
  }
}

function lostBlocks(height: number): LedgerError {
  return new LedgerError(
    'corrupt',
    `the ledger has lost blocks: it ends before block ${height}, which was stored`,
  );
}

/** Returns the message id by which the servers deduplicate a block. */
function idOf({ height, hash }: StoredBlock): string {
  return `${height}:${hash.toString('hex')}`;
}

/** Returns the first blocks that may be in flight together, at least one block. */
function takePortion(blocks: readonly StoredBlock[], countMax: number): readonly StoredBlock[] {
  let bytes = 0;
  let count = 0;
  while (count < Math.min(blocks.length, countMax)) {
    bytes += blocks[count].line.length;
    if (count > 0 && bytes > IN_FLIGHT_BYTES_MAX) break;
    count++;
  }
  return blocks.slice(0, count);
}
