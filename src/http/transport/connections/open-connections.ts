/** All open connections of a server, and their maximum number. */

import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import type { ConnectionCounters } from '../../answering/counters.ts';
import { ClientConnection } from './client-connection.ts';

export interface OpenConnectionsParts {
  readonly countMax: number;
  readonly counters: ConnectionCounters;
  readonly log: Logger;
}

/** Minimum time between two log lines about connections over the limit. */
const REFUSAL_LOG_MS = 10_000;

export class OpenConnections {
  readonly #parts: OpenConnectionsParts;
  readonly #open = new Set<ClientConnection>();
  /** The number of connections that were accepted since the start. */
  acceptedCount = 0;
  #refusedCount = 0;
  #refusalLoggedMs = Number.NEGATIVE_INFINITY;
  #isDraining = false;
  #isOver = false;

  constructor(parts: OpenConnectionsParts) {
    this.#parts = parts;
  }

  /**
   * Returns the connection of a socket. If there are too many connections, closes the socket and
   * returns undefined.
   */
  accept(socket: Socket): ClientConnection | undefined {
    const isFull = this.#open.size >= this.#parts.countMax;
    if (isFull || this.#isOver) {
      socket.on('error', () => socket.destroy());
      socket.destroy();
      if (isFull) this.#noteRefused();
      return undefined;
    }
    const connection = new ClientConnection(socket, this.#forget);
    if (this.#isDraining) connection.startDraining();
    this.#open.add(connection);
    this.acceptedCount++;
    this.#parts.counters.countOpenConnections(1);
    return connection;
  }

  readonly #forget = (connection: ClientConnection): void => {
    if (this.#open.delete(connection)) this.#parts.counters.countOpenConnections(-1);
  };

  #noteRefused(): void {
    const { counters, log, countMax } = this.#parts;
    counters.countRefusedConnection();
    this.#refusedCount++;
    const nowMs = performance.now();
    if (nowMs - this.#refusalLoggedMs < REFUSAL_LOG_MS) return;
    this.#refusalLoggedMs = nowMs;
    log.warn(
      { refused: this.#refusedCount, limit: countMax },
      'connections over the limit were closed',
    );
    this.#refusedCount = 0;
  }

  get all(): ReadonlySet<ClientConnection> {
    return this.#open;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /**
   * Starts draining. From now on, the last response of each connection contains `Connection:
   * close`.
   */
  startDraining(): void {
    this.#isDraining = true;
    for (const connection of this.#open) connection.startDraining();
  }

  /** Destroys all open connections, and every connection that is accepted later. */
  destroyAll(): void {
    this.#isOver = true;
    for (const { socket } of this.#open) socket.destroy();
  }
}
