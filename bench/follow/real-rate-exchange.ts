/**
 * An exchange with the size and the pace of the real exchange, in this process and on a virtual
 * clock. It has 525 markets, of which 100 get another mark every second. Its accounts trade, and
 * pay funding every hour.
 */

import { parseBlock } from '../../src/events/event.ts';
import { formatUnits } from '../../src/exact/decimal.ts';
import { Random } from '../../src/simulator/random.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState } from '../../src/state/state.ts';
import type { PushHandler } from '../../src/upstream/client/push/upstream-push.ts';
import type { UpstreamSubscription } from '../../src/upstream/client/push/upstream-subscription.ts';
import type { PostOutcome } from '../../src/upstream/client/upstream-http.ts';
import type { FollowPush } from '../../src/upstream/follower/push/follow-subscriptions.ts';
import type { VirtualClock } from '../../test/follow/virtual-clock.ts';
import { DialectAnswers, type Question } from '../../tools/stub-exchange/dialect-answers.ts';

const MARKETS = 525;
/** The number of listed markets. The other markets are delisted, so their marks do not change. */
const LISTED = 326;
const CHANGED_A_SECOND = 100;
const SECOND_MS = 1_000;
/**
 * The seconds between two pushes of the subscribed accounts. The interval of the real exchange is
 * not recorded.
 */
const STATES_SECONDS = 3;
const HOUR_MS = 3_600_000;
/** The time from a request to its response, and from a connection to its first message. */
const WAY_MS = 50;
const SIZE_DECIMALS = 2;
const PRICE_DECIMALS = 4;
/** Marks have five digits. */
const DIGITS_FROM = 10_000;
const DIGITS_TO = 99_999;
/**
 * With a warm-up of ten minutes, the measured hour starts at half past, so that a full hour is in
 * its middle.
 */
const START_TIME_MS = Date.UTC(2026, 0, 5, 11, 20);

export interface RealRate {
  readonly accounts: number;
  readonly positions: number;
  /** The number of markets in which there are positions. */
  readonly markets: number;
  /** The number of trades of each account. */
  readonly tradesPerHour: number;
}

interface Mark {
  digits: number;
  readonly power: number;
}

interface TradeMessage {
  readonly coin: string;
  readonly users: readonly string[];
}

export class RealRateExchange {
  readonly users: readonly string[];
  readonly #rate: RealRate;
  readonly #clock: VirtualClock;
  readonly #random = new Random('real rate');
  readonly #state = createState();
  readonly #answers = new DialectAnswers({ unknownTypes: [] });
  readonly #marks: readonly Mark[];
  readonly #coinsOf = new Map<string, readonly number[]>();
  readonly #pushes = new Set<RatePush>();
  #fillCount = 0;

