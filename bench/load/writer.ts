/**
 * Appends blocks while the service is measured, in a separate process, as an operator does. It
 * appends ten blocks a second in which all marks move, and on demand does work that may disturb
 * readers.
 */

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Committer } from '../../src/feed/committer.ts';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import type { LedgerWriter } from '../../src/ledger/ledger.ts';
import { type Replica, restoreReplica } from '../../src/replica/replica.ts';
import { SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import { ask, forkScript, isForked, stopChild } from '../frame/child.ts';
import { steadyMs } from '../frame/clock.ts';
import { MovingMarket } from './moving-market.ts';

const SCRIPT = fileURLToPath(import.meta.url);
const INTERVAL_MS = 100;
export const BLOCKS_PER_SECOND = 1000 / INTERVAL_MS;
/** The average number of events in a block of the simulator. */
const ORDINARY_EVENTS = 20;
const LARGE_EVENTS = 5000;
const LARGE_EVERY = 10;
const SNAPSHOT_EVERY = 20;
const SNAPSHOTS_KEPT = 2;

/**
 * `ordinary`: only blocks. `snapshots`: a snapshot at every 20th height, too. `large`: every 10th
 * block is large.
 */
export type Pace = 'ordinary' | 'snapshots' | 'large';

/** An action that may have disturbed readers, with its times by the steady clock. */
export interface Disturbance {
  readonly height: number;
  readonly startMs: number;
  readonly endMs: number;
}

export class RunningWriter {
  readonly #process: ChildProcess;

  constructor(writer: ChildProcess) {
    this.#process = writer;
  }

  /** Changes the pace, and returns the disturbances of the last pace. */
  setPace(pace: Pace): Promise<Disturbance[]> {
    return ask(this.#process, { pace });
  }

  stop(): Promise<void> {
    return stopChild(this.#process);
  }
}

/** Starts a writer that continues the ledger in the folder; resolves when the writer appends. */
export async function startWriter(
  directory: string,
  eventsPerBlock = ORDINARY_EVENTS,
): Promise<RunningWriter> {
  const writer = forkScript(SCRIPT);
  await ask(writer, { directory, eventsPerBlock } satisfies Beginning);
  return new RunningWriter(writer);
}

/** The first message to the process. */
interface Beginning {
  readonly directory: string;
  readonly eventsPerBlock: number;
}

class Feed {
  pace: Pace = 'ordinary';
  disturbances: Disturbance[] = [];
  readonly #replica: Replica;
  readonly #committer: Committer;
  readonly #snapshots: SnapshotFolder;
  readonly #market: MovingMarket;
  readonly #eventsPerBlock: number;

  constructor(
    ledger: LedgerWriter,
    replica: Replica,
    snapshots: SnapshotFolder,
    eventsPerBlock: number,
  ) {
    this.#eventsPerBlock = eventsPerBlock;
    this.#replica = replica;
    this.#committer = new Committer(ledger, () => undefined);
    this.#snapshots = snapshots;
    this.#market = new MovingMarket(replica.state, `writer/${replica.point.height}`);
  }

  async writeBlock(): Promise<void> {
    const next = this.#replica.point.height + 1;
    const isLarge = this.pace === 'large' && next % LARGE_EVERY === 0;
    const line = this.#market.nextLine(isLarge ? LARGE_EVENTS : this.#eventsPerBlock);
    this.#committer.add(this.#replica.extend(Buffer.from(line)));
    // From now on a reader may see the block, because a commit is visible before it is durable.
    await this.#note(isLarge, () => this.#committer.flush());
    const isKept = this.pace === 'snapshots' && next % SNAPSHOT_EVERY === 0;
    await this.#note(isKept, () => (isKept ? this.#saveSnapshot() : Promise.resolve()));
  }

  async #note(isDisturbance: boolean, work: () => Promise<void>): Promise<void> {
    const startMs = steadyMs();
    await work();
    const { height } = this.#replica.point;
    if (isDisturbance) this.disturbances.push({ height, startMs, endMs: steadyMs() });
  }

  async #saveSnapshot(): Promise<void> {
    await this.#snapshots.save(this.#replica.state, this.#replica.point.hash);
    await this.#snapshots.keepNewest(SNAPSHOTS_KEPT);
  }
}

async function openFeed({ directory, eventsPerBlock }: Beginning) {
  const ledger = await openEmbeddedLedgerWriter(directory);
  const snapshots = new SnapshotFolder(directory);
  const replica = await restoreReplica({ ledger, snapshots, warn: console.error });
  return { ledger, feed: new Feed(ledger, replica, snapshots, eventsPerBlock) };
}

/**
 * Writes a block at each interval. A block is left out if the last block is still being written.
 */
async function writeUntil(feed: Feed, signal: AbortSignal): Promise<void> {
  let dueMs = performance.now();
  while (!signal.aborted) {
    await feed.writeBlock();
    dueMs = Math.max(dueMs + INTERVAL_MS, performance.now());
    await sleep(dueMs - performance.now());
  }
}

async function runWriter(): Promise<void> {
  const stop = new AbortController();
  process.once('SIGTERM', () => stop.abort());
  process.once('disconnect', () => stop.abort());
  const [beginning] = (await once(process, 'message')) as [Beginning];
  const { ledger, feed } = await openFeed(beginning);
  process.on('message', ({ pace }: { pace: Pace }) => {
    feed.pace = pace;
    process.send?.(feed.disturbances);
    feed.disturbances = [];
  });
  process.send?.('appending');
  await writeUntil(feed, stop.signal);
  await ledger.close();
  if (process.connected) process.disconnect();
}

if (isForked(SCRIPT)) await runWriter();
