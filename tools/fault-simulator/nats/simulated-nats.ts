/**
 * NATS servers in a simulation, and the network to them. The client is the same as in the product.
 * It runs on simulated sockets (virtual-system.ts), so a process opens a ledger, keys or snapshots
 * as usual, at an address of `options`.
 *
 *   const nats = new SimulatedNats(kernel, 3);
 *   await onSystem({ kernel, files, connect: nats.connect }, async () => {
 *     kernel.start('writer', () => void openJetStreamLedgerWriter({ ...nats.options('name'), retryMs }));
 *     await kernel.run(60_000);
 *   });
 */

// The modules are loaded here, because loading them during a run would take real time.
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
  /** Clients whose network is cut, and the servers that each of them cannot reach. */
  readonly #cutClients = new Map<SimulatedProcess, ReadonlySet<number>>();
  /** Servers that cannot reach their peers. */
  readonly #isolated = new Set<number>();

  #hasClients = false;

  /** Creates one server, or a cluster of three servers. */
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

  /** Returns the value of --ledger for a ledger with this name. */
  address(name: string): string {
    return `nats://${this.servers.map(({ address }) => address).join()}/${name}`;
  }

  /**
   * Returns the options that open the ledger with this name, its keys, its snapshots and its
   * charges.
   */
  options(name: string): NatsOptions {
    const address = parseNatsAddress(this.address(name));
    if (address === undefined) throw new Error(`not the name of a ledger: ${name}`);
    return { address, replicas: this.servers.length };
  }

  /** Connects the current process. Replaces createConnection of node:net. */
  readonly connect = (port: number, host: string, connected: () => void): SimulatedSocket => {
    // The client continues the ids of an earlier run in this process, so the ids are reset.
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

  /**
   * The streams on which the servers have agreed: those of the server that has applied the most
   * operations.
   */
  get streams(): Streams {
    return this.servers.reduce((most, server) =>
      server.appliedCount > most.appliedCount ? server : most,
    ).streams;
  }

  /** Resets the connections of a process. The process reconnects by itself. */
  cutConnections(client: SimulatedProcess): void {
    for (const server of this.servers) {
      for (const connection of server.connectionsOf(client)) connection.reset();
    }
  }

  /**
   * Cuts the network between a process and some servers, or all servers by default: packets are
   * lost without notice.
   */
  partition(client: SimulatedProcess, servers: Iterable<number> = this.servers.keys()): void {
    this.#cutClients.set(client, new Set(servers));
  }

  rejoin(client: SimulatedProcess): void {
    this.#cutClients.delete(client);
    for (const server of this.servers) {
      for (const connection of server.connectionsOf(client)) connection.resend();
    }
  }

  /** Cuts a server off from its peers. Clients can still reach the server. */
  isolate(server: number): void {
    this.#isolated.add(server);
  }

  reunite(server: number): void {
    this.#isolated.delete(server);
  }

  /** Isolates every server, so that no server has a majority. */
  loseQuorum(): void {
    for (const index of this.servers.keys()) this.isolate(index);
  }

  /** Ends all faults: the network works, and every server runs. */
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
