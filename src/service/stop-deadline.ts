/**
 * Limits how long a stop may take. Work that takes longer, such as a read of a ledger that does not answer,
 * is abandoned: nothing that was acknowledged depends on it.
 */

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { HTTP_LIMITS, type HttpLimits } from '../http/limits.ts';

/** Files and connections may take this long to close, after the stop timeout has closed the last socket. */
const CLOSE_MS_MAX = 5_000;

/** Returns how long a worker may take to end once it is stopped. */
export function workerStopMsMax(limits: Partial<HttpLimits> | undefined): number {
  return stopTimeoutOf(limits) + CLOSE_MS_MAX;
}

/** Returns how long requests in flight, or a feed, may take to end once the service is stopped. */
export function stopTimeoutOf(limits: Partial<HttpLimits> | undefined): number {
  return limits?.stopTimeout ?? HTTP_LIMITS.stopTimeout;
}

/** True if the work ends within so many milliseconds; rejects if it fails by then. */
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

/** The result of the work; rejects with the signal's reason if that comes first. */
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
