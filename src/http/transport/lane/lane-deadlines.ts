/** The deadlines of connections on the fast lane. */

import type { HttpSettings } from '../../settings.ts';
import { headerMsMax, TIMEOUT_CHECK_MS } from '../connections/timeouts.ts';
import type { LaneConnection } from './lane-connection.ts';

/** The grace time that is added to the keep-alive timeout. Node's server adds the same time. */
const KEEP_ALIVE_GRACE_MS = 1000;

/**
 * Calls `check` periodically, but not directly after this process was blocked. Requests that
 * arrived during that time have not been read yet, so their connections would look idle.
 */
export class DeadlineTimer {
  readonly #timer: NodeJS.Timeout;
  #calledMs = performance.now();
  #hasSkipped = false;

  constructor(check: (nowMs: number) => void) {
    this.#timer = setInterval(() => {
      const nowMs = performance.now();
      const isLate = nowMs - this.#calledMs > 2 * TIMEOUT_CHECK_MS;
      this.#calledMs = nowMs;
      // A check is never skipped twice in a row, so that deadlines also work in a process that is
      // always late.
      this.#hasSkipped = isLate && !this.#hasSkipped;
      if (!this.#hasSkipped) check(nowMs);
    }, TIMEOUT_CHECK_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/**
 * Returns "request" if an incomplete request has missed its deadline, and "idle" if the connection
 * has been idle for too long. Otherwise returns undefined.
 */
export function findMissedDeadline(
  connection: LaneConnection,
  settings: Pick<HttpSettings, 'headerTimeout' | 'requestTimeout' | 'idleTimeout'>,
  nowMs: number,
): 'request' | 'idle' | undefined {
  const { activeMs, partialSinceMs, hasAsked, partialHead, skipLength } = connection;
  const { idleTimeout, requestTimeout } = settings;
  const headerMs = headerMsMax(settings);
  if (connection.state !== 'reading' || connection.hasUnsent) return undefined;
  if (partialSinceMs > 0) {
    const isHeadWhole = partialHead.isAdmitted || skipLength > 0;
    return nowMs - partialSinceMs > (isHeadWhole ? requestTimeout : headerMs)
      ? 'request'
      : undefined;
  }
  const idleMs = hasAsked ? idleTimeout + KEEP_ALIVE_GRACE_MS : headerMs;
  return nowMs - activeMs > idleMs ? 'idle' : undefined;
}
