/** Real NATS servers for tests: on loopback, on ports that the system picks, in folders of their own. */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseNatsAddress } from '../../src/config/nats-address.ts';
import { connectNats, type NatsLink } from '../../src/ledger/jetstream/nats.ts';
import { Links } from './links.ts';

const PROGRAM = 'nats-server';
const LOOK_MS = 20;
const START_MS_MAX = 20_000;

function requireProgram(): void {
  if (spawnSync(PROGRAM, ['--version']).error === undefined) return;
  throw new Error('these tests need nats-server: on Debian, apt-get install nats-server');
}

/** Free ports: all are bound before any is released, so that they differ. */
export async function findPorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  for (const server of servers) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}

export class NatsServer {
  readonly name: string;
  readonly port: number;
  readonly #folder: string;
  #child: ChildProcess | undefined;

  constructor(name: string, port: number, folder: string, config: string) {
    this.name = name;
    this.port = port;
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, 'nats.conf'), config);
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  get log(): string {
    return readFileSync(path.join(this.#folder, 'log'), 'utf8');
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  /** Starts it, again if something else has one of its ports for a moment. */
  async start(): Promise<void> {
    const deadlineMs = performance.now() + START_MS_MAX;
    let child = this.#spawn();
    while (!(await canConnect(this.port)) || child.exitCode !== null) {
      if (performance.now() > deadlineMs)
        throw new Error(`${this.name} did not start: ${this.log}`);
      await sleep(LOOK_MS);
      if (child.exitCode !== null) child = this.#spawn();
    }
  }

  #spawn(): ChildProcess {
    const log = openSync(path.join(this.#folder, 'log'), 'a');
    const child = spawn(PROGRAM, ['-c', path.join(this.#folder, 'nats.conf')], {
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    this.#child = child;
    return child;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  /** Kills it at once; unlike a power cut, this keeps what is in the page cache. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }
}

export interface ServerTerms {
  /** Further lines of the servers' configuration. */
  readonly config?: string;
  readonly login?: string;
  /** Puts links that can be cut between servers, and between servers and clients. */
  readonly hasLinks?: boolean;
}

/** An advertised address where nobody listens, so that servers cannot bypass the links. */
const NOWHERE = '127.0.0.1:1';

/** One server, or three in a cluster, and a folder for all of them. */
export class NatsServers {
  readonly servers: readonly NatsServer[];
  readonly folder: string;
  readonly links: Links | undefined;
  readonly #login: string;

  constructor(folder: string, servers: readonly NatsServer[], login: string, links?: Links) {
    this.folder = folder;
    this.servers = servers;
    this.links = links;
    this.#login = login;
  }

  /** The value of --ledger, with all servers or with only one of them. */
  address(name: string, only?: number): string {
    const ports = (this.links?.clients ?? this.servers).map(({ port }) => port);
    const hosts = (only === undefined ? ports : [ports[only]]).map((port) => `127.0.0.1:${port}`);
    return `nats://${this.#login}${hosts.join(',')}/${name}`;
  }

  /** A connection for the test itself. */
  connect(name: string): Promise<NatsLink> {
    return connectNats(natsOptions(this.address(name), this.servers.length));
  }

  /** Resolves once streams can be created. */
  async untilReady(): Promise<void> {
    const deadlineMs = performance.now() + START_MS_MAX;
    while (!(await this.#canMakeStreams())) {
      if (performance.now() > deadlineMs) throw new Error(`not ready: ${this.servers[0].log}`);
      await sleep(LOOK_MS);
    }
  }

  async #canMakeStreams(): Promise<boolean> {
    let link: NatsLink | undefined;
    try {
      link = await this.connect('ready');
      await link.manager.streams.add({ name: 'ready', num_replicas: this.servers.length });
      return await link.manager.streams.delete('ready');
    } catch {
      return false;
    } finally {
      await link?.close();
    }
  }

  async stop(): Promise<void> {
    for (const server of this.servers) await server.kill();
    this.links?.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export function natsOptions(address: string, replicas = 1) {
  const parsed = parseNatsAddress(address);
  if (parsed === undefined) throw new Error(`not an address: ${address}`);
  return { address: parsed, replicas };
}

export async function startNats(count: 1 | 3 = 1, terms: ServerTerms = {}): Promise<NatsServers> {
  requireProgram();
  try {
    return await startOnFreePorts(count, terms);
  } catch {
    // Ports that were free a moment ago may be taken for long by now: others will do.
    return await startOnFreePorts(count, terms);
  }
}

async function startOnFreePorts(count: number, terms: ServerTerms): Promise<NatsServers> {
  const folder = mkdtempSync(path.join(tmpdir(), 'perpinfo-nats-'));
  const ports = await findPorts(2 * count);
  const [clientPorts, routePorts] = [ports.slice(0, count), ports.slice(count)];
  const links = terms.hasLinks ? await Links.open(clientPorts, routePorts) : undefined;
  const servers = clientPorts.map((port, index) => {
    const name = `n${index + 1}`;
    const own = path.join(folder, name);
    const lines = [
      `server_name: ${name}`,
      `listen: "127.0.0.1:${port}"`,
      ...(links === undefined
        ? []
        : [`client_advertise: "127.0.0.1:${links.clients[index].port}"`]),
      `jetstream { store_dir: "${own}/store", max_memory_store: 64MB, max_file_store: 1GB }`,
      ...(count === 1 ? [] : describeCluster(index, routePorts, links)),
      terms.config ?? '',
    ];
    return new NatsServer(name, port, own, `${lines.join('\n')}\n`);
  });
  const all = new NatsServers(folder, servers, terms.login ?? '', links);
  try {
    await Promise.all(servers.map((server) => server.start()));
    await all.untilReady();
  } catch (error) {
    await all.stop();
    throw error;
  }
  return all;
}

function describeCluster(index: number, ports: readonly number[], links?: Links): string[] {
  const routes = (links?.routePortsOf(index) ?? ports).map((port) => `"nats://127.0.0.1:${port}"`);
  return [
    'cluster {',
    '  name: test',
    `  listen: "127.0.0.1:${ports[index]}"`,
    ...(links === undefined ? [] : [`  advertise: "${NOWHERE}"`]),
    `  routes: [${routes.join(', ')}]`,
    '}',
  ];
}
