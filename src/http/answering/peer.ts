/** The connection that a request came on. */

import type { RequestErrorCode } from '../../info/request-error.ts';
import type { Abandonment } from './abandonment.ts';

/** What a reply needs to know of its connection. */
export interface Peer {
  /** Requests without a known key, path or method, as a scanner sends them. */
  probeCount: number;
  /** Ends the work on its requests. */
  readonly abandonment: Abandonment;
}

/** Codes that a scanner gets again and again, an ordinary client only now and then. */
const PROBE_CODES: ReadonlySet<RequestErrorCode> = new Set<RequestErrorCode>([
  'unknown_key',
  'not_found',
  'method_not_allowed',
]);
/** Number of such refusals after which the connection is closed. A new connection costs more than many of them. */
const PROBES_MAX = 256;

/** Counts a refusal if it has one of these codes; true if the connection is to be closed. */
export function countProbe(code: RequestErrorCode, peer: Peer): boolean {
  if (!PROBE_CODES.has(code)) return false;
  peer.probeCount++;
  return peer.probeCount === PROBES_MAX;
}
