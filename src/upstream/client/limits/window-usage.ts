/**
 * What the upstream may count against us in its sliding window of a minute.
 *
 * The upstream counts a request when it arrives: some time after it was sent and before its response
 * ended. A request therefore counts here from the moment it is sent until a window after its response
 * ended. Whatever arrives within one window of the upstream was then counted here at one moment: when
 * the last of it was sent.
 */

/** The upstream's window. */
export const WINDOW_MS = 60_000;
/** The clocks of two machines do not run at the same speed. */
const MARGIN_MS = 500;
/** Requests that end within this time leave the window together, so that the list stays short. */
const BUCKET_MS = 100;
/** How long a request may lie unread on a server that hangs. */
const UNKNOWN_MS_MAX = 300_000;

/**
 * Whether the upstream counted a request: it arrived before its response ended; it was never sent; or
 * it is unknown, because we stopped waiting, and the upstream may read it later.
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

  /** A request is being sent. */
  start(weight: number): void {
    this.#inFlight += weight;
  }

  /** A request that was started with the weight has ended, and cost `charged`. */
  end(weight: number, charged: number, arrival: Arrival, nowMs: number): void {
    this.#inFlight -= weight;
    if (arrival === 'arrived') this.#add(charged, nowMs);
    if (arrival === 'unknown') {
      this.#dropExpired(nowMs);
      this.#unknown += charged;
      this.#unknownUntilMs = nowMs + UNKNOWN_MS_MAX;
    }
  }

  /** An earlier process has spent the weight; oldest first. */
  restore(weight: number, endedMs: number): void {
    if (weight > 0) this.#add(weight, endedMs);
  }

  /** The upstream has answered: what it had not read yet, it reads now. */
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

  /** When so much weight will have left the window, if what is in flight ends now. */
  releaseAtMs(weight: number, nowMs: number): number {
    let left = weight;
    for (const bucket of this.#ended) {
      left -= bucket.weight;
      if (left <= 0) return bucket.untilMs;
    }
    return nowMs + WINDOW_MS + MARGIN_MS;
  }
}
