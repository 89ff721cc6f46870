/**
 * The addresses of an upstream. Everything but its origin is secret: vendors put a key into the path, or
 * want it in a header.
 */

import { UpstreamSecrets } from './answers/upstream-secrets.ts';

/** How much of a text of the upstream is shown. */
const SHOWN_LENGTH_MAX = 200;
/** How much of a text is read for what is shown of it; what is hidden is longer than its mask. */
const READ_LENGTH_MAX = 8_192;

export interface UpstreamAddress {
  /** For logs, /health and metrics: scheme, host and port. */
  readonly origin: string;
  /** Path and query of the questions. */
  readonly infoPath: string;
  /** The address of the push connection. */
  readonly pushUrl: string;
  /** Hides what is secret in a text of our own, which may quote the upstream. */
  redact(text: string): string;
  /** A text of the upstream: what is secret is hidden first, then the text is cut, on one line. */
  show(text: string): string;
  /**
   * Whether an answer repeats a key of ours: nobody may see it, and what is hidden would be wrong. With
   * bounds, a key that starts within them.
   */
  isRepeatedIn(answer: Buffer, from?: number, to?: number): boolean;
}

/**
 * From a base such as https://host/key, with or without "/info" at the end. `header` is the value of the
 * header that goes with each request, such as "Bearer KEY".
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
    isRepeatedIn: (answer, from, to) => secrets.isIn(answer, from, to),
  };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The start of a text on one line. */
function cut(text: string): string {
  return text
    .slice(0, SHOWN_LENGTH_MAX)
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim();
}
