/**
 * Measures what is left for a well-behaved key while another key does the worst that its budget
 * allows:
 *
 *   npm run bench:hostile                  ten minutes of attack, and three without
 *   npm run bench:hostile -- --quick       a trial run of half a minute
 *   npm run bench:hostile -- --seconds 120 for another time of attack in each part
 *
 * In one part the hostile key asks a service with an archive for the past of accounts with 15,000
 * fills, and may give up before the answers arrive. Blocks are appended meanwhile. In the other
 * part it asks a follower of the stub exchange for accounts that nobody has asked for before, and
 * for answers of 8 MB. In both parts it sends bodies and heads that are costly to read, floods of
 * push frames and new connections all the time, even while its budget is spent. Services, exchange
 * and clients share the machine's cores.
 */

import path from 'node:path';
import { parseArgs } from 'node:util';
import { askForAll, startFollowing, startStub } from '../follow/stub.ts';
import { announce, type Bench, runBench, withBench } from '../frame/frame.ts';
import { atLeast, atMost, type Goal, printTable, stated } from '../frame/report.ts';
import { type PushGroup, PushLoad } from '../load/push-load.ts';
import { type Group, type GroupRun, RequestLoad } from '../load/request-load.ts';
import { startWriter } from '../load/writer.ts';
import { createKey } from '../servers/exchange.ts';
import { startPerpinfo } from '../servers/servers.ts';
import { buildWeightsData } from '../weights/data.ts';
import { giantRows } from '../weights/stub-follower.ts';
import {
  accountsOf,
  asking,
  costlyRequests,
  historyOfWhales,
  newUsers,
  pushFloods,
} from './attacks.ts';

/** Fifty times the budget that the public server grants an address. */
const HOSTILE_BUDGET = { weight: 60_000, periodMs: 60_000 };
const KNOWN_ACCOUNTS = 40;
/**
 * The pause between two questions of the well-behaved key about new accounts. Without the hostile
 * key, the follower's budget is enough for these questions.
 */
const UNKNOWN_PAUSE_MS = 2000;
const THROUGHPUT_MIN = 0.5;
const P99_TIMES_MAX = 3;
const BUDGET_LOOK_MS = 1000;

interface Scale {
  readonly aloneSeconds: number;
  readonly besideSeconds: number;
}

const FULL: Scale = { aloneSeconds: 90, besideSeconds: 300 };
const QUICK: Scale = { aloneSeconds: 5, besideSeconds: 10 };

/** A service, and the requests of the two keys. */
interface Part {
  readonly name: string;
  readonly port: number;
  readonly good: readonly Group[];
  readonly hostile: readonly Group[];
  readonly floods: readonly PushGroup[];
}

/** Starts a service with an archive. Its data is in the folder of the benchmark. */
async function openPast(bench: Bench): Promise<Part> {
  const { folder } = bench;
  const data = await buildWeightsData(folder);
  const [goodKey, hostileKey] = [await createKey(folder), await createKey(folder, HOSTILE_BUDGET)];
  const service = await bench.keep(startPerpinfo(folder, { workers: 1, flags: ['--archive'] }));
  await bench.keep(startWriter(folder));
  const accounts = accountsOf(asking(goodKey), data.users);
  return {
    name: 'the past',
    port: service.port,
    good: [{ name: 'accounts', requests: accounts, connections: 8 }],
    hostile: [...historyOfWhales(hostileKey, data), ...costlyRequests(hostileKey)],
    floods: pushFloods(hostileKey),
  };
}

async function openFollower(bench: Bench): Promise<Part> {
  const exchange = await startStub(bench, {
    accounts: 2 * KNOWN_ACCOUNTS,
    intervalMs: 1000,
  });
  const users = exchange.users.slice(0, KNOWN_ACCOUNTS);
  const flags = ['--follow-budget', '1200', '--forward'];
  const following = await startFollowing(bench, exchange, flags);
  await askForAll(following, users);
  const giant = { type: 'userFills', user: users[0] };
  await exchange.stub.fix(giant, giantRows());
  const hostileKey = await createKey(path.join(bench.folder, 'followed'), HOSTILE_BUDGET);
  const [good, hostile] = [asking(following.secret), asking(hostileKey)];
  const giants = { requests: [hostile(giant)], connections: 4 };
  return {
    name: 'a followed exchange',
    port: following.service.port,
    good: [
      { name: 'accounts', requests: accountsOf(good, users), connections: 8 },
      {
        name: 'new accounts',
        requests: accountsOf(good, newUsers()),
        connections: 1,
        pauseMs: UNKNOWN_PAUSE_MS,
      },
    ],
    hostile: [
      { name: 'new accounts', requests: accountsOf(hostile, newUsers()), connections: 16 },
      { name: 'giants', ...giants },
      { name: 'giants, abandoned', ...giants, abandonMs: 5 },
      ...costlyRequests(hostileKey),
    ],
    floods: pushFloods(hostileKey),
  };
}

function p99(run: GroupRun): number {
  return run.latencies[Math.floor((run.latencies.length - 1) * 0.99)] ?? Number.NaN;
}

