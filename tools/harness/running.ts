/** The service as an operator runs it: the built program on a data directory, and clients of it. */

import assert from 'node:assert/strict';
import { Agent, type IncomingHttpHeaders, type OutgoingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedKeys } from '../../src/access/embedded/embedded-keys.ts';
import type { Key } from '../../src/access/keys.ts';
import { parseBudget } from '../../src/config/budget.ts';
import type { HttpLimits } from '../../src/http/limits.ts';
import { checkResponse } from './answer-checks.ts';
import { appendAll, NO_SNAPSHOTS } from './data-directory.ts';
import { createPlaces, type Outcome, type Program, start, startLimited } from './program.ts';

const place = createPlaces();

/** The part of a test's context that is needed here. */
export interface Cleanup {
  after(clean: () => Promise<void> | void): void;
}

/** The maximum time of a wait. Only a failing test waits this long. */
const PATIENCE_MS = 60_000;
const LOOK_MS = 10;

/** Calls `look` again and again until the result is neither undefined nor false. */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  patienceMs = PATIENCE_MS,
): Promise<Exclude<T, undefined | false>> {
  const deadlineMs = performance.now() + patienceMs;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen as Exclude<T, undefined | false>;
    if (performance.now() > deadlineMs) throw new Error(`waited in vain for ${what}`);
    await sleep(LOOK_MS);
  }
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Asked {
  method?: string;
  path: string;
  headers?: OutgoingHttpHeaders;
  body?: string;
}

