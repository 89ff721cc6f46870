/**
 * The processes of a service: a single one, or a supervisor with workers, and possibly a feed in the
 * supervisor's process.
 */

import cluster from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { AggregatorRegistry, register } from 'prom-client';
import { type ChargeChannel, shareBudgets } from '../access/budget-sharing.ts';
import { Budgets } from '../access/budgets.ts';
import { openNatsCharges } from '../access/jetstream/nats-charges.ts';
import type { Settings } from '../config/settings.ts';
import { natsOptionsOf } from '../ledger/location.ts';
import { openStorage } from '../replica/storage.ts';
import { type AdminServer, startAdmin } from './admin.ts';
import { formatOrigin } from './listen-address.ts';
import { ServiceFeed, type ServiceFeedOptions } from './service-feed.ts';
import { type SupervisorOptions, superviseWorkers } from './supervisor.ts';
import { SupervisorLink } from './supervisor-link.ts';
import { runWorker, WORKER_SETTINGS } from './worker.ts';

export const SERVE_SETTINGS = [...WORKER_SETTINGS, 'workers', 'adminHost', 'adminPort'] as const;

export interface ServiceOptions {
  readonly settings: Settings<(typeof SERVE_SETTINGS)[number]>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Serves until the signal, with as many workers as the settings say. */
export async function runService(options: ServiceOptions): Promise<void> {
  if (cluster.isWorker) return runWorkerProcess(options);
  logStop(options);
  // Fails before anything is started if there is no ledger.
  await (await openStorage(options.settings)).close();
  if (options.settings.workers === 1) await runAlone(options);
  else await runWorkers(options);
  options.log.info('stopped');
}

function logStop({ log, signal }: ServiceOptions): void {
  signal.addEventListener('abort', () => log.info({ reason: signal.reason.message }, 'stopping'));
}

/**
 * As `runService`, with a feed that this process writes while one or more workers answer: no answer
 * waits for the writer. The feed stops first, so that workers see its last block.
 */
export async function runFedService(
  options: ServiceOptions & Omit<ServiceFeedOptions, 'log'>,
): Promise<void> {
  const { settings, log, signal } = options;
  if (cluster.isWorker) return runWorkerProcess(options);
  logStop(options);
  const feed = await ServiceFeed.open(options);
  const feeding = feed.run();
  const stopWorkers = new AbortController();
  const stop = async () => {
    feed.stop();
    await Promise.race([feeding, sleep(settings.stopTimeout, undefined, { ref: false })]);
    stopWorkers.abort(signal.reason);
  };
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) void stop();
  try {
    await runWorkers({ ...options, signal: stopWorkers.signal, feedFailure: feed.failure });
  } finally {
    feed.stop();
    await feeding;
  }
  if (feed.error !== undefined) throw feed.error;
  log.info('stopped');
}

async function runWorkerProcess({ settings, log, signal }: ServiceOptions): Promise<void> {
  const budgets = new Budgets();
  new AggregatorRegistry(); // Answers the supervisor when it collects metrics.
  const supervisor = new SupervisorLink();
  shareBudgets(budgets, [supervisor]);
  const { spent, othersAnswer } = await supervisor.greet();
  budgets.absorb(spent, performance.now());
  try {
    await runWorker({
      settings,
      log,
      signal: AbortSignal.any([signal, supervisor.stop]),
      budgets,
      restoresFirst: othersAnswer,
      restored: () => supervisor.reportAnswering(),
      feedFailure: supervisor.feedFailure,
    });
  } finally {
    // The channel to the supervisor would keep this process alive.
    if (process.connected) process.disconnect();
  }
}

function runAlone({ settings, log, signal }: ServiceOptions): Promise<void> {
  return withChargeChannel(settings, async (others) => {
    const admin = await serveMetrics(settings, log, () => register.metrics());
    const budgets = new Budgets();
    const stopSharing = shareBudgets(budgets, others === undefined ? [] : [others]);
    try {
      await runWorker({ settings, log, signal, budgets });
    } finally {
      stopSharing();
      admin.close();
    }
  });
}

function runWorkers({
  settings,
  log,
  ...options
}: ServiceOptions & Pick<SupervisorOptions, 'feedFailure'>): Promise<void> {
  return withChargeChannel(settings, async (others) => {
    const registry = new AggregatorRegistry();
    const admin = await serveMetrics(settings, log, () => registry.clusterMetrics());
    try {
      await superviseWorkers({ ...options, count: settings.workers, log, others });
    } finally {
      admin.close();
    }
  });
}

/** With a ledger on NATS, charges are shared with the services on other machines. */
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

async function serveMetrics(
  { adminHost: host, adminPort }: ServiceOptions['settings'],
  log: Logger,
  metrics: () => Promise<string>,
): Promise<AdminServer> {
  const admin = await startAdmin({ host, port: adminPort, metrics });
  const { port } = admin;
  log.info({ address: `${formatOrigin(host, port)}/metrics`, port }, 'metrics');
  return admin;
}
