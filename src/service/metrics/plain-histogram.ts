/**
 * A histogram of seconds with one label. It counts in plain numbers, which prom-client reads on
 * collection. A histogram of prom-client hashes the labels on every call, which takes longer than
 * some answers.
 */

import type { Metric, Registry } from 'prom-client';

export interface HistogramOptions {
  readonly name: string;
  readonly help: string;
  readonly label: string;
  /** Upper bounds in seconds. */
  readonly buckets: readonly number[];
  readonly registry: Registry;
}

interface Tally {
  /**
   * The number of observations in each bucket. An observation is counted in the first bucket that
   * includes its value; the last bucket is +Inf.
   */
  readonly counts: Float64Array;
  seconds: number;
  total: number;
}

export class PlainHistogram {
  readonly #options: HistogramOptions;
  readonly #byLabel = new Map<string, Tally>();

  constructor(options: HistogramOptions) {
    this.#options = options;
    const { name, help, registry } = options;
    const description = { name, help, type: 'histogram', aggregator: 'sum' };
    const metric = {
      ...description,
      get: async () => ({ ...description, values: this.#values() }),
    };
    registry.registerMetric(metric as unknown as Metric);
  }

  /** Counts `count` observations that took the same time. */
  observe(label: string, seconds: number, count = 1): void {
    const { buckets } = this.#options;
    let tally = this.#byLabel.get(label);
    if (tally === undefined) {
      tally = { counts: new Float64Array(buckets.length + 1), seconds: 0, total: 0 };
      this.#byLabel.set(label, tally);
    }
    let bucket = 0;
    while (bucket < buckets.length && seconds > buckets[bucket]) bucket++;
    tally.counts[bucket] += count;
    tally.seconds += seconds * count;
    tally.total += count;
  }

  #values() {
    return [...this.#byLabel].flatMap(([label, tally]) => this.#valuesOf(label, tally));
  }

  #valuesOf(value: string, { counts, seconds, total }: Tally) {
    const { name, label, buckets } = this.#options;
    const labels = { [label]: value };
    let below = 0;
    const samples = [...buckets, '+Inf'].map((le, index) => {
      below += counts[index];
      return { labels: { le, ...labels }, value: below, metricName: `${name}_bucket` };
    });
    return [
      ...samples,
      { labels, value: seconds, metricName: `${name}_sum` },
      { labels, value: total, metricName: `${name}_count` },
    ];
  }
}
