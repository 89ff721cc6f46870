/**
 * The weight that the upstream may count against us in its sliding window of a minute.
 *
 * The upstream counts a request when it arrives: some time after it was sent and before its
 * response ended. Here, a request counts from the moment it is sent until one window after its
 * response ended. Take all requests that arrive within one window of the upstream: at the moment
 * when the last of them was sent, all of them were counted here.
 */

/** Length of the upstream's window. */
export const WINDOW_MS = 60_000;
/** Added to the window, because the clocks of two machines do not run at exactly the same speed. */
const MARGIN_MS = 500;
/** Requests that end within this time leave the window together. This keeps the list short. */
const BUCKET_MS = 100;
/** How long a server that hangs may leave a request unread. */
const UNKNOWN_MS_MAX = 300_000;

/**
 * Whether the upstream counted a request. `arrived`: yes, before its response ended. `unsent`: no,
 * it was never sent. `unknown`: we stopped waiting, and the upstream may read the request later.
 */
export type Arrival = 'arrived' | 'unsent' | 'unknown';

interface Bucket {
  readonly untilMs: number;
  weight: number;
}

export class WindowUsage {
  #inFlight = 0;
  #unknown = 0;
  #unknownUntilMs = 0;
  /** Ended requests in the order in which they leave the window, and the sum of their weights. */
  #ended: Bucket[] = [];
  #endedSum = 0;

  /** Notes that a request is sent. */
  start(weight: number): void {
    this.#inFlight += weight;
  }

  /**
   * Notes that a request has ended. `weight` is the value given to `start`, `charged` is the real
   * cost.
   */
  end(weight: number, charged: number, arrival: Arrival, nowMs: number): void {
    this.#inFlight -= weight;
    if (arrival === 'arrived') this.#add(charged, nowMs);
    if (arrival === 'unknown') {
      this.#dropExpired(nowMs);
      this.#unknown += charged;
      this.#unknownUntilMs = nowMs + UNKNOWN_MS_MAX;
    }
  }

  /**
   * Adds weight that an earlier process has spent. Calls come in the order of time, oldest first.
   */
  restore(weight: number, endedMs: number): void {
    if (weight > 0) this.#add(weight, endedMs);
  }

  /** The upstream has answered, so from now on it reads the requests that it had not read. */
  confirm(nowMs: number): void {
    if (this.#unknown > 0) this.#add(this.#unknown, nowMs);
    this.#unknown = 0;
  }

  #add(weight: number, endedMs: number): void {
    const untilMs = Math.ceil((endedMs + WINDOW_MS + MARGIN_MS) / BUCKET_MS) * BUCKET_MS;
    const last = this.#ended.at(-1);
    if (last?.untilMs === untilMs) last.weight += weight;
    else this.#ended.push({ untilMs, weight });
    this.#endedSum += weight;
  }

  /** The weight that may be in the upstream's window. */
  used(nowMs: number): number {
    this.#dropExpired(nowMs);
    return this.#inFlight + this.#unknown + this.#endedSum;
  }

  #dropExpired(nowMs: number): void {
    if (nowMs >= this.#unknownUntilMs) this.#unknown = 0;
    const kept = this.#ended.findIndex(({ untilMs }) => untilMs > nowMs);
    const gone = this.#ended.splice(0, kept === -1 ? this.#ended.length : kept);
    for (const { weight } of gone) this.#endedSum -= weight;
  }

  /** When the next weight leaves the window; undefined if that is not known yet. */
  get nextReleaseMs(): number | undefined {
    return this.#ended[0]?.untilMs ?? (this.#unknown > 0 ? this.#unknownUntilMs : undefined);
  }

  /** When `weight` will have left the window, if all requests in flight ended now. */
  releaseAtMs(weight: number, nowMs: number): number {
    let left = weight;
    for (const bucket of this.#ended) {
      left -= bucket.weight;
      if (left <= 0) return bucket.untilMs;
    }
    return nowMs + WINDOW_MS + MARGIN_MS;
  }
}
