/**
 * Measures how many requests a second one worker answers. The references are servers that compute
 * nothing: they answer with one fixed body of the length of a typical answer.
 */

import { median, spreadOf } from '../frame/measure.ts';
import { cpuSecondsOfAll } from '../frame/process-usage.ts';
import {
  atLeast,
  formatSpread,
  type Goal,
  printTable,
  ratiosIn,
  spreadIn,
} from '../frame/report.ts';
import { Wrk } from '../load/wrk.ts';
import { askForAccount, type Exchange } from '../servers/exchange.ts';
import { type RunningServer, startFixedAnswer } from '../servers/servers.ts';

/** The number of users that many dashboards ask for again and again. */
const FEW_USERS = 1000;

export interface RoundsScale {
  readonly rounds: number;
  readonly roundSeconds: number;
  readonly warmUpSeconds: number;
}

export interface Contestant {
  readonly name: string;
  readonly server: RunningServer;
  readonly wrk: Wrk;
  readonly rounds: Round[];
}

/**
 * The figures of a round. The processor times are the times of all processes of the server, and of
 * wrk, for one answer.
 */
export interface Round {
  readonly requestsPerSecond: number;
  readonly serverMicroseconds: number;
  readonly wrkMicroseconds: number;
}

async function measureRound({ server, wrk }: Contestant, seconds: number): Promise<Round> {
  const cpuBefore = cpuSecondsOfAll(server.pid);
  const load = await wrk.load(server.port, seconds);
  const serverCpu = cpuSecondsOfAll(server.pid) - cpuBefore;
  return {
    requestsPerSecond: load.requestsPerSecond,
    serverMicroseconds: (serverCpu / load.requests) * 1e6,
    wrkMicroseconds: (load.cpuSeconds / load.requests) * 1e6,
  };
}

/** Measures in turns, so that other work of the machine affects all contestants in the same way. */
export async function measureInTurns(
  contestants: readonly Contestant[],
  scale: RoundsScale,
): Promise<void> {
  for (const { server, wrk } of contestants) await wrk.load(server.port, scale.warmUpSeconds);
  for (let round = 0; round < scale.rounds; round++) {
    for (const contestant of contestants) {
      contestant.rounds.push(await measureRound(contestant, scale.roundSeconds));
    }
  }
}

/**
 * Returns the requests/s of a contestant divided by the requests/s of the reference, for each
 * round.
 */
export function ratiosOf({ rounds }: Contestant, reference: Contestant): number[] {
  return ratiosIn(rounds, reference.rounds, 'requestsPerSecond');
}

export function printContestants(contestants: readonly Contestant[]): void {
  const [reference] = contestants;
  const rows = contestants.map((contestant) => [
    contestant.name,
    spreadIn(contestant.rounds, 'requestsPerSecond', 0),
    formatSpread(spreadOf(ratiosOf(contestant, reference)), 2),
    spreadIn(contestant.rounds, 'serverMicroseconds', 1),
    spreadIn(contestant.rounds, 'wrkMicroseconds', 1),
  ]);
  const beside = `beside ${reference.name}`;
  const titles = [
    '',
    'requests/s',
    beside,
    'server, µs of cpu an answer',
    'wrk, µs of cpu an answer',
  ];
  printTable(titles, rows);
}

export interface Throughput {
  readonly goals: readonly Goal[];
  /** The maximum of requests/s that the service answers, with random users. */
  readonly requestsPerSecond: number;
}

/**
 * Measures all contestants. The other servers are started and stopped here; nginx is not, because
 * latencies are compared with it, too.
 */
export async function benchThroughput(
  exchange: Exchange,
  perpinfo: RunningServer,
  nginx: RunningServer,
  scale: RoundsScale,
): Promise<Throughput> {
  const { folder, users, requestPath, bodyFile } = exchange;
  const bodies = users.map(askForAccount);
  const all = new Wrk({ folder, name: 'all-users', bodies, requestPath });
  const few = new Wrk({ folder, name: 'few-users', bodies: pickFew(bodies), requestPath });
  const others: RunningServer[] = [];
  const start = async (kind: 'net' | 'node' | 'fastify') => {
    const server = await startFixedAnswer(kind, bodyFile);
    others.push(server);
    return server;
  };
  const compete = (name: string, server: RunningServer, wrk = all): Contestant => ({
    name,
    server,
    wrk,
    rounds: [],
  });
  try {
    const contestants = [
      compete('nginx, fixed body', nginx),
      compete('net, fixed bytes', await start('net')),
      compete('node:http, fixed body', await start('node')),
      compete('Fastify, fixed body', await start('fastify')),
      compete('perpinfo, random users', perpinfo),
      compete(`perpinfo, ${FEW_USERS} users`, perpinfo, few),
    ];
    await measureInTurns(contestants, scale);
    printContestants(contestants);
    return summarize(contestants);
  } finally {
    await Promise.all(others.map((server) => server.stop()));
  }
}

/**
 * Returns some of the bodies. They are spread over all bodies, so that their users do not share
 * cache lines.
 */
export function pickFew(bodies: readonly string[]): string[] {
  const stride = Math.max(1, Math.floor(bodies.length / FEW_USERS));
  return bodies.filter((_, index) => index % stride === 0).slice(0, FEW_USERS);
}

function summarize(contestants: readonly Contestant[]): Throughput {
  const [nginx, , , fastify, random, few] = contestants;
  return {
    goals: [
      atLeast('requests/s / nginx, fixed body', 0.45, ratiosOf(random, nginx)),
      atLeast(`the same, ${FEW_USERS} users again and again`, 0.6, ratiosOf(few, nginx)),
      atLeast('requests/s / Fastify, fixed body', 2, ratiosOf(random, fastify)),
    ],
    requestsPerSecond: median(random.rounds.map(({ requestsPerSecond }) => requestsPerSecond)),
  };
}
