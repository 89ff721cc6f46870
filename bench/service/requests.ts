/**
 * Compares other kinds of requests with whole requests that are answered, with one load program.
 */

import type { Budget } from '../../src/config/budget.ts';
import { Client } from '../../tools/harness/running.ts';
import { spreadOf } from '../frame/measure.ts';
import { cpuSecondsOfAll } from '../frame/process-usage.ts';
import {
  atLeast,
  formatSpread,
  type Goal,
  printTable,
  ratiosIn,
  spreadIn,
} from '../frame/report.ts';
import { type Group, RequestLoad, type Sent } from '../load/request-load.ts';
import { askForAccount, createKey, type Exchange } from '../servers/exchange.ts';
import { type RunningServer, startFixedAnswer } from '../servers/servers.ts';
import type { RoundsScale } from './throughput.ts';

/**
 * So few users that the cache has most answers. The kinds then differ in everything but the answer.
 */
const FEW_USERS = 1000;
/**
 * The number of dashboards, each of which asks for one account. At most one question about each
 * account is answered between two blocks.
 */
const DASHBOARDS = 4_000;
/** A budget that one question spends, and that is not refilled while the benchmark runs. */
const SMALL_BUDGET: Budget = { weight: 20, periodMs: 3_600_000 };

export const WHOLE = 'answered';
const COMPUTED = 'answered, 4,000 dashboards';
export const APART = 'body apart from headers';
const LATE = 'body a turn after headers';
export const GET = 'GET, another account each time';
const BARE_KINDS: readonly string[] = [WHOLE, APART];

export interface Kind {
  readonly name: string;
  readonly task: Omit<Group, 'name'>;
  /** The minimum ratio of its requests/s to those of another kind. */
  readonly ratioMin?: number;
  /** The name of this other kind; the first kind by default. */
  readonly beside?: string;
}

function post(path: string, body: string): Sent {
  const type = 'Content-Type: application/json';
  const head = `POST ${path} HTTP/1.1\r\nHost: bench\r\n${type}\r\nContent-Length: ${body.length}\r\n\r\n`;
  return { head, body };
}

function get(path: string, user: string, condition = ''): Sent {
  const target = `${path}?type=clearinghouseState&user=${user}`;
  return { head: `GET ${target} HTTP/1.1\r\nHost: bench\r\n${condition}\r\n`, body: '' };
}

function poll(path: string, user: string): Sent {
  return get(path, user, 'If-None-Match: *\r\n');
}

/** Returns the kinds of requests. `spentPath` is the path of a key whose budget is spent. */
function listKinds({ users, requestPath }: Exchange, spentPath: string): Kind[] {
  const whole = { body: 'whole' } as const;
  const few = users.slice(0, FEW_USERS);
  const many = users.slice(0, DASHBOARDS);
  const dashboards = { ...whole, order: 'polling', connections: DASHBOARDS } as const;
  const ask = (path: string) => (user: string) => post(path, askForAccount(user));
  const questions = (path: string) => few.map(ask(path));
  const polls = (asked: readonly string[]) => asked.map((user) => poll(requestPath, user));
  const wrong = few.map((user) => post(requestPath, `{"type":"openOrders","user":"${user}"}`));
  return [
    { name: WHOLE, task: { ...whole, requests: questions(requestPath), status: 200 } },
    {
      name: APART,
      task: { body: 'apart', requests: questions(requestPath), status: 200 },
      ratioMin: 0.8,
    },
    { name: LATE, task: { body: 'late', requests: questions(requestPath), status: 200 } },
    {
      name: GET,
      task: { ...whole, requests: few.map((user) => get(requestPath, user)), status: 200 },
    },
    { name: 'refused, 422', task: { ...whole, requests: wrong, status: 422 }, ratioMin: 1 },
    {
      name: 'refused, 429',
      task: { ...whole, requests: questions(spentPath), status: 429 },
      ratioMin: 1,
    },
    {
      name: 'refused, 401',
      task: { ...whole, requests: questions(`/${'A'.repeat(43)}/info`), status: 401 },
      ratioMin: 1,
    },
    {
      name: 'unchanged, 304',
      task: { ...whole, requests: polls(few), order: 'polling', status: 304 },
      ratioMin: 1.3,
    },
    { name: COMPUTED, task: { ...dashboards, requests: many.map(ask(requestPath)), status: 200 } },
    {
      name: 'unchanged, 4,000 dashboards, 304',
      task: { ...dashboards, requests: polls(many), status: 304 },
      ratioMin: 1.3,
      beside: COMPUTED,
    },
  ];
}

/** Creates a key, and spends its budget at each of the servers. Returns the path of the key. */
async function spendBudget(folder: string, servers: readonly RunningServer[]): Promise<string> {
  const secret = await createKey(folder, SMALL_BUDGET);
  for (const { port } of servers) {
    const client = new Client(port);
    while ((await client.ask(secret, { type: 'perpDeployAuctionStatus' })).status !== 429);
    client.close();
  }
  return `/${secret}/info`;
}

