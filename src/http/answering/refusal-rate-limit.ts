/**
 * A rate limit for refusals that no budget pays for. A client that asks again immediately after each
 * refusal would otherwise take as much of a worker's time as a client that is answered. So each key gets a
 * number of refusals in an interval; further refusals, and their connections, wait for the next interval.
 */

import type { RequestErrorCode } from '../../info/request-error.ts';
import type { Reply } from '../message/reply.ts';
import type { Cancellation } from './cancellation.ts';
import { RoundRobin } from './round-robin.ts';

const INTERVAL_MS = 20;
/** Refusals of a key in an interval: 500 a second, more than a client needs that waits as it is asked to. */
const INTERVAL_REFUSALS_MAX = 10;
/** A refusal that closes its connection, such as that of a body over the limit, costs as much as five others. */
const LAST_COUNTS = 5;

/** Codes with which a question to the exchange is refused free of charge, if the exchange was not asked. */
const FOLLOWER_CODES: ReadonlySet<RequestErrorCode> = new Set<RequestErrorCode>([
  'not_ready',
  'upstream_failed',
]);

/**
 * Whether the key has not paid for a refusal that it caused: its budget is spent, or what it may ask the
 * exchange, which is known late. A service that starts or is overloaded refuses everybody, at once.
 */
export function isUnpaid({ status, refusal, allowance }: Reply, isLate: boolean): boolean {
  if (refusal === undefined) return false;
  if (status === 429) return true;
  if (isLate && FOLLOWER_CODES.has(refusal.code)) return true;
  return status < 500 && allowance?.remaining === 0;
}

interface WaitingRefusal {
  readonly keyId: string;
  /** How many refusals it counts as. */
  readonly count: number;
  send(): void;
}

export class RefusalRateLimit {
  /** Refusals in this interval, by key. */
  readonly #counts = new Map<string, number>();
  readonly #waiting = new RoundRobin<WaitingRefusal>();
  #timer: NodeJS.Timeout | undefined;

  /** The reply, or a promise of the reply if the key has used up this interval. */
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

  /** Counts a refusal of the key; false if this interval's are used up. */
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
