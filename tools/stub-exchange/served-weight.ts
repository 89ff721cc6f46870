/**
 * The weight that the stub has served, by the exchange's clock. A follower must not exceed its
 * limit.
 */

/**
 * The weights of the dialect. They are repeated here, so that tests notice a wrong weight in the
 * follower.
 */
const LIGHT_TYPES: readonly unknown[] = [
  'clearinghouseState',
  'spotClearinghouseState',
  'allMids',
  'l2Book',
  'orderStatus',
  'exchangeStatus',
];

export function weightOfType(type: unknown): number {
  if (type === 'userRole') return 60;
  return LIGHT_TYPES.includes(type) ? 2 : 20;
}

/** The weight of the requests in the last minute. */
export class ServedWeight {
  readonly #minuteMs: number;
  readonly #requests: { atMs: number; weight: number }[] = [];
  #inWindow = 0;
  /** The largest weight in any 60 s. */
  windowMax = 0;
  total = 0;
  readonly countByType: Record<string, number> = {};

  /** @param minuteMs the duration of a minute of the exchange, in milliseconds of this machine */
  constructor(minuteMs: number) {
    this.#minuteMs = minuteMs;
  }

  /** Counts a request that has arrived, whatever its answer is. */
  add(type: string, weight: number, nowMs: number): void {
    this.#forget(nowMs);
    this.#requests.push({ atMs: nowMs, weight });
    this.#inWindow += weight;
    this.windowMax = Math.max(this.windowMax, this.#inWindow);
    this.total += weight;
    this.countByType[type] = (this.countByType[type] ?? 0) + 1;
  }

  inWindow(nowMs: number): number {
    this.#forget(nowMs);
    return this.#inWindow;
  }

  #forget(nowMs: number): void {
    while (this.#requests.length > 0 && this.#requests[0].atMs <= nowMs - this.#minuteMs) {
      this.#inWindow -= this.#requests.shift()?.weight ?? 0;
    }
  }
}
