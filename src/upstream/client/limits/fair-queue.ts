/**
 * A queue of waiting requests. Each key has a lane: the requests that wait for this key, in the
 * order of arrival.
 */

export interface Keyed {
  readonly weight: number;
  /**
   * The ids of the keys that wait for the request. The request is in the lane of each of these
   * keys. Undefined if no key waits for the request.
   */
  readonly keyIds?: readonly string[] | undefined;
}

/** The lane of the requests that no key waits for. */
const LANE_OF_NO_KEY = undefined;
type LaneName = string | undefined;

export interface Lane<W> {
  readonly waiting: Set<W>;
  /** The sum of the weights of these requests. */
  weight: number;
}

export class FairQueue<W extends Keyed> {
  readonly #lanes = new Map<LaneName, Lane<W>>();
  /** All waiting requests, with the lanes of each. */
  readonly #waiting = new Map<W, Set<LaneName>>();

  get size(): number {
    return this.#waiting.size;
  }

  /** The sum of the weights of all waiting requests. */
  weight = 0;

  get lanes(): ReadonlyMap<LaneName, Lane<W>> {
    return this.#lanes;
  }

  add(waiter: W): void {
    this.#waiting.set(waiter, new Set());
    this.weight += waiter.weight;
    this.update(waiter);
  }

  /** Adds the request to the lanes of the keys that have started to wait for it. */
  update(waiter: W): void {
    const names = this.#waiting.get(waiter);
    if (names === undefined) return;
    for (const name of waiter.keyIds ?? [LANE_OF_NO_KEY]) {
      if (names.has(name)) continue;
      names.add(name);
      const lane = this.#lanes.get(name) ?? { waiting: new Set(), weight: 0 };
      this.#lanes.set(name, lane);
      lane.waiting.add(waiter);
      lane.weight += waiter.weight;
    }
  }

  /** Removes the request; returns false if it is not in the queue. */
  remove(waiter: W): boolean {
    const names = this.#waiting.get(waiter);
    if (names === undefined) return false;
    this.#waiting.delete(waiter);
    this.weight -= waiter.weight;
    for (const name of names) {
      const lane = this.#lanes.get(name) as Lane<W>;
      lane.waiting.delete(waiter);
      lane.weight -= waiter.weight;
      if (lane.waiting.size === 0) this.#lanes.delete(name);
    }
    return true;
  }

  /** Empties the queue, and returns the requests that were in it. */
  clear(): readonly W[] {
    const all = [...this.#waiting.keys()];
    for (const waiter of all) this.remove(waiter);
    return all;
  }

  /** Returns true if each of the request's keys has `max` or more waiting requests. */
  isFullFor({ keyIds }: Keyed, max: number): boolean {
    if (keyIds === undefined) return false;
    return keyIds.every((keyId) => (this.#lanes.get(keyId)?.waiting.size ?? 0) >= max);
  }

  /** Returns the weight of the requests that wait for these keys. */
  weightOf(keyIds: readonly string[] | undefined): number {
    if (keyIds === undefined) return this.weight;
    return keyIds.reduce((sum, keyId) => sum + (this.#lanes.get(keyId)?.weight ?? 0), 0);
  }

  /**
   * Returns the weight that is sent before a request that arrives now. It is the sum of three
   * weights: the weight that waits for the request's keys; the weight that waits for no key; and
   * for each other key, at most the weight that the request's keys have together with this request.
   */
  weightBefore({ weight, keyIds }: Keyed): number {
    if (keyIds === undefined) return this.weight;
    const own = this.weightOf(keyIds);
    let before = own;
    for (const [name, lane] of this.#lanes) {
      if (name === LANE_OF_NO_KEY) before += lane.weight;
      else if (!keyIds.includes(name)) before += Math.min(lane.weight, own + weight);
    }
    return before;
  }
}
