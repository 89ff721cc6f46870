/**
 * A queue of waiting requests. Each key has a lane with the requests that wait for this key, in the
 * order of arrival.
 */

export interface Keyed {
  readonly weight: number;
  /**
   * The ids of the keys that wait for the request; it is in the lane of each. Undefined if no key
   * waits for it.
   */
  readonly keyIds?: readonly string[] | undefined;
}

/** The lane of requests that no key waits for. */
const LANE_OF_NO_KEY = undefined;
type LaneName = string | undefined;

export interface Lane<W> {
  readonly waiting: Set<W>;
  /** The sum of their weights. */
  weight: number;
}

export class FairQueue<W extends Keyed> {
  readonly #lanes = new Map<LaneName, Lane<W>>();
  /** All waiting requests, and their lanes. */
  readonly #waiting = new Map<W, Set<LaneName>>();

  get size(): number {
    return this.#waiting.size;
  }

  /** The sum of all weights. */
  weight = 0;

  get lanes(): ReadonlyMap<LaneName, Lane<W>> {
    return this.#lanes;
  }

  add(waiter: W): void {
    this.#waiting.set(waiter, new Set());
    this.weight += waiter.weight;
    this.update(waiter);
  }

  /** Adds the request to the lanes of keys that have joined it. */
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

  /** False if the request is not in the queue. */
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

  /** Whether each of the request's keys has `max` or more waiting requests. */
  isFullFor({ keyIds }: Keyed, max: number): boolean {
    if (keyIds === undefined) return false;
    return keyIds.every((keyId) => (this.#lanes.get(keyId)?.waiting.size ?? 0) >= max);
  }

  /** The weight of the requests that wait for the keys. */
  weightOf(keyIds: readonly string[] | undefined): number {
    if (keyIds === undefined) return this.weight;
    return keyIds.reduce((sum, keyId) => sum + (this.#lanes.get(keyId)?.weight ?? 0), 0);
  }

  /**
   * The weight that is sent before a request that arrives now: the weight of its own keys, and from
   * each other key at most as much.
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
