/**
 * Starts the processes of a service: a single process, or a supervisor with workers. The
 * supervisor's process may also run a feed.
 */

import cluster from 'node:cluster';
import { once } from 'node:events';
import type { Logger } from 'pino';
import { AggregatorRegistry, Registry, register } from 'prom-client';
import { type ChargeChannel, shareBudgets } from '../access/budget-sharing.ts';
import { Budgets } from '../access/budgets.ts';
import { openNatsCharges } from '../access/jetstream/nats-charges.ts';
import { natsOptionsOf } from '../ledger/location.ts';
import type { SavedSnapshot } from '../replica/snapshot-keeper.ts';
import { openStorage } from '../replica/storage.ts';
import { checkStreamRoom } from '../replica/stream-room.ts';
import type { FollowerHandler } from '../upstream/channel/follower-client.ts';
import { listenForClients } from '../upstream/channel/open-channel.ts';
import type { FollowFeed } from '../upstream/follower/follow-feed.ts';
import { runArchiverProcess } from './archiver-process.ts';
import { withFailure } from './failed-follower.ts';
import { followerRetention } from './follower-retention.ts';
import { type AdminOptions, type AdminServer, startAdmin } from './listening/admin.ts';
import { formatOrigin } from './listening/server-url.ts';
import { withDiskWarnings } from './metrics/disk-watch.ts';
import { addFeedMetrics } from './metrics/feed-metrics.ts';
import {
  addMemoryMetrics,
  type ProcessRole,
  type ServiceProcess,
} from './metrics/memory-metrics.ts';
import { ServiceFeed, type ServiceFeedOptions } from './service-feed.ts';
import type { ServiceSettings } from './settings.ts';
import { endsWithin, stopTimeoutOf, unlessStopped, workerStopMsMax } from './stop-deadline.ts';
import { Supervisor, type SupervisorOptions } from './supervisor/supervisor.ts';
import { SupervisorLink } from './supervisor/supervisor-link.ts';
import { runWorker, type WorkerOptions } from './worker.ts';

export interface ServiceOptions {
  readonly settings: ServiceSettings;
  /** Limits that replace HTTP_LIMITS, for tests. */
  readonly limits?: WorkerOptions['limits'];
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Serves until the signal is aborted, with the number of workers in the settings. */
export async function runService(options: ServiceOptions): Promise<void> {
  if (cluster.isWorker) return runWorkerProcess(options);
  logStop(options);
  // Fails before any process is started if there is no ledger.
  const warn = (message: string) => options.log.warn(message);
  const storage = await unlessStopped(openStorage(options.settings, warn), options.signal);
  try {
    await checkStreamRoom({ ...storage, ...options.settings, warn });
  } finally {
    await storage.close();
  }
  await withArchiver(options, (archivers) =>
    options.settings.workers === 1
      ? runAlone({ ...options, archivers })
      : runWorkers({ ...options, archivers, role: 'supervisor' }),
  );
  options.log.info('stopped');
}

/** Returns the processes that write the archive now: one process, or none. */
type FindArchivers = () => readonly ServiceProcess[];

/** Does the work, and meanwhile watches the disk and, if the settings say so, runs the archiver. */
async function withArchiver(
  { settings, log, signal: stopping }: ServiceOptions,
  work: (archivers: FindArchivers) => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  let archivers: readonly ServiceProcess[] = [];
  const started = (pid: number) => {
    archivers = [{ role: 'archiver', pid }];
  };
  const archiver = settings.archive
    ? runArchiverProcess({ settings, log, signal: stop.signal, stopping, started })
    : undefined;
  try {
    await withDiskWarnings(settings, log, () => work(() => archivers));
  } finally {
    stop.abort();
    await archiver;
  }
}

function logStop({ log, signal }: ServiceOptions): void {
  signal.addEventListener('abort', () => log.info({ reason: signal.reason.message }, 'stopping'));
}

type FedServiceOptions = ServiceOptions &
  Omit<ServiceFeedOptions, 'log'> & {
    /** Serves the requests of workers, if the feed follows an exchange. */
    readonly follower?: FollowerHandler;
    /** Workers are started when this promise resolves. */
    readonly ready?: Promise<unknown>;
  };

/**
 * Serves like `runService`, with a feed. This process writes the feed's blocks while one or more
 * workers answer, so no answer waits for the writer. At a stop, the feed stops before the workers,
 * so that the workers see its last block.
 */
export async function runFedService(options: FedServiceOptions): Promise<void> {
  const { settings, log, signal } = options;
  if (cluster.isWorker) return runWorkerProcess(options);
  logStop(options);
  const feed = await unlessStopped(ServiceFeed.open(options), signal);
  const follower = options.follower && withFailure(options.follower, () => feed.failed);
  const followerServer = follower && (await listenForClients(settings, follower));
  const stopWorkers = new AbortController();
  const feeding = feed.run().then(() => {
    if (feed.endsService) stopWorkers.abort(feed.failed);
  });
  const stopped = once(stopWorkers.signal, 'abort');
  let stopping: Promise<unknown> | undefined;
  const stopFeed = async () => {
    feed.stop();
    stopping ??= endsWithin(feeding, stopTimeoutOf(options.limits));
    await stopping;
  };
  const stop = async () => {
    await stopFeed();
    stopWorkers.abort(signal.reason);
  };
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) void stop();
  try {
    await Promise.race([options.ready, stopped]);
    const workers = { ...options, signal: stopWorkers.signal, feedFailures: feed.failures };
    await withArchiver(options, (archivers) => runWorkers({ ...workers, archivers, role: 'feed' }));
  } finally {
    await stopFeed();
    await followerServer?.close();
  }
  if (feed.error !== undefined) throw feed.error;
  log.info('stopped');
}

