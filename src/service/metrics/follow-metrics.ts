/**
 * The metrics of a follower. On each collection, the values are read from the follower's last
 * report. Every worker has the same report, so the values of the workers are not added up.
 */

import { Counter, Gauge, type Registry } from 'prom-client';
import type { FollowAges, FollowStatus } from '../../upstream/channel/follower-client.ts';

/** The value of the label `of` for each age in a report. */
const AGES: Readonly<Record<keyof FollowAges, string>> = {
  marks: 'marks',
  otherMarks: 'other_marks',
  markets: 'markets',
  stream: 'stream',
  accountsMedian: 'accounts_median',
  accountsMax: 'accounts_max',
};

type ReadReport = () => FollowStatus | undefined;

export class FollowMetrics {
  readonly #registry: Registry;
  readonly #read: ReadReport;

  /**
   * `read` returns undefined if the ledger does not follow an exchange, or if no follower reports.
   */
  constructor(registry: Registry, read: ReadReport) {
    this.#registry = registry;
    this.#read = read;
    this.#addAges();
    this.#addGauge('healthy', '1 if the exchange answers the follower, 0 if it fails.', (status) =>
      status.isHealthy ? 1 : 0,
    );
    this.#addGauge(
      'accounts',
      'Accounts and lists of delegations that are followed.',
      (status) => status.followed,
    );
    this.#addGauge(
      'budget_limit',
      'Weight a minute that the follower may spend.',
      (status) => status.budget?.limit,
    );
    this.#addGauge(
      'budget_left',
      'What is left of that weight now.',
      (status) => status.budget?.left,
    );
    this.#addGauge(
      'skipped',
      "Elements of the exchange's lists that cannot be used.",
      (status) => status.skipped?.count ?? 0,
    );
    this.#addGauge(
      'left_out',
      'Subscriptions that the exchange does not take.',
      (status) => status.leftOut.count,
    );
    this.#addLeftOutNames();
    this.#addCounts('mismatches', 'Figures that our formulas do not give, by field.');
    this.#addCounts('surprises', 'Changes that nothing known explains, by field.');
  }

  #addAges(): void {
    const read = this.#read;
    new Gauge({
      name: 'perpinfo_follow_age_seconds',
      help: 'How old what was read from the exchange is, by what it is.',
      labelNames: ['of'],
      aggregator: 'max',
      registers: [this.#registry],
      collect() {
        this.reset();
        const ages = read()?.ages;
        if (ages === undefined) return;
        for (const [name, of] of Object.entries(AGES)) {
          const ageMs = ages[name as keyof FollowAges];
          if (ageMs !== null) this.set({ of }, ageMs / 1000);
        }
      },
    });
  }

  /**
   * Adds a metric for each subscription that is left out. The report limits the number of these
   * subscriptions.
   */
  #addLeftOutNames(): void {
    const read = this.#read;
    new Gauge({
      name: 'perpinfo_follow_left_out_info',
      help: '1 for each subscription that the exchange does not take, by name.',
      labelNames: ['subscription'],
      aggregator: 'max',
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const { subscription } of read()?.leftOut.named ?? []) this.set({ subscription }, 1);
      },
    });
  }

  #addGauge(name: string, help: string, of: (status: FollowStatus) => number | undefined): void {
    const read = this.#read;
    new Gauge({
      name: `perpinfo_follow_${name}`,
      help,
      aggregator: 'min',
      registers: [this.#registry],
      collect() {
        const status = read();
        const value = status === undefined ? undefined : of(status);
        if (value === undefined) this.remove();
        else this.set(value);
      },
    });
  }

  #addCounts(name: keyof FollowStatus['counters'], help: string): void {
    const read = this.#read;
    new Counter({
      name: `perpinfo_follow_${name}_total`,
      help,
      labelNames: ['field'],
      aggregator: 'max',
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const [field, count] of Object.entries(read()?.counters[name] ?? {})) {
          this.inc({ field }, count);
        }
      },
    });
  }
}
