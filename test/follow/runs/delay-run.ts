/**
 * One seeded run on a virtual clock: accounts are followed, something interrupts what is learned of
 * them, and meanwhile they trade. Of each change upstream: how long it takes until the ledger has an
 * answer of that time or later, and whether the follower has said that it is well all the while.
 */

import { formatAddress } from '../../../src/exact/address.ts';
import { formatUnits } from '../../../src/exact/decimal.ts';
import { answerQuestion } from '../../../src/info/read-question.ts';
import { Random } from '../../../src/simulator/random.ts';
import { FIRST_ACCOUNT } from '../../../src/state/addresses.ts';
import type { StateView } from '../../../src/state/state.ts';
import { isFollowed } from '../../../tools/stub-exchange/dialect-modes.ts';
import type { BlockNews } from '../../../tools/stub-exchange/exchange.ts';
import { VirtualClock } from '../virtual-clock.ts';
import { CompressedFollower } from './compressed-follower.ts';
import { VirtualExchange } from './virtual-exchange.ts';

const HALF_PAST_MS = Date.UTC(2026, 0, 5, 11, 30);
const BLOCK_MS = 500;
const STEP_MS = 100;
const SETTLED_MS = 15_000;
/** Between the trades that a run adds for the accounts that are followed. */
const TRADE_MS = 1_500;
/** How long a change may wait while the follower says that it is well. */
const HEALTHY_MS = 4_000;
const PATIENCE_MS = 400_000;
const POSITIONS_MAX = 8;
/** Trades with those who are followed. */
const OTHER = `0x${'9'.repeat(40)}`;

export interface DelayChoice {
  readonly seed: string;
  readonly file: string;
  readonly accounts: number;
  readonly followed: number;
  readonly budget: number;
}

/** What interrupts, and how long changes are looked at from then on. */
export interface Situation {
  readonly name: string;
  /** Before that, everything is as it should be; false: from the first moment on. */
  readonly isSettled: boolean;
  readonly lookMs: number;
  /** The time of the exchange at the start, if it matters. */
  readonly startTimeMs?: number;
  /** The dex whose changes are looked at. */
  readonly dex?: string;
  /** The coin that is traded, if it is not any. */
  readonly coin?: string;
  /** Accounts, if not as many as in the other situations. */
  readonly followed?: number;
  /** Only funding counts. */
  readonly isFunding?: boolean;
  interrupt(run: DelayRun): void;
}

interface Change {
  readonly user: string;
  readonly time: number;
  readonly atMs: number;
}

export interface DelayResult {
  /** In milliseconds, of each change. */
  readonly delays: readonly number[];
  /** Moments at which a change had waited for long, and the follower said that it was well. */
  readonly faults: readonly string[];
  /** How long the follower was not well. */
  readonly unhealthyMs: number;
  readonly weightMax: number;
  readonly refused: number;
}

export class DelayRun {
  readonly clock = new VirtualClock();
  readonly random: Random;
  readonly exchange: VirtualExchange;
  readonly #choice: DelayChoice;
  readonly #situation: Situation;
  readonly #users: readonly string[];
  #follower: CompressedFollower | undefined;
  /** Changes from this moment on count from it, at the earliest. */
  #backMs = 0;
  #isLooking = false;
  #open: Change[] = [];
  readonly #delays: number[] = [];
  readonly #faults: string[] = [];
  #unhealthyMs = 0;

  constructor(situation: Situation, choice: DelayChoice) {
    const { clock } = this;
    const { seed, file, accounts, budget: limit } = choice;
    this.#choice = choice;
    this.#situation = situation;
    this.random = new Random(seed);
    const fundingLateMs = Math.round(this.random.between(500, 10_000));
    const startTimeMs = situation.startTimeMs ?? HALF_PAST_MS;
    const sizes = { file, seed, accounts, startTimeMs, blockMs: BLOCK_MS, limit, fundingLateMs };
    this.exchange = new VirtualExchange({ ...sizes, clock });
    this.#users = this.#drawUsers();
    this.exchange.published = (news) => this.#note(news);
  }

  /**
   * Users whose accounts are recorded, with a few positions on the dex: market makers hold more, and trade
   * all the time.
   */
  #drawUsers(): string[] {
    const { dex = '' } = this.#situation;
    const users = new Set<string>();
    for (const user of listUsers(this.exchange.state).filter(isFollowed)) {
      const question = { type: 'clearinghouseState', user, dex };
      const { assetPositions } = JSON.parse(answerQuestion(this.exchange.state, question));
      if (assetPositions.length > 0 && assetPositions.length <= POSITIONS_MAX) users.add(user);
    }
    return draw(this.random, [...users], this.#choice.followed);
  }

