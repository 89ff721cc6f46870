/**
 * All connections of a server, in one place: how many there may be, and how they end when the service
 * stops. Draining means: what was begun is finished, a connection is closed once nothing is under way
 * on it, and at the deadline all that are left are destroyed.
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

/** How often connections are looked through while they drain. */
const DRAIN_CHECK_MS = 20;
/**
 * A client that asks again and again may just be sending the next request: it is given this long to do
 * so, and is then told in the response that it was the last one.
 */
const QUIET_MS = 300;
/** Connections that are refused are counted; the log says so once in a while. */
const REFUSAL_LOG_MS = 10_000;

interface Quiet {
  readonly bytesRead: number;
  readonly sinceMs: number;
}

export class OpenConnections {
  readonly #parts: OpenConnectionsParts;
  readonly #open = new Set<ClientConnection>();
  readonly #quiet = new WeakMap<ClientConnection, Quiet>();
  /** All that there ever were. */
  acceptedCount = 0;
  #refusedCount = 0;
  #refusalLoggedMs = Number.NEGATIVE_INFINITY;
  #draining: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(parts: OpenConnectionsParts) {
    this.#parts = parts;
  }

  /** The socket as a connection; undefined where there are enough, and it is closed. */
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

  /** Closes each connection once it is quiet, until the last one is gone. */
  drain(): void {
    if (this.#draining !== undefined) return;
    for (const connection of this.#open) connection.isDraining = true;
    this.#draining = setInterval(() => this.#closeQuiet(performance.now()), DRAIN_CHECK_MS);
    this.#closeQuiet(performance.now());
  }

  #closeQuiet(nowMs: number): void {
    for (const connection of this.#open) {
      if (this.#isQuiet(connection, nowMs)) connection.endSoon();
    }
    if (this.#open.size === 0) clearInterval(this.#draining);
  }

  /** Push says goodbye to its own connections. */
  #isQuiet(connection: ClientConnection, nowMs: number): boolean {
    const { bytesRead } = connection.socket;
    if (connection.isReleased) return false;
    const quiet = this.#quiet.get(connection);
    if (quiet?.bytesRead === bytesRead && !connection.isBusy) {
      return nowMs - quiet.sinceMs >= QUIET_MS;
    }
    this.#quiet.set(connection, { bytesRead, sinceMs: nowMs });
    return false;
  }

  /** The deadline: these end now, and whatever is still accepted ends at once. */
  destroyAll(): void {
    this.#isOver = true;
    for (const { socket } of this.#open) socket.destroy();
  }
}
