/**
 * The reply to a request, as data that transports render. Only this file decides which headers a
 * reply has, and in which order.
 */

import type { Allowance } from '../../access/budgets.ts';
import type { RequestError } from '../../info/request-error.ts';
import { type AnswerWriter, type FixedText, fixedText } from '../../info/writing/answer-writer.ts';

/** The type under which refused requests are counted if their type is unknown. */
export const NO_TYPE = 'none';

/** A body in a cache. The body is valid until the next lookup in the same cache. */
export interface CachedBody {
  readonly length: number;
  toString(): string;
  /** Returns the head of the response and the body as one text. */
  textAfter(head: AnswerWriter): string;
}

/**
 * A reply. Every reply has all members, so that all replies have the same hidden class. With
 * different classes, building a refusal took longer than building an answer.
 */
export class Reply {
  readonly status: number;
  /** The type of the question, for the metrics. */
  readonly type: string;
  /** The body; a Buffer if the body is long. */
  body: string | CachedBody | Buffer = '';
  /**
   * Releases a long body (LongAnswer.release). Call this function once, when the body was sent or
   * will never be sent.
   */
  releaseBody: ((isFree: boolean) => void) | undefined = undefined;
  /** The reason why the request was refused; undefined if the request was not refused. */
  refusal: RequestError | undefined = undefined;
  /** The ledger position of the reply; -1 if the reply has no ledger position. */
  height = -1;
  time = -1;
  /**
   * On a partial ledger, the time at which the oldest account of the answer was read; -1 if the
   * answer is not about accounts.
   */
  accountTime = -1;
  /**
   * True if the answer contains an account as the exchange answered it. The reply then has no
   * ledger position.
   */
  isFromUpstream = false;
  /** The rest of the key's budget; undefined if the key has no budget. */
  allowance: Allowance | undefined = undefined;
  /** True if the reply answers a GET or HEAD. Caches may store this reply. */
  isPolled = false;
  tag: string | undefined = undefined;
  /**
   * True if the answer is about the past, so that the same request will always get the same reply.
   */
  isFixed = false;
  /** True if the body is CSV instead of JSON. */
  isCsv = false;
  /** The methods that the route accepts; undefined if the reply does not list them. */
  allow: string | undefined = undefined;
  /** True if the connection is closed after this reply. */
  isLast = false;

  constructor(status: number, type = NO_TYPE) {
    this.status = status;
    this.type = type;
  }
}

/** Returns false for 204 and 304, which have neither a body nor a length. */
export function hasBody({ status }: Reply): boolean {
  return status !== 204 && status !== 304;
}

/** The name of a header, and the bytes between the previous line and the value of the header. */
export interface HeaderName {
  readonly name: string;
  readonly line: FixedText;
}

function headerName(name: string): HeaderName {
  return { name, line: fixedText(`\r\n${name}: `) };
}

/** Receives the headers of a reply in order. */
export interface HeaderSink {
  putNumber(header: HeaderName, value: number): void;
  putText(header: HeaderName, value: string): void;
  /** Receives the two headers of a ledger position. */
  putPosition(height: number, time: number): void;
}

const CONTENT_LENGTH = headerName('Content-Length');
const ALLOW = headerName('Allow');
const ALLOW_METHODS = headerName('Access-Control-Allow-Methods');
const ALLOW_HEADERS = headerName('Access-Control-Allow-Headers');
const PREFLIGHT_AGE = headerName('Access-Control-Max-Age');
const RETRY_AFTER = headerName('Retry-After');
export const LEDGER_HEIGHT = headerName('Ledger-Height');
export const LEDGER_TIME = headerName('Ledger-Time');
const ACCOUNT_TIME_HEADER = headerName('Account-Time');
const ACCOUNT_SOURCE = headerName('Account-Source');
const LIMIT = headerName('RateLimit-Limit');
const REMAINING = headerName('RateLimit-Remaining');
const RESET = headerName('RateLimit-Reset');
const CACHE_CONTROL = headerName('Cache-Control');
const TAG = headerName('ETag');
const CONNECTION = headerName('Connection');

