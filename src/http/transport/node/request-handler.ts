/** The transport on Node's HTTP server: reads a request, asks for the reply, and sends it. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { RequestError } from '../../../info/request-error.ts';
import type { Answers } from '../../answering/answers.ts';
import type { RequestCounters } from '../../answering/counters.ts';
import type { QuestionHead } from '../../answering/question-head.ts';
import { BodySource } from '../../answering/question-source.ts';
import { NO_TYPE, type Reply } from '../../message/reply.ts';
import { pageOf } from '../../message/request-head.ts';
import type { HttpSettings } from '../../settings.ts';
import type { ClientConnection } from '../connections/client-connection.ts';
import type { UnfinishedBytes } from '../connections/unfinished-bytes.ts';
import { expectsContinue, findExpectationFault, findHeadFault } from './head-checks.ts';
import { type PageParts, PageResponses } from './page-responses.ts';
import { readBody } from './read-body.ts';
import { asRequestStream, type HttpExchange } from './request-stream.ts';
import { sendReply } from './send-response.ts';

export interface RequestHandlerParts extends PageParts {
  readonly answers: Answers;
  readonly counters: RequestCounters;
  readonly unfinished: UnfinishedBytes;
  readonly settings: Pick<HttpSettings, 'bodyBytesMax' | 'explorerUrl'>;
}

/** The reply to a request; undefined if a page was sent already. */
type Outcome = Reply | undefined;

export class RequestHandler {
  readonly #parts: RequestHandlerParts;
  readonly #pages: PageResponses;

  constructor(parts: RequestHandlerParts) {
    this.#parts = parts;
    this.#pages = new PageResponses(parts);
  }

  handle(exchange: HttpExchange): void {
    const startedMs = performance.now();
    asRequestStream(exchange.request.socket).begin(exchange);
    const finish = (outcome: Outcome) => {
      this.#send(exchange, outcome);
      this.#count(exchange, outcome?.type ?? NO_TYPE, startedMs);
    };
    const fail = (error: unknown) => {
      this.#fail(exchange, error);
      this.#count(exchange, NO_TYPE, startedMs);
    };
    try {
      const outcome = this.#answer(exchange);
      if (outcome instanceof Promise) outcome.then(finish).catch(fail);
      else finish(outcome);
    } catch (error) {
      fail(error);
    }
  }

  #answer(exchange: HttpExchange): Outcome | Promise<Outcome> {
    const { request } = exchange;
    const client = clientOf(request);
    const malformed = findHeadFault(request);
    if (malformed !== undefined) return this.#parts.answers.refuseAnyone(malformed, client);
    const head = this.#parts.answers.readHead({
      method: request.method ?? '',
      target: request.url ?? '',
      headers: request.headers,
      expectsContinue: expectsContinue(request),
    });
    const page = pageOf(head);
    if (page !== undefined) return this.#sendPage(page, exchange);
    if (head.method !== 'POST') return this.#parts.answers.answer(head, client);
    return this.#parts.answers.answerHead(head, client) ?? this.#answerBody(exchange, head, client);
  }

  #sendPage(
    page: Parameters<PageResponses['send']>[0],
    exchange: HttpExchange,
  ): Outcome | Promise<Outcome> {
    const sending = this.#pages.send(page, exchange);
    if (sending instanceof RequestError)
      return this.#parts.answers.refuseAnyone(sending, clientOf(exchange.request));
    return sending?.then(() => undefined);
  }

  #answerBody(
    exchange: HttpExchange,
    head: QuestionHead,
    client: ClientConnection,
  ): Outcome | Promise<Outcome> {
    const { answers, settings, unfinished } = this.#parts;
    const { request, response } = exchange;
    const unexpected = findExpectationFault(request);
    if (unexpected !== undefined) return answers.refuse(unexpected, head, client);
    if (expectsContinue(request)) response.writeContinue();
    return readBody(exchange, { bytesMax: settings.bodyBytesMax, unfinished }).then((body) =>
      body instanceof RequestError
        ? answers.refuse(body, head, client, { isUnread: true })
        : answers.answer(head, client, new BodySource(body)),
    );
  }

  #send({ response }: HttpExchange, reply: Outcome): void {
    if (reply?.releaseBody !== undefined) releaseAfter(response, reply.releaseBody);
    // If the headers were sent already, the body of the request was refused
    // (upgrades-and-errors.ts).
    if (reply === undefined || response.headersSent) return;
    sendReply(response, reply);
  }

  #count({ response }: HttpExchange, type: string, startedMs: number): void {
    // If no headers were sent, there was no response: the client disconnected, or the connection
    // was closed because of a bug.
    if (!response.headersSent) return;
    const seconds = (performance.now() - startedMs) / 1000;
    this.#parts.counters.countRequests(type, response.statusCode, seconds, 1);
  }

  #fail({ request, response }: HttpExchange, error: unknown): void {
    if (response.headersSent || request.socket.destroyed) return;
    // The client is still connected, so the error is a bug in perpinfo. Only this connection is
    // closed.
    this.#parts.answers.reportFailure(error);
    response.destroy();
  }
}

/**
 * Releases a body after its response. The buffer of the body is not reused, because the socket may
 * still read it after the response was closed.
 */
function releaseAfter(response: ServerResponse, release: (isFree: boolean) => void): void {
  if (response.closed) release(false);
  else response.once('close', () => release(false));
}

function clientOf({ socket }: IncomingMessage): ClientConnection {
  return asRequestStream(socket).client;
}