/** A client that uses one connection for all its requests. */
export class Client {
  readonly #port: number;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(port: number) {
    this.#port = port;
  }

  send({ method = 'GET', path, headers = {}, body }: Asked): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const options = { port: this.#port, agent: this.#agent, method, path, headers };
      const sent = request({ host: '127.0.0.1', ...options }, (response) => {
        text(response)
          .then((read) => {
            const { statusCode: status = 0, headers: received } = response;
            const contentType = received['content-type'];
            const requestBody = body ?? '';
            checkResponse({ method, path, requestBody, status, contentType, body: read });
            resolve({ status, headers: received, body: read });
          })
          .catch(reject);
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  /** Asks a question like ordinary clients. A question that is already a text is sent unchanged. */
  ask(secret: string, question: unknown, headers: OutgoingHttpHeaders = {}): Promise<Answer> {
    return this.send({
      method: 'POST',
      path: `/${secret}/info`,
      headers: { 'Content-Type': 'application/json', ...headers },
      body: typeof question === 'string' ? question : JSON.stringify(question),
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** The cheapest question that is always answered; its weight is 2. */
export const LIGHT = {
  type: 'clearinghouseState',
  user: '0x00000000000000000000000000000000000000aa',
};
/** A question with a weight of 20. */
export const HEAVY = { type: 'perpDeployAuctionStatus' };

/** A line of the log, as pino writes it. */
interface LogLine {
  msg: string;
  pid: number;
  port?: number;
}

export class RunningService {
  readonly program: Program;
  readonly #clients: Client[] = [];

  constructor(program: Program) {
    this.program = program;
  }

  /**
   * Returns the lines of the log with this message. If there is a feed, the log is on standard
   * error.
   */
  log(message: string): LogLine[] {
    const { stdout, stderr } = this.program;
    const whole = [stdout, stderr].flatMap((text) => text.split('\n').slice(0, -1));
    const lines = whole.filter((line) => line.startsWith('{'));
    return lines.map((line) => JSON.parse(line) as LogLine).filter(({ msg }) => msg === message);
  }

  /** The processes that have started to answer, in the order of their start. */
  get workerPids(): number[] {
    return this.log('listening').map(({ pid }) => pid);
  }

  get port(): number {
    return portOf(this.log('listening'));
  }

  get adminPort(): number {
    return portOf(this.log('metrics'));
  }

  /** Returns a client with its own connection, which is closed together with the service. */
  connect(): Client {
    const client = new Client(this.port);
    this.#clients.push(client);
    return client;
  }

  /** Sends one request on a new connection. */
  async once(asked: Asked): Promise<Answer> {
    const client = new Client(this.port);
    try {
      return await client.send(asked);
    } finally {
      client.close();
    }
  }

  async metrics(): Promise<string> {
    const client = new Client(this.adminPort);
    try {
      const { status, body } = await client.send({ path: '/metrics' });
      return status === 200 ? body : '';
    } finally {
      client.close();
    }
  }

  /** Resolves when every worker answers from at least this height. */
  async untilCaughtUp(height: number): Promise<void> {
    await until(`height ${height}`, async () => {
      const seen = readSamples(await this.metrics()).get('perpinfo_ledger_height');
      return seen !== undefined && seen >= height;
    });
  }

  closeClients(): void {
    for (const client of this.#clients) client.close();
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Outcome> {
    this.closeClients();
    this.program.child.kill(signal);
    return this.program.ended;
  }
}

function portOf([line]: readonly LogLine[]): number {
  assert.ok(line?.port, 'the log names the port');
  return line.port;
}

export interface ServiceOptions {
  data: string;
  workers?: number;
  flags?: readonly string[];
  /** Limits of HTTP, which replace the program's limits. */
  limits?: Partial<HttpLimits> | undefined;
  /** Variables of the service's environment. */
  variables?: Record<string, string>;
  /** For a test that takes longer than most tests: the service is killed after this time. */
  runMsMax?: number;
}

/** Starts the service on ports that the system picks, and waits until every worker listens. */
export async function startService(
  context: Cleanup,
  { data, workers = 1, flags = [], limits, variables, runMsMax }: ServiceOptions,
): Promise<RunningService> {
  const ports = ['--port', '0', '--admin-port', '0'];
  // Tests do not test how a busy machine slows down the service, so the limit is high. A later flag
  // replaces it.
  const patience = ['--overload-delay', '60000'];
  const choice = ['--data', data, '--workers', `${workers}`];
  const args = [...choice, ...ports, ...patience, ...flags];
  const program =
    limits === undefined
      ? start(['serve', ...args], variables, runMsMax)
      : startLimited(limits, args, variables, runMsMax);
  const service = new RunningService(program);
  context.after(async () => void (await service.stop()));
  await until('the service to listen', () => {
    if (program.child.exitCode !== null) throw new Error(`it ended: ${program.stderr}`);
    return service.workerPids.length >= workers;
  });
  return service;
}

/** Creates a ledger like the ledger of `perpinfo append`. */
export async function makeLedger(data: string, lines: readonly string[]): Promise<string> {
  await appendAll(data, lines, NO_SNAPSHOTS);
  return data;
}

/**
 * Creates a ledger with a key, and starts a service that answers from its newest block, however old
 * the block is.
 */
export async function serveLedger(
  context: Cleanup,
  lines: readonly string[],
  { flags = [], ...options }: Omit<ServiceOptions, 'data'> = {},
) {
  const data = await makeLedger(place(), lines);
  const { secret } = await createKey(data);
  const anyAge = ['--max-age', '0', ...flags];
  const service = await startService(context, { ...options, data, flags: anyAge });
  await service.untilCaughtUp(lines.length);
  return { data, secret, service, client: service.connect() };
}

export interface KeyTerms {
  label?: string;
  budget?: string;
  expiresMs?: number;
}

/** Does the same as `perpinfo keys create`, without the time in which a process starts. */
export async function createKey(
  data: string,
  { label = 'test', budget, expiresMs }: KeyTerms = {},
): Promise<{ id: string; secret: string }> {
  const store = await openEmbeddedKeys(data);
  try {
    const terms: Pick<Key, 'label' | 'budget' | 'expiresMs'> = {
      label,
      budget: budget === undefined ? undefined : parseBudget(budget),
      expiresMs,
    };
    return store.create(terms);
  } finally {
    await store.close();
  }
}

/**
 * Reads Prometheus' text format: returns the value of each sample, by name and labels as written.
 */
export function readSamples(metrics: string): Map<string, number> {
  const samples = new Map<string, number>();
  for (const line of metrics.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const [, name, value] = /^([a-z0-9_]+(?:\{[^}]*\})?) (\S+)$/.exec(line) ?? [];
    assert.ok(name, `a sample: ${line}`);
    samples.set(name, Number(value));
  }
  return samples;
}

/** Returns a port on which another server listens. */
export async function takePort(context: Cleanup): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => void server.close());
  return (server.address() as AddressInfo).port;
}