interface Round {
  readonly requestsPerSecond: number;
  readonly serverMicroseconds: number;
}

/** The rounds of one kind of requests at one server. */
export interface Row {
  readonly kind: Kind;
  readonly server: RunningServer;
  readonly rounds: Round[];
}

async function measureRow(
  load: RequestLoad,
  { kind, server }: Row,
  seconds: number,
): Promise<Round> {
  const cpuBefore = cpuSecondsOfAll(server.pid);
  const group: Group = { order: 'random', ...kind.task, name: kind.name };
  const [run] = await load.run({ port: server.port, groups: [group], seconds });
  const serverCpu = cpuSecondsOfAll(server.pid) - cpuBefore;
  return {
    requestsPerSecond: run.answered / run.seconds,
    serverMicroseconds: (serverCpu / run.answered) * 1e6,
  };
}

/** Returns a row for every kind at every server. The rows of a kind are next to each other. */
async function listRows(exchange: Exchange, servers: readonly RunningServer[]): Promise<Row[]> {
  const kinds = listKinds(exchange, await spendBudget(exchange.folder, servers));
  return kinds.flatMap((kind) => servers.map((server): Row => ({ kind, server, rounds: [] })));
}

/**
 * Returns rows for the time that Node itself takes for a separate body: the same requests to
 * sockets with one fixed answer.
 */
function listBareRows(rows: readonly Row[], server: RunningServer): Row[] {
  const kinds = rows.map(({ kind }) => kind).filter(({ name }) => BARE_KINDS.includes(name));
  return kinds.map(({ name, task }) => {
    return { kind: { name: `bare socket, ${name}`, task }, server, rounds: [] };
  });
}

/** Measures the kinds with these names, or all kinds, in turns. */
export async function measureKinds(
  exchange: Exchange,
  servers: readonly RunningServer[],
  scale: RoundsScale,
  names?: readonly string[],
): Promise<Row[]> {
  const rows = await listRows(exchange, servers);
  const measured = rows.filter(({ kind }) => names?.includes(kind.name) ?? true);
  await measureRows(measured, scale);
  return measured;
}

/**
 * Returns the processor time of an answer of one row divided by that of the reference, for each
 * round.
 */
export function costRatios({ rounds }: Row, reference: Row): number[] {
  return ratiosIn(rounds, reference.rounds, 'serverMicroseconds');
}

async function measureRows(rows: readonly Row[], scale: RoundsScale): Promise<void> {
  const load = new RequestLoad();
  try {
    for (const row of rows) await measureRow(load, row, scale.warmUpSeconds);
    for (let round = 0; round < scale.rounds; round++) {
      for (const row of rows) row.rounds.push(await measureRow(load, row, scale.roundSeconds));
    }
  } finally {
    await load.stop();
  }
}

export function rowRatios({ rounds }: Row, reference: Row): number[] {
  return ratiosIn(rounds, reference.rounds, 'requestsPerSecond');
}

export function printRows(rows: readonly Row[]): void {
  const [reference] = rows;
  const cells = rows.map((row) => [
    row.kind.name,
    spreadIn(row.rounds, 'requestsPerSecond', 0),
    formatSpread(spreadOf(rowRatios(row, reference)), 2),
    spreadIn(row.rounds, 'serverMicroseconds', 1),
  ]);
  printTable(['', 'requests/s', 'beside answered', 'server, µs of cpu a response'], cells);
}

export async function benchRequests(
  exchange: Exchange,
  perpinfo: RunningServer,
  scale: RoundsScale,
): Promise<Goal[]> {
  const bare = await startFixedAnswer('net', exchange.bodyFile);
  try {
    const rows = await listRows(exchange, [perpinfo]);
    const bareRows = listBareRows(rows, bare);
    await measureRows([...rows, ...bareRows], scale);
    printRows([...rows, ...bareRows]);
    return [...goalsOf(rows), bareGoal(rows, bareRows)];
  } finally {
    await bare.stop();
  }
}

function goalsOf(rows: readonly Row[]): Goal[] {
  return rows.flatMap((row) => {
    const { name, ratioMin, beside = WHOLE } = row.kind;
    if (ratioMin === undefined) return [];
    const ratios = rowRatios(row, findRow(rows, beside));
    return [atLeast(`requests/s, ${name} / ${beside}`, ratioMin, ratios)];
  });
}

export function findRow(rows: readonly Row[], name: string): Row {
  return rows.find(({ kind }) => kind.name === name) as Row;
}

function bareGoal(rows: readonly Row[], bareRows: readonly Row[]): Goal {
  const apart = findRow(rows, APART);
  const bareApart = bareRows[bareRows.length - 1];
  return atLeast(`requests/s, ${APART} / at a bare socket`, 1, rowRatios(apart, bareApart));
}
