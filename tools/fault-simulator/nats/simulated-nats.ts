/**
 * NATS servers in a simulation, and the network to them. The client is the one that ships: it runs on
 * simulated sockets (virtual-system.ts), so a process opens a ledger, keys or snapshots as always, at
 * an address of `options`.
 *
 *   const nats = new SimulatedNats(kernel, 3);
 *   await onSystem({ kernel, files, connect: nats.connect }, async () => {
 *     kernel.start('writer', () => void openJetStreamLedgerWriter({ ...nats.options('name'), retryMs }));
 *     await kernel.run(60_000);
 *   });
 */

// Loaded here: loading them during a run would take real time.
import '@nats-io/jetstream';
import '@nats-io/kv';
import '@nats-io/obj';
import { nuid } from '@nats-io/transport-node';
import { parseNatsAddress } from '../../../src/config/nats-address.ts';
import type { NatsOptions } from '../../../src/ledger/jetstream/nats-client.ts';
import type { Kernel, SimulatedProcess } from '../system/kernel.ts';
import { NatsServer } from './nats-server.ts';
import { NetworkFaults } from './network-faults.ts';
import { SimulatedSocket } from './simulated-socket.ts';
import type { Streams } from './streams.ts';

const PORT = 4222;

export class SimulatedNats {
  readonly #kernel: Kernel;
  readonly servers: readonly NatsServer[];
  readonly faults: NetworkFaults;
  /** Clients whose network is cut, and the servers that they do not reach. */
  readonly #cutClients = new Map<SimulatedProcess, ReadonlySet<number>>();
  /** Servers that do not reach their peers. */
  readonly #isolated = new Set<number>();

  #hasClients = false;

  /** One server, or a cluster of three. */
  constructor(kernel: Kernel, count: 1 | 3) {
    this.#kernel = kernel;
    this.faults = new NetworkFaults(kernel.random);
    const servers: NatsServer[] = [];
    for (let index = 0; index < count; index++) {
      const terms = {
        kernel,
        faults: this.faults,
        index,
        address: `10.0.0.${index + 1}:${PORT}`,
        servers,
        isRouteCut: (from: number, to: number) =>
          this.#isolated.has(from) || this.#isolated.has(to),
        isClientCut: (client: SimulatedProcess, server: number) =>
          this.#cutClients.get(client)?.has(server) === true,
      };
      servers.push(new NatsServer(terms));
    }
    this.servers = servers;
    for (const server of servers) server.start();
  }

  /** The value of --ledger. */
  address(name: string): string {
    return `nats://${this.servers.map(({ address }) => address).join()}/${name}`;
  }

  /** What opens a ledger of that name, its keys, its snapshots and its charges. */
  options(name: string): NatsOptions {
    const address = parseNatsAddress(this.address(name));
    if (address === undefined) throw new Error(`not the name of a ledger: ${name}`);
    return { address, replicas: this.servers.length };
  }

  /** Connects the current process; in place of node:net's createConnection. */
  readonly connect = (port: number, host: string, connected: () => void): SimulatedSocket => {
    // The client counts its ids on from those of an earlier run in this process.
    if (!this.#hasClients) nuid.reset();
    this.#hasClients = true;
    const socket = new SimulatedSocket(this.#kernel);
    socket.once('connect', connected);
    const { owner } = socket;
    const address = `${host}:${port}`;
    const index = this.servers.findIndex((each) => each.address === address);
    const server = this.servers[index];
    if (server?.isUp !== true) {
      this.#kernel.schedule(this.faults.delayMs(), () => socket.fail('ECONNREFUSED'), owner);
    } else if (this.#cutClients.get(owner)?.has(index) !== true) {
      const accept = () => server.accept(socket);
      this.#kernel.schedule(this.faults.delayMs(), accept, server.process);
    }
    return socket;
  };

  /** The streams as the servers have agreed on them: of the one that has applied the most. */
  get streams(): Streams {
    return this.servers.reduce((most, server) =>
      server.appliedCount > most.appliedCount ? server : most,
    ).streams;
  }

  /** Resets the connections of a process; it reconnects by itself. */
  cutConnections(client: SimulatedProcess): void {
    for (const server of this.servers) {
      for (const connection of server.connectionsOf(client)) connection.reset();
    }
  }

  /** Packets between a process and servers are lost without notice, by default all servers. */
  partition(client: SimulatedProcess, servers: Iterable<number> = this.servers.keys()): void {
    this.#cutClients.set(client, new Set(servers));
  }

  rejoin(client: SimulatedProcess): void {
    this.#cutClients.delete(client);
    for (const server of this.servers) {
      for (const connection of server.connectionsOf(client)) connection.resend();
    }
  }

  /** A server is cut off from its peers; clients still reach it. */
  isolate(server: number): void {
    this.#isolated.add(server);
  }

  reunite(server: number): void {
    this.#isolated.delete(server);
  }

  /** No server has a majority any more. */
  loseQuorum(): void {
    for (const index of this.servers.keys()) this.isolate(index);
  }

  /** Ends all faults: the network is whole, and every server runs. */
  mend(): void {
    this.faults.mend();
    this.#isolated.clear();
    for (const client of this.#cutClients.keys()) this.rejoin(client);
    for (const server of this.servers) {
      if (server.isUp) this.#kernel.resume(server.process);
      else server.start();
    }
  }
}
