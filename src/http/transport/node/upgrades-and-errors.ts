/**
 * Handles the events of Node's server that are not ordinary requests: upgrades, CONNECT, and bytes
 * that Node could not read as a request. A client's requests are read one at a time, so no other
 * request is in flight on the connection.
 */

import type { IncomingMessage } from 'node:http';
import type { RequestError } from '../../../info/request-error.ts';
import type { RequestCounters } from '../../answering/counters.ts';
import { replyToBadBytes } from '../../message/refusal-reply.ts';
import { NO_TYPE, type Reply } from '../../message/reply.ts';
import { ReplyText } from '../../message/reply-text.ts';
import { findRoute, INFO_METHODS, refuseMethod } from '../../message/router.ts';
import type { HttpSettings } from '../../settings.ts';
import type { ClientConnection } from '../connections/client-connection.ts';
import {
  chooseWebSocket,
  findVersionFault,
  formatWithoutOffer,
  type Handshake,
  offersPush,
} from '../websocket/handshake.ts';
import { type ClientError, describeClientError } from './client-errors.ts';
import { findHeadFault } from './head-checks.ts';
import type { RequestStream, SentBytes } from './request-stream.ts';
import { sendReply } from './send-response.ts';

export interface UpgradesAndErrorsParts {
  /** Opens a WebSocket connection, or returns the refusal of the handshake. */
  readonly push: { accept(handshake: Handshake, secret: string): RequestError | undefined };
  readonly counters: RequestCounters;
  readonly settings: Pick<
    HttpSettings,
    'headerBytesMax' | 'headerTimeout' | 'requestTimeout' | 'idleTimeout'
  >;
}

/** Passes a client to Node's server again. `sent` contains the bytes that Node reads first. */
type PassToNode = (client: ClientConnection, sent: SentBytes) => void;

export class UpgradesAndErrors {
  readonly #parts: UpgradesAndErrorsParts;
  readonly #passToNode: PassToNode;
  readonly #text: ReplyText;

  constructor(parts: UpgradesAndErrorsParts, passToNode: PassToNode) {
    this.#parts = parts;
    this.#passToNode = passToNode;
    this.#text = new ReplyText(parts.settings.idleTimeout);
  }

  /**
   * Refuses bytes that are not a request, that arrive too slowly, or whose headers are too long.
   */
  sendClientError(error: ClientError, stream: RequestStream): void {
    const refusal = describeClientError(error, this.#parts.settings);
    // A client that never sent anything gets no response.
    if (refusal === undefined || stream.client.socket.bytesRead === 0) stream.destroy();
    else this.#send(stream, replyToBadBytes(refusal));
  }

  sendTunnelRefusal(stream: RequestStream): void {
    this.#send(stream, replyToBadBytes(refuseMethod('CONNECT', INFO_METHODS), INFO_METHODS));
  }

  /** Opens a WebSocket. A request for another protocol is served as an ordinary request. */
  upgrade(request: IncomingMessage, stream: RequestStream, head: Buffer): void {
    const route = findRoute(request.url ?? '');
    if (route?.name !== 'ws' || !offersPush(request)) {
      this.#ignoreOffer(request, stream, head);
      return;
    }
    chooseWebSocket(request);
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
      // The client has already ended its side, so it cannot use a WebSocket.
      client.endSoon();
      return undefined;
    }
    const handshake = { request, socket: client.socket, head };
    const refusal = this.#parts.push.accept(handshake, secret);
    // The client is released only if the handshake is not refused, because the stream writes
    // refusals.
    if (refusal === undefined) client.release(stream.stop());
    return refusal;
  }

  /**
   * Replays the request without its Upgrade header on a new stream, because Node no longer reads
   * this stream.
   */
  #ignoreOffer(request: IncomingMessage, stream: RequestStream, head: Buffer): void {
    const held = stream.stop();
    this.#passToNode(stream.client, {
      head: Buffer.from(formatWithoutOffer(request), 'latin1'),
      rest: head.length === 0 ? held : Buffer.concat([head, held]),
    });
  }

  #send(stream: RequestStream, reply: Reply): void {
    const { exchange } = stream;
    // The request was refused already.
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

/** Refuses bytes in the middle of a request's body, unless the response was already started. */
function sendWithinBody(stream: RequestStream, reply: Reply): void {
  const response = stream.exchange?.response;
  stream.stop();
  if (response === undefined || response.closed) stream.destroySoon();
  else if (response.headersSent) response.once('close', () => stream.destroySoon());
  else sendReply(response, reply);
}
