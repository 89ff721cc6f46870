/**
 * Starts the servers that are compared, each in separate processes, on ports that the system
 * chooses.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { MAIN } from '../../tools/harness/paths.ts';

const HOST = '127.0.0.1';
const READY_MS_MAX = 60_000;
const READY_CHECK_MS = 50;
/**
 * Servers are started without random addresses. With random addresses the same program answers
 * 26,000 requests a second after one start and 39,000 after another, for as long as it runs. The
 * difference is system time within writes. It is not known which memory layouts are slow, so a
 * comparison would depend on luck.
 */
const START = ['setarch', '--addr-no-randomize'] as const;

export class RunningServer {
  readonly port: number;
  readonly #process: ChildProcess;

  constructor(server: ChildProcess, port: number) {
    this.#process = server;
    this.port = port;
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exited = once(this.#process, 'exit');
    this.#process.kill('SIGTERM');
    await exited;
  }
}

export interface PerpinfoOptions {
  readonly workers: number;
  /** Further flags of `perpinfo serve`. */
  readonly flags?: readonly string[];
  /** The program of another build; this build's program by default. */
  readonly main?: string;
  /** The flags of node. */
  readonly nodeFlags?: readonly string[];
  /**
   * If false, the server is returned as soon as it listens, and it may not be ready to answer yet.
   */
  readonly isAwaited?: boolean;
}

/**
 * Starts `perpinfo serve` as an operator does. There is no limit for the ledger's age, because the
 * ledger may have no writer.
 */
export async function startPerpinfo(
  directory: string,
  { workers, flags = [], main = MAIN, nodeFlags = [], isAwaited = true }: PerpinfoOptions,
): Promise<RunningServer> {
  const ports = ['--port', '0', '--admin-port', '0'];
  const choice = ['--data', directory, '--workers', String(workers), '--max-age', '0', ...flags];
  const command = [...nodeFlags, main, 'serve', '--host', HOST, ...ports, ...choice];
  const server = await startNode(command);
  // New connections go to the workers in turn, so this number of good answers in a row comes from
  // all workers.
  return isAwaited ? whenHealthy(server, workers) : server;
}

export function startFixedAnswer(
  kind: 'net' | 'node' | 'fastify',
  bodyFile: string,
): Promise<RunningServer> {
  return startNode([path.join(import.meta.dirname, 'fixed-answer.js'), kind, bodyFile]);
}

/**
 * Starts a bare WebSocket server. When it has this number of subscriptions, it sends a fixed frame
 * to each of them, once an interval or as often as it can.
 */
export function startFixedPush(
  frameFile: string,
  subscriptions: number,
  intervalMs = 0,
): Promise<RunningServer> {
  const script = path.join(import.meta.dirname, 'fixed-push.js');
  return startNode([script, frameFile, String(subscriptions), String(intervalMs)]);
}

function spawnServer(command: readonly string[], output: 'pipe' | 'inherit'): ChildProcess {
  const [program, ...args] = [...START, ...command];
  return spawn(program, args, { stdio: ['ignore', output, 'inherit'] });
}

/** Starts a program that prints its port in a line of JSON with the message "listening". */
async function startNode(args: readonly string[]): Promise<RunningServer> {
  const server = spawnServer([process.execPath, ...args], 'pipe');
  const lines = createInterface({ input: server.stdout as Readable });
  const port = await new Promise<number>((resolve, reject) => {
    lines.on('line', (line) => {
      const entry = JSON.parse(line);
      if (entry.msg === 'listening') resolve(entry.port);
    });
    server.on('exit', (code) => reject(new Error(`${args[0]} ended with ${code}`)));
  });
  return new RunningServer(server, port);
}

/**
 * Returns the server when it answers; stops the server and throws if it does not answer in time.
 */
async function whenHealthy(server: RunningServer, answersInARow = 1): Promise<RunningServer> {
  const deadlineMs = performance.now() + READY_MS_MAX;
  for (let healthy = 0; healthy < answersInARow; ) {
    healthy = (await isHealthy(server.port)) ? healthy + 1 : 0;
    if (healthy === 0) await sleep(READY_CHECK_MS);
    if (performance.now() > deadlineMs) {
      await server.stop();
      throw new Error(`the server on port ${server.port} did not become ready`);
    }
  }
  return server;
}

async function isHealthy(port: number): Promise<boolean> {
  try {
    const request = get({ host: HOST, port, path: '/health', agent: false });
    const [response] = await once(request, 'response');
    response.resume();
    await once(response, 'end');
    return response.statusCode === 200;
  } catch {
    return false; // Nobody listens there yet.
  }
}

/** Starts nginx with one worker process. All of its files are in the folder. */
export async function startNginx(folder: string, body: string): Promise<RunningServer> {
  const port = await chooseFreePort();
  const configuration = path.join(folder, 'nginx.conf');
  writeFileSync(configuration, nginxConfiguration(folder, port, body));
  const command = ['nginx', '-p', folder, '-e', 'stderr', '-c', configuration];
  const server = spawnServer(command, 'inherit');
  await once(server, 'spawn');
  return whenHealthy(new RunningServer(server, port));
}

/**
 * Returns a port that was free a moment ago, for programs such as nginx that cannot report a port
 * that the system chose.
 */
export async function chooseFreePort(): Promise<number> {
  const listener = createServer().listen(0, HOST);
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  listener.close();
  await once(listener, 'close');
  return port;
}

function nginxConfiguration(folder: string, port: number, body: string): string {
  if (/['\\$]/.test(body)) throw new Error('the body would have to be escaped for nginx');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `  ${kind}_temp_path ${path.join(folder, kind)};`,
  );
  return `daemon off;
worker_processes 1;
pid ${path.join(folder, 'nginx.pid')};
events { worker_connections 1024; }
http {
${temporary.join('\n')}
  access_log off;
  keepalive_requests 1000000000;
  default_type application/json;
  server {
    listen ${HOST}:${port};
    location / { return 200 '${body}'; }
  }
}
`;
}
