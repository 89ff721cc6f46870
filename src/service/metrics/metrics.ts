/** The metrics, for Prometheus. No label contains a key, an address or a path. */

import {
  Counter,
  collectDefaultMetrics,
  Gauge,
  type GaugeConfiguration,
  type Registry,
} from 'prom-client';
import type { Counters, LaneExit, Work } from '../../http/answering/counters.ts';
import { PlainHistogram } from './plain-histogram.ts';
import { RequestTally } from './request-tally.ts';

const COUNTERS = {
  budgetRefusals: {
    name: 'perpinfo_budget_refusals_total',
    help: 'Requests refused with 429: budget spent, or too many push connections.',
  },
  failures: {
    name: 'perpinfo_internal_failures_total',
    help: 'Requests that failed because of a bug; the first 30 of a minute are in the log.',
  },
  cacheFailures: {
    name: 'perpinfo_cache_failures_total',
    help: 'Snapshots and last uses of keys that could not be saved; answers do not depend on them.',
  },
  refusedConnections: {
    name: 'perpinfo_connections_refused_total',
    help: 'Connections over the limit, closed at once.',
  },
  laneExits: {
    name: 'perpinfo_fast_lane_exits_total',
    help: "Connections that went from the fast lane to Node's HTTP server, by reason.",
    labelNames: ['reason'],
  },
  states: {
    name: 'perpinfo_push_states_total',
    help: 'Pushed states.',
  },
  cutOffs: {
    name: 'perpinfo_push_cut_off_total',
    help: 'Push connections closed for unread data or a violated limit.',
  },
} satisfies MetricTable;

const GAUGES = {
  openConnections: {
    name: 'perpinfo_connections',
    help: 'Open connections of every kind.',
  },
  pushConnections: {
    name: 'perpinfo_push_connections',
    help: 'Open push connections.',
  },
  subscriptions: {
    name: 'perpinfo_push_subscriptions',
    help: 'Subscriptions on push connections.',
  },
  height: {
    name: 'perpinfo_ledger_height',
    help: 'The height that answers come from (the lowest of all workers).',
    aggregator: 'min',
  },
  time: {
    name: 'perpinfo_ledger_time_seconds',
    help: "The ledger's time at that height, in seconds since 1970 (the earliest of all workers).",
    aggregator: 'min',
  },
} satisfies MetricTable;

/** Upper bounds in seconds. A piece of work should take a few milliseconds at most. */
const WORK_BUCKETS = [0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.512];

type MetricTable = Readonly<
  Record<string, Omit<GaugeConfiguration<string>, 'registers' | 'collect'>>
>;

/** Creates one metric for each row of a table. */
function createMetrics<T extends MetricTable, M>(
  table: T,
  create: (row: MetricTable[string]) => M,
): Record<keyof T, M> {
  const entries = Object.entries(table).map(([key, row]) => [key, create(row)]);
  return Object.fromEntries(entries) as Record<keyof T, M>;
}

export class Metrics implements Counters {
  readonly #requests: RequestTally;
  readonly #counters: Record<keyof typeof COUNTERS, Counter>;
  readonly #gauges: Record<keyof typeof GAUGES, Gauge>;
  readonly #work: PlainHistogram;
  /** The ledger's time, converted to a time of the monotonic clock. */
  #monotonicTimeMs = performance.now();

  constructor(registry: Registry) {
    const registers = [registry];
    collectDefaultMetrics({ register: registry, prefix: 'perpinfo_' });
    this.#requests = new RequestTally(registry);
    this.#counters = createMetrics(COUNTERS, (row) => new Counter({ ...row, registers }));
    this.#gauges = createMetrics(GAUGES, (row) => new Gauge({ ...row, registers }));
    this.#work = new PlainHistogram({
      name: 'perpinfo_work_seconds',
      help: 'Seconds of each piece of work that others wait for, by kind of work.',
      label: 'work',
      buckets: WORK_BUCKETS,
      registry,
    });
    this.#addLag(registry);
  }

  /**
   * The lag is computed on collection, because it grows while no block arrives, even if the system
   * clock is set back.
   */
  #addLag(registry: Registry): void {
    const { time } = this.#gauges;
    const monotonicAge = () => (performance.now() - this.#monotonicTimeMs) / 1000;
    new Gauge({
      name: 'perpinfo_ledger_lag_seconds',
      help: "How old the ledger's time is (the oldest of all workers); below 0 if it is ahead of the clock.",
      registers: [registry],
      aggregator: 'max',
      async collect() {
        const [sample] = (await time.get()).values;
        const age = Date.now() / 1000 - (sample?.value ?? 0);
        this.set(sample === undefined ? 0 : Math.max(monotonicAge(), age));
      },
    });
  }

  countRequests(type: string, status: number, seconds: number, count: number): void {
    this.#requests.count(type, status, seconds, count);
    if (status === 429) this.#counters.budgetRefusals.inc(count);
  }

  countWork(work: Work, seconds: number): void {
    this.#work.observe(work, seconds);
  }

  countFailure(): void {
    this.#counters.failures.inc();
  }

  countCacheFailure(): void {
    this.#counters.cacheFailures.inc();
  }

  countOpenConnections(change: 1 | -1): void {
    this.#gauges.openConnections.inc(change);
  }

  countRefusedConnection(): void {
    this.#counters.refusedConnections.inc();
  }

  countLaneExit(reason: LaneExit): void {
    this.#counters.laneExits.inc({ reason });
  }

  countPushConnections(change: 1 | -1): void {
    this.#gauges.pushConnections.inc(change);
  }

  countSubscriptions(change: 1 | -1): void {
    this.#gauges.subscriptions.inc(change);
  }

  countStates(count: number): void {
    this.#counters.states.inc(count);
  }

  countCutOff(): void {
    this.#counters.cutOffs.inc();
  }

  setLedger(height: number, timeMs: number): void {
    this.#gauges.height.set(height);
    this.#gauges.time.set(timeMs / 1000);
    // While the ledger's time is ahead of the clock, this value is in the future, and the age is
    // below 0.
    this.#monotonicTimeMs = performance.now() - (Date.now() - timeMs);
  }
}
