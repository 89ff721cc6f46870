/**
 * The service over HTTP, on Node's own server. A request goes through the checks in the order in
 * which their errors take precedence: path, method, key, media type, size, JSON, question, budget,
 * then whether there is a state to answer from.
 */

import type { IncomingMessage, RequestListener, ServerOptions, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { hashSecret } from '../access/keys.ts';
import type { Settings } from '../config/settings.ts';
import { describeValue } from '../events/refusal.ts';
import { RequestError } from '../info/request-error.ts';
import type { LiveState } from '../replica/live-state.ts';
import { type Metrics, NO_TYPE } from '../service/metrics.ts';
import { type Admission, noKeyGiven } from './admission.ts';
import type { ClientConnection } from './connections/client-connection.ts';
import { connectionsMaxOf } from './connections/file-descriptors.ts';
import { stalledMsMax, TIMEOUT_CHECK_MS } from './connections/timeouts.ts';
import { awaitsConsent, Endpoint, type Exchange } from './endpoint.ts';
import { InfoServer } from './info-server.ts';
import { Interruptions } from './node/interruptions.ts';
import { checkHead, INFO_METHODS } from './node/request-head.ts';
import type { RequestStream } from './node/request-stream.ts';
import { offersPush } from './node/upgrade-offer.ts';
import { loadDashboard, sendAsset } from './pages/dashboard.ts';
import { formatHome } from './pages/home.ts';
import { formatLlms } from './pages/llms.ts';
import { formatOpenApi } from './pages/openapi.ts';
import type { Push } from './push/push.ts';
import {
  allowanceHeaders,
  type Headers,
  ledgerHeaders,
  send,
  sendError,
  sendPreflight,
} from './respond.ts';
import { findRoute, type Route } from './router.ts';

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
  'overloadDelay',
  'noFastLane',
] as const;
type ServiceSettingName = (typeof SERVICE_SETTINGS)[number];

const PUSH_METHODS = 'GET, OPTIONS';
const PAGE_METHODS = 'GET, HEAD, OPTIONS';
/** What only someone who does not know this service asks, again and again. */
const STRANGE: ReadonlySet<string> = new Set(['unknown_key', 'not_found', 'method_not_allowed']);
type PageName = Exclude<Route['name'], 'info' | 'ws' | 'asset'>;

/** A connection that so often has no known key, path or method is not a client's of ours. */
const STRANGE_REQUESTS_MAX = 32;

/**
 * From Node 24.9 on a server is asked which offers to change the protocol it takes; the others are
 * ordinary requests. Earlier ones ignore the option, and stop at every offer (interruptions.ts).
 */
interface UpgradeOptions {
  readonly shouldUpgradeCallback: (request: IncomingMessage) => boolean;
}

/** The server, not yet listening. */
export function createService(parts: ServiceParts): InfoServer {
  const { settings, metrics, log } = parts;
  const service = new Service(parts);
  const options: ServerOptions & UpgradeOptions = {
    maxHeaderSize: settings.headerBytesMax,
    // Node refuses headers that may take longer than the request they belong to.
    headersTimeout: Math.min(settings.headerTimeout, settings.requestTimeout),
    requestTimeout: settings.requestTimeout,
    keepAliveTimeout: settings.idleTimeout,
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    noDelay: true,
    // A request without a Host gets our own error, not an empty one.
    requireHostHeader: false,
    shouldUpgradeCallback: offersPush,
  };
  const listener: RequestListener = (request, response) => service.handle(request, response);
  const countMax = connectionsMaxOf(settings.connectionsMax, log);
  const server = new InfoServer({
    options,
    listener,
    connections: { countMax, metrics, log },
    lane: settings.noFastLane ? undefined : parts,
  });
  const interruptions = new Interruptions(parts, (client, bytes) =>
    server.passToNode(client, bytes),
  );
  // Their length is limited, and none of them is dropped in silence.
  server.maxHeadersCount = 0;
  server.timeout = stalledMsMax(settings);
  server.on('checkContinue', listener);
  server.on('checkExpectation', listener);
  server.on('clientError', (error, stream) => {
    interruptions.refuseBytes(error, asRequestStream(stream));
  });
  // Later Nodes hand over a stream of their own around the request's.
  server.on('upgrade', (request, _stream, head) => {
    interruptions.upgrade(request, asRequestStream(request.socket), head);
  });
  server.on('connect', ({ socket }) => interruptions.refuseTunnel(asRequestStream(socket)));
  return server;
}

/** Node's server has no sockets here (info-server.ts). */
function asRequestStream(stream: Duplex): RequestStream {
  return stream as RequestStream;
}

class Service {
  readonly #parts: ServiceParts;
  readonly #endpoint: Endpoint;
  readonly #dashboard = loadDashboard();

  constructor(parts: ServiceParts) {
    this.#parts = parts;
    this.#endpoint = new Endpoint(parts);
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const exchange: Exchange = {
      request,
      response,
      startedMs: performance.now(),
      type: NO_TYPE,
      key: undefined,
    };
    asRequestStream(request.socket).begin(exchange);
    try {
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

  #count({ type, startedMs, response }: Exchange): void {
    // A client that went away got no response.
    if (!response.headersSent) return;
    const seconds = (performance.now() - startedMs) / 1000;
    this.#parts.metrics.countRequest(type, response.statusCode, seconds);
  }

  #dispatch(exchange: Exchange): Promise<void> | undefined {
    const { request, response } = exchange;
    checkHead(request);
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

  #showAsset({ request, response }: Exchange, file: string): void {
    const name = `assets/${file}`;
    if (!sendAsset(this.#dashboard, { name, request, response })) throw notFound();
  }

  async #showPage({ request, response }: Exchange, name: PageName): Promise<void> {
    if (name === 'openapi') return send(response, 200, formatOpenApi());
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
    const isLast =
      STRANGE.has(error.code) && isOneTooMany(asRequestStream(exchange.request.socket).client);
    if (error.code === 'body_too_large' || isWaiting || isLast) headers['Connection'] = 'close';
    sendError(exchange.response, error, headers);
  }
}

/** Counts a request that nobody who knows us would send. */
function isOneTooMany(client: ClientConnection): boolean {
  client.strangeRequests++;
  return client.strangeRequests === STRANGE_REQUESTS_MAX;
}

function methodsOf({ name }: Route): string {
  if (name === 'ws') return PUSH_METHODS;
  return name === 'info' ? INFO_METHODS : PAGE_METHODS;
}

function notFound(): RequestError {
  const message = 'there is no such path; expected /{key}/info or /{key}/ws';
  return new RequestError('not_found', message);
}
