/**
 * Parses the head of a request. Parsing depends neither on time nor on state, so a transport may
 * reuse the result for a client that sends the same head again.
 */

import { hashSecret } from '../../access/keys.ts';
import { RequestError, wrongValue } from '../../info/request-error.ts';
import {
  findRoute,
  methodsOf,
  NOT_FOUND,
  type PageRoute,
  type Route,
  refuseMethod,
} from './router.ts';

/** The headers by name in lower case. The values of a repeated header are joined, or are a list. */
type HeaderTable = Readonly<Record<string, string | string[] | undefined>>;

export interface RawHead {
  readonly method: string;
  readonly target: string;
  readonly headers: HeaderTable;
  /** True if the client sends its body only after a 100 Continue. */
  readonly expectsContinue?: boolean;
}

export interface RequestHead {
  readonly method: string;
  /** Undefined if no route has this path. */
  readonly route: Route | undefined;
  /** The methods that the route accepts. */
  readonly allow: string;
  /** "" if the route needs no key, or if the request has no key. */
  readonly secretHash: string;
  /**
   * Set if the path or the method is wrong. This refusal takes precedence over the refusal of an
   * unknown key.
   */
  readonly routeRefusal: RequestError | undefined;
  /**
   * Set if the rest of the head has a fault. The refusal of an unknown key takes precedence over
   * this refusal.
   */
  readonly headRefusal: RequestError | undefined;
  /**
   * Set if the minimum height or the maximum age is invalid. The refusal of an invalid question
   * takes precedence over this refusal.
   */
  readonly freshnessRefusal: RequestError | undefined;
  readonly minHeight: number;
  /**
   * The maximum age of accounts in milliseconds; undefined if the request does not set a maximum
   * age.
   */
  readonly accountAgeMsMax: number | undefined;
  readonly ifNoneMatch: string | undefined;
  /** True if the client prefers CSV, for answers that exist as CSV. */
  readonly wantsCsv: boolean;
}

export const MIN_HEIGHT_HEADER = 'Ledger-Min-Height';
const ACCOUNT_AGE_HEADER = 'Account-Max-Age';

/**
 * The number of bytes over the limit that are read and discarded before a body is refused. A client
 * that reads only after it has sent everything can then read the refusal.
 */
export const DISCARDED_BYTES_MAX = 1 << 20;

export interface HeadLimits {
  readonly bodyBytesMax: number;
}

export function readHead(source: RawHead, { bodyBytesMax }: HeadLimits): RequestHead {
  const { method, target, headers } = source;
  const route = findRoute(target);
  const allow = route === undefined ? '' : methodsOf(route);
  const secret = route !== undefined && 'secret' in route ? route.secret : '';
  const minHeight = readWhole(headers, MIN_HEIGHT_HEADER);
  const accountAgeMsMax = readWhole(headers, ACCOUNT_AGE_HEADER);
  return {
    method,
    route,
    allow,
    secretHash: secret === '' ? '' : hashSecret(secret),
    routeRefusal: findRouteFault(route, method, allow),
    headRefusal: route?.name === 'ws' ? NOT_A_HANDSHAKE : findBodyHeadFault(source, bodyBytesMax),
    freshnessRefusal: [minHeight, accountAgeMsMax].find((value) => value instanceof RequestError),
    minHeight: typeof minHeight === 'number' ? minHeight : 0,
    accountAgeMsMax: typeof accountAgeMsMax === 'number' ? accountAgeMsMax : undefined,
    ifNoneMatch: textOf(headers, 'if-none-match'),
    wantsCsv: wantsCsv(textOf(headers, 'accept')),
  };
}

/** The refusal of an ordinary request to the path of push. */
const NOT_A_HANDSHAKE = new RequestError(
  'malformed_request',
  'handshake: got an ordinary request, expected Connection: Upgrade and Upgrade: websocket',
  'Upgrade',
);

function findRouteFault(
  route: Route | undefined,
  method: string,
  allow: string,
): RequestError | undefined {
  if (route === undefined) return NOT_FOUND;
  return allow.split(', ').includes(method) ? undefined : refuseMethod(method, allow);
}

/**
 * Returns true if the first media type in an Accept header is CSV. A quality of 0 means that the
 * client does not accept the type.
 */
function wantsCsv(accept = ''): boolean {
  const [first] = accept.split(',', 1);
  return /^\s*text\/csv\s*(?:;|$)/i.test(first) && !/;\s*q=0(?:\.0*)?\s*(?:;|$)/i.test(first);
}

function textOf(headers: HeaderTable, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(', ') : value;
}

/**
 * Returns the fault of a POST if its head declares a body that is not JSON in UTF-8, or that is far
 * too large. Otherwise returns undefined.
 */
function findBodyHeadFault(
  { method, headers, expectsContinue = false }: RawHead,
  bytesMax: number,
): RequestError | undefined {
  if (method !== 'POST') return undefined;
  const type = textOf(headers, 'content-type');
  if (type === undefined || !isJsonType(type)) {
    return refuseMedia('Content-Type', type, 'application/json in UTF-8');
  }
  const encoding = textOf(headers, 'content-encoding');
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    return refuseMedia('Content-Encoding', encoding, 'none');
  }
  const transfer = textOf(headers, 'transfer-encoding');
  if (transfer !== undefined && transfer.toLowerCase() !== 'chunked') {
    return refuseMedia('Transfer-Encoding', transfer, 'chunked or none');
  }
  const declared = Number(textOf(headers, 'content-length') ?? 0);
  const isFarTooLarge = declared > bytesMax + (expectsContinue ? 0 : DISCARDED_BYTES_MAX);
  return isFarTooLarge ? refuseLength(bytesMax) : undefined;
}

function refuseMedia(header: string, got: string | undefined, expected: string): RequestError {
  return wrongValue(header, got, expected, 'unsupported_media_type');
}

export function refuseLength(bytesMax: number): RequestError {
  const message = `body: got more than ${bytesMax} bytes, expected at most ${bytesMax}`;
  return new RequestError('body_too_large', message, 'body');
}

/**
 * Maximum length of a media type. Parsing a media type with thousands of parameters costs as much
 * as several answers.
 */
const MEDIA_TYPE_LENGTH_MAX = 256;

const UTF8 = ['charset=utf-8', 'charset="utf-8"', 'charset=utf8', 'charset=us-ascii'];

/** Returns true if a media type is JSON, and its charset, if there is one, is UTF-8 or a subset. */
function isJsonType(text: string): boolean {
  if (text.length > MEDIA_TYPE_LENGTH_MAX) return false;
  const [type, ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  return (
    type === 'application/json' &&
    parameters.every((parameter) => !parameter.startsWith('charset') || UTF8.includes(parameter))
  );
}

/** The largest number of 15 digits. */
export const LARGEST_HEADER_NUMBER = 999_999_999_999_999;

/** Returns the whole number in a header; returns undefined if the header is absent. */
function readWhole(headers: HeaderTable, header: string): number | RequestError | undefined {
  const given = headers[header.toLowerCase()];
  if (given === undefined) return undefined;
  if (typeof given === 'string' && /^\d{1,15}$/.test(given)) return Number(given);
  return wrongValue(header, given, 'a whole number of at most 15 digits');
}

/**
 * Returns the page that a request asks for. Returns undefined for other requests, and for requests
 * that are refused.
 */
export function pageOf({ route, routeRefusal, method }: RequestHead): PageRoute | undefined {
  if (route === undefined || routeRefusal !== undefined || method === 'OPTIONS') return undefined;
  return 'secret' in route ? undefined : route;
}
