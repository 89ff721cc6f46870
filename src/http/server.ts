/**
 * The service over HTTP, on Node's own server. A request goes through the checks in the order in
 * which their errors take precedence: path, method, key, media type, size, JSON, question, budget,
 * then whether there is a state to answer from.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import type { Settings } from '../config.ts';
import { RequestError } from '../errors.ts';
import { parseQuestion } from '../info/registry.ts';
import { describeValue } from '../refusal.ts';
import type { StateView } from '../state/state.ts';
import { checkDeclaredLength, checkMediaType, parseBody, readBody } from './body.ts';
import { Connections } from './connections.ts';
import { hashSecret, type Key, type KeyRing } from './keys.ts';
import type { Budgets } from './limits.ts';
import type { LiveState } from './live-state.ts';
import type { LoadGauge } from './load.ts';
import { type Metrics, NO_TYPE } from './metrics.ts';
import { describeInterface } from './openapi.ts';
import { formatHome, formatLlms } from './pages.ts';
import {
  allowanceHeaders,
  type Headers,
  ledgerHeaders,
  send,
  sendError,
  sendPreflight,
} from './respond.ts';
import { findRoute, type Route } from './target.ts';

export interface ServiceParts {
  readonly live: LiveState;
  readonly keys: KeyRing;
  readonly budgets: Budgets;
  readonly metrics: Metrics;
  readonly load: LoadGauge;
  readonly log: Logger;
  readonly settings: Settings<ServiceSettingName>;
}

/** The settings that decide how requests are taken and answered. */
export const SERVICE_SETTINGS = [
  'maxAge',
  'refuseStale',
  'minHeightWait',
  'bodyBytesMax',
  'headerBytesMax',
  'headerTimeout',
  'requestTimeout',
  'idleTimeout',
  'connectionsMax',
  'pipelineMax',
  'overloadDelay',
] as const;
type ServiceSettingName = (typeof SERVICE_SETTINGS)[number];

const INFO_METHODS = 'POST, OPTIONS';
const PAGE_METHODS = 'GET, HEAD, OPTIONS';
/** How often connections are looked through for requests that take too long. */
const TIMEOUT_CHECK_MS = 500;
const MALFORMED = 'request: expected HTTP/1.1 that can be understood';
/** What only someone who does not know this service asks, again and again. */
const STRANGE: ReadonlySet<string> = new Set(['unknown_key', 'not_found', 'method_not_allowed']);
/** What a question that was refused takes from its key's budget. */
const REFUSED_WEIGHT = 1;

/** One request on its way; what is learned of it is filled in. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly startedMs: number;
  type: string;
  key: Key | undefined;
}

/** The server, not yet listening. */
export function createService(parts: ServiceParts): Server {
  const { settings } = parts;
  const service = new Service(parts);
  const server = createServer(
    {
      maxHeaderSize: settings.headerBytesMax,
      // Node refuses headers that may take longer than the request they belong to.
      headersTimeout: Math.min(settings.headerTimeout, settings.requestTimeout),
      requestTimeout: settings.requestTimeout,
      keepAliveTimeout: settings.idleTimeout,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      noDelay: true,
      // A request without a Host gets our own error, not an empty one.
      requireHostHeader: false,
    },
    (request, response) => service.handle(request, response),
  );
  limitConnections(server, settings.connectionsMax);
  // Their length is limited, and none of them is dropped in silence.
  server.maxHeadersCount = 0;
  // For a client that does not read its responses: longer than any pause that is allowed.
  const { idleTimeout, requestTimeout, minHeightWait } = settings;
  server.timeout = Math.max(idleTimeout, requestTimeout) + minHeightWait + 2 * TIMEOUT_CHECK_MS;
  server.on('checkContinue', (request, response) => service.handle(request, response));
  server.on('checkExpectation', (request, response) => service.handle(request, response));
  server.on('clientError', (error, socket) => service.refuseBytes(error, socket as Socket));
  server.on('connect', (_request, socket) => service.refuseTunnel(socket as Socket));
  return server;
}

/**
 * Closes connections over the limit. Not with Node's maxConnections: where all workers are full, the
 * first process would keep a connection and offer it round and round.
 */
function limitConnections(server: Server, countMax: number): void {
  let count = 0;
  server.on('connection', (socket: Socket) => {
    count++;
    socket.once('close', () => count--);
    if (count > countMax) socket.destroy();
  });
}

class Service {
  readonly #parts: ServiceParts;
  readonly #connections: Connections;

