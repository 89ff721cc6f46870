/**
 * A rate limit for refusals that no budget pays for. A client that asks again immediately after each
 * refusal would otherwise take as much of a worker's time as a client that is answered. So each key gets a
 * number of refusals in an interval; further refusals, and their connections, wait for the next interval.
 */

import type { RequestErrorCode } from '../../../info/request-error.ts';
import type { Reply } from '../../message/reply.ts';
import type { Cancellation } from '../cancellation.ts';
import { RoundRobin } from './round-robin.ts';

const INTERVAL_MS = 20;
/** Refusals of a key in an interval: 500 a second. A client that obeys Retry-After needs fewer. */
const INTERVAL_REFUSALS_MAX = 10;
/** A refusal that closes the connection costs as much as five others. Example: a body over the limit. */
const LAST_COUNTS = 5;

/** A refusal with one of these codes is free if the exchange was not asked. */
const FOLLOWER_CODES: ReadonlySet<RequestErrorCode> = new Set<RequestErrorCode>([
  'not_ready',
  'upstream_failed',
]);

/**
 * Whether the key caused a refusal without paying for the refusal: either the key's budget is spent, or the
 * key's share of the budget for the exchange is spent. The second case is only known after a wait (`isLate`).
 * Refusals because the service starts or is overloaded are not limited, since no key caused them.
 */
export function isUnpaid({ status, refusal, allowance }: Reply, isLate: boolean): boolean {
  if (refusal === undefined) return false;
  if (status === 429) return true;
  if (isLate && FOLLOWER_CODES.has(refusal.code)) return true;
  return status < 500 && allowance?.remaining === 0;
}

interface WaitingRefusal {
  readonly keyId: string;
  /** A refusal that closes the connection counts as several. */
  readonly count: number;
  send(): void;
}

export class RefusalRateLimit {
  /** Number of refusals in this interval, by key. */
  readonly #counts = new Map<string, number>();
  readonly #waiting = new RoundRobin<WaitingRefusal>();
  #timer: NodeJS.Timeout | undefined;

  /** Returns the reply immediately, or a promise of the reply if the key has reached the limit of this interval. */
  pass(reply: Reply, keyId: string, cancellation: Cancellation): Reply | Promise<Reply> {
    const count = reply.isLast ? LAST_COUNTS : 1;
    if (cancellation.refusal !== undefined || this.#tryCount(keyId, count)) return reply;
    return new Promise((resolve) => {
      const end = () => {
        this.#waiting.delete(refusal);
        resolve(reply);
      };
      const send = () => {
        cancellation.delete(end);
        resolve(reply);
      };
      const refusal = { keyId, count, send };
      this.#waiting.add(refusal);
      cancellation.add(end);
    });
  }

  /** Counts a refusal of the key. Returns false if the key has reached the limit of this interval. */
  #tryCount(keyId: string, count: number): boolean {
    const counted = this.#counts.get(keyId) ?? 0;
    if (counted + count > INTERVAL_REFUSALS_MAX) return false;
    this.#counts.set(keyId, counted + count);
    this.#timer ??= setTimeout(() => this.#startInterval(), INTERVAL_MS);
    return true;
  }

  #startInterval(): void {
    this.#timer = undefined;
    this.#counts.clear();
    const mayCome = (keyId: string, { count }: WaitingRefusal) => this.#tryCount(keyId, count);
    let next = this.#waiting.take(mayCome);
    while (next !== undefined) {
      next.send();
      next = this.#waiting.take(mayCome);
    }
  }
}
