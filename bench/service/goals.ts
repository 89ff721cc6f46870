/**
 * Measures the speed goals. Each goal is a ratio to a reference that is measured in the same run:
 *
 *   npm run bench              100,000 accounts, and a million for memory and start: ten minutes
 *   npm run bench -- --quick   with fewer, in short rounds: a trial run
 *   npm run bench -- --beside DIR   only compares with another checkout's build (DIR/dist/main.js)
 *
 * The service has one worker, metrics, and a key with a budget, while another process appends ten
 * blocks a second in which all marks move. Everything shares the machine's cores.
 */

import path from 'node:path';
import { parseArgs } from 'node:util';
import { announce, type Bench, runBench, withBench } from '../frame/frame.ts';
import type { Goal } from '../frame/report.ts';
import { requireTools } from '../frame/required-tools.ts';
import { startWriter } from '../load/writer.ts';
import {
  buildExchange,
  type Exchange,
  PATIENCE,
  POSITIONS_PER_ACCOUNT,
} from '../servers/exchange.ts';
import { startNginx, startPerpinfo } from '../servers/servers.ts';
import { type AppendScale, benchAppend } from './append.ts';
import { benchBeside } from './beside.ts';
import { benchBulk } from './bulk.ts';
import { benchLatency, type LatencyScale } from './latency.ts';
import { benchRequests } from './requests.ts';
import { benchStart, type StartScale } from './start.ts';
import { benchThroughput, type RoundsScale } from './throughput.ts';
import { benchWorkers } from './workers.ts';

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, beside: { type: 'string' } },
});

interface Scale {
  readonly accounts: number;
  readonly throughput: RoundsScale;
  readonly latency: LatencyScale;
  readonly requests: RoundsScale;
  readonly bulk: RoundsScale;
  readonly workers: RoundsScale;
  readonly start: StartScale;
  readonly append: AppendScale;
}

const FULL: Scale = {
  accounts: 100_000,
  throughput: { rounds: 5, roundSeconds: 3, warmUpSeconds: 2 },
  latency: { rounds: 5, roundSeconds: 5, disturbedSeconds: 7, warmUpSeconds: 1 },
  requests: { rounds: 5, roundSeconds: 3, warmUpSeconds: 2 },
  bulk: { rounds: 7, roundSeconds: 2, warmUpSeconds: 2 },
  workers: { rounds: 5, roundSeconds: 3, warmUpSeconds: 5 },
  start: { accounts: 1_000_000, rounds: 3, loadSeconds: 3 },
  append: { accounts: 10_000, blocks: 5000, rounds: 5 },
};

const QUICK: Scale = {
  accounts: 2000,
  throughput: { rounds: 2, roundSeconds: 1, warmUpSeconds: 1 },
  latency: { rounds: 1, roundSeconds: 2, disturbedSeconds: 5, warmUpSeconds: 1 },
  requests: { rounds: 2, roundSeconds: 1, warmUpSeconds: 1 },
  bulk: { rounds: 2, roundSeconds: 1, warmUpSeconds: 1 },
  workers: { rounds: 2, roundSeconds: 1, warmUpSeconds: 1 },
  start: { accounts: 10_000, rounds: 1, loadSeconds: 1 },
  append: { accounts: 1000, blocks: 300, rounds: 1 },
};

const scale = values.quick ? QUICK : FULL;

async function prepareExchange(folder: string): Promise<Exchange> {
  const { accounts } = scale;
  const exchange = await buildExchange(folder, accounts);
  console.log(`${accounts} accounts of ${POSITIONS_PER_ACCOUNT} positions, random users`);
  console.log(`a typical answer has ${Buffer.byteLength(exchange.body)} bytes`);
  return exchange;
}

/** Runs all measurements that share one exchange, whose writer appends all the time. */
async function benchService(bench: Bench): Promise<Goal[]> {
  const { folder } = bench;
  const exchange = await prepareExchange(folder);
  const writer = await bench.keep(startWriter(folder));
  const nginx = await bench.keep(startNginx(folder, exchange.body));
  const perpinfo = await bench.keep(startPerpinfo(folder, { workers: 1, flags: PATIENCE }));
  announce('Requests a second, as many as 64 connections bring');
  const throughput = await benchThroughput(exchange, perpinfo, nginx, scale.throughput);
  announce('Latency at a rate that is kept');
  const requestsPerSecond = throughput.requestsPerSecond / 2;
  const options = { exchange, perpinfo, nginx, writer, requestsPerSecond, scale: scale.latency };
  const latency = await benchLatency(options);
  announce('Requests of other kinds');
  const requests = await benchRequests(exchange, perpinfo, scale.requests);
  announce('Many accounts in one call');
  const bulk = await benchBulk(exchange, perpinfo, scale.bulk);
  announce('Two workers');
  const workers = await benchWorkers(exchange, perpinfo, scale.workers);
  return [...throughput.goals, ...requests, ...latency, ...bulk, ...workers];
}

/** Compares this build with the build in another directory. */
async function benchOther(bench: Bench, directory: string): Promise<Goal[]> {
  const { folder } = bench;
  const exchange = await prepareExchange(folder);
  await bench.keep(startWriter(folder));
  // Both servers are new, so that neither has answered other kinds of requests before.
  const choice = { workers: 1, flags: PATIENCE };
  const own = await bench.keep(startPerpinfo(folder, choice));
  const main = path.join(directory, 'dist/main.js');
  const other = await bench.keep(startPerpinfo(folder, { ...choice, main }));
  return benchBeside(exchange, [own, other], scale.requests);
}

async function benchAll({ folder }: Bench): Promise<Goal[]> {
  const service = await withBench(benchService);
  announce('Start and memory');
  const start = await benchStart(folder, scale.start);
  announce('Appending');
  const append = await benchAppend(folder, scale.append);
  return [...service, ...start, ...append];
}

requireTools('nginx', 'wrk');
const { beside } = values;
await runBench((bench) => (beside === undefined ? benchAll(bench) : benchOther(bench, beside)));
