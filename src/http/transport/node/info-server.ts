/**
 * Accepts connections, and passes requests to Node's HTTP server as streams instead of sockets. If
 * the fast lane is on, a connection starts on the fast lane. It moves to Node's server at the first
 * request that the fast lane does not read.
 */

import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { Server as ConnectionServer, type Socket } from 'node:net';
import type { ClientConnection } from '../connections/client-connection.ts';
import { drainServer } from '../connections/drain.ts';
import { OpenConnections, type OpenConnectionsParts } from '../connections/open-connections.ts';
import type { UnfinishedBytes } from '../connections/unfinished-bytes.ts';
import { FastLane, type LaneParts } from '../lane/fast-lane.ts';
import { RequestStream, type SentBytes } from './request-stream.ts';
import { startTimeLimits } from './time-limits.ts';
import { TurnQueue } from './turn-queue.ts';

export interface InfoServerParts {
  readonly options: ServerOptions;
  readonly listener: RequestListener;
  readonly connections: OpenConnectionsParts;
  /** Undefined if every request goes to Node's server. */
  readonly lane: LaneParts | undefined;
  readonly unfinished: UnfinishedBytes;
}

const NOTHING = Buffer.alloc(0);

export class InfoServer extends ConnectionServer {
  /**
   * The server that parses requests. It does not listen: it gets its connections from `passToNode`.
   */
  readonly http: Server;
  readonly #connections: OpenConnections;
  readonly #lane: FastLane | undefined;
  readonly #turnQueue = new TurnQueue();
  readonly #unfinished: UnfinishedBytes;

  constructor({ options, listener, connections, lane, unfinished }: InfoServerParts) {
    // A client may end its side of a connection before it has read the answer.
    super({ allowHalfOpen: true, noDelay: true });
    this.http = createServer(options, listener);
    this.#connections = new OpenConnections(connections);
    this.#unfinished = unfinished;
    if (lane !== undefined) {
      this.#lane = new FastLane(lane, (client, sent) => this.passToNode(client, sent));
    }
    this.on('connection', (socket: Socket) => this.#accept(socket));
    this.once('listening', () => startTimeLimits(this.http));
    this.once('close', () => this.#stop());
  }

  #stop(): void {
    this.http.close();
    this.#lane?.stop();
  }

  #accept(socket: Socket): void {
    const client = this.#connections.accept(socket);
    if (client === undefined) return;
    if (this.#lane === undefined) this.passToNode(client);
    else this.#lane.accept(client);
  }

  /**
   * Passes a client to Node's server, with the bytes that have already been read from the client.
   */
  passToNode(client: ClientConnection, { head = NOTHING, rest = NOTHING }: SentBytes = {}): void {
    // The socket has already emitted its last event, so nothing would ever close a new stream.
    if (client.socket.destroyed) return;
    const stream = new RequestStream(client, this.#turnQueue, this.#unfinished);
    this.http.emit('connection', stream);
    client.handleWith(stream);
    stream.start(head, rest);
  }

  /** Finishes the requests in flight, then closes the server (connections/drain.ts). */
  drain(timeoutMs: number): void {
    drainServer(this, this.#connections, timeoutMs);
  }

  /** Destroys all open connections, and every connection that is accepted later. */
  closeAllConnections(): void {
    this.#connections.destroyAll();
  }
}