  constructor(clock: VirtualClock, rate: RealRate) {
    this.#clock = clock;
    this.#rate = rate;
    this.#marks = Array.from({ length: MARKETS }, (_, index) => ({
      digits: DIGITS_FROM + this.#random.below(DIGITS_TO - DIGITS_FROM),
      power: index % 5,
    }));
    this.users = Array.from({ length: rate.accounts }, (_, index) => userOf(index));
    this.#apply(this.#marks.map((_, index) => this.#describeMarket(index)));
    for (const user of this.users) this.#apply([this.#describeAccount(user)]);
    clock.repeat(SECOND_MS, () => this.#step());
  }

  #apply(events: readonly object[]): void {
    const height = this.#state.height + 1;
    const time = START_TIME_MS + Math.floor(this.#clock.nowMs());
    applyBlock(this.#state, parseBlock(JSON.stringify({ height, time, events })));
  }

  #textOf(market: number): string {
    const { digits, power } = this.#marks[market];
    return formatUnits(digits * 10 ** power, PRICE_DECIMALS);
  }

  #describeMarket(index: number) {
    const marginTiers = [{ lowerBound: '0.0', maxLeverage: 20 }];
    const [coin, markPx] = [coinOf(index), this.#textOf(index)];
    const terms = { szDecimals: SIZE_DECIMALS, marginTiers, onlyIsolated: false };
    return { type: 'market', dex: '', coin, ...terms, markPx };
  }

  #describeAccount(user: string) {
    const { positions: count, markets } = this.#rate;
    const start = this.#random.below(markets);
    const chosen = Array.from({ length: count }, (_, index) => (start + index) % markets);
    this.#coinsOf.set(user, chosen);
    const positions = chosen.map((market) => {
      const units = this.#marks[market].digits * 10 ** this.#marks[market].power;
      return {
        coin: coinOf(market),
        szi: '100.0',
        entryNtl: formatUnits(100 * units * 100, 6),
        leverage: { type: 'cross', value: 5 },
        cumFunding: { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' },
      };
    });
    return { type: 'account', user, dex: '', rawUsd: '250000000.0', positions };
  }

  /** Applies the events of a second as one block, and pushes them. */
  #step(): void {
    const changed = this.#moveMarks();
    const trades = this.#trade();
    const prices = Object.fromEntries(
      changed.map((market) => [coinOf(market), this.#textOf(market)]),
    );
    const fills = trades.map(({ fill }) => fill);
    this.#apply([{ type: 'marks', prices }, ...fills, ...this.#listFunding()]);
    for (const push of this.#pushes) {
      push.tellMarks(changed.map((market) => [coinOf(market), this.#textOf(market)]));
      push.tellTrades(trades.map(({ trade }) => trade));
      if (this.#state.height % STATES_SECONDS === 0) push.tellAccounts();
    }
  }

  #moveMarks(): number[] {
    const changed = new Set<number>();
    while (changed.size < CHANGED_A_SECOND) changed.add(this.#random.below(LISTED));
    for (const market of changed) {
      const mark = this.#marks[market];
      const up =
        mark.digits <= DIGITS_FROM || (mark.digits < DIGITS_TO && this.#random.chance(0.5));
      mark.digits += up ? 1 : -1;
    }
    return [...changed];
  }

  #trade() {
    const { tradesPerHour } = this.#rate;
    const traders = this.users.filter(() =>
      this.#random.chance((tradesPerHour * SECOND_MS) / HOUR_MS),
    );
    return traders.map((user) => {
      const coins = this.#coinsOf.get(user) ?? [];
      const market = coins[this.#random.below(coins.length)];
      const [coin, px, sz] = [coinOf(market), this.#textOf(market), '1.0'];
      const side = this.#fillCount++ % 2 === 0 ? 'B' : 'A';
      const time = this.#state.time + SECOND_MS;
      const fill = { type: 'fill', user, coin, side, sz, px, fee: '0.01' };
      const users = [user, OTHER];
      return { fill, trade: { coin, side, px, sz, time, hash: HASH, tid: this.#fillCount, users } };
    });
  }

  /** Returns the funding events: all positions pay at the full hour. */
  #listFunding(): object[] {
    const time = START_TIME_MS + this.#clock.nowMs();
    if (time % HOUR_MS >= SECOND_MS) return [];
    const payments = new Map<number, [string, string][]>();
    for (const [user, coins] of this.#coinsOf) {
      for (const market of coins) {
        payments.set(market, [...(payments.get(market) ?? []), [user, '1.234567']]);
      }
    }
    return [...payments].map(([market, list]) => {
      return { type: 'funding', coin: coinOf(market), payments: list };
    });
  }

  async post(body: string): Promise<PostOutcome> {
    await this.#clock.sleep(WAY_MS);
    const reply = this.#answers.answer(this.#state, JSON.parse(body) as Question);
    const [status, json] = reply.kind === 'answer' ? [200, reply.json] : [500, null];
    const headers = { 'content-type': 'application/json' };
    const result = { status, headers, body: Buffer.from(JSON.stringify(json)) };
    return { arrival: 'arrived', result };
  }

  async close(): Promise<void> {
    this.#pushes.clear();
  }

  createPush(handler: PushHandler): FollowPush {
    const push = new RatePush(handler, {
      marks: () => this.#marks.map((_, market) => [coinOf(market), this.#textOf(market)]),
      account: (question) => this.#answers.account(this.#state, question),
    });
    this.#pushes.add(push);
    this.#clock.setTimer(WAY_MS, () => handler.opened());
    return push;
  }
}

interface PushSource {
  marks(): [string, string][];
  account(question: Question): unknown;
}

class RatePush implements FollowPush {
  readonly leftOut = [];
  readonly #handler: PushHandler;
  readonly #source: PushSource;
  #wanted = new Map<string, UpstreamSubscription>();

  constructor(handler: PushHandler, source: PushSource) {
    this.#handler = handler;
    this.#source = source;
  }

  subscribe(wanted: readonly UpstreamSubscription[]): void {
    const before = this.#wanted;
    this.#wanted = new Map(wanted.map((each) => [JSON.stringify(each), each]));
    const isNew = [...this.#wanted].some(
      ([key, { type }]) => type === 'fastAssetCtxs' && !before.has(key),
    );
    if (isNew) this.tellMarks(this.#source.marks());
  }

  tellMarks(marks: readonly [string, string][]): void {
    if (!this.#wanted.has(JSON.stringify({ type: 'fastAssetCtxs' }))) return;
    const contexts = marks.map(([coin, markPx]) => [coin, { markPx, midPx: markPx }]);
    this.#handler.message('fastAssetCtxs', Object.fromEntries(contexts));
  }

  tellTrades(trades: readonly TradeMessage[]): void {
    for (const trade of trades) {
      const subscription = { type: 'trades', coin: trade.coin };
      if (!this.#wanted.has(JSON.stringify(subscription))) continue;
      this.#handler.message('trades', [trade]);
    }
  }

  /** Pushes the complete states of the subscribed accounts. */
  tellAccounts(): void {
    for (const { type, ...fields } of this.#wanted.values()) {
      if (type !== 'clearinghouseState') continue;
      const { user, dex } = fields as { user: string; dex?: string };
      const clearinghouseState = this.#source.account({ type, user, dex: dex ?? '' });
      this.#handler.message(type, { user, dex: dex ?? '', clearinghouseState });
    }
  }

  close(): void {
    this.#wanted.clear();
  }
}

/** Returns a name of three to five letters, as most coins have. */
function coinOf(index: number): string {
  const letters = index.toString(26).padStart(2, '0');
  const name = [...letters].map(
    (digit) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'[Number.parseInt(digit, 26)],
  );
  return `${name.join('')}${'XYZ'.slice(0, 1 + (index % 3))}`;
}

function userOf(index: number): string {
  return `0x${(index + 1).toString(16).padStart(40, 'a')}`;
}

/** The counterparty of all trades, which nobody follows. */
const OTHER = `0x${'f'.repeat(40)}`;
const HASH = `0x${'0'.repeat(64)}`;
