/** The connection that a request came on. */

import type { RequestErrorCode } from '../../info/request-error.ts';
import type { Cancellation } from './cancellation.ts';

/** What a reply needs to know of its connection. */
export interface RequestingClient {
  /** Requests without a known key, path or method, as a scanner sends them. */
  probeCount: number;
  /** Ends the work on its requests. */
  readonly cancellation: Cancellation;
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
export function countProbe(code: RequestErrorCode, client: RequestingClient): boolean {
  if (!PROBE_CODES.has(code)) return false;
  client.probeCount++;
  return client.probeCount === PROBES_MAX;
}
