/**
 * `perpinfo serve`, as built, on a small data directory with keys, and requests that tests send to
 * it.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedKeys } from '../../src/access/embedded/embedded-keys.ts';
import type { Budget } from '../../src/config/budget.ts';
import type { HttpLimits } from '../../src/http/limits.ts';
import { appendAll, NO_SNAPSHOTS } from './data-directory.ts';
import { readOwnBytes } from './processes.ts';
import { type Outcome, type Program, start, startLimited } from './program.ts';
import { exchange, type RawResponse } from './raw-client.ts';
import type { Cleanup } from './running.ts';
import { simulateLines } from './simulated-lines.ts';
import { makeTemporaryFolder } from './temporary-folder.ts';

export type { Cleanup };

export const HEIGHT = 40;
const LINES = simulateLines(HEIGHT, 'http');

export interface PreparedData {
  readonly folder: string;
  /** The secret of a key without a budget. */
  readonly key: string;
}

export interface Service extends PreparedData {
  readonly port: number;
  readonly program: Program;
  /** Sends the service a signal to stop, and waits until it has ended. */
  stop(signal?: NodeJS.Signals): Promise<Outcome>;
}

/** Creates a small ledger and a key for it. */
export async function prepareData(context: Cleanup): Promise<PreparedData> {
  const folder = await makeTemporaryFolder(context);
  await appendAll(folder, LINES, NO_SNAPSHOTS);
  return { folder, key: await createKey(folder) };
}

export async function createKey(folder: string, budget?: Budget): Promise<string> {
  const store = await openEmbeddedKeys(folder);
  try {
    return store.create({ label: 'test', budget, expiresMs: undefined }).secret;
  } finally {
    await store.close();
  }
}

/**
 * The flags of all services. The simulated ledger is old, so any age is accepted unless a test says
 * otherwise.
 */
const FLAGS = ['--port', '0', '--admin-port', '0', '--max-age', '0', '--log-level', 'info'];

/**
 * Tests must not depend on the load of the machine, so the limit is high. It is a variable, so a
 * flag replaces it.
 */
const PATIENT = { PERPINFO_OVERLOAD_DELAY: '60000' };

/** A service is killed after this time, which is longer than its tests take. */
const RUN_MS_MAX = 200_000;

/**
 * Starts the program, and waits until it answers. The program is stopped at the end of the test.
 */
export async function startService(
  context: Cleanup,
  flags: readonly string[] = [],
  limits?: Partial<HttpLimits>,
): Promise<Service> {
  const removals: (() => Promise<void> | void)[] = [];
  const data = await prepareData({ after: (remove) => removals.push(remove) });
  const args = ['--data', data.folder, ...FLAGS, ...flags];
  const program =
    limits === undefined
      ? start(['serve', ...args], PATIENT, RUN_MS_MAX)
      : startLimited(limits, args, PATIENT, RUN_MS_MAX);
  context.after(async () => {
    program.child.kill('SIGKILL');
    await program.ended;
    // The folders are removed after the end of the service, because the service writes to them.
    for (const remove of removals) await remove();
  });
  await program.untilWritten('"msg":"listening"');
  const port = Number(/"port":(\d+),"msg":"listening"/.exec(program.stdout)?.[1]);
  await untilReady(port);
  return {
    ...data,
    port,
    program,
    async stop(signal = 'SIGTERM') {
      program.child.kill(signal);
      return program.ended;
    },
  };
}

async function untilReady(port: number): Promise<void> {
  const request = formatRequest({ method: 'GET', path: '/health' });
  while ((await exchange(port, request)).body.includes('"replaying"')) await sleep(20);
}

/**
 * Returns the memory of the process itself, in MiB, without the files that the process has mapped.
 */
export function readRssMib({ child }: Program): number {
  return readOwnBytes(child.pid) / 2 ** 20;
}

/** A question that every ledger can answer. */
export const QUESTION = JSON.stringify({ type: 'perpDeployAuctionStatus' });

export interface RequestParts {
  readonly method?: string;
  readonly path: string;
  readonly version?: string;
  /**
   * Headers of the request. Host, Content-Type and Content-Length are added; a header with the
   * value undefined is left out.
   */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: string | Buffer;
}

/** Returns the bytes of a request. */
export function formatRequest(parts: RequestParts): Buffer {
  const { method = 'POST', path, version = '1.1', headers = {}, body = '' } = parts;
  const isEmpty = method !== 'POST' && body.length === 0;
  const all = {
    Host: 'localhost',
    'Content-Type': isEmpty ? undefined : 'application/json',
    'Content-Length': isEmpty ? undefined : String(Buffer.byteLength(body)),
    ...headers,
  };
  const lines = Object.entries(all)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `${method} ${path} HTTP/${version}\r\n${lines.join('')}\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body)]);
}

/** Returns the bytes of an ordinary question with a key. */
export function formatQuestion(key: string, parts: Partial<RequestParts> = {}): Buffer {
  return formatRequest({ path: `/${key}/info`, body: QUESTION, ...parts });
}

/** Asks an ordinary question on a new connection. */
export function ask(
  { port, key }: Pick<Service, 'port' | 'key'>,
  parts: Partial<RequestParts> = {},
): Promise<RawResponse> {
  return exchange(port, formatQuestion(key, parts));
}