  constructor(parts: ServiceParts) {
    this.#parts = parts;
    this.#connections = new Connections(parts.settings.pipelineMax);
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const exchange: Exchange = {
      request,
      response,
      startedMs: performance.now(),
      type: NO_TYPE,
      key: undefined,
    };
    if (!this.#connections.note(exchange)) return;
    try {
      await this.#dispatch(exchange);
    } catch (error) {
      this.#fail(exchange, error);
    }
    // A client that went away got no response.
    if (!response.headersSent) return;
    const seconds = (performance.now() - exchange.startedMs) / 1000;
    this.#parts.metrics.countRequest(exchange.type, response.statusCode, seconds);
  }

  async #dispatch(exchange: Exchange): Promise<void> {
    const { request, response } = exchange;
    checkVersion(request);
    const route = findRoute(request.url ?? '');
    if (route === undefined) {
      throw new RequestError('not_found', 'there is no such path; expected /{key}/info');
    }
    const allow = route.name === 'info' ? INFO_METHODS : PAGE_METHODS;
    const method = request.method ?? '';
    if (method === 'OPTIONS') return sendPreflight(response, allow);
    if (!allow.split(', ').includes(method)) {
      response.setHeader('Allow', allow);
      const message = `method: got ${describeValue(method)}, expected ${allow}`;
      throw new RequestError('method_not_allowed', message, 'method');
    }
    if (route.name === 'info') await this.#answer(exchange, route.secret);
    else await this.#showPage(exchange, route.name);
  }

  async #answer(exchange: Exchange, secret: string): Promise<void> {
    const { live, settings } = this.#parts;
    if (secret === '') throw unknownKey('none');
    const secretHash = hashSecret(secret);
    this.#requireKey(exchange, secretHash);
    const body = await this.#readBody(exchange);
    // Again after each wait: meanwhile the key may have been revoked, or spent on other questions.
    this.#requireKey(exchange, secretHash);
    const question = parseQuestion(parseBody(body));
    exchange.type = question.type;
    const minHeight = readMinHeight(exchange.request);
    if (live.state !== undefined) question.validate(live.state);
    this.#checkBudget(exchange, question.weight);
    if (minHeight > 0 && live.state !== undefined) {
      await live.waitFor(minHeight, settings.minHeightWait);
      this.#requireKey(exchange, secretHash);
      this.#checkBudget(exchange, question.weight);
    }
    const state = this.#requireState(minHeight);
    const answer = question.answer(state);
    const headers = { ...ledgerHeaders(state), ...this.#charge(exchange, question.weight) };
    send(exchange.response, 200, answer, headers);
  }

  #requireKey(exchange: Exchange, secretHash: string): void {
    exchange.key = this.#parts.keys.find(secretHash, Date.now());
    if (exchange.key === undefined) throw unknownKey('one that is not known, or no longer');
  }

  async #readBody({ request, response }: Exchange): Promise<Buffer> {
    const { bodyBytesMax } = this.#parts.settings;
    checkMediaType(request);
    const isWaiting = awaitsConsent(request);
    checkDeclaredLength(request, bodyBytesMax, { isWaiting });
    checkExpectation(request);
    if (isWaiting) response.writeContinue();
    return readBody(request, bodyBytesMax);
  }

  /** The state to answer from, if it is there, as far as asked, fresh enough, and time allows. */
  #requireState(minHeight: number): StateView {
    const { live, settings, load } = this.#parts;
    const { state } = live;
    if (state === undefined) throw new RequestError('not_ready', live.unavailableReason);
    if (state.height < minHeight) {
      const message = `Ledger-Min-Height: got ${minHeight}, the ledger is at height ${state.height}`;
      throw new RequestError('behind', message, 'Ledger-Min-Height');
    }
    if (settings.refuseStale && live.isStale(Date.now())) {
      const message = `the ledger's time, ${state.time}, is older than ${settings.maxAge} ms`;
      throw new RequestError('behind', message);
    }
    if (load.isOverloaded) {
      const delay = Math.round(load.delayMs);
      const message = `requests wait ${delay} ms here, more than ${settings.overloadDelay} ms`;
      throw new RequestError('overloaded', message);
    }
    return state;
  }

  #checkBudget({ key, response }: Exchange, weight: number): void {
    if (key?.budget === undefined) return;
    const allowance = this.#parts.budgets.check(key.id, key.budget, weight, performance.now());
    if (allowance.isAllowed) return;
    response.setHeader('Retry-After', allowance.retryAfterSeconds);
    const { limit, remaining, retryAfterSeconds } = allowance;
    const message =
      `budget: this question weighs ${weight}, ${remaining} of ${limit} are left; ` +
      `try again in ${retryAfterSeconds} s`;
    throw new RequestError('rate_limited', message);
  }

  /** Takes the weight from the key's budget, if it has one, and says what is left. */
  #charge({ key }: Exchange, weight: number): Headers {
    if (key?.budget === undefined) return {};
    const { budgets } = this.#parts;
    return allowanceHeaders(budgets.charge(key.id, key.budget, weight, performance.now()));
  }

  async #showPage({ response }: Exchange, name: Exclude<Route['name'], 'info'>): Promise<void> {
    if (name === 'openapi') return send(response, 200, describeInterface());
    if (name === 'llms') {
      return send(response, 200, formatLlms(), { 'Content-Type': 'text/plain; charset=utf-8' });
    }
    if (name === 'home') {
      return send(response, 200, formatHome(), { 'Content-Type': 'text/html; charset=utf-8' });
    }
    const health = await this.#parts.live.health(Date.now());
    const headers: Headers = { 'Ledger-Height': health.height, 'Ledger-Time': health.time };
    if (health.status !== 'ok') headers['Retry-After'] = 1;
    send(response, health.status === 'ok' ? 200 : 503, JSON.stringify(health), headers);
  }

  #fail(exchange: Exchange, error: unknown): void {
    const { request, response, type, key } = exchange;
    if (error instanceof RequestError) {
      this.#refuse(exchange, error);
    } else if (!request.socket.destroyed) {
      // Not the client that went away, but an error of ours: one connection pays for it.
      this.#parts.metrics.countFailure();
      this.#parts.log.error({ err: error, type, keyId: key?.id }, 'a request failed');
      response.destroy();
    }
  }

  #refuse(exchange: Exchange, error: RequestError): void {
    const { state } = this.#parts.live;
    const isFree = error.status === 429 || error.status >= 500;
    const headers = this.#charge(exchange, isFree ? 0 : REFUSED_WEIGHT);
    if (error.code === 'behind' && state) Object.assign(headers, ledgerHeaders(state));
    // What is left of a body that is too large is not read, and a client that waits for consent may
    // or may not send its body now: the connection cannot go on.
    const isWaiting = awaitsConsent(exchange.request) && !exchange.request.complete;
    const isLast = STRANGE.has(error.code) && this.#connections.noteStrange(exchange);
    if (error.code === 'body_too_large' || isWaiting || isLast) headers['Connection'] = 'close';
    sendError(exchange.response, error, headers);
  }

  /** Bytes that are not a request, or come too slowly, or are too many for headers. */
  refuseBytes(error: NodeJS.ErrnoException, socket: Socket): void {
    const refusal = describeClientError(error, this.#parts.settings);
    // To a client that never sent anything there is nothing to respond.
    if (refusal === undefined || socket.bytesRead === 0) socket.destroy();
    else this.#refuseConnection(socket, refusal);
  }

  refuseTunnel(socket: Socket): void {
    const message = `method: got "CONNECT", expected ${INFO_METHODS}`;
    const refusal = new RequestError('method_not_allowed', message, 'method');
    this.#refuseConnection(socket, refusal, { Allow: INFO_METHODS });
  }

  #refuseConnection(socket: Socket, refusal: RequestError, headers: Headers = {}): void {
    const isOwn = this.#connections.refuse(socket, refusal, headers);
    if (isOwn) this.#parts.metrics.countRequest(NO_TYPE, refusal.status, 0);
  }
}

