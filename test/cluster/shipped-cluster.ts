/**
 * The cluster of deploy/cluster, run without containers: its own files, in which the names of machines
 * stand for ports of this one.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openJetStreamKeys } from '../../src/access/jetstream/jetstream-keys.ts';
import { type Program, start } from '../../tools/harness/program.ts';
import {
  type Answer,
  type Cleanup,
  Client,
  RunningService,
  until,
} from '../../tools/harness/running.ts';
import { Link } from './links.ts';
import { findPorts, NatsServer, NatsServers, natsOptions } from './nats-servers.ts';
import { readDeployed, replace, startNginx } from './shipped-files.ts';

const NAMES = ['nats1', 'nats2', 'nats3'];
/** The shipped limit is ten seconds: nobody should wait that long for a test. */
export const MAX_BEHIND_MS = 4000;
/** Nor as long as the shipped proxy waits for an answer. */
const READ_TIMEOUT = '3s';
const RUN_MS_MAX = 120_000;

function readShipped(file: string): string {
  return readDeployed(`cluster/${file}`);
}

/** Servers before 2.10 do not know the setting, and refuse to start. */
function withoutSyncInterval(config: string): string {
  const { stdout } = spawnSync('nats-server', ['--version'], { encoding: 'utf8' });
  const [, minor] = /v2\.(\d+)\./.exec(stdout) ?? [];
  return Number(minor) < 10 ? replace(config, /^ *sync_interval: always\n/gm, '') : config;
}

/** Addresses that a server announces would lead clients past the links that a test cuts. */
const ANNOUNCES_NOTHING = 'cluster {\n  no_advertise: true';

function natsConfig(index: number, ports: readonly number[], folder: string): string {
  let config = withoutSyncInterval(readShipped('nats.conf'));
  config = replace(config, '0.0.0.0:4222', `127.0.0.1:${ports[index]}`);
  config = replace(config, '0.0.0.0:6222', `127.0.0.1:${ports[NAMES.length + index]}`);
  config = replace(config, '/data', path.join(folder, 'data'));
  config = replace(config, 'cluster {', ANNOUNCES_NOTHING);
  NAMES.forEach((name, at) => {
    config = replace(config, `${name}:6222`, `127.0.0.1:${ports[NAMES.length + at]}`);
  });
  return `server_name: ${NAMES[index]}\n${config}`;
}

async function startNats(folder: string): Promise<NatsServers> {
  const ports = await findPorts(2 * NAMES.length);
  const servers = NAMES.map((name, index) => {
    const own = path.join(folder, name);
    return new NatsServer(name, ports[index], own, natsConfig(index, ports, own));
  });
  const all = new NatsServers(folder, servers, '');
  await Promise.all(servers.map((server) => server.start()));
  await all.untilReady();
  return all;
}

/** What compose.yaml says about a replica. */
function readReplica(name: string): { command: string[]; variables: Record<string, string> } {
  const [, text = ''] = new RegExp(`^ {2}${name}:\\n((?: {4}.*\\n|\\n)+)`, 'm').exec(
    readShipped('compose.yaml'),
  ) ?? [''];
  const [, command = ''] = /^ +command: (.*)$/m.exec(text) ?? [];
  const found = [...text.matchAll(/^ +(PERPINFO_\w+): "?([^"\n]*)"?$/gm)];
  return {
    command: command.split(' '),
    variables: Object.fromEntries(found.map(([, variable, value]) => [variable, value])),
  };
}

/** One of the replicas behind nginx, with a link to each NATS server that can be cut. */
export class ShippedReplica {
  readonly #name: string;
  readonly #port: number;
  readonly #data: string;
  readonly #links: readonly Link[];
  service: RunningService | undefined;

  constructor(name: string, port: number, data: string, links: readonly Link[]) {
    this.#name = name;
    this.#port = port;
    this.#data = data;
    this.#links = links;
  }

  get port(): number {
    return this.#port;
  }

