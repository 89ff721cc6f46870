/**
 * A follower of more accounts than its budget keeps fresh, on a virtual clock: how old they become, by
 * the exchange's own clock, and what the exchange has counted.
 */

import { readFileSync } from 'node:fs';
import { isFollowed } from '../../../tools/stub-exchange/dialect-modes.ts';
import { VirtualClock } from '../virtual-clock.ts';
import { CompressedFollower } from './compressed-follower.ts';
import { VirtualExchange } from './virtual-exchange.ts';

const MINUTE_MS = 60_000;
const WAIT_MS = 5_000;
const PUSHED_USERS_MAX = 10;
/** The first full hour comes within the run. */
const START_TIME_MS = Date.UTC(2026, 0, 5, 11, 30);

export interface BudgetRunOptions {
  /** The file of the exchange's ledger. */
  readonly file: string;
  readonly accounts: number;
  /** Weight a minute, of the follower and of the exchange. */
  readonly budget: number;
  readonly sweepMs: number;
  /** Of the exchange, from the first question on. */
  readonly minutes: number;
  /** Between the exchange's blocks, each of which has some trades. */
  readonly blockMs: number;
}

/** Ages in milliseconds, at the end of a minute of the run. */
export interface AgeSample {
  readonly minute: number;
  /** Accounts that the ledger does not hold yet. */
  readonly unknown: number;
  readonly median: number;
  readonly p90: number;
  readonly max: number;
  /** As the follower reports them. */
  readonly told: { readonly median: number | null; readonly max: number | null };
}

export interface BudgetRunResult {
  readonly samples: readonly AgeSample[];
  /** Questions by the status that they were answered with. */
  readonly statuses: Readonly<Record<number, number>>;
  /** The largest weight in any minute, and how often the limit was exceeded. */
  readonly windowMax: number;
  readonly refused: number;
  readonly countByType: Readonly<Record<string, number>>;
  /** Of one account, how often a trade names it in an hour. */
  readonly tradesPerHour: number;
  readonly refusals: readonly string[];
  readonly warnings: readonly string[];
}

export async function runBudget(options: BudgetRunOptions): Promise<BudgetRunResult> {
  const { budget: limit, ...rest } = options;
  const clock = new VirtualClock();
  const shared = { seed: 'budget', startTimeMs: START_TIME_MS, limit, clock };
  const exchange = new VirtualExchange({ ...rest, ...shared });
  const run = new BudgetRun(exchange, clock, options);
  await run.run();
  return run.result;
}

class BudgetRun {
  readonly #exchange: VirtualExchange;
  readonly #clock: VirtualClock;
  readonly #options: BudgetRunOptions;
  readonly #follower: CompressedFollower;
  readonly #users: readonly string[];
  readonly #samples: AgeSample[] = [];
  readonly #statuses: Record<number, number> = {};
  readonly #asking = new Set<string>();

  constructor(exchange: VirtualExchange, clock: VirtualClock, options: BudgetRunOptions) {
    const { budget, sweepMs } = options;
    this.#exchange = exchange;
    this.#clock = clock;
    this.#options = options;
    this.#users = listUsers(options.file);
    const sizes = { budget, sweepMs, waitMs: WAIT_MS, usersMax: PUSHED_USERS_MAX, clock };
    this.#follower = CompressedFollower.followVirtual(exchange, sizes);
  }

  async run(): Promise<void> {
    const { minutes } = this.#options;
    // Each account is asked for once a minute, one after the other.
    const intervalMs = MINUTE_MS / this.#users.length;
    let index = 0;
    this.#clock.repeat(intervalMs, () => void this.#ask(this.#users[index++ % this.#users.length]));
    for (let minute = 1; minute <= minutes; minute++) {
      await this.#clock.advance(MINUTE_MS);
      this.#sample(minute);
    }
    await this.#follower.stop();
  }

  /** As a dashboard does: what is busy is asked for again later. */
  async #ask(user: string): Promise<void> {
    if (this.#asking.has(user)) return;
    this.#asking.add(user);
    const { status } = await this.#follower.ask({ type: 'clearinghouseState', user, dex: '' });
    this.#statuses[status] = (this.#statuses[status] ?? 0) + 1;
    this.#asking.delete(user);
  }

  #sample(minute: number): void {
    const { time } = this.#exchange;
    const { ages: told } = this.#follower.status;
    const times = this.#users.map((user) => this.#follower.accountTime(user));
    const known = times.filter((read) => read > 0);
    const ages = known.map((read) => Math.max(0, time - read)).sort((a, b) => a - b);
    const rank = (share: number) => ages[Math.floor((ages.length - 1) * share)] ?? 0;
    this.#samples.push({
      minute,
      unknown: times.length - known.length,
      median: rank(0.5),
      p90: rank(0.9),
      max: rank(1),
      told: { median: told.accountsMedian, max: told.accountsMax },
    });
  }

  get result(): BudgetRunResult {
    const { weight, refused, traders } = this.#exchange;
    const { refusals, warnings } = this.#follower;
    const hours = this.#options.minutes / 60;
    return {
      samples: this.#samples,
      statuses: this.#statuses,
      windowMax: weight.windowMax,
      refused,
      countByType: weight.countByType,
      tradesPerHour: traders / this.#users.length / hours,
      refusals,
      warnings,
    };
  }
}

/** Everyone whom the exchange's ledger names. */
/** Those whose accounts can be recorded: what is passed on has no age. */
function listUsers(file: string): string[] {
  const named = readFileSync(file, 'utf8').matchAll(/"user":"(0x[0-9a-f]{40})"/g);
  return [...new Set([...named].map(([, user]) => user))].filter(isFollowed);
}
