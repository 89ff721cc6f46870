/** What an operator watches, for Prometheus. No label ever holds a key, an address or a path. */

import { Counter, collectDefaultMetrics, Gauge, Histogram, type Registry } from 'prom-client';

/** Seconds. An answer takes tens of microseconds; what is slower waited for something. */
const LATENCY_BUCKETS = [
  0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1,
];

/** The type of requests that never came as far as having one. */
export const NO_TYPE = 'none';

export class Metrics {
  readonly #requests: Counter<'type' | 'status'>;
  readonly #latency: Histogram<'type'>;
  readonly #refusals: Counter;
  readonly #failures: Counter;
  readonly #connections: Gauge;
  readonly #subscriptions: Gauge;
  readonly #states: Counter;
  readonly #cutOffs: Counter;
  readonly #height: Gauge;
  readonly #time: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    collectDefaultMetrics({ register: registry, prefix: 'perpinfo_' });
    this.#requests = new Counter({
      name: 'perpinfo_requests_total',
      help: 'Requests by type of question and status of the response.',
      labelNames: ['type', 'status'],
      registers,
    });
    this.#latency = new Histogram({
      name: 'perpinfo_request_seconds',
      help: 'Seconds from the end of the headers to the response, by type of question.',
      labelNames: ['type'],
      buckets: LATENCY_BUCKETS,
      registers,
    });
    this.#refusals = new Counter({
      name: 'perpinfo_budget_refusals_total',
      help: "Requests refused because their key's budget was spent.",
      registers,
    });
    this.#failures = new Counter({
      name: 'perpinfo_internal_failures_total',
      help: 'Requests that met an error of our own; each is in the log.',
      registers,
    });
    this.#connections = new Gauge({
      name: 'perpinfo_push_connections',
      help: 'Push connections that are open.',
      registers,
    });
    this.#subscriptions = new Gauge({
      name: 'perpinfo_push_subscriptions',
      help: 'Subscriptions on them.',
      registers,
    });
    this.#states = new Counter({
      name: 'perpinfo_push_states_total',
      help: 'States that were pushed.',
      registers,
    });
    this.#cutOffs = new Counter({
      name: 'perpinfo_push_cut_off_total',
      help: 'Push connections that were cut off because they left too much unread.',
      registers,
    });
    this.#height = new Gauge({
      name: 'perpinfo_ledger_height',
      help: 'The height that answers come from (the lowest of all workers).',
      registers,
      aggregator: 'min',
    });
    this.#time = new Gauge({
      name: 'perpinfo_ledger_time_seconds',
      help: "The ledger's time at that height, in seconds since 1970 (the earliest of all workers).",
      registers,
      aggregator: 'min',
    });
    this.#addLag(registry);
  }

  #addLag(registry: Registry): void {
    const time = this.#time;
    new Gauge({
      name: 'perpinfo_ledger_lag_seconds',
      help: "How old the ledger's time is (the oldest of all workers).",
      registers: [registry],
      aggregator: 'max',
      async collect() {
        const [sample] = (await time.get()).values;
        this.set(sample === undefined ? 0 : Math.max(0, Date.now() / 1000 - sample.value));
      },
    });
  }

  countRequest(type: string, status: number, seconds: number): void {
    this.#requests.inc({ type, status });
    this.#latency.observe({ type }, seconds);
    if (status === 429) this.#refusals.inc();
  }

  countFailure(): void {
    this.#failures.inc();
  }

  countConnections(change: 1 | -1): void {
    this.#connections.inc(change);
  }

  countSubscriptions(change: 1 | -1): void {
    this.#subscriptions.inc(change);
  }

  countState(): void {
    this.#states.inc();
  }

  countCutOff(): void {
    this.#cutOffs.inc();
  }

  setLedger(height: number, timeMs: number): void {
    this.#height.set(height);
    this.#time.set(timeMs / 1000);
  }
}
