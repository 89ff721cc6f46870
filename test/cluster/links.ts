/** TCP links between NATS servers, and to their clients, that a test can cut and mend. */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** closed: connections are reset. silent: packets are lost without notice. */
export type Cut = 'closed' | 'silent';

/** A proxied connection, whose two ends can be disconnected from each other. */
class Passage {
  readonly #near: Socket;
  #far: Socket | undefined;
  readonly #port: number;

  constructor(near: Socket, port: number) {
    this.#near = near;
    this.#port = port;
    near.on('error', () => undefined);
  }

  join(): void {
    this.#far ??= connect(this.#port, '127.0.0.1').on('error', () => undefined);
    const [near, far] = [this.#near, this.#far];
    if (near.destroyed || far.destroyed) {
      this.close();
      return;
    }
    near.once('close', this.#closeBoth).pipe(far);
    far.once('close', this.#closeBoth).pipe(near);
  }

  readonly #closeBoth = () => this.close();

  /** Stops forwarding; neither end notices, not even a close. */
  part(): void {
    for (const socket of [this.#near, this.#far]) {
      socket?.unpipe();
      socket?.off('close', this.#closeBoth);
      socket?.pause();
    }
  }

  close(): void {
    this.#near.destroy();
    this.#far?.destroy();
  }

  get isClosed(): boolean {
    return this.#near.destroyed && this.#far?.destroyed !== false;
  }
}

export class Link {
  readonly #server: Server;
  readonly #passages = new Set<Passage>();
  #cut: Cut | undefined;
  /** Number of connections accepted so far. */
  begun = 0;

  private constructor(server: Server, targetPort: number) {
    this.#server = server;
    server.on('connection', (socket) => {
      this.begun++;
      if (this.#cut === 'closed') return void socket.destroy();
      for (const old of this.#passages) if (old.isClosed) this.#passages.delete(old);
      const passage = new Passage(socket, targetPort);
      this.#passages.add(passage);
      if (this.#cut === undefined) passage.join();
    });
  }

  static async open(targetPort: number): Promise<Link> {
    const server = createServer({ pauseOnConnect: false });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Link(server, targetPort);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  cut(kind: Cut): void {
    this.#cut = kind;
    for (const passage of this.#passages) kind === 'closed' ? passage.close() : passage.part();
  }

  mend(): void {
    if (this.#cut === 'silent') for (const passage of this.#passages) passage.join();
    this.#cut = undefined;
  }

  close(): void {
    this.#server.close();
    for (const passage of this.#passages) passage.close();
  }
}

/** One link to the clients of each server, and one for each direction between two servers. */
export class Links {
  readonly clients: readonly Link[];
  /** Indexed by the connecting server, then by its target. */
  readonly #routes: readonly (readonly (Link | undefined)[])[];

  private constructor(
    clients: readonly Link[],
    routes: readonly (readonly (Link | undefined)[])[],
  ) {
    this.clients = clients;
    this.#routes = routes;
  }

  static async open(clientPorts: readonly number[], routePorts: readonly number[]): Promise<Links> {
    const clients = await Promise.all(clientPorts.map((port) => Link.open(port)));
    const routes = await Promise.all(
      routePorts.map((_, from) =>
        Promise.all(routePorts.map((port, to) => (to === from ? undefined : Link.open(port)))),
      ),
    );
    return new Links(clients, routes);
  }

  /** The ports through which a server reaches the others. */
  routePortsOf(from: number): number[] {
    return this.#routes[from].flatMap((link) => (link === undefined ? [] : [link.port]));
  }

  /** Cuts a server off from its peers; its clients still reach it. */
  isolate(server: number, kind: Cut): void {
    this.#routes.forEach((row, from) => {
      row.forEach((link, to) => {
        if (from === server || to === server) link?.cut(kind);
      });
    });
  }

  get #all(): Link[] {
    return [...this.clients, ...this.#routes.flat()].filter((link) => link !== undefined);
  }

  close(): void {
    for (const link of this.#all) link.close();
  }
}
