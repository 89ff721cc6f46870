/**
 * Counts requests in plain numbers, which prom-client reads on collection. A counter of prom-client
 * hashes the labels on every call, which takes longer than some answers.
 */

import { Counter, type Registry } from 'prom-client';
import { PlainHistogram } from './plain-histogram.ts';

/**
 * Upper bounds in seconds. An answer takes tens of microseconds; a request that takes longer had to
 * wait.
 */
const LATENCY_BUCKETS = [
  0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1,
];

export class RequestTally {
  /** The number of requests by type, then by status. */
  readonly #counts = new Map<string, Map<number, number>>();
  readonly #latency: PlainHistogram;

  constructor(registry: Registry) {
    const counts = this.#counts;
    new Counter({
      name: 'perpinfo_requests_total',
      help: 'Requests by type of question and status of the response.',
      labelNames: ['type', 'status'],
      registers: [registry],
      collect() {
        this.reset();
        for (const [type, byStatus] of counts) {
          for (const [status, requests] of byStatus) this.inc({ type, status }, requests);
        }
      },
    });
    this.#latency = new PlainHistogram({
      name: 'perpinfo_request_seconds',
      help: 'Seconds from the end of the headers to the response, by type of question.',
      label: 'type',
      buckets: LATENCY_BUCKETS,
      registry,
    });
  }

  /** Counts requests of one type that got the same status after the same time. */
  count(type: string, status: number, seconds: number, requests: number): void {
    let byStatus = this.#counts.get(type);
    if (byStatus === undefined) {
      byStatus = new Map();
      this.#counts.set(type, byStatus);
    }
    byStatus.set(status, (byStatus.get(status) ?? 0) + requests);
    this.#latency.observe(type, seconds, requests);
  }
}
