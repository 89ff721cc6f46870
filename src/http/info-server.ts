/**
 * Node's HTTP server, given streams in the place of sockets: each connection is first with the fast
 * lane, if that is on, and then, once it has sent what the lane does not take, with Node.
 */

import { type RequestListener, Server, type ServerOptions } from 'node:http';
import type { Socket } from 'node:net';
import type { ClientConnection } from './connections/client-connection.ts';
import { OpenConnections, type OpenConnectionsParts } from './connections/open-connections.ts';
import { FastLane, type LaneParts } from './lane/fast-lane.ts';
import { FeedQueue } from './node/feed-queue.ts';
import { RequestStream, type SentBytes } from './node/request-stream.ts';

export interface InfoServerParts {
  readonly options: ServerOptions;
  readonly listener: RequestListener;
  readonly connections: OpenConnectionsParts;
  /** Undefined where every request goes to Node. */
  readonly lane: LaneParts | undefined;
}

const NOTHING = Buffer.alloc(0);
/** New clients may go on coming while those that wait are accepted. */
const ACCEPT_MS_MAX = 1000;

export class InfoServer extends Server {
  readonly #connections: OpenConnections;
  readonly #lane: FastLane | undefined;
  readonly #feedQueue = new FeedQueue();
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

  /** From here on Node handles the client, beginning with what it has sent already. */
  passToNode(client: ClientConnection, { head = NOTHING, rest = NOTHING }: SentBytes = {}): void {
    const stream = new RequestStream(client, this.#feedQueue);
    this.#takeStream.call(this, stream);
    client.handleWith(stream);
    stream.start(head, rest);
  }

  /**
   * Takes no more connections than wait to be accepted already, and closes all once nothing is under way
   * on them: their last responses say `Connection: close`. What is left after this time is destroyed.
   */
  drain(timeoutMs: number): void {
    this.#connections.drain();
    const deadlineMs = performance.now() + Math.min(ACCEPT_MS_MAX, timeoutMs / 2);
    setTimeout(() => this.#closeOnceAccepted(deadlineMs), 1);
    const late = setTimeout(() => this.closeAllConnections(), timeoutMs);
    this.once('close', () => clearTimeout(late));
  }

  /**
   * One connection is accepted a turn: after a turn without any, none waits. Called by a timer, and
   * looks again by one: sockets are looked at between two of them.
   */
  #closeOnceAccepted(deadlineMs: number): void {
    const { acceptedCount } = this.#connections;
    setTimeout(() => {
      const isNew = this.#connections.acceptedCount > acceptedCount;
      if (isNew && performance.now() < deadlineMs) this.#closeOnceAccepted(deadlineMs);
      else this.close();
    }, 1);
  }

  /** Node would close those whose last response is still being sent; `drain` does it when it is out. */
  override closeIdleConnections(): void {}

  override closeAllConnections(): void {
    this.#connections.destroyAll();
  }
}
