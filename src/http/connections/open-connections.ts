/**
 * All open connections of a server: their maximum number, and how they drain when the service stops.
 * A draining connection finishes the requests in flight and is closed once it is idle; at the deadline
 * those that are left are destroyed.
 */

import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import type { ConnectionCounters } from '../counters.ts';
import { ClientConnection } from './client-connection.ts';

export interface OpenConnectionsParts {
  readonly countMax: number;
  readonly counters: ConnectionCounters;
  readonly log: Logger;
}

/** How often connections are checked while they drain. */
const DRAIN_CHECK_MS = 20;
/**
 * Number of checks after which an idle connection is closed: a client's next request may be in flight,
 * and its response then says Connection: close. Checks are counted, not time: in a turn that takes
 * long nothing is read, and a request that has arrived would be taken for none.
 */
const IDLE_CHECKS = 15;
/** Connections over the limit are counted, and logged at most this often. */
const REFUSAL_LOG_MS = 10_000;

interface Idleness {
  readonly bytesRead: number;
  readonly checks: number;
}

export class OpenConnections {
  readonly #parts: OpenConnectionsParts;
  readonly #open = new Set<ClientConnection>();
  readonly #idleness = new WeakMap<ClientConnection, Idleness>();
  /** The number of all connections since the start. */
  acceptedCount = 0;
  #refusedCount = 0;
  #refusalLoggedMs = Number.NEGATIVE_INFINITY;
  #draining: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(parts: OpenConnectionsParts) {
    this.#parts = parts;
  }

  /** The connection of a socket; undefined where that is over the limit, and closed. */
  accept(socket: Socket): ClientConnection | undefined {
    const isFull = this.#open.size >= this.#parts.countMax;
    if (isFull || this.#isOver) {
      socket.on('error', () => socket.destroy());
      socket.destroy();
      if (isFull) this.#noteRefused();
      return undefined;
    }
    const connection = new ClientConnection(socket, this.#forget);
    connection.isDraining = this.isDraining;
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

  get isDraining(): boolean {
    return this.#draining !== undefined;
  }

  /** Closes each connection once it is idle, until none is left. */
  drain(): void {
    if (this.#draining !== undefined) return;
    for (const connection of this.#open) connection.isDraining = true;
    this.#draining = setInterval(() => this.#closeIdle(), DRAIN_CHECK_MS);
    this.#closeIdle();
  }

  #closeIdle(): void {
    for (const connection of this.#open) {
      if (this.#isIdle(connection)) connection.endSoon();
    }
    if (this.#open.size === 0) clearInterval(this.#draining);
  }

  /** Push closes its own connections. */
  #isIdle(connection: ClientConnection): boolean {
    const { bytesRead } = connection.socket;
    if (connection.isReleased) return false;
    const last = this.#idleness.get(connection);
    const isIdle = last?.bytesRead === bytesRead && !connection.isBusy;
    const checks = isIdle ? last.checks + 1 : 0;
    this.#idleness.set(connection, { bytesRead, checks });
    return checks >= IDLE_CHECKS;
  }

  /** Destroys all connections, and those that are accepted from here on. */
  destroyAll(): void {
    this.#isOver = true;
    for (const { socket } of this.#open) socket.destroy();
  }
}
