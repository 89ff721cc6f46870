/**
 * The one form of request that the fast lane reads: as ordinary clients send it, and so strict that
 * there is no second way to read it. What is not surely ordinary is left to Node: nothing is guessed.
 */

import type { LaneExit } from '../counters.ts';
import type { RawHead } from '../request-head.ts';

/** What the head of an ordinary request says. */
export interface OrdinaryHead extends RawHead {
  readonly bodyLength: number;
  /** The client wants the connection to be closed after the response. */
  readonly isLast: boolean;
}

const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'OPTIONS', 'PUT', 'DELETE', 'PATCH'];
const VERSION = 'HTTP/1.1';
/** Only the origin form, and only characters that an address may have unquoted. */
const TARGET = /^\/[A-Za-z0-9_.~%!$&'()*+,;=:@/?-]*$/;
/** A name without white space before its colon; a value of visible ASCII, spaces inside only. */
const HEADER = /^([A-Za-z0-9-]{1,64}):[ \t]?([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/;
/** What such a line may begin with. */
const HEADER_START =
  /^(?:[A-Za-z0-9-]{0,64}|[A-Za-z0-9-]{1,64}:[ \t]?(?:[\x21-\x7e][\x20-\x7e]*)?\r?|\r)$/;
/** No sign, no leading zero, and few enough digits to be exact. */
const LENGTH = /^(?:0|[1-9][0-9]{0,8})$/;
const END_OF_LINE = '\r\n';
const LENGTH_HEADER = 'content-length';

/** Headers with which a request is for Node to judge, whatever they say. */
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

/** The head of a request, as text without the empty line after it; or why it is left to Node. */
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

function isRequestLine(line: string): boolean {
  const parts = line.split(' ');
  const [method, target, version] = parts;
  return (
    parts.length === 3 && METHODS.includes(method) && TARGET.test(target) && version === VERSION
  );
}

/** By name in lower case; why they are left to Node where a line is unusual, or a name comes twice. */
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

/** The name of a line that has come as far as its colon, and what has come of its value. */
const NAMED = /^([A-Za-z0-9-]{1,64}):[ \t]?([^\r]*)/;
/** What a length may begin with. */
const LENGTH_START = /^(?:0|[1-9][0-9]{0,8})?$/;

/**
 * A head that has come in part. As soon as it can no longer become an ordinary one it is left to Node,
 * which may refuse it before the rest has come. Each line is checked once.
 */
export class PartialHead {
  /** Characters of whole lines that were checked. */
  checkedLength = 0;
  #hasLength = false;

  clear(): void {
    this.checkedLength = 0;
    this.#hasLength = false;
  }

  /** Checks what has come after that; returns why the request is left to Node. */
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
