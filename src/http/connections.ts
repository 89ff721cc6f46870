/**
 * What is said on a connection outside of the ordinary course of requests: to bytes that are not
 * HTTP, that come too slowly or are too many, and to tunnels. It is the last thing said there, and
 * comes after the responses to all requests before.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { RequestError } from '../errors.ts';
import { formatRawError, type Headers, sendError } from './respond.ts';

/** How long a client that has been refused may go on sending until it has read why. */
const LINGER_MS = 1_000;

/** A connection that so often has no known key, path or method is not a client's of ours. */
const STRANGE_REQUESTS_MAX = 32;

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Counted over all connections, in the order in which they begin. */
  number: number;
}

export class Connections {
  /** Responses go out in the order of their requests: once the newest is out, all are. */
  readonly #newest = new WeakMap<Socket, Exchange>();
  readonly #refused = new WeakSet<Socket>();
  /** Those on which a response has said that it is the last one, and its number. */
  readonly #lastNumber = new WeakMap<Socket, number>();
  #count = 0;

  readonly #pendingMax: number;
  readonly #strangeRequests = new WeakMap<Socket, number>();
  readonly #pending = new WeakMap<Socket, number>();

  constructor(pendingMax: number) {
    this.#pendingMax = pendingMax;
  }

  /**
   * Called with every request, as it begins. False where it is not to be looked at: the connection
   * has too many of them, and is closed, or it is closing already. All that one read brings is
   * handled in one go, and others would wait for thousands.
   */
  note(exchange: Exchange): boolean {
    const { socket } = exchange.request;
    const pending = (this.#pending.get(socket) ?? 0) + 1;
    if (socket.destroyed || pending > this.#pendingMax) {
      socket.destroy();
      return false;
    }
    if (this.#lastNumber.has(socket)) return false;
    exchange.number = ++this.#count;
    this.#pending.set(socket, pending);
    this.#newest.set(socket, exchange);
    exchange.response.once('close', () => {
      this.#pending.set(socket, (this.#pending.get(socket) ?? 1) - 1);
    });
    return true;
  }

  /** Called with a request whose response says that it is the last one. */
  noteLast({ request: { socket }, number }: Exchange): void {
    this.#lastNumber.set(socket, number);
  }

  /** Whether the response will not be sent: the one to a request before it was the last. */
  isTooLate({ request: { socket }, number }: Exchange): boolean {
    return number > (this.#lastNumber.get(socket) ?? Number.POSITIVE_INFINITY);
  }

  /** Called with a request that nobody who knows us would send. True for the one too many. */
  noteStrange({ request: { socket } }: Exchange): boolean {
    const count = (this.#strangeRequests.get(socket) ?? 0) + 1;
    this.#strangeRequests.set(socket, count);
    return count === STRANGE_REQUESTS_MAX;
  }

  /** Acts once every request that came before on the connection has its response. */
  whenAnswered(socket: Socket, act: () => void): void {
    afterResponse(this.#newest.get(socket), act);
  }

  /**
   * Refuses what came on the connection, and closes it. True where that is a response of its own,
   * not the one to a request that has been noted.
   */
  refuse(socket: Socket, error: RequestError, headers: Headers = {}): boolean {
    // Whatever else was sent is refused with what came first.
    if (this.#refused.has(socket)) return false;
    this.#refused.add(socket);
    const newest = this.#newest.get(socket);
    if (newest !== undefined && !newest.request.complete) {
      refuseBody(newest, error, headers);
      return false;
    }
    afterResponse(newest, () => endWith(socket, error, headers));
    return true;
  }
}

/** Finished is not enough: only when a response is closed does the socket know it was the last. */
function afterResponse(exchange: Exchange | undefined, act: () => void): void {
  if (exchange === undefined || exchange.response.closed) act();
  else exchange.response.once('close', act);
}

/** What is wrong came as a request's body. Where that was refused already, nobody waits for it. */
function refuseBody(exchange: Exchange, error: RequestError, headers: Headers): void {
  const { request, response } = exchange;
  if (response.headersSent) afterResponse(exchange, () => request.socket.destroySoon());
  else sendError(response, error, { ...headers, Connection: 'close' });
}

/** The last words: what still comes is read for a while, lest the client is cut off while it sends. */
function endWith(socket: Socket, error: RequestError, headers: Headers): void {
  // The response before has said that it is the last one.
  if (socket.writableEnded) return;
  socket.on('error', () => socket.destroy());
  socket.end(formatRawError(error, headers));
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}
