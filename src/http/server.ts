/**
 * The service over HTTP, on Node's own server. A request goes through the checks in the order in
 * which their errors take precedence: path, method, key, media type, size, JSON, question, budget,
 * then whether there is a state to answer from.
 */

import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import type { Settings } from '../config.ts';
import { RequestError } from '../errors.ts';
import { describeValue } from '../refusal.ts';
import { type Admission, noKeyGiven } from './admission.ts';
import { Connections } from './connections.ts';
import { loadDashboard, sendAsset } from './dashboard.ts';
import { awaitsConsent, Endpoint, type Exchange } from './endpoint.ts';
import { hashSecret } from './keys.ts';
import { LaneServer } from './lane/lane-server.ts';
import type { LiveState } from './live-state.ts';
import { type Metrics, NO_TYPE } from './metrics.ts';
import { describeInterface } from './openapi.ts';
import { formatHome, formatLlms } from './pages.ts';
import type { Push } from './push/push.ts';
import {
  allowanceHeaders,
  type Headers,
  ledgerHeaders,
  send,
  sendError,
  sendPreflight,
} from './respond.ts';
import { stalledMsMax, TIMEOUT_CHECK_MS } from './stalled.ts';
import { findRoute, type Route } from './target.ts';
import { forgoUpgrade, wantsWebSocket } from './upgrade.ts';

export interface ServiceParts {
  readonly live: LiveState;
  readonly admission: Admission;
  readonly push: Push;
  readonly metrics: Metrics;
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
  'noFastLane',
] as const;
type ServiceSettingName = (typeof SERVICE_SETTINGS)[number];

const INFO_METHODS = 'GET, HEAD, POST, OPTIONS';
const PUSH_METHODS = 'GET, OPTIONS';
const PAGE_METHODS = 'GET, HEAD, OPTIONS';
const MALFORMED = 'request: expected HTTP/1.1 that can be understood';
/** What only someone who does not know this service asks, again and again. */
const STRANGE: ReadonlySet<string> = new Set(['unknown_key', 'not_found', 'method_not_allowed']);
type PageName = Exclude<Route['name'], 'info' | 'ws' | 'asset'>;

/** The server, not yet listening. */
export function createService(parts: ServiceParts): Server {
  const { settings } = parts;
  const service = new Service(parts);
  const options: ServerOptions = {
    maxHeaderSize: settings.headerBytesMax,
    // Node refuses headers that may take longer than the request they belong to.
    headersTimeout: Math.min(settings.headerTimeout, settings.requestTimeout),
    requestTimeout: settings.requestTimeout,
    keepAliveTimeout: settings.idleTimeout,
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    noDelay: true,
    // A request without a Host gets our own error, not an empty one.
    requireHostHeader: false,
  };
  const listener: RequestListener = (request, response) => service.handle(request, response);
  const server = settings.noFastLane
    ? createServer(options, listener)
    : new LaneServer(options, listener, parts);
  limitConnections(server, settings.connectionsMax);
  // Their length is limited, and none of them is dropped in silence.
  server.maxHeadersCount = 0;
  server.timeout = stalledMsMax(settings);
  server.on('checkContinue', (request, response) => service.handle(request, response));
  server.on('checkExpectation', (request, response) => service.handle(request, response));
  server.on('clientError', (error, socket) => service.refuseBytes(error, socket as Socket));
  server.on('upgrade', (request, socket, head) => {
    service.upgrade(server, request, socket as Socket, head);
  });
  server.on('connect', (_request, socket) => service.refuseTunnel(socket as Socket));
  return server;
}

/**
 * Closes connections over the limit. Not with Node's maxConnections: where all workers are full, the
 * first process would keep a connection and offer it round and round.
 */
function limitConnections(server: Server, countMax: number): void {
  // A set, since a connection that forgoes an upgrade is announced a second time.
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    if (open.size > countMax) socket.destroy();
  });
}

class Service {
  readonly #parts: ServiceParts;
  readonly #connections: Connections;
  readonly #endpoint: Endpoint;
  readonly #dashboard = loadDashboard();

