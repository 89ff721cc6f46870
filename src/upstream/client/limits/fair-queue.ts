/** Requests that wait, by the keys that wait for them: each key has a lane, in the order of arrival. */

export interface Keyed {
  readonly weight: number;
  /** The ids of the keys that wait for it, all of which have it in their lane; undefined if none does. */
  readonly keyIds?: readonly string[] | undefined;
}

/** The lane of what no key waits for. */
const LANE_OF_NO_KEY = undefined;
type LaneName = string | undefined;

export interface Lane<W> {
  readonly waiting: Set<W>;
  /** The sum of their weights. */
  weight: number;
}

export class FairQueue<W extends Keyed> {
  readonly #lanes = new Map<LaneName, Lane<W>>();
  /** All that wait, and in which lanes. */
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

  /** More keys may wait for it than before. */
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

  /** False if it does not wait here. */
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

  /** All of them, which then wait no more. */
  clear(): readonly W[] {
    const all = [...this.#waiting.keys()];
    for (const waiter of all) this.remove(waiter);
    return all;
  }

  /** Whether the request's keys have so many waiting already, each of them. */
  isFullFor({ keyIds }: Keyed, max: number): boolean {
    if (keyIds === undefined) return false;
    return keyIds.every((keyId) => (this.#lanes.get(keyId)?.waiting.size ?? 0) >= max);
  }

  /** The weight that waits for the keys. */
  weightOf(keyIds: readonly string[] | undefined): number {
    if (keyIds === undefined) return this.weight;
    return keyIds.reduce((sum, keyId) => sum + (this.#lanes.get(keyId)?.weight ?? 0), 0);
  }

  /** The weight that is sent before a request that comes now: of each other key as much as of its own. */
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
