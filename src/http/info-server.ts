/**
 * Node's HTTP server, given streams in place of sockets: a connection starts on the fast lane, if that
 * is on, and moves to Node once it has sent what the lane does not read.
 */

import { type RequestListener, Server, type ServerOptions } from 'node:http';
import type { Socket } from 'node:net';
import type { ClientConnection } from './connections/client-connection.ts';
import { OpenConnections, type OpenConnectionsParts } from './connections/open-connections.ts';
import { FastLane, type LaneParts } from './lane/fast-lane.ts';
import { RequestStream, type SentBytes } from './node/request-stream.ts';
import { TurnQueue } from './node/turn-queue.ts';

export interface InfoServerParts {
  readonly options: ServerOptions;
  readonly listener: RequestListener;
  readonly connections: OpenConnectionsParts;
  /** Undefined where every request goes to Node. */
  readonly lane: LaneParts | undefined;
}

const NOTHING = Buffer.alloc(0);
/** Bounds the accepting while new clients keep coming. */
const ACCEPT_MS_MAX = 1000;

export class InfoServer extends Server {
  readonly #connections: OpenConnections;
  readonly #lane: FastLane | undefined;
  readonly #turnQueue = new TurnQueue();
  readonly #takeStream: (stream: RequestStream) => void;

  constructor({ options, listener, connections, lane }: InfoServerParts) {
    super(options, listener);
    const [takeStream] = this.listeners('connection') as ((stream: RequestStream) => void)[];
    this.off('connection', takeStream);
    this.#takeStream = takeStream;
    this.#connections = new OpenConnections(connections);
    if (lane !== undefined) {
      this.#lane = new FastLane(lane, (client, sent) => this.passToNode(client, sent));
    }
    this.on('connection', (socket: Socket) => this.#accept(socket));
    this.on('close', () => this.#lane?.stop());
  }

  #accept(socket: Socket): void {
    const client = this.#connections.accept(socket);
    if (client === undefined) return;
    if (this.#lane === undefined) this.passToNode(client);
    else this.#lane.accept(client);
  }

  /** Gives a client to Node, with the bytes that it has sent already. */
  passToNode(client: ClientConnection, { head = NOTHING, rest = NOTHING }: SentBytes = {}): void {
    const stream = new RequestStream(client, this.#turnQueue);
    this.#takeStream.call(this, stream);
    client.handleWith(stream);
    stream.start(head, rest);
  }

  /**
   * Accepts the connections that wait in the backlog and no others, and closes each once it is idle;
   * the last responses say `Connection: close`. What is left after this time is destroyed.
   */
  drain(timeoutMs: number): void {
    this.#connections.drain();
    const deadlineMs = performance.now() + Math.min(ACCEPT_MS_MAX, timeoutMs / 2);
    setImmediate(() => this.#closeOnceAccepted(deadlineMs));
    const late = setTimeout(() => this.closeAllConnections(), timeoutMs);
    this.once('close', () => clearTimeout(late));
  }

  /**
   * One connection is accepted per turn of the event loop, so after a turn without any the backlog is
   * empty. Immediates run after sockets were polled; timers may run twice without that.
   */
  #closeOnceAccepted(deadlineMs: number): void {
    const { acceptedCount } = this.#connections;
    setImmediate(() => {
      const isNew = this.#connections.acceptedCount > acceptedCount;
      if (isNew && performance.now() < deadlineMs) this.#closeOnceAccepted(deadlineMs);
      else this.close();
    });
  }

  /** Node would close connections whose last response is still being sent; `drain` waits for it. */
  override closeIdleConnections(): void {}

  override closeAllConnections(): void {
    this.#connections.destroyAll();
  }
}