const EXPOSED_HEADERS = [
  ...[TAG, LEDGER_HEIGHT, LEDGER_TIME, ACCOUNT_TIME_HEADER, ACCOUNT_SOURCE],
  ...[LIMIT, REMAINING, RESET, RETRY_AFTER],
].map(({ name }) => name);

const CORS_HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': EXPOSED_HEADERS.join(', '),
};

/** The headers at the start of every response that has a JSON body. */
export const COMMON_HEADERS: Readonly<Record<string, string>> = {
  'Content-Type': 'application/json',
  ...CORS_HEADERS,
};

const CSV_HEADERS: Readonly<Record<string, string>> = {
  'Content-Type': 'text/csv; charset=utf-8; header=present',
  ...CORS_HEADERS,
};

/**
 * Returns the headers at the start of a response. The reply to a preflight has no body, so it has
 * no Content-Type.
 */
export function firstHeaders({ status, isCsv }: Reply): Readonly<Record<string, string>> {
  if (status === 204) return CORS_HEADERS;
  return isCsv ? CSV_HEADERS : COMMON_HEADERS;
}

/** The Retry-After of a 503 for which no other time is known. */
const RETRY_AFTER_SECONDS = 1;
const PREFLIGHT_SECONDS = 86_400;
/** The lifetime is one year, because caches ignore longer times. */
const FOR_EVER = 'private, max-age=31536000, immutable';

/** Writes all headers after the first headers, except Date, Connection and Keep-Alive. */
export function putHeaders(reply: Reply, length: number, sink: HeaderSink): void {
  if (hasBody(reply)) sink.putNumber(CONTENT_LENGTH, length);
  if (reply.allow !== undefined) putAllow(reply, reply.allow, sink);
  if (reply.refusal !== undefined) putRetry(reply.refusal, sink);
  if (reply.height >= 0) {
    sink.putPosition(reply.height, reply.time);
  }
  if (reply.accountTime >= 0) {
    sink.putNumber(ACCOUNT_TIME_HEADER, reply.accountTime);
    if (reply.isFromUpstream) sink.putText(ACCOUNT_SOURCE, 'upstream');
  }
  if (reply.allowance !== undefined) putAllowance(reply.allowance, sink);
  if (reply.tag !== undefined) {
    // The answer is private, because the URL contains a key. An answer about the present has to be
    // revalidated each time.
    sink.putText(CACHE_CONTROL, reply.isFixed ? FOR_EVER : 'private, no-cache');
    sink.putText(TAG, reply.tag);
  } else if (reply.isPolled) {
    // Without a tag, a cache cannot find out whether the answer has changed.
    sink.putText(CACHE_CONTROL, 'private, no-store');
  }
}

/** Writes the header of a response after which the connection is closed. */
export function putClose(sink: HeaderSink): void {
  sink.putText(CONNECTION, 'close');
}

function putAllow({ status }: Reply, allow: string, sink: HeaderSink): void {
  sink.putText(ALLOW, allow);
  if (status !== 204) return;
  sink.putText(ALLOW_METHODS, allow);
  sink.putText(ALLOW_HEADERS, 'Content-Type, If-None-Match, Ledger-Min-Height, Account-Max-Age');
  sink.putNumber(PREFLIGHT_AGE, PREFLIGHT_SECONDS);
}

/**
 * Returns the number of seconds after which a client may try again; returns undefined if this time
 * is unknown.
 */
export function retryAfterOf({ status, retryAfterSeconds }: RequestError): number | undefined {
  return retryAfterSeconds ?? (status === 503 ? RETRY_AFTER_SECONDS : undefined);
}

function putRetry(refusal: RequestError, sink: HeaderSink): void {
  const seconds = retryAfterOf(refusal);
  if (seconds !== undefined) sink.putNumber(RETRY_AFTER, seconds);
}

function putAllowance({ limit, remaining, resetSeconds }: Allowance, sink: HeaderSink): void {
  sink.putNumber(LIMIT, limit);
  sink.putNumber(REMAINING, remaining);
  sink.putNumber(RESET, resetSeconds);
}
