/**
 * Shares the budget at the upstream between keys. The next request is for the waiting key that has
 * received the least weight since it started to wait. One key never uses all of the weight that
 * other keys leave, so that some weight is left for a key that arrives later.
 */

import type { FairQueue, Keyed } from './fair-queue.ts';
import { WindowUsage } from './window-usage.ts';

/**
 * The part that one key may use of the weight that the other keys leave, and of the places for
 * requests in flight.
 */
const KEY_PART = 0.75;

/** The resources that keys share. */
export interface Shared {
  /** The weight that may be used in a window, and the weight that all keys have used. */
  readonly limit: number;
  readonly used: number;
  /** The maximum number of requests in flight. */
  readonly places: number;
  readonly nowMs: number;
}

export interface Turn<W> {
  readonly waiter: W;
  /** The key that the request is sent for; undefined if no key waits for the request. */
  readonly keyId: string | undefined;
}

interface KeyShare {
  readonly usage: WindowUsage;
  inFlight: number;
  /**
   * A measure of the weight that the key has received, compared with other keys. The key with the
   * lowest value is next.
   */
  progress: number;
}

export class KeyShares {
  readonly #shares = new Map<string, KeyShare>();
  /**
   * The progress of the key whose request was sent last. A key that did not wait starts at this
   * value.
   */
  #progress = 0;

  /**
   * Returns the next request and its key; returns undefined if every waiting key has used up its
   * part.
   */
  choose<W extends Keyed>({ lanes }: FairQueue<W>, shared: Shared): Turn<W> | undefined {
    let best: Turn<W> | undefined;
    let bestProgress = Number.POSITIVE_INFINITY;
    for (const [keyId, { waiting }] of lanes) {
      const progress = this.#progressOf(keyId);
      const [waiter] = waiting;
      if (progress >= bestProgress || !this.#mayUse(keyId, waiter.weight, shared)) continue;
      best = { waiter, keyId };
      bestProgress = progress;
    }
    return best;
  }

  #progressOf(keyId: string | undefined): number {
    const own = keyId === undefined ? 0 : (this.#shares.get(keyId)?.progress ?? 0);
    return Math.max(this.#progress, own);
  }

  #mayUse(keyId: string | undefined, weight: number, shared: Shared): boolean {
    const share = keyId === undefined ? undefined : this.#shares.get(keyId);
    if (share === undefined) return true;
    if (share.inFlight >= Math.max(1, Math.floor(shared.places * KEY_PART))) return false;
    return missingWeight(share, weight, shared) <= 0;
  }

  /**
   * Returns how long a request must wait for its key's part. `weight` includes the weight of the
   * requests before it.
   */
  waitMs(keyIds: readonly string[], weight: number, shared: Shared): number {
    const waits = keyIds.map((keyId) => {
      const share = this.#shares.get(keyId);
      const missing = share === undefined ? 0 : missingWeight(share, weight, shared);
      if (share === undefined || missing <= 0) return 0;
      return share.usage.releaseAtMs(missing, shared.nowMs) - shared.nowMs;
    });
    return waits.length === 0 ? 0 : Math.min(...waits);
  }

  /**
   * Notes that a request is sent for the key. The caller must call the returned function once, when
   * the request has ended.
   */
  start(keyId: string, weight: number, nowMs: number): KeyShare['usage']['end'] {
    const share = this.#shareOf(keyId, nowMs);
    this.#progress = this.#progressOf(keyId);
    share.progress = this.#progress + weight;
    share.inFlight++;
    share.usage.start(weight);
    return (...ended) => {
      share.inFlight--;
      share.usage.end(...ended);
    };
  }

  #shareOf(keyId: string, nowMs: number): KeyShare {
    const known = this.#shares.get(keyId);
    if (known !== undefined) return known;
    for (const [other, { usage, inFlight }] of this.#shares) {
      if (inFlight === 0 && usage.used(nowMs) === 0) this.#shares.delete(other);
    }
    const share = { usage: new WindowUsage(), inFlight: 0, progress: 0 };
    this.#shares.set(keyId, share);
    return share;
  }

  /**
   * Notes that the upstream has answered. From now on, it reads the requests that it had not read.
   */
  confirm(nowMs: number): void {
    for (const { usage } of this.#shares.values()) usage.confirm(nowMs);
  }
}

/**
 * Returns the weight that must leave the key's window before the key may send the request; returns
 * 0 or less if the key may send it now. The first request of a key is always possible.
 */
function missingWeight(
  { usage }: KeyShare,
  weight: number,
  { limit, used, nowMs }: Shared,
): number {
  const own = usage.used(nowMs);
  if (own === 0) return 0;
  return own + weight - KEY_PART * (limit - (used - own));
}