type FollowingOptions = ServiceOptions & {
  readonly settings: ServiceFeedOptions['settings'];
  /** A worker never calls this. */
  openFeed(): Promise<FollowFeed>;
};

/** Serves like `runFedService`, with a feed that follows a live exchange. */
export async function runFollowingService(options: FollowingOptions): Promise<void> {
  if (cluster.isWorker) return runWorkerProcess(options);
  const feed = await options.openFeed();
  options.log.info({ upstream: feed.name }, 'following');
  let noteWritten: () => void = () => undefined;
  let noteClosed: () => void = () => undefined;
  // With an empty ledger, the service would answer that no user has an account, so it waits for the
  // first block.
  const written = new Promise<void>((resolve) => {
    noteWritten = resolve;
  });
  // If the feed is closed before anything was read from it, the feed never becomes ready, so the
  // service does not wait any longer.
  const closed = new Promise<void>((resolve) => {
    noteClosed = resolve;
  });
  const hasStarted = Promise.all([Promise.race([written, feed.resumed]), feed.ready]);
  await runFedService({
    ...{ ...options, feed, follower: feed },
    retention: followerRetention(options.settings),
    isRepeatable: true,
    ready: Promise.race([hasStarted, closed]),
    durable: () => noteWritten(),
    closed: () => noteClosed(),
  });
}

async function runWorkerProcess({ settings, limits, log, signal }: ServiceOptions): Promise<void> {
  const budgets = new Budgets();
  new AggregatorRegistry(); // Answers when the supervisor collects metrics.
  const supervisor = new SupervisorLink();
  shareBudgets(budgets, [supervisor]);
  const { spent, othersAnswer } = await supervisor.greet();
  budgets.absorb(spent, performance.now());
  try {
    await runWorker({
      settings,
      limits,
      log,
      signal: AbortSignal.any([signal, supervisor.stop]),
      budgets,
      restoresFirst: othersAnswer,
      restored: () => supervisor.reportAnswering(),
      offerSnapshots: (save) => supervisor.onSaveSnapshot(save),
      feedFailures: supervisor.feedFailures,
    });
  } finally {
    // While the channel to the supervisor is open, this process cannot end.
    if (process.connected) process.disconnect();
  }
}

