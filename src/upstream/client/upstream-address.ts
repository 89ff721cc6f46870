/**
 * The addresses of an upstream. Everything except the origin is secret, because vendors put a key
 * into the path, or require a key in a header.
 */

import { UpstreamSecrets } from './answers/upstream-secrets.ts';

/** Maximum length of an upstream's text in our logs and errors. */
export const UPSTREAM_TEXT_LENGTH_MAX = 200;
/**
 * The maximum length of a text that is searched for secrets. It is longer than
 * UPSTREAM_TEXT_LENGTH_MAX, because a mask is shorter than the secret that it hides.
 */
const READ_LENGTH_MAX = 8_192;

export interface UpstreamAddress {
  /** The scheme, the host and the port of the address, for logs, /health and metrics. */
  readonly origin: string;
  /** The path and the query of the address to which questions are posted. */
  readonly infoPath: string;
  /** The address of the push connection. */
  readonly pushUrl: string;
  /** Hides secrets in a text of ours, which may quote the upstream. */
  redact(text: string): string;
  /**
   * Prepares a text of the upstream for a log or an error: first hides secrets, then cuts the text
   * to one line.
   */
  show(text: string): string;
  /**
   * Returns true if an answer contains one of our keys. With bounds, returns true if a key starts
   * within the bounds. An answer with a key cannot be used: no client may see the key, and an
   * answer with a mask in it would be wrong.
   */
  containsKey(answer: Buffer, from?: number, to?: number): boolean;
}

/**
 * Reads a base address such as https://host/key, with or without "/info" at the end. `header` is
 * the value of the header that is sent with each request, such as "Bearer KEY".
 */
export function readUpstreamAddress(base: URL, header = ''): UpstreamAddress {
  const path = base.pathname.replace(/\/+$/, '').replace(/\/info$/, '');
  const pushProtocol = base.protocol === 'https:' ? 'wss:' : 'ws:';
  const written = [...path.split('/'), base.search.slice(1), base.username, base.password];
  const parts = [...written, ...base.search.split(/[?&=]/), ...header.split(/\s+/)];
  const secrets = new UpstreamSecrets([
    ...parts,
    ...parts.map(decode),
    ...base.searchParams.values(),
  ]);
  return {
    origin: base.origin,
    infoPath: `${path}/info${base.search}`,
    pushUrl: `${pushProtocol}//${base.host}${path}/ws${base.search}`,
    redact: (text) => secrets.hideInOwn(text),
    show: (text) => cut(secrets.hide(text.slice(0, READ_LENGTH_MAX))),
    containsKey: (answer, from, to) => secrets.isIn(answer, from, to),
  };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Returns the first characters of a text, on one line. */
function cut(text: string): string {
  return text
    .slice(0, UPSTREAM_TEXT_LENGTH_MAX)
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim();
}
