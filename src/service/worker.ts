/**
 * A worker: a process that answers requests. Each worker has its own replica and its own server.
 */

import { once } from 'node:events';
import path from 'node:path';
import type { Logger } from 'pino';
import { type Registry, register } from 'prom-client';
import { Admission } from '../access/admission.ts';
import type { Budgets } from '../access/budgets.ts';
import { KeyRing } from '../access/key-ring.ts';
import type { KeyReader } from '../access/key-store.ts';
import { openKeysForReading } from '../access/open-key-store.ts';
import { ArchiveLink } from '../archive/reading/archive-link.ts';
import { Answers } from '../http/answering/answers.ts';
import { createInfoServer } from '../http/create-server.ts';
import { HTTP_LIMITS, type HttpLimits } from '../http/limits.ts';
import { Push } from '../http/push/push.ts';
import type { InfoServer } from '../http/transport/node/info-server.ts';
import { LiveState } from '../replica/live-state.ts';
import {
  type KeeperOptions,
  type SavedSnapshot,
  SnapshotKeeper,
} from '../replica/snapshot-keeper.ts';
import { openStorage, type Storage } from '../replica/storage.ts';
import type { FollowerClient } from '../upstream/channel/follower-client.ts';
import { createFollowerClient } from '../upstream/channel/open-channel.ts';
import type { FeedFailures } from './feed-failures.ts';
import { listen } from './listening/listen.ts';
import { formatOrigin } from './listening/server-url.ts';
import { addDiskMetrics } from './metrics/disk-metrics.ts';
import { DiskWatch } from './metrics/disk-watch.ts';
import { FollowMetrics } from './metrics/follow-metrics.ts';
import { LoadGauge } from './metrics/load-gauge.ts';
import { Metrics } from './metrics/metrics.ts';
import type { WorkerSettings } from './settings.ts';
import { stopTimeoutOf } from './stop-deadline.ts';

export interface WorkerOptions {
  readonly settings: WorkerSettings;
  /** Limits that replace HTTP_LIMITS, for the demo and for tests. */
  readonly limits?: Partial<HttpLimits> | undefined;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly budgets: Budgets;
  readonly registry?: Registry;
  /**
   * True if other workers answer already. This worker then starts listening only when it has a
   * state.
   */
  readonly restoresFirst?: boolean;
  readonly feedFailures?: FeedFailures;
  /** Called once with the port; the worker fails if it does. */
  listening?(port: number): Promise<void>;
  /** Called once, when there is a state to answer from. */
  restored?(): void;
  /** Called once, with a function that saves a snapshot of the current state. */
  offerSnapshots?(save: () => Promise<SavedSnapshot>): void;
}

/** Serves until the signal is aborted, then drains the requests in flight. */
export async function runWorker(options: WorkerOptions): Promise<void> {
  const warn = (message: string) => options.log.warn(message);
  const storage = await openStorage(options.settings, warn);
  try {
    const store = await openKeysForReading(options.settings);
    try {
      await serveFrom(storage, store, options);
    } finally {
      await store.close();
    }
  } finally {
    await storage.close();
  }
}

async function serveFrom(
  storage: Storage,
  store: KeyReader,
  options: WorkerOptions,
): Promise<void> {
  const follower = createFollowerClient(options.settings);
  const { data, archive: isKept } = options.settings;
  const warn = (message: string) => options.log.warn(message);
  const history = data === '' ? undefined : new ArchiveLink(data, { ...storage, isKept, warn });
  const disk = data === '' ? undefined : new DiskWatch({ data });
  const parts = assemble({ storage, store, follower, history, disk }, options);
  options.offerSnapshots?.(() => saveSnapshot(parts, data));
  const end = new AbortController();
  const replicaRun = new ReplicaRun(parts, options, AbortSignal.any([options.signal, end.signal]));
  try {
    await listenUntilStopped(parts, replicaRun, options);
  } finally {
    end.abort();
    await replicaRun.ended;
    parts.push.close();
    parts.load.close();
    await parts.keys.close();
    await parts.keeper.close();
    await history?.close();
    await disk?.close();
    await follower.close();
  }
}

interface Parts {
  readonly live: LiveState;
  readonly push: Push;
  readonly keys: KeyRing;
  readonly load: LoadGauge;
  readonly keeper: SnapshotKeeper;
  readonly server: InfoServer;
}

/** The sources that a worker answers from. */
interface Sources {
  readonly storage: Storage;
  readonly store: KeyReader;
  readonly follower: FollowerClient;
  readonly history: ArchiveLink | undefined;
  readonly disk: DiskWatch | undefined;
}

