/**
 * Snapshots in the JetStream object store, for replicas without local snapshots. The replica that
 * has a lease publishes them. Like snapshots in files, they are a cache: checksum and chain hash
 * are checked before a snapshot is used.
 */

import { openAsBlob } from 'node:fs';
import type { StreamInfo } from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';
import type { ObjectStore } from '@nats-io/obj';
import { Lease, takeLease } from '../ledger/jetstream/lease.ts';
import { connectNats, failAfter, type NatsLink } from '../ledger/jetstream/nats.ts';
import type { NatsOptions } from '../ledger/jetstream/nats-client.ts';
import { StoredHead } from '../ledger/jetstream/stored-head.ts';
import { isLimited, limitsOf, type StreamLimits } from '../ledger/jetstream/stream-limits.ts';
import type { ChainPoint, Ledger } from '../ledger/ledger.ts';
import { removeOrphanedChunks } from './orphaned-chunks.ts';
import type { SnapshotFolder } from './snapshot-folder.ts';
import { isSnapshotDue } from './stream-room.ts';

/**
 * The number of snapshots that stay in the store: a snapshot that another replica is fetching must
 * not be deleted when the next snapshot is published.
 */
const KEPT_COUNT = 3;
const PUBLISHER = 'snapshots';
/**
 * The minimum number of blocks that a fetched snapshot must save: replaying fewer blocks is faster
 * than fetching.
 */
const WORTH_BLOCKS = 1_000;
/**
 * The deadline for listing snapshots: if the last message of a list is lost, the client waits for
 * more than half a minute.
 */
const LIST_MS = 5_000;
/** A fetch is abandoned when no data arrives for this long. */
const IDLE_MS = 10_000;
const NAME = /^(\d{16})\.snapshot$/;

export interface FetchOptions {
  readonly ledger: Ledger;
  readonly snapshots: SnapshotFolder;
  /** The height to restore: later snapshots are of no use. */
  readonly height: number;
  warn(message: string): void;
}

export class SharedSnapshots {
  readonly #link: NatsLink;
  readonly #objects: ObjectStore;
  readonly #bucket: KV;
  #lease: Lease | undefined;
  #taking: Promise<boolean> | undefined;
  #isClosed = false;

  constructor(link: NatsLink, objects: ObjectStore, bucket: KV) {
    this.#link = link;
    this.#objects = objects;
    this.#bucket = bucket;
  }

