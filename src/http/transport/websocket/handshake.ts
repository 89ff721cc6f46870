/**
 * The handshake of WebSocket connections: recognizes handshakes and checks them.
 *
 * Some clients offer an upgrade to HTTP/2 with every ordinary question. If a server accepts any
 * upgrades, Node stops reading HTTP at every request with an Upgrade header. The HTTP standard
 * allows a server to ignore the offer, so we handle the request as if it had no Upgrade header.
 */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type ServerOptions, type WebSocket, WebSocketServer } from 'ws';
import { RequestError } from '../../../info/request-error.ts';
import { findRoute } from '../../message/router.ts';
import type { HttpSettings } from '../../settings.ts';
import { WINDOW_BITS } from './frame-writer.ts';

/** How long a client may take to answer the close frame while the service is running. */
const CLOSE_MS = 2000;
/**
 * Maximum number of fragments of a message. Clients send whole messages, but a proxy may split
 * them.
 */
const FRAGMENTS_MAX = 64;
/**
 * Minimum average size of the reads of one message. Smaller reads are limited because each buffered
 * read costs memory.
 */
const READ_BYTES_MIN = 64;

/**
 * Each message is compressed independently. A window that is shared by all messages would need 300
 * KB of memory for each connection.
 */
const COMPRESSION = {
  serverNoContextTakeover: true,
  clientNoContextTakeover: true,
  serverMaxWindowBits: WINDOW_BITS,
};

/** A handshake that was read as an HTTP request. */
export interface Handshake {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  /** The bytes after the head of the request. */
  readonly head: Buffer;
}

export class Handshakes {
  readonly #settings: Pick<HttpSettings, 'bodyBytesMax'>;
  readonly #server: WebSocketServer;
  readonly #compressingServer: WebSocketServer;
  /** The refusal of the last handshake that `ws` refused. */
  #refusal: RequestError | undefined;

  constructor(settings: Pick<HttpSettings, 'bodyBytesMax'>) {
    this.#settings = settings;
    this.#server = this.#createServer();
    this.#compressingServer = this.#createServer(COMPRESSION);
  }

  #createServer(perMessageDeflate?: typeof COMPRESSION): WebSocketServer {
    const options = { ...createOptions(this.#settings), perMessageDeflate };
    const server = new WebSocketServer(options);
    server.on('wsClientError', ({ message }) => {
      this.#refusal = new RequestError(
        'malformed_request',
        `handshake: expected a valid WebSocket handshake (${message})`,
      );
    });
    return server;
  }

  /**
   * Answers the handshake and opens the connection. Returns the refusal if `ws` refuses the
   * handshake.
   */
  open(
    { request, socket, head }: Handshake,
    wantsCompression: boolean,
    opened: (webSocket: WebSocket) => void,
  ): RequestError | undefined {
    this.#refusal = undefined;
    const isCompressed = wantsCompression && !wantsSmallerWindow(request);
    const server = isCompressed ? this.#compressingServer : this.#server;
    server.handleUpgrade(request, socket, head, opened);
    return this.#refusal;
  }
}

/** Creates the options of `ws`. The types of `ws` do not have the option `closeTimeout` yet. */
function createOptions({
  bodyBytesMax,
}: Pick<HttpSettings, 'bodyBytesMax'>): ServerOptions & { closeTimeout: number } {
  return {
    noServer: true,
    clientTracking: false,
    maxPayload: bodyBytesMax,
    maxFragments: FRAGMENTS_MAX,
    maxBufferedChunks: FRAGMENTS_MAX + Math.ceil(bodyBytesMax / READ_BYTES_MIN),
    closeTimeout: CLOSE_MS,
    // The outbox answers pings, so that everything that is sent counts against one backlog.
    autoPong: false,
    // `ws` reads one frame per connection and turn, so that a flood of frames does not delay other
    // connections.
    allowSynchronousEvents: false,
  };
}

/** Returns true if a request asks for push and offers to become a WebSocket. */
export function offersPush(request: IncomingMessage): boolean {
  const isPush = findRoute(request.url ?? '')?.name === 'ws' && request.method === 'GET';
  return isPush && offersWebSocket(request);
}

/**
 * Returns true if WebSocket is among the offered protocols. A client may offer several protocols.
 */
function offersWebSocket({ headers }: IncomingMessage): boolean {
  const offers = (headers.upgrade ?? '').split(',').map((offer) => offer.trim().toLowerCase());
  return offers.includes('websocket');
}

/**
 * Chooses WebSocket from the offered protocols, because `ws` accepts only this value of the header.
 */
export function chooseWebSocket({ headers }: IncomingMessage): void {
  headers.upgrade = 'websocket';
}

export function findVersionFault({ httpVersion }: IncomingMessage): RequestError | undefined {
  if (httpVersion === '1.1') return undefined;
  const message = `handshake: got HTTP/${httpVersion}, expected HTTP/1.1`;
  return new RequestError('malformed_request', message);
}

/** Refuses a handshake with a body, because the bytes of the body would be read as frames. */
export function findBodyFault({ headers }: IncomingMessage): RequestError | undefined {
  const length = Number(headers['content-length'] ?? 0);
  const isChunked = headers['transfer-encoding'] !== undefined;
  if (length === 0 && !isChunked) return undefined;
  const got = isChunked ? 'a chunked one' : `${length} bytes`;
  const message = `body: got ${got}, expected none with a WebSocket handshake`;
  return new RequestError('malformed_request', message, 'body');
}

/**
 * Returns true if the client can only decompress messages that were compressed with a smaller
 * window than ours.
 */
function wantsSmallerWindow({ headers }: IncomingMessage): boolean {
  const offers = headers['sec-websocket-extensions'] ?? '';
  const windows = offers.matchAll(/server_max_window_bits\s*=\s*"?([0-9]+)/gi);
  return [...windows].some(([, bits]) => Number(bits) < WINDOW_BITS);
}

/** Formats the head of the request without its Upgrade header. */
export function formatWithoutOffer({
  method,
  url,
  httpVersion,
  rawHeaders,
}: IncomingMessage): string {
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name.toLowerCase() !== 'upgrade') text += `${name}: ${rawHeaders[index + 1]}\r\n`;
  }
  return `${text}\r\n`;
}