function assemble(
  { storage, store, follower, history, disk }: Sources,
  options: WorkerOptions,
): Parts {
  const { log, budgets, registry = register } = options;
  const settings = { ...HTTP_LIMITS, ...options.limits, ...options.settings };
  const load = new LoadGauge(settings.overloadDelay);
  const metrics = new Metrics(registry);
  const readDisk = () => disk?.report;
  addDiskMetrics(registry, readDisk);
  new FollowMetrics(registry, () => (live.state?.isPartial ? follower.status() : undefined));
  const warn = (message: string) => log.warn(message);
  const warnOfCache = (message: string) => {
    metrics.countCacheFailure();
    log.warn(message);
  };
  const keeper = createKeeper(settings, storage, {
    warn: warnOfCache,
    worked: (seconds) => metrics.countWork('snapshot', seconds),
  });
  const keys = new KeyRing(store, { warn, warnOfUse: warnOfCache });
  const live = new LiveState({
    ...storage,
    maxAgeMs: settings.maxAge,
    maxBehindMs: settings.maxBehind,
    warn,
    advanced: ({ height, time, isPartial }) => {
      metrics.setLedger(height, time);
      // The first call connects to the follower, so that its report is available before it is
      // needed.
      if (isPartial) follower.status();
      push.advance();
    },
    worked: (seconds) => metrics.countWork('blocks', seconds),
    beforeBlocks: () => answers.untilWritten(),
    keep: (replica) => keeper.keep(replica),
    cutOff: () => push.sendAway(),
    failed: (error) => {
      metrics.countFailure();
      log.error({ err: error }, 'a bug after a block was applied; answers are not affected');
    },
  });
  const admission = new Admission(keys, budgets);
  const shared = { live, admission, counters: metrics, log, settings };
  const answers = new Answers({ ...shared, load, follower, history });
  const push = new Push({ ...shared, answers });
  const server = createInfoServer({ ...shared, answers, push, follower, readDisk });
  return { live, push, keys, load, keeper, server };
}

/** Restores the state and follows the ledger. Both start when `start` is called. */
class ReplicaRun {
  readonly #parts: Parts;
  readonly #options: WorkerOptions;
  readonly #signal: AbortSignal;
  ended: Promise<void> = Promise.resolve();

  constructor(parts: Parts, options: WorkerOptions, signal: AbortSignal) {
    this.#parts = parts;
    this.#options = options;
    this.#signal = signal;
    void parts.live.restored.then(() => options.restored?.());
    options.feedFailures?.listen((failure) => parts.live.noteFeedFailure(failure));
  }

  start(): void {
    const { push } = this.#parts;
    this.ended = this.#run().catch((error: Error) => {
      this.#options.log.fatal(
        { err: error },
        'the ledger is broken: this worker no longer answers',
      );
      push.fail();
    });
  }

  async #run(): Promise<void> {
    const { keeper, live } = this.#parts;
    // If no blocks arrive, the keeper is offered only one state, right after the restore. So the
    // keeper must be ready before the restore.
    await keeper.ready();
    await live.run(this.#signal);
  }

  /** Throws if the state cannot be restored. The supervisor then restarts the worker. */
  async restoreFirst(): Promise<void> {
    const { live } = this.#parts;
    this.start();
    await Promise.race([live.restored, this.ended]);
    if (live.state === undefined && !this.#signal.aborted) throw new Error(live.unavailableReason);
  }
}

async function listenUntilStopped(
  parts: Parts,
  replicaRun: ReplicaRun,
  options: WorkerOptions,
): Promise<void> {
  const { settings, log, signal } = options;
  const { server, push } = parts;
  if (options.restoresFirst) await replicaRun.restoreFirst();
  if (signal.aborted) return;
  const port = await listen(server, settings.port, settings.host);
  const address = formatOrigin(settings.host, port);
  log.info({ address, host: settings.host, port }, 'listening');
  if (!options.restoresFirst) replicaRun.start();
  await options.listening?.(port);
  if (!signal.aborted) await once(signal, 'abort');
  push.close();
  const closed = once(server, 'close');
  server.drain(stopTimeoutOf(options.limits));
  await closed;
}

/**
 * If the ledger is in a folder, the writer saves the snapshots. If the ledger is on NATS, every
 * replica saves its own snapshots.
 */
function createKeeper(
  { snapshotEvery, snapshotKeep: keep }: WorkerOptions['settings'],
  { snapshots, shared }: Storage,
  reports: Pick<KeeperOptions, 'warn' | 'worked'>,
): SnapshotKeeper {
  const every = shared === undefined ? undefined : snapshotEvery;
  return new SnapshotKeeper({ snapshots, shared, every, keep, ...reports });
}

/**
 * Saves a snapshot of the current state. If there is no data folder, the snapshot's file is deleted
 * when the process ends, so its path is not returned.
 */
async function saveSnapshot({ live, keeper }: Parts, data: string): Promise<SavedSnapshot> {
  if (live.state === undefined) throw new Error(live.unavailableReason);
  const { height, file, object } = await keeper.saveNow();
  return { height, object, file: data === '' ? undefined : path.resolve(file) };
}
