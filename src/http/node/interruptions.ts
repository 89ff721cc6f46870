/**
 * What Node reports outside of the ordinary course of requests: bytes that are not HTTP, that come too
 * slowly or are too many, tunnels, and offers to change the protocol. Since a client's requests are
 * read one at a time, no other request is in flight on the connection.
 */

import type { IncomingMessage } from 'node:http';
import type { Settings } from '../../config/settings.ts';
import { RequestError } from '../../info/request-error.ts';
import { refuseBytes } from '../answers.ts';
import type { ClientConnection } from '../connections/client-connection.ts';
import { refuseLateness } from '../connections/timeouts.ts';
import { NO_TYPE, type RequestCounters } from '../counters.ts';
import type { Push } from '../push/push.ts';
import type { Reply } from '../reply.ts';
import { ReplyText } from '../reply-text.ts';
import { findRoute, INFO_METHODS, refuseMethod } from '../router.ts';
import { MALFORMED_REQUEST, refuseHead } from './head-checks.ts';
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

/** Gives a client to Node's server again, beginning with these bytes. */
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

  /** Bytes that are not a request, or come too slowly, or are too many for headers. */
  refuseBytes(error: NodeJS.ErrnoException, stream: RequestStream): void {
    const refusal = describeClientError(error, this.#parts.settings);
    // To a client that never sent anything there is nothing to respond.
    if (refusal === undefined || stream.client.socket.bytesRead === 0) stream.destroy();
    else this.#refuse(stream, refuseBytes(refusal));
  }

  refuseTunnel(stream: RequestStream): void {
    this.#refuse(stream, refuseBytes(refuseMethod('CONNECT', INFO_METHODS), INFO_METHODS));
  }

  /** An offer to change the protocol: a WebSocket is opened, others are passed over. */
  upgrade(request: IncomingMessage, stream: RequestStream, head: Buffer): void {
    const route = findRoute(request.url ?? '');
    if (route?.name !== 'ws' || !offersPush(request)) {
      this.#passOver(request, stream, head);
      return;
    }
    // One of several offers is as good as the only one.
    request.headers.upgrade = 'websocket';
    const refusal =
      refuseHead(request) ??
      refuseVersion(request) ??
      this.#open(request, stream, { head, secret: route.secret });
    if (refusal !== undefined) this.#refuse(stream, refuseBytes(refusal));
  }

  #open(
    request: IncomingMessage,
    stream: RequestStream,
    { head, secret }: { head: Buffer; secret: string },
  ): RequestError | undefined {
    const { client } = stream;
    if (client.hasEnded) {
      // Nobody is there to push to.
      client.endSoon();
      return undefined;
    }
    const refusal = this.#parts.push.accept(request, client.socket, head, secret);
    // Released last: a refusal is still written through the stream.
    if (refusal === undefined) client.release(stream.stop());
    return refusal;
  }

  /** The same request again, without its offer, on a stream of its own: Node has let go of this one. */
  #passOver(request: IncomingMessage, stream: RequestStream, head: Buffer): void {
    const held = stream.stop();
    this.#passToNode(stream.client, {
      head: Buffer.from(formatWithoutOffer(request), 'latin1'),
      rest: head.length === 0 ? held : Buffer.concat([head, held]),
    });
  }

  #refuse(stream: RequestStream, reply: Reply): void {
    const { exchange } = stream;
    // What else comes is refused with what came first.
    if (stream.isStopped) return;
    if (exchange !== undefined && !exchange.request.complete) {
      refuseBody(stream, reply);
      return;
    }
    const end = () => stream.endWith(this.#text.format(reply));
    if (exchange === undefined) end();
    else exchange.response.once('close', end);
    this.#parts.counters.countRequests(NO_TYPE, reply.status, 0, 1);
  }
}

/** What is wrong came as a request's body. Where that was refused already, nobody waits for it. */
function refuseBody(stream: RequestStream, reply: Reply): void {
  const response = stream.exchange?.response;
  stream.stop();
  if (response === undefined || response.closed) stream.destroySoon();
  else if (response.headersSent) response.once('close', () => stream.destroySoon());
  else sendReply(response, reply);
}

function refuseVersion({ httpVersion }: IncomingMessage): RequestError | undefined {
  if (httpVersion === '1.1') return undefined;
  const message = `handshake: got HTTP/${httpVersion}, expected HTTP/1.1`;
  return new RequestError('malformed_request', message);
}

/** Undefined where it is not the bytes that are wrong: the connection itself is gone. */
function describeClientError(
  { code = '' }: NodeJS.ErrnoException,
  settings: InterruptionParts['settings'],
): RequestError | undefined {
  if (code === 'HPE_HEADER_OVERFLOW') {
    const message = `headers: longer than ${settings.headerBytesMax} bytes, the limit`;
    return new RequestError('headers_too_large', message, 'headers');
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return refuseLateness(settings);
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') {
    const message = 'body: too much beside the data of its chunks, expected none';
    return new RequestError('body_too_large', message, 'body');
  }
  return code.startsWith('HPE_') ? MALFORMED_REQUEST : undefined;
}
