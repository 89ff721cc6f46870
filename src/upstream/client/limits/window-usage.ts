/**
 * The weight that the upstream may count against us in its sliding window of a minute.
 *
 * The upstream counts a request when the request arrives: after it was sent, and before its
 * response ended. Here, a request counts from the time when it is sent until one window after its
 * response ended. So this count is never too low: take all requests that arrive within one window
 * of the upstream. When the last of these requests was sent, all of them were counted here.
 */

/** The length of the upstream's window. */
export const WINDOW_MS = 60_000;
/**
 * The time that is added to the window, because the clocks of two machines do not run at exactly
 * the same speed.
 */
const MARGIN_MS = 500;
/** Requests that end within this time leave the window together, so that the list stays short. */
const BUCKET_MS = 100;
/** The maximum time for which a server that hangs may leave a request unread. */
const UNKNOWN_MS_MAX = 300_000;

/**
 * Says whether the upstream counted a request. `arrived`: the upstream counted it before its
 * response ended. `unsent`: the request was never sent. `unknown`: we stopped waiting, and the
 * upstream may read the request later.
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
  /**
   * The ended requests in the order in which they leave the window, and the sum of their weights.
   */
  #ended: Bucket[] = [];
  #endedSum = 0;

  /** Notes that a request is sent. */
  start(weight: number): void {
    this.#inFlight += weight;
  }

  /**
   * Notes that a request has ended. `weight` is the value that was given to `start`, and `charged`
   * is the weight that the upstream charged.
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

  /** Adds weight that an earlier process has spent. The caller must add the oldest weight first. */
  restore(weight: number, endedMs: number): void {
    if (weight > 0) this.#add(weight, endedMs);
  }

  /**
   * Notes that the upstream has answered. From now on, it reads the requests that it had not read.
   */
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

  /** Returns the weight that may be in the upstream's window. */
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

  /** The time when the next weight leaves the window; undefined if this time is not known yet. */
  get nextReleaseMs(): number | undefined {
    return this.#ended[0]?.untilMs ?? (this.#unknown > 0 ? this.#unknownUntilMs : undefined);
  }

  /** Returns when `weight` will have left the window if all requests in flight end now. */
  releaseAtMs(weight: number, nowMs: number): number {
    let left = weight;
    for (const bucket of this.#ended) {
      left -= bucket.weight;
      if (left <= 0) return bucket.untilMs;
    }
    return nowMs + WINDOW_MS + MARGIN_MS;
  }
}
