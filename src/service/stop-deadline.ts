/**
 * Limits how long a stop may take. Work that takes longer, such as a read from a ledger that does
 * not answer, is abandoned. No acknowledged data depends on this work.
 */

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { HTTP_LIMITS, type HttpLimits } from '../http/limits.ts';

/**
 * How long files and connections may take to close, after the stop timeout has closed the last
 * socket.
 */
const CLOSE_MS_MAX = 5_000;

/** Returns how long a worker may take to end after it is stopped. */
export function workerStopMsMax(limits: Partial<HttpLimits> | undefined): number {
  return stopTimeoutOf(limits) + CLOSE_MS_MAX;
}

/** Returns how long requests in flight, or a feed, may take to end after the service is stopped. */
export function stopTimeoutOf(limits: Partial<HttpLimits> | undefined): number {
  return limits?.stopTimeout ?? HTTP_LIMITS.stopTimeout;
}

/**
 * Returns true if the work ends within `msMax` milliseconds, and false if not. Rejects if the work
 * fails within this time.
 */
export async function endsWithin(work: Promise<unknown>, msMax: number): Promise<boolean> {
  const ended = new AbortController();
  const deadline = sleep(msMax, false, { signal: ended.signal });
  deadline.catch(() => undefined);
  try {
    return await Promise.race([work.then(() => true), deadline]);
  } finally {
    ended.abort();
  }
}

/**
 * Returns the result of the work. Rejects with the signal's reason if the signal is aborted first.
 */
export async function unlessStopped<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const ended = new AbortController();
  const stopped = once(signal, 'abort', { signal: ended.signal }).then(() => {
    throw signal.reason;
  });
  try {
    return await Promise.race([work, stopped]);
  } finally {
    ended.abort();
    stopped.catch(() => undefined);
  }
}
