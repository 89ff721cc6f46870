/**
 * Measures calls for many accounts: the accounts a second, compared with one call for each account,
 * and the processor time of an account, compared with computing its answer in memory without a
 * service. Both loads have as many connections as are needed to keep the worker busy. A single
 * client that waits for each answer would mostly measure its round trip, and would make calls for
 * many accounts look better than they are.
 *
 * Answers are computed in memory while the calls are answered. Cores that share a cache, or that
 * are two threads of one core, are slower while all of them are busy, and this must be the same for
 * both.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { answerQuestion } from '../../src/info/read-question.ts';
import { spreadOf } from '../frame/measure.ts';
import { cpuSecondsOfAll } from '../frame/process-usage.ts';
import { atLeast, atMost, formatSpread, type Goal, printTable } from '../frame/report.ts';
import { Wrk } from '../load/wrk.ts';
import { askForAccount, type Exchange } from '../servers/exchange.ts';
import type { RunningServer } from '../servers/servers.ts';
import type { RoundsScale } from './throughput.ts';

const USERS_A_CALL = 1000;
const CALLS = 50;
/**
 * The number of connections. An answer about a thousand accounts has megabytes, so more connections
 * would only fill buffers.
 */
const BULK_CONNECTIONS = 4;

/** Returns a question about users whose data is far apart in memory. */
function askForMany(users: readonly string[], call: number): string {
  const stride = Math.max(1, Math.floor(users.length / USERS_A_CALL));
  const chosen = Array.from(
    { length: USERS_A_CALL },
    (_, index) => users[(index * stride + call) % users.length],
  );
  return JSON.stringify({ type: 'batchClearinghouseStates', users: chosen });
}

export function createBulkLoad(
  { folder, users, requestPath }: Exchange,
  connections = BULK_CONNECTIONS,
): Wrk {
  return new Wrk({
    ...{ folder, name: 'bulk', requestPath, connections },
    bodies: Array.from({ length: CALLS }, (_, call) => askForMany(users, call)),
  });
}

/**
 * Returns the processor time to compute the answer about one account, as the mean over a call's
 * accounts, in seconds.
 */
function computeSeconds({ state, users }: Exchange, call: number): number {
  const { users: chosen } = JSON.parse(askForMany(users, call));
  const questions = chosen.map((user: string) => ({ type: 'clearinghouseState', user }));
  const before = process.cpuUsage();
  for (const question of questions) Buffer.byteLength(answerQuestion(state, question));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6 / USERS_A_CALL;
}

/** Computes calls until `other` has ended, and returns the mean of their times for an account. */
async function computeBeside(exchange: Exchange, other: Promise<unknown>): Promise<number> {
  let isOver = false;
  void other.finally(() => {
    isOver = true;
  });
  const calls: number[] = [];
  while (!isOver) {
    calls.push(computeSeconds(exchange, calls.length % CALLS));
    await nextTurn();
  }
  return calls.reduce((sum, seconds) => sum + seconds, 0) / calls.length;
}

class BulkBench {
  readonly single: number[] = [];
  readonly bulk: number[] = [];
  /**
   * The service's processor time for an account of a call, and the time to compute an account in
   * memory; in seconds, for each round.
   */
  readonly served: number[] = [];
  readonly computed: number[] = [];
  readonly #exchange: Exchange;
  readonly #server: RunningServer;
  readonly #one: Wrk;
  readonly #many: Wrk;

  constructor(exchange: Exchange, server: RunningServer) {
    const { folder, users, requestPath } = exchange;
    this.#exchange = exchange;
    this.#server = server;
    const bodies = users.map(askForAccount);
    this.#one = new Wrk({ folder, name: 'single', bodies, requestPath });
    this.#many = createBulkLoad(exchange);
  }

  async warmUp(seconds: number): Promise<void> {
    await this.#one.load(this.#server.port, seconds);
    await computeBeside(this.#exchange, this.#many.load(this.#server.port, seconds));
  }

  async runRound(seconds: number): Promise<void> {
    const { port, pid } = this.#server;
    this.single.push((await this.#one.load(port, seconds)).requestsPerSecond);
    this.bulk.push((await this.#many.load(port, seconds)).requestsPerSecond * USERS_A_CALL);
    const before = cpuSecondsOfAll(pid);
    const loading = this.#many.load(port, seconds);
    this.computed.push(await computeBeside(this.#exchange, loading));
    const { requests } = await loading;
    this.served.push((cpuSecondsOfAll(pid) - before) / requests / USERS_A_CALL);
  }
}

export async function benchBulk(
  exchange: Exchange,
  server: RunningServer,
  { rounds, roundSeconds, warmUpSeconds }: RoundsScale,
): Promise<Goal[]> {
  const bench = new BulkBench(exchange, server);
  await bench.warmUp(warmUpSeconds);
  for (let round = 0; round < rounds; round++) await bench.runRound(roundSeconds);
  const { single, bulk, served, computed } = bench;
  const microseconds = (seconds: readonly number[]) =>
    formatSpread(spreadOf(seconds.map((each) => each * 1e6)), 1);
  printTable(
    ['', 'accounts/s', 'processor time, µs'],
    [
      ['one a call', formatSpread(spreadOf(single), 0), ''],
      [`${USERS_A_CALL} a call`, formatSpread(spreadOf(bulk), 0), microseconds(served)],
      ['computed in memory', '', microseconds(computed)],
    ],
  );
  const perRound = (ours: readonly number[], others: readonly number[]) =>
    ours.map((each, round) => each / others[round]);
  return [
    atLeast(`accounts/s, ${USERS_A_CALL} a call / one a call`, 5, perRound(bulk, single)),
    atMost(
      `processor time of an account, ${USERS_A_CALL} a call / computed in memory`,
      1.3,
      perRound(served, computed),
    ),
  ];
}
