/**
 * Counts requests in plain numbers, which prom-client reads on collection. Its own counters hash the
 * labels on every call, which takes longer than some answers.
 */

import { Counter, type Metric, type Registry } from 'prom-client';

/** Upper bounds in seconds. An answer takes tens of microseconds; a slower one had to wait. */
const LATENCY_BUCKETS = [
  0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1,
];
const LATENCY_NAME = 'perpinfo_request_seconds';

class TypeTally {
  readonly requestsByStatus = new Map<number, number>();
  /** By the first bucket that holds them; the last one is +Inf. */
  readonly requestsByBucket = new Float64Array(LATENCY_BUCKETS.length + 1);
  seconds = 0;
  requests = 0;

  count(status: number, seconds: number, requests: number): void {
    this.requestsByStatus.set(status, (this.requestsByStatus.get(status) ?? 0) + requests);
    let bucket = 0;
    while (bucket < LATENCY_BUCKETS.length && seconds > LATENCY_BUCKETS[bucket]) bucket++;
    this.requestsByBucket[bucket] += requests;
    this.seconds += seconds * requests;
    this.requests += requests;
  }
}

export class RequestTally {
  readonly #byType = new Map<string, TypeTally>();

  constructor(registry: Registry) {
    const byType = this.#byType;
    new Counter({
      name: 'perpinfo_requests_total',
      help: 'Requests by type of question and status of the response.',
      labelNames: ['type', 'status'],
      registers: [registry],
      collect() {
        this.reset();
        for (const [type, { requestsByStatus }] of byType) {
          for (const [status, requests] of requestsByStatus) this.inc({ type, status }, requests);
        }
      },
    });
    registry.registerMetric(this.#latency() as unknown as Metric);
  }

  /** Counts requests of one type that got the same status after the same time. */
  count(type: string, status: number, seconds: number, requests: number): void {
    let tally = this.#byType.get(type);
    if (tally === undefined) {
      tally = new TypeTally();
      this.#byType.set(type, tally);
    }
    tally.count(status, seconds, requests);
  }

  /** A histogram for the registry; prom-client's own counts one request per call. */
  #latency() {
    const description = {
      name: LATENCY_NAME,
      help: 'Seconds from the end of the headers to the response, by type of question.',
      type: 'histogram',
      aggregator: 'sum',
    };
    const values = () => [...this.#byType].flatMap(([type, tally]) => histogramOf(type, tally));
    return { ...description, get: async () => ({ ...description, values: values() }) };
  }
}

function histogramOf(type: string, { requestsByBucket, seconds, requests }: TypeTally) {
  let below = 0;
  const buckets = [...LATENCY_BUCKETS, '+Inf'].map((le, index) => {
    below += requestsByBucket[index];
    return { labels: { le, type }, value: below, metricName: `${LATENCY_NAME}_bucket` };
  });
  const labels = { type };
  return [
    ...buckets,
    { labels, value: seconds, metricName: `${LATENCY_NAME}_sum` },
    { labels, value: requests, metricName: `${LATENCY_NAME}_count` },
  ];
}