  async start(): Promise<void> {
    const { command, variables } = readReplica(this.#name);
    const flags = ['--port', `${this.#port}`, '--admin-port', '0', '--overload-delay', '60000'];
    const place = {
      PERPINFO_LEDGER: this.#moveLedger(variables['PERPINFO_LEDGER']),
      PERPINFO_DATA: this.#data,
      PERPINFO_MAX_AGE: '0',
      PERPINFO_MAX_BEHIND: String(MAX_BEHIND_MS),
    };
    const program = start([...command, ...flags], { ...variables, ...place }, RUN_MS_MAX);
    const service = new RunningService(program);
    this.service = service;
    await until('the workers to listen', () => {
      if (program.child.exitCode !== null) throw new Error(`it ended: ${program.stderr}`);
      return service.workerPids.length === 2;
    });
  }

  #moveLedger(address: string): string {
    return NAMES.reduce(
      (moved, name, index) =>
        replace(moved, `${name}:4222`, `127.0.0.1:${this.#links[index].port}`),
      address,
    );
  }

  async stop(signal?: NodeJS.Signals): Promise<void> {
    await this.service?.stop(signal);
    this.service = undefined;
  }

  /** Its processes are there, and do nothing. */
  freeze(): void {
    this.#signal('SIGSTOP');
  }

  thaw(): void {
    this.#signal('SIGCONT');
  }

  #signal(signal: NodeJS.Signals): void {
    const { service } = this;
    if (service === undefined) return;
    for (const pid of [service.program.child.pid, ...service.workerPids]) {
      if (pid !== undefined) process.kill(pid, signal);
    }
  }

  cut(): void {
    for (const link of this.#links) link.cut('silent');
  }

  mend(): void {
    for (const link of this.#links) link.mend();
  }

  async health(): Promise<Answer> {
    const client = new Client(this.#port);
    try {
      return await client.send({ path: '/health' });
    } finally {
      client.close();
    }
  }

  close(): void {
    for (const link of this.#links) link.close();
  }
}

export class ShippedCluster {
  readonly nats: NatsServers;
  readonly replicas: readonly ShippedReplica[];
  readonly nginx: Program;
  readonly port: number;
  readonly folder: string;

  private constructor(
    parts: Pick<ShippedCluster, 'nats' | 'replicas' | 'nginx' | 'port' | 'folder'>,
  ) {
    this.nats = parts.nats;
    this.replicas = parts.replicas;
    this.nginx = parts.nginx;
    this.port = parts.port;
    this.folder = parts.folder;
  }

  get ledger(): string {
    return this.nats.address('exchange');
  }

  async createKey(): Promise<string> {
    const store = await openJetStreamKeys(natsOptions(this.ledger, NAMES.length));
    try {
      const terms = { label: 'test', budget: undefined, expiresMs: undefined };
      return (await store.create(terms)).secret;
    } finally {
      await store.close();
    }
  }

  /** The replicas start later: they need a ledger. */
  static async start(context: Cleanup): Promise<ShippedCluster> {
    const folder = mkdtempSync(path.join(tmpdir(), 'perpinfo-shipped-'));
    const nats = await startNats(folder);
    const [port, ...replicaPorts] = await findPorts(3);
    const replicas = await Promise.all(
      ['replica1', 'replica2'].map(async (name, index) => {
        const links = await Promise.all(nats.servers.map((server) => Link.open(server.port)));
        return new ShippedReplica(name, replicaPorts[index], path.join(folder, name), links);
      }),
    );
    const [first, second] = replicaPorts.map((own) => `127.0.0.1:${own}`);
    const servers = { 'replica1:8080': first, 'replica2:8080': second };
    const file = 'cluster/nginx.conf';
    const nginx = startNginx({ file, folder, port, readTimeout: READ_TIMEOUT, servers });
    const cluster = new ShippedCluster({ nats, replicas, nginx, port, folder });
    context.after(() => cluster.stop());
    return cluster;
  }

  async stop(): Promise<void> {
    this.nginx.child.kill('SIGTERM');
    await this.nginx.ended;
    for (const replica of this.replicas) {
      await replica.stop('SIGKILL');
      replica.close();
    }
    await this.nats.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