/** Other versions are HTTP too, but not what we speak. */
function checkVersion({ httpVersion, headers }: IncomingMessage): void {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    throw new RequestError('malformed_request', MALFORMED);
  }
  if (httpVersion === '1.1' && headers.host === undefined) {
    const message = 'Host: got nothing, expected the header that HTTP/1.1 requires';
    throw new RequestError('malformed_request', message, 'Host');
  }
}

/** Whether the client asks before it sends the body; in HTTP/1.0 nobody would understand consent. */
function awaitsConsent({ httpVersion, headers }: IncomingMessage): boolean {
  return headers.expect !== undefined && httpVersion === '1.1';
}

function checkExpectation({ headers }: IncomingMessage): void {
  if (headers.expect === undefined || /^100-continue$/i.test(headers.expect)) return;
  const message = `Expect: got ${describeValue(headers.expect)}, expected 100-continue or nothing`;
  throw new RequestError('malformed_request', message, 'Expect');
}

function unknownKey(got: string): RequestError {
  const message = `key: got ${got}, expected a live key in the path, /{key}/info`;
  return new RequestError('unknown_key', message, 'key');
}

function readMinHeight({ headers }: IncomingMessage): number {
  const given = headers['ledger-min-height'];
  if (given === undefined) return 0;
  if (typeof given === 'string' && /^\d{1,15}$/.test(given)) return Number(given);
  const message = `Ledger-Min-Height: got ${describeValue(given)}, expected a whole number`;
  throw new RequestError('invalid_field', message, 'Ledger-Min-Height');
}

/** Undefined where it is not the bytes that are wrong: the connection itself is gone. */
function describeClientError(
  { code = '' }: NodeJS.ErrnoException,
  settings: ServiceParts['settings'],
): RequestError | undefined {
  if (code === 'HPE_HEADER_OVERFLOW') {
    const message = `headers: longer than ${settings.headerBytesMax} bytes, the limit`;
    return new RequestError('headers_too_large', message, 'headers');
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    const { headerTimeout, requestTimeout } = settings;
    const message = `request: not complete in time (headers ${headerTimeout} ms, all ${requestTimeout} ms)`;
    return new RequestError('request_timeout', message);
  }
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') {
    const message = 'body: too much beside the data of its chunks, expected none';
    return new RequestError('body_too_large', message, 'body');
  }
  if (!code.startsWith('HPE_')) return undefined;
  return new RequestError('malformed_request', MALFORMED);
}
