/** How responses are written: the same headers on all of them, errors as JSON. */

import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Allowance } from '../access/budgets.ts';
import type { RequestError } from '../info/request-error.ts';
import type { StateView } from '../state/state.ts';
import type { RequestStream } from './node/request-stream.ts';

/** Seconds after which a request that got a 503 may be worth another try. */
const RETRY_AFTER_SECONDS = 1;

const EXPOSED_HEADERS = [
  'ETag',
  'Ledger-Height',
  'Ledger-Time',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Retry-After',
].join(', ');

export type Headers = Record<string, string | number>;

export const COMMON_HEADERS: Readonly<Headers> = {
  'Content-Type': 'application/json',
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': EXPOSED_HEADERS,
};

export function ledgerHeaders({ height, time }: StateView): Headers {
  return { 'Ledger-Height': height, 'Ledger-Time': time };
}

/** What is left of a key's budget; nothing for a key that has none. */
export function allowanceHeaders(allowance: Allowance | undefined): Headers {
  if (allowance === undefined) return {};
  return {
    'RateLimit-Limit': allowance.limit,
    'RateLimit-Remaining': allowance.remaining,
    'RateLimit-Reset': allowance.resetSeconds,
  };
}

/** While the service drains, the last response on a connection says that it is. */
export function writeHead(response: ServerResponse, status: number, headers: Headers): void {
  const stream = response.req.socket as unknown as RequestStream;
  if (stream.isLastRequest) response.setHeader('Connection', 'close');
  response.writeHead(status, headers);
}

export function send(
  response: ServerResponse,
  status: number,
  body: string,
  headers: Headers = {},
): void {
  const length = Buffer.byteLength(body);
  writeHead(response, status, { ...COMMON_HEADERS, 'Content-Length': length, ...headers });
  response.end(body);
}

/** The answer is the one that the client has: 304, without a body. */
export function sendUnchanged(response: ServerResponse, headers: Headers): void {
  writeHead(response, 304, { ...COMMON_HEADERS, ...headers });
  response.end();
}

/** A request that failed; the reason goes to the client as it stands, so it must hold no secret. */
export function sendError(
  response: ServerResponse,
  error: RequestError,
  headers: Headers = {},
): void {
  send(response, error.status, error.toJson(), { ...retryHeaders(error), ...headers });
}

function retryHeaders({ status, retryAfterSeconds }: RequestError): Headers {
  const seconds = retryAfterSeconds ?? (status === 503 ? RETRY_AFTER_SECONDS : undefined);
  return seconds === undefined ? {} : { 'Retry-After': seconds };
}

/** Answers a preflight: any page may ask. */
export function sendPreflight(response: ServerResponse, allow: string): void {
  const { 'Content-Type': _, ...common } = COMMON_HEADERS;
  writeHead(response, 204, {
    ...common,
    Allow: allow,
    'Access-Control-Allow-Methods': allow,
    'Access-Control-Allow-Headers': 'Content-Type, If-None-Match, Ledger-Min-Height',
    'Access-Control-Max-Age': 86_400,
  });
  response.end();
}

/** A whole response as bytes, for a socket on which no request could be understood. */
export function formatRawError(error: RequestError, extra: Headers): string {
  const body = error.toJson();
  const headers = {
    ...COMMON_HEADERS,
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
    ...retryHeaders(error),
    ...extra,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${lines.join('')}\r\n${body}`;
}
