/**
 * Compares how often the exchange is asked if dashboards ask a follower, and if they ask the
 * exchange itself. Each dashboard asks for one of some accounts once a second.
 */

import type { RunningStub } from '../../tools/harness/running-stub.ts';
import type { Bench } from '../frame/frame.ts';
import { type Goal, printTable, ratiosIn, spreadIn, stated } from '../frame/report.ts';
import { type RateLoad, startRateLoad } from '../load/rate-load.ts';
import { askForAccount } from '../servers/exchange.ts';
import { askForAll, countCalls, startFollowing, startStub } from './stub.ts';

export interface DashboardsScale {
  readonly dashboards: number;
  readonly accounts: number;
  readonly rounds: number;
  readonly warmUpSeconds: number;
  readonly seconds: number;
}

/** The budget of the public server, in weight a minute. */
const BUDGET = 1200;
/**
 * The block interval of a calm exchange. At ten blocks a second, trades alone would use up the
 * budget.
 */
const BLOCK_MS = 1000;
/**
 * The exchange has more users than are needed, because some users have no account when it starts.
 */
const SPARE = 2;

interface Round {
  /**
   * The calls at the exchange, divided by the seconds in which questions were due. The elapsed time
   * is not used, because it is longer on a busy machine.
   */
  readonly callsPerSecond: number;
  readonly latencyMs: number;
}

/** A server that answers the dashboards. */
interface Contestant {
  readonly name: string;
  readonly port: number;
  readonly requestPath: string;
  readonly rounds: Round[];
}

export async function benchDashboards(bench: Bench, scale: DashboardsScale): Promise<Goal[]> {
  const { dashboards, accounts } = scale;
  const choice = { accounts: SPARE * accounts, intervalMs: BLOCK_MS };
  const exchange = await startStub(bench, choice);
  const { stub } = exchange;
  const users = exchange.users.slice(0, accounts);
  console.log(`${dashboards} dashboards, ${users.length} accounts, a budget of ${BUDGET} a minute`);
  const load = await bench.keep(startRateLoad(bench.folder, users.map(askForAccount)));
  const direct = { name: 'asked directly', port: stub.port, requestPath: '/info', rounds: [] };
  await measure(stub, direct, load, scale);
  // The follower starts only now, because it also asks the exchange.
  const flags = ['--follow-budget', `${BUDGET}`];
  const following = await startFollowing(bench, exchange, flags);
  await askForAll(following, users);
  const { port } = following.service;
  const requestPath = `/${following.secret}/info`;
  const followed = { name: 'followed', port, requestPath, rounds: [] };
  await measure(stub, followed, load, scale);
  print([direct, followed]);
  return [state([direct, followed])];
}

async function measure(
  stub: RunningStub,
  contestant: Contestant,
  load: RateLoad,
  scale: DashboardsScale,
): Promise<void> {
  const { port, requestPath, rounds } = contestant;
  const task = { port, requestPath, requestsPerSecond: scale.dashboards, warmUpSeconds: 0 };
  await load.run({ ...task, seconds: scale.warmUpSeconds });
  for (let round = 0; round < scale.rounds; round++) {
    const callsBefore = await countCalls(stub);
    const { latenciesMs } = await load.run({ ...task, seconds: scale.seconds });
    const calls = (await countCalls(stub)) - callsBefore;
    const latencyMs = latenciesMs.sort()[Math.floor(latenciesMs.length / 2)];
    rounds.push({ callsPerSecond: calls / scale.seconds, latencyMs });
  }
}

function print(contestants: readonly Contestant[]): void {
  const rows = contestants.map(({ name, rounds }) => [
    name,
    spreadIn(rounds, 'callsPerSecond', 1),
    spreadIn(rounds, 'latencyMs', 1),
  ]);
  printTable(['', 'calls/s at the exchange', 'ms to an answer, median'], rows);
}

function state([direct, followed]: readonly Contestant[]): Goal {
  const ratios = ratiosIn(direct.rounds, followed.rounds, 'callsPerSecond');
  return stated('calls/s at the exchange, asked directly / followed', ratios, 0);
}
