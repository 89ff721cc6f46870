/** The weight that the stub has served, by the exchange's clock: what a follower must not exceed. */

/** The dialect's weights; written out here, so that a wrong one in the follower is seen. */
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

/** Requests in the last minute. */
export class ServedWeight {
  readonly #minuteMs: number;
  readonly #requests: { atMs: number; weight: number }[] = [];
  #inWindow = 0;
  /** The largest weight in any 60 s. */
  windowMax = 0;
  total = 0;
  readonly countByType: Record<string, number> = {};

  /** @param minuteMs how long a minute of the exchange takes */
  constructor(minuteMs: number) {
    this.#minuteMs = minuteMs;
  }

  /** Counts a request that has arrived, however it is answered. */
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
