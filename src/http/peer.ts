/** The connection that a request came on. */

import type { RequestErrorCode } from '../info/request-error.ts';

/** What a reply needs to know of its connection. */
export interface Peer {
  /** Requests without a known key, path or method. */
  strangeRequests: number;
}

/** Codes that a scanner gets again and again, an ordinary client only now and then. */
const STRANGE: ReadonlySet<RequestErrorCode> = new Set<RequestErrorCode>([
  'unknown_key',
  'not_found',
  'method_not_allowed',
]);
/** Number of such refusals after which the connection is closed. A new connection costs more than many of them. */
const STRANGE_REQUESTS_MAX = 256;

/** Counts a refusal with one of these codes; true if the connection is to be closed. */
export function isStrangeTooOften(code: RequestErrorCode, peer: Peer): boolean {
  if (!STRANGE.has(code)) return false;
  peer.strangeRequests++;
  return peer.strangeRequests === STRANGE_REQUESTS_MAX;
}
