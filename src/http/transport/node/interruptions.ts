/**
 * Events of Node's server beside ordinary requests: bytes that are not HTTP, too slow or too many;
 * CONNECT; and upgrades. Since a client's requests are read one at a time, no other request is in
 * flight on the connection.
 */

import type { IncomingMessage } from 'node:http';
import type { Settings } from '../../../config/settings.ts';
import { RequestError } from '../../../info/request-error.ts';
import { NO_TYPE, type RequestCounters } from '../../answering/counters.ts';
import { MALFORMED_REQUEST, replyToBadBytes } from '../../message/refusal-reply.ts';
import type { Reply } from '../../message/reply.ts';
import { ReplyText } from '../../message/reply-text.ts';
import { findRoute, INFO_METHODS, refuseMethod } from '../../message/router.ts';
import type { Push } from '../../push/push.ts';
import type { ClientConnection } from '../connections/client-connection.ts';
import { refuseLateness } from '../connections/timeouts.ts';
import { findHeadFault } from './head-checks.ts';
import type { RequestStream, SentBytes } from './request-stream.ts';
import { sendReply } from './send.ts';
import { formatWithoutOffer, offersPush } from './upgrade-offer.ts';

export interface InterruptionParts {
  readonly push: Push;
  readonly counters: RequestCounters;
  readonly settings: Settings<
    'headerBytesMax' | 'headerTimeout' | 'requestTimeout' | 'idleTimeout'
  >;
}

/** Hands a client to Node's server again, beginning with these bytes. */
type PassToNode = (client: ClientConnection, sent: SentBytes) => void;

export class Interruptions {
  readonly #parts: InterruptionParts;
  readonly #passToNode: PassToNode;
  readonly #text: ReplyText;

  constructor(parts: InterruptionParts, passToNode: PassToNode) {
    this.#parts = parts;
    this.#passToNode = passToNode;
    this.#text = new ReplyText(parts.settings.idleTimeout);
  }

  /** Sends the refusal of bytes that are no request, come too slowly, or have too long headers. */
  sendClientError(error: NodeJS.ErrnoException, stream: RequestStream): void {
    const refusal = describeClientError(error, this.#parts.settings);
    // A client that never sent anything gets no response.
    if (refusal === undefined || stream.client.socket.bytesRead === 0) stream.destroy();
    else this.#send(stream, replyToBadBytes(refusal));
  }

  sendTunnelRefusal(stream: RequestStream): void {
    this.#send(stream, replyToBadBytes(refuseMethod('CONNECT', INFO_METHODS), INFO_METHODS));
  }

  /** Opens a WebSocket; a request for another protocol is served as an ordinary one. */
  upgrade(request: IncomingMessage, stream: RequestStream, head: Buffer): void {
    const route = findRoute(request.url ?? '');
    if (route?.name !== 'ws' || !offersPush(request)) {
      this.#ignoreOffer(request, stream, head);
      return;
    }
    // Clients may offer several protocols, but ws accepts only this value.
    request.headers.upgrade = 'websocket';
    const refusal =
      findHeadFault(request) ??
      findVersionFault(request) ??
      this.#open(request, stream, { head, secret: route.secret });
    if (refusal !== undefined) this.#send(stream, replyToBadBytes(refusal));
  }

  #open(
    request: IncomingMessage,
    stream: RequestStream,
    { head, secret }: { head: Buffer; secret: string },
  ): RequestError | undefined {
    const { client } = stream;
    if (client.hasEnded) {
      // The client has ended its side already.
      client.endSoon();
      return undefined;
    }
    const refusal = this.#parts.push.accept(request, client.socket, head, secret);
    // Released last: a refusal is still written through the stream.
    if (refusal === undefined) client.release(stream.stop());
    return refusal;
  }

  /** Replays the request without its Upgrade header, on a new stream: Node has detached from this one. */
  #ignoreOffer(request: IncomingMessage, stream: RequestStream, head: Buffer): void {
    const held = stream.stop();
    this.#passToNode(stream.client, {
      head: Buffer.from(formatWithoutOffer(request), 'latin1'),
      rest: head.length === 0 ? held : Buffer.concat([head, held]),
    });
  }

  #send(stream: RequestStream, reply: Reply): void {
    const { exchange } = stream;
    // It was refused already.
    if (stream.isStopped) return;
    if (exchange !== undefined && !exchange.request.complete) {
      sendWithinBody(stream, reply);
      return;
    }
    const end = () => stream.endWith(this.#text.format(reply));
    if (exchange === undefined) end();
    else exchange.response.once('close', end);
    this.#parts.counters.countRequests(NO_TYPE, reply.status, 0, 1);
  }
}

/** Sends the refusal of bytes within a request's body, unless the request has its response. */
function sendWithinBody(stream: RequestStream, reply: Reply): void {
  const response = stream.exchange?.response;
  stream.stop();
  if (response === undefined || response.closed) stream.destroySoon();
  else if (response.headersSent) response.once('close', () => stream.destroySoon());
  else sendReply(response, reply);
}

function findVersionFault({ httpVersion }: IncomingMessage): RequestError | undefined {
  if (httpVersion === '1.1') return undefined;
  const message = `handshake: got HTTP/${httpVersion}, expected HTTP/1.1`;
  return new RequestError('malformed_request', message);
}

/** Undefined if the connection failed, not the bytes. */
function describeClientError(
  { code = '', reason = '' }: ParserError,
  settings: InterruptionParts['settings'],
): RequestError | undefined {
  if (code === 'HPE_HEADER_OVERFLOW') {
    const message = `headers: got more than ${settings.headerBytesMax} bytes, expected at most ${settings.headerBytesMax}`;
    return new RequestError('headers_too_large', message, 'headers');
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return refuseLateness(settings);
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') {
    const message = 'body: chunk extensions are too long, expected none';
    return new RequestError('body_too_large', message, 'body');
  }
  if (!code.startsWith('HPE_')) return undefined;
  // Under one code or another, as the one or the other header comes first.
  if (reason.includes("can't be present with")) return TWO_FRAMINGS;
  return SYNTAX_FAULTS[code] ?? MALFORMED_REQUEST;
}

/** An error of the connection, or one of Node's parser, which then says why. */
type ParserError = NodeJS.ErrnoException & { readonly reason?: string };

const TWO_FRAMINGS = malformed(
  'Transfer-Encoding',
  'got it in a request that has Content-Length as well, expected only one of the two',
);

/** Where Node says which part of the request is at fault; it does not tell the value. */
const SYNTAX_FAULTS: Readonly<Record<string, RequestError>> = {
  HPE_INVALID_CONTENT_LENGTH: malformed(
    'Content-Length',
    'got one that is no length, expected one whole number of bytes',
  ),
  HPE_UNEXPECTED_CONTENT_LENGTH: malformed(
    'Content-Length',
    'got a second one, expected one whole number of bytes, once',
  ),
  HPE_INVALID_TRANSFER_ENCODING: malformed(
    'Transfer-Encoding',
    'got one that does not end with chunked, expected chunked alone',
  ),
  HPE_INVALID_VERSION: malformed('version', 'got an unknown one, expected HTTP/1.1 or HTTP/1.0'),
};

function malformed(field: string, fault: string): RequestError {
  return new RequestError('malformed_request', `${field}: ${fault}`, field);
}