function answersPerSecond(run: GroupRun, seconds: number): number {
  return run.latencies.length / seconds;
}

function describeStatuses({ statuses, abandoned }: GroupRun): string {
  const counts = Object.entries(statuses).map(([status, count]) => `${status}: ${count}`);
  return [...counts, ...(abandoned > 0 ? [`given up: ${abandoned}`] : [])].join(', ');
}

/**
 * Returns the rest of the follow budget in per cent, about once a second; returns an empty list
 * without a follower.
 */
async function watchBudget(port: number, seconds: number): Promise<number[]> {
  const left: number[] = [];
  const endMs = performance.now() + seconds * 1000;
  while (performance.now() < endMs) {
    const health = await fetch(`http://127.0.0.1:${port}/health`)
      .then((response) => response.json())
      .catch(() => undefined);
    const budget = health?.follow?.budget;
    if (budget) left.push((100 * budget.left) / budget.limit);
    await new Promise((resolve) => setTimeout(resolve, BUDGET_LOOK_MS));
  }
  return left;
}

async function attack({ port, hostile, floods }: Part, seconds: number): Promise<GroupRun[]> {
  const [requests, frames] = [new RequestLoad(), new PushLoad()];
  try {
    const runs = await Promise.all([
      requests.run({ port, groups: hostile, seconds }),
      frames.run({ port, groups: floods, seconds }),
    ]);
    return runs.flat();
  } finally {
    await Promise.all([requests.stop(), frames.stop()]);
  }
}

async function measure(part: Part, scale: Scale): Promise<Goal[]> {
  const { port } = part;
  const good = new RequestLoad();
  try {
    const { aloneSeconds, besideSeconds } = scale;
    await good.run({ port, groups: part.good, seconds: Math.min(5, aloneSeconds) });
    const run = (seconds: number) =>
      Promise.all([
        good.run({ port, groups: part.good, seconds }),
        watchBudget(port, seconds),
      ] as const);
    const [alone, leftAlone] = await run(aloneSeconds);
    const [[beside, left], attacks] = await Promise.all([
      run(besideSeconds),
      attack(part, besideSeconds),
    ]);
    printRuns(part, alone, [...beside, ...attacks], scale);
    return [...judge(part, alone, beside, scale), ...judgeBudget(part, leftAlone, left)];
  } finally {
    await good.stop();
  }
}

function printRuns(
  part: Part,
  alone: readonly GroupRun[],
  beside: readonly GroupRun[],
  { aloneSeconds, besideSeconds }: Scale,
): void {
  const row = (who: string, run: GroupRun, seconds: number) => [
    `${who}: ${run.name}`,
    answersPerSecond(run, seconds).toFixed(1),
    p99(run).toFixed(1),
    describeStatuses(run),
  ];
  const goodCount = part.good.length;
  printTable(
    ['', 'answers/s', 'p99, ms', 'statuses'],
    [
      ...alone.map((run) => row('alone', run, aloneSeconds)),
      ...beside.slice(0, goodCount).map((run) => row('attacked', run, besideSeconds)),
      ...beside.slice(goodCount).map((run) => row('attacker', run, besideSeconds)),
    ],
  );
}

/** Returns the absolute figures, and the ratios that have goals. */
function judge(
  { name, good }: Part,
  alone: readonly GroupRun[],
  beside: readonly GroupRun[],
  { aloneSeconds, besideSeconds }: Scale,
): Goal[] {
  return good.flatMap((group, index) => {
    const rates = [
      answersPerSecond(alone[index], aloneSeconds),
      answersPerSecond(beside[index], besideSeconds),
    ];
    const slowest = [p99(alone[index]), p99(beside[index])];
    const figure = `${name}, ${group.name}`;
    return [
      stated(`${figure}: answers/s, alone`, [rates[0]], 1),
      stated(`${figure}: answers/s, attacked`, [rates[1]], 1),
      atLeast(`${figure}: answers/s, attacked / alone`, THROUGHPUT_MIN, [rates[1] / rates[0]]),
      stated(`${figure}: p99, ms, alone`, [slowest[0]], 1),
      stated(`${figure}: p99, ms, attacked`, [slowest[1]], 1),
      atMost(`${figure}: p99, attacked / alone`, P99_TIMES_MAX, [slowest[1] / slowest[0]]),
    ];
  });
}

function judgeBudget({ name }: Part, alone: readonly number[], left: readonly number[]): Goal[] {
  if (left.length === 0) return [];
  return [
    stated(`${name}: follow budget left, %, alone`, alone, 0),
    stated(`${name}: follow budget left, %, attacked`, left, 0),
  ];
}

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, seconds: { type: 'string' } },
});
const scale = values.quick ? QUICK : FULL;
const besideSeconds = Number(values.seconds ?? scale.besideSeconds);
await runBench(async () => {
  const goals: Goal[] = [];
  for (const open of [openPast, openFollower]) {
    const measured = await withBench(async (bench) => {
      const part = await open(bench);
      announce(part.name);
      return measure(part, { ...scale, besideSeconds });
    });
    goals.push(...measured);
  }
  return goals;
});