  constructor(parts: ServiceParts) {
    this.#parts = parts;
    this.#connections = new Connections(parts.settings.pipelineMax);
    this.#endpoint = new Endpoint(parts);
    parts.push.onBadHandshake((reason, socket) => {
      const message = `handshake: expected that of a WebSocket (${reason})`;
      this.#refuseConnection(socket, new RequestError('malformed_request', message));
    });
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const exchange: Exchange = {
      request,
      response,
      startedMs: performance.now(),
      number: 0,
      type: NO_TYPE,
      key: undefined,
    };
    if (!this.#connections.note(exchange)) return;
    try {
      // What can be refused at once is: whoever asks nonsense, many times in one read, is stopped.
      const answering = this.#dispatch(exchange);
      if (answering !== undefined) {
        answering.catch((error) => this.#fail(exchange, error)).then(() => this.#count(exchange));
        return;
      }
    } catch (error) {
      this.#fail(exchange, error);
    }
    this.#count(exchange);
  }

  #count(exchange: Exchange): void {
    const { type, startedMs, response } = exchange;
    // A client that went away got no response, nor did one that was told that the last was the last.
    if (!response.headersSent || this.#connections.isTooLate(exchange)) return;
    const seconds = (performance.now() - startedMs) / 1000;
    this.#parts.metrics.countRequest(type, response.statusCode, seconds);
  }

  #dispatch(exchange: Exchange): Promise<void> | undefined {
    const { request, response } = exchange;
    checkVersion(request);
    const route = findRoute(request.url ?? '');
    if (route === undefined) throw notFound();
    const allow = methodsOf(route);
    const method = request.method ?? '';
    if (method === 'OPTIONS') {
      sendPreflight(response, allow);
      return undefined;
    }
    if (!allow.split(', ').includes(method)) {
      response.setHeader('Allow', allow);
      const message = `method: got ${describeValue(method)}, expected ${allow}`;
      throw new RequestError('method_not_allowed', message, 'method');
    }
    if (route.name === 'info') return this.#endpoint.answer(exchange, route.secret);
    if (route.name === 'ws') this.#refusePlain(exchange, route.secret);
    if (route.name !== 'asset') return this.#showPage(exchange, route.name);
    this.#showAsset(exchange, route.file);
    return undefined;
  }

  /** An ordinary request where only a WebSocket is answered. */
  #refusePlain(exchange: Exchange, secret: string): never {
    if (secret === '') throw noKeyGiven();
    exchange.key = this.#parts.admission.requireKey(hashSecret(secret));
    const message =
      'handshake: got an ordinary request, expected Connection: Upgrade and Upgrade: websocket';
    throw new RequestError('malformed_request', message, 'Upgrade');
  }

  /** A wish to speak another protocol: a WebSocket where that is offered; others are passed over. */
  upgrade(server: Server, request: IncomingMessage, socket: Socket, head: Buffer): void {
    socket.on('error', () => socket.destroy());
    this.#connections.whenAnswered(socket, () => {
      if (socket.destroyed) return;
      const route = findRoute(request.url ?? '');
      const isPush = route?.name === 'ws' && request.method === 'GET' && wantsWebSocket(request);
      if (!isPush) {
        forgoUpgrade(server, request, socket, head);
        return;
      }
      // One of several offers is as good as the only one.
      request.headers.upgrade = 'websocket';
      try {
        this.#parts.push.accept(request, socket, head, route.secret);
      } catch (error) {
        if (!(error instanceof RequestError)) throw error;
        this.#refuseConnection(socket, error);
      }
    });
  }

  #showAsset({ request, response }: Exchange, file: string): void {
    const name = `assets/${file}`;
    if (!sendAsset(this.#dashboard, { name, request, response })) throw notFound();
  }

  async #showPage({ request, response }: Exchange, name: PageName): Promise<void> {
    if (name === 'openapi') return send(response, 200, describeInterface());
    if (name === 'llms') {
      return send(response, 200, formatLlms(), { 'Content-Type': 'text/plain; charset=utf-8' });
    }
    if (name === 'home') {
      if (sendAsset(this.#dashboard, { request, response })) return;
      return send(response, 200, formatHome(), { 'Content-Type': 'text/html; charset=utf-8' });
    }
    const health = await this.#parts.live.health(Date.now());
    const headers: Headers = { 'Ledger-Height': health.height, 'Ledger-Time': health.time };
    if (health.status !== 'ok') headers['Retry-After'] = 1;
    send(response, health.status === 'ok' ? 200 : 503, JSON.stringify(health), headers);
  }

  #fail(exchange: Exchange, error: unknown): void {
    const { request, response, type, key } = exchange;
    // Bytes that came as its body were refused first: that was its response.
    if (response.headersSent) return;
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
    const { live, admission } = this.#parts;
    const { state } = live;
    const headers = allowanceHeaders(exchange.key && admission.chargeRefusal(exchange.key, error));
    if (error.code === 'behind' && state) Object.assign(headers, ledgerHeaders(state));
    // What is left of a body that is too large is not read, and a client that waits for consent may
    // or may not send its body now: the connection cannot go on.
    const isWaiting = awaitsConsent(exchange.request) && !exchange.request.complete;
    const isLast = STRANGE.has(error.code) && this.#connections.noteStrange(exchange);
    if (error.code === 'body_too_large' || isWaiting || isLast) {
      headers['Connection'] = 'close';
      this.#connections.noteLast(exchange);
    }
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

function methodsOf({ name }: Route): string {
  if (name === 'ws') return PUSH_METHODS;
  return name === 'info' ? INFO_METHODS : PAGE_METHODS;
}

/** Other versions are HTTP too, but not what we speak. */
function checkVersion({ httpVersion, rawHeaders }: IncomingMessage): void {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    throw new RequestError('malformed_request', MALFORMED);
  }
  const hosts = countHosts(rawHeaders);
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) {
    const got = hosts === 0 ? 'nothing' : `${hosts} of it`;
    const message = `Host: got ${got}, expected the one header that HTTP/1.1 requires`;
    throw new RequestError('malformed_request', message, 'Host');
  }
}

/** Names and values take turns; Node keeps the first of several, and others might take the last. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index].toLowerCase() === 'host') count++;
  }
  return count;
}

function notFound(): RequestError {
  const message = 'there is no such path; expected /{key}/info or /{key}/ws';
  return new RequestError('not_found', message);
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
