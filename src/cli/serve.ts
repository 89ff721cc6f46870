/** `perpinfo serve`: answers over HTTP from a ledger. */

import cluster from 'node:cluster';
import type { Logger } from 'pino';
import { AggregatorRegistry, register } from 'prom-client';
import type { Settings } from '../config.ts';
import { formatOrigin } from '../http/address.ts';
import { type AdminServer, startAdmin } from '../http/admin.ts';
import { shareBudgets } from '../http/charge-sharing.ts';
import { Budgets } from '../http/limits.ts';
import { runWorker, WORKER_SETTINGS } from '../http/worker.ts';
import { SupervisorLink, superviseWorkers } from '../http/workers.ts';
import { openStorage } from '../ledger/storage.ts';
import type { Command } from './command.ts';
import { createLog, LOG_SETTINGS } from './log.ts';

const settings = [
  ...WORKER_SETTINGS,
  'workers',
  'adminHost',
  'adminPort',
  ...LOG_SETTINGS,
] as const;
type ServeSettings = Settings<(typeof settings)[number]>;

export const serve: Command<(typeof settings)[number]> = {
  name: 'serve',
  summary: 'Answers questions over HTTP, following the ledger as it grows.',
  settings,
  details:
    'POST /{key}/info answers, and so does GET with the question in its query; a WebSocket at\n' +
    '/{key}/ws pushes. GET /health tells how fresh the answers are; metrics for Prometheus are on\n' +
    'the admin port. Keys are made with "perpinfo keys create". SIGTERM and SIGINT let\n' +
    'requests under way finish; the exit code is then 0.',
  example: 'perpinfo serve --data ./data --port 8080 --workers 2',
  isService: true,
  async run({ settings: chosen, signal }) {
    const log = createLog(chosen);
    if (cluster.isWorker) return runClusterWorker(chosen, log, signal);
    // Before anything is started: a place without a ledger is the user's mistake.
    await (await openStorage(chosen)).close();
    signal.addEventListener('abort', () => log.info({ reason: signal.reason.message }, 'stopping'));
    if (chosen.workers === 1) await runAlone(chosen, log, signal);
    else await runTogether(chosen, log, signal);
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

async function runAlone(chosen: ServeSettings, log: Logger, signal: AbortSignal): Promise<void> {
  const admin = await offerMetrics(chosen, log, () => register.metrics());
  try {
    await runWorker({ settings: chosen, log, signal, budgets: new Budgets() });
  } finally {
    admin.close();
  }
}

async function runTogether(chosen: ServeSettings, log: Logger, signal: AbortSignal): Promise<void> {
  const registry = new AggregatorRegistry();
  const admin = await offerMetrics(chosen, log, () => registry.clusterMetrics());
  try {
    await superviseWorkers({ count: chosen.workers, log, signal });
  } finally {
    admin.close();
  }
}
