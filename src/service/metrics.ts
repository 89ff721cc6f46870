/** What an operator watches, for Prometheus. No label ever holds a key, an address or a path. */

import { Counter, collectDefaultMetrics, Gauge, type Registry } from 'prom-client';
import { RequestTally } from './request-tally.ts';

/** The type of requests that never came as far as having one. */
export const NO_TYPE = 'none';

/**
 * Why a connection leaves the fast lane: its head is not of the ordinary shape; a request came in
 * parts; the question is refused; the service stops.
 */
export type LaneExit = 'unusual' | 'partial' | 'refused' | 'draining';

export class Metrics {
  readonly #requests: RequestTally;
  readonly #refusals: Counter;
  readonly #failures: Counter;
  readonly #cacheFailures: Counter;
  readonly #openConnections: Gauge;
  readonly #refusedConnections: Counter;
  readonly #laneExits: Counter;
  readonly #connections: Gauge;
  readonly #subscriptions: Gauge;
  readonly #states: Counter;
  readonly #cutOffs: Counter;
  readonly #height: Gauge;
  readonly #time: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    collectDefaultMetrics({ register: registry, prefix: 'perpinfo_' });
    this.#requests = new RequestTally(registry);
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
    this.#cacheFailures = new Counter({
      name: 'perpinfo_cache_failures_total',
      help: 'Snapshots and notes that could not be written; answers do not depend on them.',
      registers,
    });
    this.#openConnections = new Gauge({
      name: 'perpinfo_connections',
      help: 'Connections that are open, of whatever kind.',
      registers,
    });
    this.#refusedConnections = new Counter({
      name: 'perpinfo_connections_refused_total',
      help: 'Connections that were closed at once because there were enough.',
      registers,
    });
    this.#laneExits = new Counter({
      name: 'perpinfo_fast_lane_exits_total',
      help: "Connections that went from the fast lane to Node's HTTP server, by what made them.",
      labelNames: ['reason'],
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
      help: 'Push connections that were cut off: too much left unread, or a bound of the protocol overstepped.',
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
    this.#requests.count(type, status, seconds, 1);
    if (status === 429) this.#refusals.inc();
  }

  /** Counts answers that went out together. */
  countAnswers(type: string, seconds: number, answers: number): void {
    this.#requests.count(type, 200, seconds, answers);
  }

  countFailure(): void {
    this.#failures.inc();
  }

  countCacheFailure(): void {
    this.#cacheFailures.inc();
  }

  countOpenConnections(change: 1 | -1): void {
    this.#openConnections.inc(change);
  }

  countRefusedConnection(): void {
    this.#refusedConnections.inc();
  }

  countLaneExit(reason: LaneExit): void {
    this.#laneExits.inc({ reason });
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
