/**
 * Limits the rate of refusals that no budget pays for. Without this limit, a client that asks again
 * immediately after each refusal would take as much of a worker's time as a client that is
 * answered. Each key gets a number of refusals in an interval. Further refusals, and their
 * connections, wait for the next interval.
 */

import type { Allowance } from '../../../access/budgets.ts';
import type { RequestError, RequestErrorCode } from '../../../info/request-error.ts';
import type { Reply } from '../../message/reply.ts';
import type { Cancellation } from '../cancellation.ts';
import { RoundRobin } from './round-robin.ts';

const INTERVAL_MS = 20;
/**
 * Maximum number of refusals of a key in an interval, which is 500 a second. A client that obeys
 * Retry-After needs fewer.
 */
const INTERVAL_REFUSALS_MAX = 10;
/**
 * A refusal that closes the connection, such as the refusal of a body over the limit, counts as
 * this many refusals.
 */
const LAST_COUNTS = 5;

/** After a wait, a refusal with one of these codes is free if the exchange was not asked. */
const FOLLOWER_CODES: ReadonlySet<RequestErrorCode> = new Set<RequestErrorCode>([
  'not_ready',
  'upstream_failed',
]);

/**
 * Returns true if the key caused a refusal without paying for it: the key's budget is spent, or the
 * key's share of the budget for the exchange is spent. The second case is only known after a wait
 * (`isLate`). Refusals because the service starts or is overloaded are not limited, because no key
 * caused them.
 */
export function isUnpaid(
  { refusal, allowance }: Pick<Reply, 'refusal' | 'allowance'>,
  isLate: boolean,
): boolean {
  if (refusal === undefined) return false;
  if (refusal.status === 429) return true;
  if (isLate && FOLLOWER_CODES.has(refusal.code)) return true;
  return refusal.status < 500 && allowance?.remaining === 0;
}

/**
 * A handled frame of a push connection. The frame asked no question, or its question was refused.
 */
export interface HandledFrame {
  /** Undefined if the frame was not refused. Example: a ping. */
  readonly refusal?: RequestError;
  /** The rest of the key's budget. */
  readonly allowance: Allowance | undefined;
  /** True if the refusal came after a wait. */
  readonly isLate?: boolean;
}

/**
 * Returns true if the key did not pay for the frame. Some frames are not refused although the
 * budget is spent.
 */
export function isFrameUnpaid({ refusal, allowance, isLate = false }: HandledFrame): boolean {
  if (refusal === undefined) return allowance?.remaining === 0;
  return isUnpaid({ refusal, allowance }, isLate);
}

interface WaitingRefusal {
  readonly keyId: string;
  /** The number of refusals that this refusal counts as: several if it closes the connection. */
  readonly count: number;
  send(): void;
}

export class RefusalRateLimit {
  /** Number of refusals in this interval, by key. */
  readonly #counts = new Map<string, number>();
  readonly #waiting = new RoundRobin<WaitingRefusal>();
  #timer: NodeJS.Timeout | undefined;

  /**
   * Returns the reply immediately. If the key has reached the limit of this interval, returns a
   * promise of the reply instead.
   */
  pass(reply: Reply, keyId: string, cancellation: Cancellation): Reply | Promise<Reply> {
    const turn = this.waitForTurn(keyId, cancellation, reply.isLast ? LAST_COUNTS : 1);
    return turn === undefined ? reply : turn.then(() => reply);
  }

  /**
   * Returns undefined if the key may be refused now; otherwise returns a promise that resolves when
   * the key may be refused.
   */
  waitForTurn(keyId: string, cancellation: Cancellation, count = 1): Promise<void> | undefined {
    if (cancellation.refusal !== undefined || this.#tryCount(keyId, count)) return undefined;
    return new Promise((resolve) => {
      const end = () => {
        this.#waiting.delete(refusal);
        resolve();
      };
      const send = () => {
        cancellation.delete(end);
        resolve();
      };
      const refusal = { keyId, count, send };
      this.#waiting.add(refusal);
      cancellation.add(end);
    });
  }

  /**
   * Counts a refusal of the key. Returns false if the key has reached the limit of this interval.
   */
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
