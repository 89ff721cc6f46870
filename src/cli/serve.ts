/** `perpinfo serve`: answers over HTTP from a ledger. */

import cluster from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { AggregatorRegistry, register } from 'prom-client';
import { Budgets } from '../access/budgets.ts';
import { type ChargeChannel, shareBudgets } from '../access/charge-sharing.ts';
import { openNatsCharges } from '../access/nats-charges.ts';
import type { Settings } from '../config/settings.ts';
import { checkFeedSettings, FEED_SETTINGS } from '../feed/settings.ts';
import { natsOptionsOf } from '../ledger/location.ts';
import { openStorage } from '../replica/storage.ts';
import { type AdminServer, startAdmin } from '../service/admin.ts';
import { formatOrigin } from '../service/origin.ts';
import { SupervisorLink, type SupervisorOptions, superviseWorkers } from '../service/supervisor.ts';
import { runWorker, WORKER_SETTINGS } from '../service/worker.ts';
import type { Call, Command } from './command.ts';
import { createLog, LOG_SETTINGS, STANDARD_ERROR, STANDARD_OUTPUT } from './log.ts';
import { ServeFeed } from './serve-feed.ts';

const settings = [
  ...new Set([
    ...WORKER_SETTINGS,
    ...(['feed', ...FEED_SETTINGS] as const),
    ...(['workers', 'adminHost', 'adminPort'] as const),
    ...LOG_SETTINGS,
  ]),
];
type ServeSettings = Settings<(typeof settings)[number]>;

export const serve: Command<(typeof settings)[number]> = {
  name: 'serve',
  summary: 'Answers questions over HTTP, following the ledger as it grows.',
  settings,
  details:
    'POST /{key}/info answers, and so does GET with the question in its query; a WebSocket at\n' +
    '/{key}/ws pushes. GET /health tells how fresh the answers are; metrics for Prometheus are on\n' +
    'the admin port. Keys are made with "perpinfo keys create". SIGTERM and SIGINT let\n' +
    'requests under way finish; the exit code is then 0.\n' +
    'With --feed - blocks from standard input are appended, as "append" does it, by a process beside\n' +
    'the workers; the log is then on standard error, and "durable HEIGHT" on standard output. When\n' +
    'the input ends, answering goes on. When a block is bad or cannot be stored, answering goes on too:\n' +
    '/health turns 503 (feed_failed) until blocks come again, and the exit code is 1 in the end.',
  example: 'your-feed | perpinfo serve --data ./data --feed - --port 8080 --workers 2',
  isService: true,
  async run({ settings: chosen, signal, terminal }) {
    const log = createLog(chosen, chosen.feed === undefined ? STANDARD_OUTPUT : STANDARD_ERROR);
    if (cluster.isWorker) return runClusterWorker(chosen, log, signal);
    signal.addEventListener('abort', () => log.info({ reason: signal.reason.message }, 'stopping'));
    if (chosen.feed !== undefined) return runFed(chosen, { log, signal, terminal });
    // Before anything is started: a place without a ledger is the user's mistake.
    await (await openStorage(chosen)).close();
    if (chosen.workers === 1) await runAlone(chosen, log, signal);
    else await runTogether(chosen, log, { signal });
    log.info('stopped');
  },
};

async function runClusterWorker(chosen: ServeSettings, log: Logger, signal: AbortSignal) {
  const budgets = new Budgets();
  new AggregatorRegistry(); // Makes this process answer when the first one collects metrics.
  const supervisor = new SupervisorLink();
  shareBudgets(budgets, [supervisor]);
  const { spent, othersAnswer } = await supervisor.greet();
  budgets.absorb(spent, performance.now());
  try {
    await runWorker({
      settings: chosen,
      log,
      signal: AbortSignal.any([signal, supervisor.stop]),
      budgets,
      restoresFirst: othersAnswer,
      restored: () => supervisor.tellAnswering(),
      feedFailure: supervisor.feedFailure,
    });
  } finally {
    // The channel to the first process would keep this one alive.
    if (process.connected) process.disconnect();
  }
}

async function offerMetrics(
  { adminHost: host, adminPort }: ServeSettings,
  log: Logger,
  metrics: () => Promise<string>,
): Promise<AdminServer> {
  const admin = await startAdmin({ host, port: adminPort, metrics });
  const { port } = admin;
  log.info({ address: `${formatOrigin(host, port)}/metrics`, port }, 'metrics');
  return admin;
}

/** Runs something that answers, with a way to the other machines where the ledger is on NATS. */
async function withOthers(
  chosen: ServeSettings,
  work: (others: ChargeChannel | undefined) => Promise<void>,
): Promise<void> {
  const others = await openNatsCharges(natsOptionsOf(chosen));
  try {
    await work(others);
  } finally {
    await others?.close();
  }
}

function runAlone(chosen: ServeSettings, log: Logger, signal: AbortSignal): Promise<void> {
  return withOthers(chosen, async (others) => {
    const admin = await offerMetrics(chosen, log, () => register.metrics());
    const budgets = new Budgets();
    const stopSharing = shareBudgets(budgets, others === undefined ? [] : [others]);
    try {
      await runWorker({ settings: chosen, log, signal, budgets });
    } finally {
      stopSharing();
      admin.close();
    }
  });
}

function runTogether(
  chosen: ServeSettings,
  log: Logger,
  options: Pick<SupervisorOptions, 'signal' | 'feedFailure'>,
): Promise<void> {
  return withOthers(chosen, async (others) => {
    const registry = new AggregatorRegistry();
    const admin = await offerMetrics(chosen, log, () => registry.clusterMetrics());
    try {
      await superviseWorkers({ ...options, count: chosen.workers, log, others });
    } finally {
      admin.close();
    }
  });
}

/**
 * The first process feeds, the workers answer, also where there is only one: no answer waits for a
 * block that is applied. To stop, the feed ends first, so that all it has read is durable and seen.
 */
async function runFed(
  chosen: ServeSettings,
  { log, signal, terminal }: Pick<Call<never>, 'signal' | 'terminal'> & { log: Logger },
): Promise<void> {
  checkFeedSettings(chosen);
  const feed = await ServeFeed.open({ settings: chosen, log, terminal });
  const feeding = feed.run();
  const stopWorkers = new AbortController();
  const stop = async () => {
    feed.stop();
    await Promise.race([feeding, sleep(chosen.stopTimeout, undefined, { ref: false })]);
    stopWorkers.abort(signal.reason);
  };
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) void stop();
  try {
    await runTogether(chosen, log, { signal: stopWorkers.signal, feedFailure: feed.failure });
  } finally {
    feed.stop();
    await feeding;
  }
  if (feed.error !== undefined) throw feed.error;
  log.info('stopped');
}
