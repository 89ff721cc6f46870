/**
 * Parses requests of the ordinary form, which is the only form that the fast lane reads. The syntax
 * is so strict that two programs cannot read a request differently. Node's server reads all other
 * requests.
 */

import type { LaneExit } from '../../answering/counters.ts';
import type { RawHead } from '../../message/request-head.ts';

/** The head of an ordinary request. */
export interface OrdinaryHead extends RawHead {
  readonly bodyLength: number;
  /** True if the client wants the connection to be closed after the response. */
  readonly isLast: boolean;
}

const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'OPTIONS', 'PUT', 'DELETE', 'PATCH'];
const VERSION = 'HTTP/1.1';
const URL_CHARACTER = /[A-Za-z0-9_.~%!$&'()*+,;=:@/?-]/;
/** A target in origin form. It contains only characters that a URL may contain. */
const TARGET = new RegExp(`^/${URL_CHARACTER.source}*$`);
/** The value is 1 for each byte that is a character of a URL. */
const IS_URL_CHARACTER = Uint8Array.from({ length: 256 }, (_, code) =>
  Number(URL_CHARACTER.test(String.fromCharCode(code))),
);
/**
 * A header line. Its name has no white space before the colon. Its value is visible ASCII, with
 * spaces only in the middle.
 */
const HEADER = /^([A-Za-z0-9-]{1,64}):[ \t]?([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/;
/** An incomplete header line that can still become valid. */
const HEADER_START =
  /^(?:[A-Za-z0-9-]{0,64}|[A-Za-z0-9-]{1,64}:[ \t]?(?:[\x21-\x7e][\x20-\x7e]*)?\r?|\r)$/;
/**
 * A number without a sign and without leading zeros. With nine digits at most, the number is exact.
 */
const LENGTH = /^(?:0|[1-9][0-9]{0,8})$/;
const END_OF_LINE = '\r\n';
const LENGTH_HEADER = 'content-length';

/** A request with one of these headers is passed to Node's server. */
const EXITS: ReadonlyMap<string, LaneExit> = new Map([
  ['transfer-encoding', 'chunked'],
  ['te', 'chunked'],
  ['trailer', 'chunked'],
  ['upgrade', 'upgrade'],
  ['http2-settings', 'upgrade'],
  ['expect', 'expect'],
  ['keep-alive', 'syntax'],
  ['proxy-connection', 'syntax'],
]);

/**
 * Parses a head, given without the empty line at its end. Returns the reason if Node has to read
 * the request.
 */
export function parseOrdinaryHead(text: string): OrdinaryHead | LaneExit {
  const [requestLine, ...lines] = text.split(END_OF_LINE);
  if (!isRequestLine(requestLine)) return 'syntax';
  const [method, target] = requestLine.split(' ');
  const headers = readHeaders(lines);
  if (typeof headers === 'string') return headers;
  const length = headers[LENGTH_HEADER] ?? '0';
  const connection = (headers['connection'] ?? 'keep-alive').toLowerCase();
  const isLast = connection === 'close';
  const isOrdinary =
    LENGTH.test(length) &&
    (headers['host'] ?? '') !== '' &&
    (isLast || connection === 'keep-alive');
  return isOrdinary ? { method, target, headers, bodyLength: Number(length), isLast } : 'syntax';
}

/** Returns true if all of these bytes may be part of a query. */
export function isOrdinaryQuery(bytes: Buffer, start: number, end: number): boolean {
  for (let index = start; index < end; index++) {
    if (IS_URL_CHARACTER[bytes[index]] === 0) return false;
  }
  return true;
}

/** Parses the value of a Content-Length. Returns undefined if the form of the value is unusual. */
export function parseOrdinaryLength(bytes: Buffer, start: number, end: number): number | undefined {
  const text = bytes.toString('latin1', start, end);
  return LENGTH.test(text) ? Number(text) : undefined;
}

function isRequestLine(line: string): boolean {
  const parts = line.split(' ');
  const [method, target, version] = parts;
  return (
    parts.length === 3 && METHODS.includes(method) && TARGET.test(target) && version === VERSION
  );
}

/**
 * Returns the headers by name in lower case. If a line is unusual or a name is repeated, returns
 * the reason why Node has to read the request.
 */
function readHeaders(lines: readonly string[]): Record<string, string> | LaneExit {
  const headers: Record<string, string> = Object.create(null);
  for (const line of lines) {
    const match = HEADER.exec(line);
    if (match === null) return 'syntax';
    const name = match[1].toLowerCase();
    const exit = name in headers ? 'syntax' : EXITS.get(name);
    if (exit !== undefined) return exit;
    headers[name] = match[2] ?? '';
  }
  return headers;
}

/**
 * Matches an incomplete line that already contains a colon: the name, and the first part of the
 * value.
 */
const NAMED = /^([A-Za-z0-9-]{1,64}):[ \t]?([^\r]*)/;
/** Matches the first part of a length. */
const LENGTH_START = /^(?:0|[1-9][0-9]{0,8})?$/;

/**
 * The head of an incomplete request. If the head can no longer become ordinary, the request is
 * passed to Node's server at once. Node's server may refuse the request before the rest arrives.
 * Each complete line is checked only once.
 */
export class PartialHead {
  /** The length of the complete lines that have been checked. */
  checkedLength = 0;
  /** True if the head is complete and was admitted, but the body is incomplete. */
  isAdmitted = false;
  #hasLength = false;

  clear(): void {
    this.checkedLength = 0;
    this.isAdmitted = false;
    this.#hasLength = false;
  }

  /**
   * Checks the text after the checked lines. Returns the reason if Node has to read the request.
   */
  check(text: string): LaneExit | undefined {
    const lines = text.split(END_OF_LINE);
    const last = lines.pop() ?? '';
    for (const line of lines) {
      const exit = this.#checkLine(line);
      if (exit !== undefined) return exit;
      this.checkedLength += line.length + END_OF_LINE.length;
    }
    if (this.checkedLength === 0) return beginsRequestLine(last) ? undefined : 'syntax';
    const [, name = '', value = ''] = NAMED.exec(last) ?? [];
    if (!HEADER_START.test(last)) return 'syntax';
    return this.#checkName(name, LENGTH_START.test(value));
  }

  #checkLine(line: string): LaneExit | undefined {
    if (this.checkedLength === 0) return isRequestLine(line) ? undefined : 'syntax';
    const match = HEADER.exec(line);
    if (match === null) return 'syntax';
    const exit = this.#checkName(match[1], LENGTH.test(match[2] ?? ''));
    this.#hasLength ||= match[1].toLowerCase() === LENGTH_HEADER;
    return exit;
  }

  #checkName(name: string, isLength: boolean): LaneExit | undefined {
    const known = name.toLowerCase();
    if (known === LENGTH_HEADER && (this.#hasLength || !isLength)) return 'syntax';
    return EXITS.get(known);
  }
}

function beginsRequestLine(text: string): boolean {
  const [method, target, version, ...more] = text.split(' ');
  if (target === undefined) return METHODS.some((name) => name.startsWith(method));
  if (!METHODS.includes(method) || more.length > 0) return false;
  if (version === undefined) return target === '' || TARGET.test(target);
  return TARGET.test(target) && `${VERSION}\r`.startsWith(version);
}