interface WithArchivers {
  readonly archivers: FindArchivers;
}

function runAlone(options: ServiceOptions & WithArchivers): Promise<void> {
  const { settings, limits, log, signal, archivers } = options;
  const worker: ServiceProcess = { role: 'worker', pid: process.pid };
  addMemoryMetrics(register, () => [worker, ...archivers()]);
  return withChargeChannel(settings, async (others) => {
    let saveSnapshot: () => Promise<SavedSnapshot> = async () => {
      throw new Error('the ledger is being opened: try again later');
    };
    const offerSnapshots = (save: typeof saveSnapshot) => {
      saveSnapshot = save;
    };
    const admin = await serveAdmin(settings, log, {
      metrics: () => register.metrics(),
      saveSnapshot: () => saveSnapshot(),
    });
    const budgets = new Budgets();
    const stopSharing = shareBudgets(budgets, others === undefined ? [] : [others]);
    try {
      await runToDeadline({ settings, limits, log, signal, budgets, offerSnapshots });
    } finally {
      stopSharing();
      admin.close();
    }
  });
}

/**
 * Serves like `runWorker`, but returns after the deadline even if some work still hangs. The end of
 * this process also ends that work.
 */
async function runToDeadline(options: WorkerOptions): Promise<void> {
  const { limits, log, signal } = options;
  const running = runWorker(options);
  if (!signal.aborted) await Promise.race([running, once(signal, 'abort')]);
  if (await endsWithin(running, workerStopMsMax(limits))) return;
  log.warn('shutdown timed out: open files and connections end with the process');
}

type WorkersOptions = ServiceOptions &
  WithArchivers &
  Pick<SupervisorOptions, 'feedFailures'> & {
    /** Names the role of this process while the workers answer. */
    readonly role: ProcessRole;
  };

function runWorkers({ settings, limits, log, ...options }: WorkersOptions): Promise<void> {
  return withChargeChannel(settings, async (others) => {
    const ofWorkers = new AggregatorRegistry();
    const own = new Registry();
    addMemoryMetrics(own, () => findProcesses(options));
    if (options.feedFailures !== undefined) addFeedMetrics(own, options.feedFailures);
    const { workers: count } = settings;
    const stopMsMax = workerStopMsMax(limits);
    const supervisor = new Supervisor({ ...options, count, stopMsMax, log, others });
    const admin = await serveAdmin(settings, log, {
      metrics: async () => (await ofWorkers.clusterMetrics()) + (await own.metrics()),
      saveSnapshot: () => supervisor.saveSnapshot(),
    });
    try {
      await supervisor.run();
    } finally {
      admin.close();
    }
  });
}

function findProcesses({
  role,
  archivers,
}: WithArchivers & { role: ProcessRole }): ServiceProcess[] {
  const workers = Object.values(cluster.workers ?? {}).flatMap<ServiceProcess>((worker) => {
    const pid = worker?.process.pid;
    return pid === undefined ? [] : [{ role: 'worker', pid }];
  });
  return [{ role, pid: process.pid }, ...workers, ...archivers()];
}

/** Shares charges with the services on other machines, if the ledger is on NATS. */
async function withChargeChannel(
  settings: ServiceOptions['settings'],
  work: (others: ChargeChannel | undefined) => Promise<void>,
): Promise<void> {
  const others = await openNatsCharges(natsOptionsOf(settings));
  try {
    await work(others);
  } finally {
    await others?.close();
  }
}

async function serveAdmin(
  { adminHost: host, adminPort }: ServiceOptions['settings'],
  log: Logger,
  work: Pick<AdminOptions, 'metrics' | 'saveSnapshot'>,
): Promise<AdminServer> {
  const admin = await startAdmin({ host, port: adminPort, ...work });
  const { port } = admin;
  log.info({ address: `${formatOrigin(host, port)}/metrics`, port }, 'metrics');
  return admin;
}