  async run(): Promise<DelayResult> {
    const { isSettled, lookMs, dex = '' } = this.#situation;
    this.#start();
    const isOther = dex !== '';
    if (isSettled || isOther) await this.#settle('');
    if (isSettled && isOther) await this.#settle(dex);
    this.#isLooking = true;
    this.#situation.interrupt(this);
    if (!isSettled) this.#ask(dex);
    const endMs = this.clock.nowMs() + lookMs;
    while (this.clock.nowMs() < endMs) await this.#step();
    this.#isLooking = false;
    const lateMs = this.clock.nowMs() + PATIENCE_MS;
    while (this.#open.length > 0 && this.clock.nowMs() < lateMs) await this.#step();
    for (const { atMs } of this.#open) this.#delays.push(this.#waitedMs(atMs));
    await this.#follower?.stop();
    return this.#result;
  }

  #start(): void {
    const { clock } = this;
    const { budget, seed } = this.#choice;
    const sizes = { sweepMs: 60_000, waitMs: 5_000, usersMax: 0 };
    this.#follower = CompressedFollower.followVirtual(this.exchange, {
      ...{ ...sizes, budget, clock, seed },
    });
  }

  #ask(dex: string): void {
    for (const user of this.#users) void this.#askOne(user, dex);
  }

  async #askOne(user: string, dex: string): Promise<void> {
    const question = { type: 'clearinghouseState', user, dex };
    while ((await this.#follower?.ask(question))?.status !== 200) await this.clock.sleep(STEP_MS);
  }

  /** All accounts are known, and nothing waits. */
  async #settle(dex: string): Promise<void> {
    this.#ask(dex);
    const isKnown = (user: string) => (this.#follower?.accountTime(user, dex) ?? 0) > 0;
    const endMs = this.clock.nowMs() + PATIENCE_MS;
    while (!this.#users.every(isKnown) && this.clock.nowMs() < endMs) await this.#step();
    await this.clock.advance(SETTLED_MS + this.random.below(2_000));
    while (this.#follower?.status.isHealthy === false && this.clock.nowMs() < endMs)
      await this.#step();
  }

  async #step(): Promise<void> {
    if (this.#isLooking && this.random.chance(STEP_MS / TRADE_MS)) this.#addTrade();
    await this.clock.advance(STEP_MS);
    this.#sample();
  }

  /** Someone who is followed trades a small amount with someone who is not. */
  #addTrade(): void {
    const { isFunding, coin } = this.#situation;
    const { dex = '' } = this.#situation;
    const { markets } = this.exchange.state;
    const dexIndex = markets.findDex(dex);
    const traded = markets.markets.filter((market) => market.dexIndex === dexIndex);
    const market =
      coin === undefined ? this.random.pick(traded) : traded.find((one) => one.coin === coin);
    if (isFunding === true || market === undefined) return;
    const index = markets.findMarket(market.coin) ?? 0;
    const px = formatUnits(markets.markPrice(index), market.priceDecimals);
    const fill = {
      type: 'fill' as const,
      coin: market.coin,
      sz: formatUnits(1, market.sizeDecimals),
      px,
    };
    const [user, other] = [this.random.pick(this.#users), OTHER];
    this.exchange.add([
      { ...fill, user, side: 'B', fee: '0.0' },
      { ...fill, user: other, side: 'A', fee: '0.0' },
    ]);
  }

  #note({ time, trades, payments }: BlockNews): void {
    const { isFunding, coin: only } = this.#situation;
    if (!this.#isLooking) return;
    const all = isFunding
      ? payments
      : trades.flatMap(({ coin, users }) => users.map((user) => ({ coin, user })));
    const users = new Set<string>();
    for (const { coin, user } of all) {
      const isMeant = only === undefined ? this.#isOnDex(coin) : coin === only;
      if (isMeant && this.#users.includes(user)) users.add(user);
    }
    const atMs = this.clock.nowMs();
    for (const user of users) this.#open.push({ user, time, atMs });
  }

  #isOnDex(coin: string): boolean {
    const { markets } = this.exchange.state;
    const index = markets.findMarket(coin);
    const dexIndex = markets.findDex(this.#situation.dex ?? '');
    return index !== undefined && markets.markets[index].dexIndex === dexIndex;
  }

  /** Counted from the moment on at which it could be known. */
  #waitedMs(atMs: number): number {
    return this.clock.nowMs() - Math.max(atMs, this.#backMs);
  }

  #sample(): void {
    const { isHealthy = false } = this.#follower?.status ?? {};
    const nowMs = this.clock.nowMs();
    if (this.#isLooking && !isHealthy) this.#unhealthyMs += STEP_MS;
    const open: Change[] = [];
    for (const change of this.#open) {
      const readTime = this.#follower?.accountTime(change.user, this.#situation.dex) ?? 0;
      const waitedMs = this.#waitedMs(change.atMs);
      // What nobody has been answered yet is not late.
      if (readTime === 0) open.push({ ...change, atMs: nowMs });
      else if (readTime >= change.time) this.#delays.push(waitedMs);
      else {
        open.push(change);
        if (isHealthy && nowMs - change.atMs > HEALTHY_MS)
          this.#faults.push(`${waitedMs} ms at ${nowMs}`);
      }
    }
    this.#open = open;
  }

  async gone(ms: number): Promise<void> {
    this.exchange.setGone(true);
    this.#backMs = Number.POSITIVE_INFINITY;
    await this.clock.sleep(ms);
    this.exchange.setGone(false);
    this.#backMs = this.clock.nowMs();
  }

  /** A new market on the first dex. */
  list(coin: string): void {
    const marginTiers = [{ lowerBound: '0.0', maxLeverage: 10 }];
    const terms = { dex: '', coin, szDecimals: 1, marginTiers, onlyIsolated: false, markPx: '5.0' };
    this.exchange.add([{ type: 'market', ...terms }]);
  }

  get #result(): DelayResult {
    const { weight, refused } = this.exchange;
    return {
      delays: this.#delays,
      faults: this.#faults,
      unhealthyMs: this.#unhealthyMs,
      weightMax: weight.windowMax,
      refused,
    };
  }
}

function listUsers({ addresses }: StateView): string[] {
  const { table } = addresses;
  const rows = Array.from({ length: table.rowCount - 1 }, (_, index) => index + 1);
  return rows
    .filter((row) => table.get(row, FIRST_ACCOUNT) !== 0)
    .map((row) => formatAddress(addresses.addressOf(row)));
}

function draw<T>(random: Random, items: T[], count: number): T[] {
  const drawn: T[] = [];
  while (drawn.length < count && items.length > 0) {
    drawn.push(...items.splice(random.below(items.length), 1));
  }
  return drawn;
}
