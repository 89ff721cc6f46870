/**
 * How keys share what may be asked of the upstream. Of those that wait, the key goes next that has been
 * given the least since it began to wait, by weight; and no key uses all that the others leave, so that
 * there is something for a key that comes later.
 */

import type { FairQueue, Keyed } from './fair-queue.ts';
import { WindowUsage } from './window-usage.ts';

/** The part that one key may use of the weight that the others leave, and of the places in flight. */
const KEY_PART = 0.75;

/** What there is to share. */
export interface Shared {
  /** The weight that may be used in a window, and what is used of it by all. */
  readonly limit: number;
  readonly used: number;
  /** Maximum number of requests in flight. */
  readonly places: number;
  readonly nowMs: number;
}

export interface Turn<W> {
  readonly waiter: W;
  /** Undefined if it is for no key. */
  readonly keyId: string | undefined;
}

interface KeyShare {
  readonly usage: WindowUsage;
  inFlight: number;
  /** How far the key has come: by the weight that it was given. */
  progress: number;
}

export class KeyShares {
  readonly #shares = new Map<string, KeyShare>();
  /** How far the key had come that was served last: keys that did not wait start from here. */
  #progress = 0;

  /** Whose turn it is; undefined if all of them have to wait for their own key's part. */
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

  /** How long a request has to wait for its key's own part, after so much that waits already. */
  waitMs(keyIds: readonly string[], weight: number, shared: Shared): number {
    const waits = keyIds.map((keyId) => {
      const share = this.#shares.get(keyId);
      const missing = share === undefined ? 0 : missingWeight(share, weight, shared);
      if (share === undefined || missing <= 0) return 0;
      return share.usage.releaseAtMs(missing, shared.nowMs) - shared.nowMs;
    });
    return waits.length === 0 ? 0 : Math.min(...waits);
  }

  /** A request is being sent for the key. To be called back once, when it has ended. */
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

  /** The upstream has answered: what it had not read yet, it reads now. */
  confirm(nowMs: number): void {
    for (const { usage } of this.#shares.values()) usage.confirm(nowMs);
  }
}

/** What a key has used too much for a request of the weight. A key's first request always fits. */
function missingWeight(
  { usage }: KeyShare,
  weight: number,
  { limit, used, nowMs }: Shared,
): number {
  const own = usage.used(nowMs);
  if (own === 0) return 0;
  return own + weight - KEY_PART * (limit - (used - own));
}
