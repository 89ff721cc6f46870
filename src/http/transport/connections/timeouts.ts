/** The deadlines of clients. */

import { RequestError } from '../../../info/request-error.ts';
import type { HttpSettings } from '../../settings.ts';

/** The interval between two checks for missed deadlines. */
export const TIMEOUT_CHECK_MS = 500;

/**
 * Returns how long a client may leave a response unread. This time is longer than any pause that a
 * client is allowed.
 */
export function stalledMsMax({
  idleTimeout,
  requestTimeout,
  minHeightWait,
  followWait,
}: Pick<HttpSettings, 'idleTimeout' | 'requestTimeout' | 'minHeightWait' | 'followWait'>): number {
  const waitMs = minHeightWait + followWait;
  return Math.max(idleTimeout, requestTimeout) + waitMs + 2 * TIMEOUT_CHECK_MS;
}

/**
 * Returns the deadline for the headers, which is never later than the deadline for the whole
 * request.
 */
export function headerMsMax({
  headerTimeout,
  requestTimeout,
}: Pick<HttpSettings, 'headerTimeout' | 'requestTimeout'>): number {
  return Math.min(headerTimeout, requestTimeout);
}

/** Returns the refusal of a request that is not complete at its deadline. */
export function refuseLateness(
  settings: Pick<HttpSettings, 'headerTimeout' | 'requestTimeout'>,
): RequestError {
  const message =
    `request: incomplete, expected the headers within ${headerMsMax(settings)} ms, ` +
    `all within ${settings.requestTimeout} ms`;
  return new RequestError('request_timeout', message);
}
