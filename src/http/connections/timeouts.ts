/** When a client that does not read its responses is given up. */

import type { Settings } from '../../config/settings.ts';

/** How often connections are looked through for those that take too long. */
export const TIMEOUT_CHECK_MS = 500;

/** Longer than any pause that is allowed. */
export function stalledMsMax({
  idleTimeout,
  requestTimeout,
  minHeightWait,
}: Settings<'idleTimeout' | 'requestTimeout' | 'minHeightWait'>): number {
  return Math.max(idleTimeout, requestTimeout) + minHeightWait + 2 * TIMEOUT_CHECK_MS;
}
