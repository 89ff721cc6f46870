/**
 * What is left for a well-behaved key while another one does the worst that its budget allows:
 *
 *   npm run bench:hostile                  ten minutes of attack, and three without
 *   npm run bench:hostile -- --quick       half a minute: to see that it works
 *
 * One part asks a service with an archive, for the past of accounts with 15,000 fills, and gives up
 * before the answers come. The other asks a follower of the stub exchange, for accounts that nobody has
 * asked for before and for answers of 8 MB. In both, bodies that are costly to parse come all the time,
 * also when the budget is spent. Services, exchange and clients share the machine's cores.
 */

import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { formatQuestion } from '../../tools/harness/service.ts';
import { askForAll, startFollowing, startStub } from '../follow/stub.ts';
import { announce, type Bench, runBench, withBench } from '../frame/frame.ts';
import { atLeast, atMost, type Goal, printTable } from '../frame/report.ts';
import { type Group, type GroupRun, RequestLoad } from '../load/request-load.ts';
import { createKey } from '../servers/exchange.ts';
import { startPerpinfo } from '../servers/servers.ts';
import { buildWeightsData, WHALES } from '../weights/data.ts';

/** Fifty times what the public server grants an address. */
const HOSTILE_BUDGET = { weight: 60_000, periodMs: 60_000 };
const BODY_BYTES_MAX = 65_536;
const KNOWN_ACCOUNTS = 40;
/** Long enough that the well-behaved key always asks for accounts that were not read before. */
const UNKNOWN_ACCOUNTS = 20_000;
const GIANT_ROWS = 30_000;
/** Of the well-behaved key: a budget of reads that is never short without the other. */
const UNKNOWN_PAUSE_MS = 2000;
const THROUGHPUT_MIN = 0.5;
const P99_TIMES_MAX = 3;

interface Scale {
  readonly aloneSeconds: number;
  readonly besideSeconds: number;
}

const FULL: Scale = { aloneSeconds: 90, besideSeconds: 300 };
const QUICK: Scale = { aloneSeconds: 5, besideSeconds: 10 };

type Ask = (body: unknown) => Uint8Array;

/** A service, and what the two keys ask it. */
interface Part {
  readonly name: string;
  readonly port: number;
  readonly good: readonly Group[];
  readonly hostile: readonly Group[];
}

function asking(key: string): Ask {
  return (body) => formatQuestion(key, { body: JSON.stringify(body) });
}

function accountsOf(ask: Ask, users: readonly string[]): Uint8Array[] {
  return users.map((user) => ask({ type: 'clearinghouseState', user }));
}

function newUsers(): string[] {
  return Array.from({ length: UNKNOWN_ACCOUNTS }, () => `0x${randomBytes(20).toString('hex')}`);
}

/** Bodies that cost the most to refuse. */
function costlyBodies(key: string): Group {
  const nested = '['.repeat(BODY_BYTES_MAX / 2) + ']'.repeat(BODY_BYTES_MAX / 2);
  const arrays = `[${'[],'.repeat(BODY_BYTES_MAX / 3 - 2)}[]]`;
  const requests = [nested, arrays].map((body) => formatQuestion(key, { body }));
  return { name: 'bodies', requests, connections: 2 };
}

/** Its data is in the folder. */
async function openPast(bench: Bench): Promise<Part> {
  const { folder } = bench;
  const data = await buildWeightsData(folder);
  const [goodKey, hostileKey] = [await createKey(folder), await createKey(folder, HOSTILE_BUDGET)];
  const service = await bench.keep(startPerpinfo(folder, { workers: 1, flags: ['--archive'] }));
  const ask = asking(hostileKey);
  const span = Math.ceil((data.lastTime - data.firstTime) / 4000);
  const past = WHALES.flatMap(({ user }) => [
    ask({ type: 'liquidationHistory', user }),
    ask({ type: 'positionHistory', user, coin: 'ETH' }),
    ask({ type: 'accountHistory', user, step: span }),
    ask({ type: 'portfolio', user }),
    ask({ type: 'clearinghouseState', user, atHeight: 1500 }),
  ]);
  return {
    name: 'the past',
    port: service.port,
    good: [
      {
        name: 'accounts',
        requests: accountsOf(asking(goodKey), data.users),
        connections: 8,
      },
    ],
    hostile: [
      { name: 'history', requests: past, connections: 4 },
      { name: 'abandoned', requests: past, connections: 4, abandonMs: 5 },
      costlyBodies(hostileKey),
    ],
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
  const row = { coin: 'BTC', px: '60000.0', sz: '0.01', side: 'B', dir: 'Open Long', fee: '0.1' };
  const rows = Array.from({ length: GIANT_ROWS }, (_, tid) => ({
    ...row,
    tid,
    hash: 'f'.repeat(66),
  }));
  await exchange.stub.fix(giant, rows);
  const hostileKey = await createKey(path.join(bench.folder, 'followed'), HOSTILE_BUDGET);
  const [good, hostile] = [asking(following.secret), asking(hostileKey)];
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
      {
        name: 'new accounts',
        requests: accountsOf(hostile, newUsers()),
        connections: 16,
      },
      { name: 'giants', requests: [hostile(giant)], connections: 4 },
      {
        name: 'giants, abandoned',
        requests: [hostile(giant)],
        connections: 4,
        abandonMs: 5,
      },
      costlyBodies(hostileKey),
    ],
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

async function measure(part: Part, scale: Scale): Promise<Goal[]> {
  const { port } = part;
  const [good, hostile] = [new RequestLoad(), new RequestLoad()];
  try {
    const seconds = scale.aloneSeconds;
    await good.run({ port, groups: part.good, seconds: Math.min(5, seconds) });
    const alone = await good.run({ port, groups: part.good, seconds });
    const [beside, attack] = await Promise.all([
      good.run({ port, groups: part.good, seconds: scale.besideSeconds }),
      hostile.run({ port, groups: part.hostile, seconds: scale.besideSeconds }),
    ]);
    printRuns(part, alone, [...beside, ...attack], scale);
    return judge(part, alone, beside, scale);
  } finally {
    await Promise.all([good.stop(), hostile.stop()]);
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

function judge(
  { name, good }: Part,
  alone: readonly GroupRun[],
  beside: readonly GroupRun[],
  { aloneSeconds, besideSeconds }: Scale,
): Goal[] {
  return good.flatMap((group, index) => {
    const share =
      answersPerSecond(beside[index], besideSeconds) / answersPerSecond(alone[index], aloneSeconds);
    const times = p99(beside[index]) / p99(alone[index]);
    const figure = `${name}, ${group.name}`;
    return [
      atLeast(`${figure}: answers/s, attacked / alone`, THROUGHPUT_MIN, [share]),
      atMost(`${figure}: p99, attacked / alone`, P99_TIMES_MAX, [times]),
    ];
  });
}

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
await runBench(async () => {
  const goals: Goal[] = [];
  for (const open of [openPast, openFollower]) {
    const measured = await withBench(async (bench) => {
      const part = await open(bench);
      announce(part.name);
      return measure(part, values.quick ? QUICK : FULL);
    });
    goals.push(...measured);
  }
  return goals;
});
