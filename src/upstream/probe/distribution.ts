/** Collects durations in milliseconds, and summarizes them for the report. */

/**
 * The maximum number of durations. A probe takes at most an hour, and measures a few durations a
 * second.
 */
const SAMPLES_MAX = 20_000;

export interface Spread {
  readonly count: number;
  readonly medianMs: number;
  readonly p95Ms: number;
  readonly maxMs: number;
}

export class Distribution {
  readonly #samples: number[] = [];

  add(ms: number): void {
    if (this.#samples.length < SAMPLES_MAX) this.#samples.push(ms);
  }

  /** The summary of the durations; undefined if nothing was measured. */
  get spread(): Spread | undefined {
    const sorted = this.#samples.toSorted((first, second) => first - second);
    if (sorted.length === 0) return undefined;
    const at = (share: number) => Math.round(sorted[Math.floor((sorted.length - 1) * share)]);
    return { count: sorted.length, medianMs: at(0.5), p95Ms: at(0.95), maxMs: at(1) };
  }
}
