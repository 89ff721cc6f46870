/** The client that sent a request, and the protection against clients that try keys and paths. */

import type { RequestErrorCode } from '../../info/request-error.ts';
import type { Cancellation } from './cancellation.ts';

/** The part of a client's connection that answering uses. */
export interface RequestingClient {
  /**
   * The number of requests with an unknown key, path or method. A scanner sends many of these
   * requests.
   */
  probeCount: number;
  /** Cancels the work on the client's requests. */
  readonly cancellation: Cancellation;
}

/** A scanner gets these codes again and again. An ordinary client rarely gets them. */
const PROBE_CODES: ReadonlySet<RequestErrorCode> = new Set<RequestErrorCode>([
  'unknown_key',
  'not_found',
  'method_not_allowed',
]);
/**
 * After this number of these refusals, the connection is closed. A new connection costs a scanner
 * more than many requests.
 */
const PROBES_MAX = 256;

/**
 * Counts the refusal if its code is one of these codes. Returns true if the connection must be
 * closed.
 */
export function countProbe(code: RequestErrorCode, client: RequestingClient): boolean {
  if (!PROBE_CODES.has(code)) return false;
  client.probeCount++;
  return client.probeCount === PROBES_MAX;
}
