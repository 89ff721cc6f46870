/**
 * The one shape of request that the fast lane takes: as ordinary clients send it, and so strict that
 * there is no second way to read it. What is not surely ordinary is none of ours: nothing is refused
 * here, and nothing is guessed.
 */

import { isJsonType } from '../body.ts';

/** What the headers of an ordinary request say. */
export interface OrdinaryHead {
  readonly secret: string;
  readonly bodyLength: number;
}

/** A key has no slash, so several of them before "info" can only be read in one way. */
const REQUEST_LINE = /^POST \/([A-Za-z0-9_-]{1,128})\/+info HTTP\/1\.1$/;
/** A name without white space before its colon; a value of visible ASCII, spaces inside only. */
const HEADER = /^([A-Za-z0-9-]{1,64}):[ \t]?([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/;
/** No sign, no leading zero, and few enough digits to be exact. */
const LENGTH = /^(?:0|[1-9][0-9]{0,8})$/;
const END_OF_LINE = '\r\n';

/** Headers with which a request is for Node to judge, whatever they say. */
const UNUSUAL: ReadonlySet<string> = new Set([
  'transfer-encoding',
  'te',
  'trailer',
  'upgrade',
  'expect',
  'content-encoding',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'ledger-min-height',
]);

/** The head of a request, as text without the empty line after it; undefined where unusual. */
export function parseOrdinaryHead(text: string): OrdinaryHead | undefined {
  const [requestLine, ...lines] = text.split(END_OF_LINE);
  const secret = REQUEST_LINE.exec(requestLine)?.[1];
  const headers = secret === undefined ? undefined : readHeaders(lines);
  if (secret === undefined || headers === undefined) return undefined;
  const length = headers.get('content-length') ?? '';
  const connection = headers.get('connection') ?? 'keep-alive';
  const isOrdinary =
    LENGTH.test(length) &&
    (headers.get('host') ?? '') !== '' &&
    isJsonType(headers.get('content-type') ?? '') &&
    connection.toLowerCase() === 'keep-alive';
  return isOrdinary ? { secret, bodyLength: Number(length) } : undefined;
}

/** By name in lower case; undefined where a line is unusual, or a name comes twice. */
function readHeaders(lines: readonly string[]): Map<string, string> | undefined {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const match = HEADER.exec(line);
    if (match === null) return undefined;
    const name = match[1].toLowerCase();
    if (UNUSUAL.has(name) || headers.has(name)) return undefined;
    headers.set(name, match[2] ?? '');
  }
  return headers;
}