  /** Returns the heights of the snapshots, ascending. */
  async heights(): Promise<number[]> {
    const objects = await this.#link.ask('listing snapshots', () =>
      Promise.race([this.#objects.list(), failAfter(LIST_MS, 'no list arrived in time')]),
    );
    return objects
      .flatMap(({ name, deleted }) => (deleted ? [] : (NAME.exec(name)?.[1] ?? [])))
      .map(Number)
      .sort((a, b) => a - b);
  }

  /** Fetches the newest usable snapshot, unless the folder has a snapshot that is about as new. */
  async fetch({ ledger, snapshots, height, warn }: FetchOptions): Promise<void> {
    const base = await ledger.base();
    const isUsable = (at: number) => at >= base.height && at <= height;
    const own = snapshots.heights().filter(isUsable).at(-1);
    const worthFrom = own === undefined ? base.height : own + WORTH_BLOCKS;
    // Snapshots are a cache: if they cannot be listed, none is used.
    const listed = await this.heights().catch((error: Error) => {
      warn(`cannot list the snapshots on NATS: ${error.message}`);
      return [];
    });
    const offered = listed.filter((at) => isUsable(at) && at >= worthFrom);
    for (const at of offered.reverse()) {
      try {
        await this.#fetchOne(at, ledger, snapshots);
        return;
      } catch (error) {
        await snapshots.remove([at]);
        warn(`the snapshot of height ${at} on NATS is ignored: ${(error as Error).message}`);
      }
    }
  }

  async #fetchOne(height: number, ledger: Ledger, snapshots: SnapshotFolder): Promise<void> {
    const object = await this.#objects.get(nameOf(height));
    if (object === null) throw new Error('it has just been deleted');
    // A failure also ends the data, and is handled there. Nothing awaits this promise while data
    // arrives.
    object.error.catch(() => undefined);
    await snapshots.receive(height, this.#readData(object.data));
    const failure = await object.error;
    if (failure instanceof Error) throw failure;
    const loaded = await snapshots.load(height);
    const stored = await ledger.point(height);
    if (loaded === undefined || stored?.hash.equals(loaded.point.hash) !== true) {
      throw new Error('it belongs to another ledger');
    }
  }

  /**
   * Reads the data; throws if no more data arrives. The client itself may wait forever for a lost
   * message.
   */
  async *#readData(data: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
    const reader = data.getReader();
    const cancel = () => void reader.cancel().catch(() => undefined);
    let failure: Error | undefined;
    let isReading = true;
    const idleTimer = this.#link.startIdleTimer(IDLE_MS, (reason) => {
      // While the local disk is slow, the connection does not count as idle.
      if (!isReading) return;
      failure = reason;
      cancel();
    });
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (failure !== undefined) throw failure;
        if (done) return;
        isReading = false;
        yield value;
        isReading = true;
        idleTimer.reset();
      }
    } finally {
      idleTimer.cancel();
      cancel();
    }
  }

  /**
   * Publishes one of a folder's snapshots and deletes old snapshots. Returns false if another
   * replica publishes instead.
   */
  async publish(snapshots: SnapshotFolder, height: number): Promise<boolean> {
    if (!(await this.#isPublisher())) return false;
    const heights = await this.#dropAhead(await this.heights());
    if (heights.some((at) => at >= height)) return true;
    const [link, objects] = [this.#link, this.#objects];
    const found = { objectCount: heights.length, nowMs: Date.now() };
    await removeOrphanedChunks({ link, objects, bucket: bucketOf(link), ...found });
    return await this.#add(snapshots, height, heights);
  }

  /**
   * Publishes a snapshot at an operator's request, even while another replica has the lease;
   * returns the snapshot's bucket and name. Also notes the snapshot's hash, with which a stream
   * continues that has dropped the block.
   */
  async publishNow(snapshots: SnapshotFolder, point: ChainPoint): Promise<string> {
    const { height } = point;
    const heights = await this.#dropAhead(await this.heights());
    if (!heights.includes(height)) await this.#add(snapshots, height, heights);
    const { state } = await this.#readStream();
    if (height <= state.last_seq) await new StoredHead(this.#link, this.#bucket).raise(point);
    return `${bucketOf(this.#link)}/${nameOf(height)}`;
  }

  /** Returns false if another replica has just published this snapshot. */
  async #add(
    snapshots: SnapshotFolder,
    height: number,
    heights: readonly number[],
  ): Promise<boolean> {
    if (!(await this.#put(snapshots.pathOf(height), nameOf(height)))) return false;
    await this.#delete(heights.filter((at) => at < height).slice(0, 1 - KEPT_COUNT));
    return true;
  }

  /** Returns the limits of the ledger's stream. */
  async limits(): Promise<StreamLimits> {
    return limitsOf(await this.#readStream());
  }

  #readStream(): Promise<StreamInfo> {
    const { name, manager } = this.#link;
    return this.#link.ask('reading the state of the ledger', () => manager.streams.info(name));
  }

  /**
   * True if this replica should publish a snapshot of its height soon, because the stream has
   * dropped blocks that are in no published snapshot, or will soon drop them.
   */
  async isDue(height: number): Promise<boolean> {
    const info = await this.#readStream();
    const limits = limitsOf(info);
    if (!isLimited(limits) || !(await this.#isPublisher())) return false;
    const { first_seq, last_seq } = info.state;
    const newest = (await this.heights()).filter((at) => at <= last_seq).at(-1) ?? 0;
    if (newest >= height) return false;
    if (newest + 1 < first_seq) return true;
    const ageMs = Date.now() - (await this.#readTime(newest + 1));
    return isSnapshotDue(limits, { count: last_seq - newest, ageMs });
  }

  /**
   * Returns the time at which a block was stored; returns minus infinity if the block has been
   * dropped.
   */
  async #readTime(seq: number): Promise<number> {
    const { name, manager } = this.#link;
    const message = await this.#link.ask('reading the age of a block', () =>
      manager.streams.getMessage(name, { seq }),
    );
    return message?.time.getTime() ?? Number.NEGATIVE_INFINITY;
  }

  /**
   * Deletes the snapshots ahead of the ledger's head, which are left from a longer ledger that was
   * repaired with a loss; returns the other heights.
   */
  async #dropAhead(heights: readonly number[]): Promise<number[]> {
    // The head is read after the list. Otherwise a snapshot that is published in between would
    // count as ahead.
    const { state } = await this.#readStream();
    await this.#delete(heights.filter((at) => at > state.last_seq));
    return heights.filter((at) => at <= state.last_seq);
  }

  async #delete(heights: readonly number[]): Promise<void> {
    for (const height of heights) {
      await this.#link.ask('deleting a snapshot', () => this.#objects.delete(nameOf(height)));
    }
  }

  /**
   * Returns false if another replica was faster. That replica's copy stays, because others may be
   * fetching it.
   */
  async #put(path: string, name: string): Promise<boolean> {
    const before = await this.#link.ask('looking for a snapshot', () => this.#objects.info(name));
    const file = await openAsBlob(path);
    const previousRevision = before?.revision ?? 0;
    try {
      const stream = file.stream() as ReadableStream<Uint8Array>;
      await this.#link.untilInterrupted(this.#objects.put({ name }, stream, { previousRevision }));
      return true;
    } catch (error) {
      if (this.#link.isWrongSequence(error)) return false;
      throw this.#link.toLedgerError('publishing a snapshot', error);
    }
  }

  async #isPublisher(): Promise<boolean> {
    if (this.#lease !== undefined && !this.#lease.isLost) return true;
    // Only one attempt runs at a time: with two attempts, the process would wait for its own lease.
    this.#taking ??= this.#takeLease().finally(() => {
      this.#taking = undefined;
    });
    return await this.#taking;
  }

  async #takeLease(): Promise<boolean> {
    const place = { link: this.#link, bucket: this.#bucket, key: PUBLISHER };
    const taken = await takeLease(place);
    this.#lease = taken instanceof Lease ? taken : undefined;
    if (this.#isClosed) await this.#lease?.release();
    return this.#lease !== undefined && !this.#isClosed;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#lease?.release();
    await this.#link.close();
  }
}

function bucketOf({ name }: NatsLink): string {
  return `${name}-snapshots`;
}

function nameOf(height: number): string {
  return `${String(height).padStart(16, '0')}.snapshot`;
}

export async function openSharedSnapshots(options: NatsOptions): Promise<SharedSnapshots> {
  const link = await connectNats(options);
  try {
    const objects = await link.openObjects(bucketOf(link));
    return new SharedSnapshots(link, objects, await link.openBucket(link.name));
  } catch (error) {
    await link.close();
    throw error;
  }
}
