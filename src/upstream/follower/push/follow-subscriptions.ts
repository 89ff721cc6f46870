/** What the follower subscribes to: marks, the users who are asked for most, and trades. */

import type { Clock } from '../../client/limits/clock.ts';
import type { LeftOut } from '../../client/push/left-out-subscriptions.ts';
import type { UpstreamSubscription } from '../../client/push/upstream-subscription.ts';
import type { WatchList } from '../accounts/watch-list.ts';
import type { PendingChanges } from '../blocks/pending-changes.ts';
import type { MarkKeeper } from '../markets/mark-keeper.ts';
import type { TradeCoverage } from './trade-coverage.ts';
import { TradeRefusals } from './trade-refusals.ts';

/** Of the 1,000 subscriptions that a connection may have, some are left for marks and users. */
const TRADES_MAX = 900;
/** How long to wait for a refusal, if the upstream does not confirm what it takes. */
const TRIAL_MS = 3_000;
/** In place of a coin, for refusals while it is not known whether the upstream has trades. */
const ANY = '';

/** What it needs of the push connection. */
export interface FollowPush {
  /** What the upstream does not take. */
  readonly leftOut: readonly LeftOut[];
  subscribe(wanted: readonly UpstreamSubscription[]): void;
  close(): void;
}

export interface SubscriptionsOptions {
  readonly watchList: WatchList;
  readonly pending: PendingChanges;
  readonly marks: MarkKeeper;
  readonly coverage: TradeCoverage;
  readonly clock: Clock;
  /** Maximum number of users. */
  readonly usersMax: number;
  /** The dexes of the accounts that are followed. */
  listDexes(): readonly string[];
}

export class FollowSubscriptions {
  readonly #options: SubscriptionsOptions;
  #push: FollowPush | undefined;
  readonly #refusals: TradeRefusals;
  /** When trades of one coin were subscribed to, to find out whether the upstream has any. */
  #trialMs: number | undefined;
  /** It has had trades: one refusal does not mean that it has none. */
  #hasTrades = false;
  /** It confirms what it takes. */
  #hasConfirmed = false;
  /** This connection has brought something. */
  #isHeard = false;
  #isOpen = false;
  #trials = 0;

  constructor(options: SubscriptionsOptions) {
    this.#options = options;
    this.#refusals = new TradeRefusals(options.clock);
  }

  use(push: FollowPush): void {
    this.#push = push;
  }

  noteOpened(): void {
    this.#options.marks.noteOpened();
    this.#options.coverage.noteBroken();
    this.#isOpen = true;
    this.#isHeard = false;
    this.#trialMs = undefined;
    this.update();
  }

  /** The connection has brought something. */
  noteHeard(): void {
    this.#isHeard = true;
    this.#options.coverage.noteHeard();
  }

  noteLost(): void {
    this.#isOpen = false;
    this.#options.marks.noteLost();
    this.#options.coverage.noteBroken();
  }

  noteConfirmed(subscription: UpstreamSubscription): void {
    const { type, coin } = subscription;
    this.#hasConfirmed = true;
    this.#options.marks.noteConfirmed(subscription);
    if (type !== 'trades') return;
    const isFirst = !this.#hasTrades;
    this.#hasTrades = true;
    this.#refusals.noteTaken(ANY);
    this.#refusals.noteTaken(coin);
    this.#options.coverage.noteConfirmed(coin);
    if (isFirst) this.update();
  }

  noteRefused(subscription: UpstreamSubscription): void {
    const { type, coin } = subscription;
    this.#options.marks.noteRefused(subscription);
    if (type !== 'trades') return;
    this.#refusals.noteRefused(this.#hasTrades ? coin : ANY);
    this.#trialMs = undefined;
    this.#trials++;
    this.update();
  }

  /** Called again and again: what was refused is tried again, and confirmations may be late. */
  check(): void {
    if (this.#refusals.takeDue() || this.#isTrialOver) this.update();
    this.#options.coverage.check();
  }

  /** Most important first. */
  update(): void {
    const marks = this.#options.marks.subscription;
    this.#push?.subscribe([
      ...(marks === undefined ? [] : [marks]),
      ...this.#listUsers(),
      ...this.#listTrades(),
    ]);
  }

  #listUsers(): UpstreamSubscription[] {
    const { watchList, usersMax, clock } = this.#options;
    const users = new Set(watchList.chooseUsers(usersMax, clock.nowMs()));
    const subscriptions: UpstreamSubscription[] = [];
    for (const { item } of watchList) {
      if (item.kind !== 'account' || !users.has(item.user)) continue;
      const { user, dex } = item;
      const type = 'clearinghouseState';
      subscriptions.push(dex === '' ? { type, user } : { type, user, dex });
    }
    return subscriptions;
  }

  /**
   * Only dexes with followed accounts: other trades name no followed account. Only markets that the
   * upstream trades: it closes the connection for a coin that it does not know.
   */
  #listTrades(): UpstreamSubscription[] {
    const { pending, listDexes, clock, coverage } = this.#options;
    const needed = new Map<string, readonly string[]>();
    for (const dex of listDexes()) {
      needed.set(
        dex,
        pending.directory.listTraded(dex).map(({ coin }) => coin),
      );
    }
    const coins = [...needed.values()].flat();
    if (coins.length > 0 && this.#isOpen) this.#trialMs ??= clock.nowMs();
    this.#hasTrades ||= this.#isTrialOver;
    coverage.setNeeded(this.#hasTrades ? this.#withoutRefused(needed) : new Map());
    const chosen = this.#chooseCoins(coins);
    // An upstream that confirms nothing is taken to bring what it does not refuse.
    if (this.#hasTrades && !this.#hasConfirmed)
      for (const coin of chosen) coverage.noteConfirmed(coin);
    return chosen.map((coin) => ({ type: 'trades', coin }));
  }

  /** Whether what was subscribed to was not refused for so long that it will not be. */
  get #isTrialOver(): boolean {
    if (this.#hasTrades || this.#hasConfirmed || !this.#isHeard) return false;
    const { clock } = this.#options;
    return this.#trialMs !== undefined && clock.nowMs() - this.#trialMs >= TRIAL_MS;
  }

  /** One, until it is known that the upstream has trades: another one after each refusal. */
  #chooseCoins(coins: readonly string[]): readonly string[] {
    if (this.#hasTrades) {
      return coins.filter((coin) => !this.#refusals.isWaiting(coin)).slice(0, TRADES_MAX);
    }
    if (coins.length === 0 || this.#refusals.isWaiting(ANY)) return [];
    return [coins[this.#trials % coins.length]];
  }

  /**
   * A dex without the coins that are refused again and again, or that close the connection, unless that
   * is all of them.
   */
  #withoutRefused(
    needed: ReadonlyMap<string, readonly string[]>,
  ): ReadonlyMap<string, readonly string[]> {
    const leftOut = this.#push?.leftOut ?? [];
    const proven = leftOut.filter(({ isProven }) => isProven);
    const unknown = new Set(proven.map(({ subscription }) => subscription['coin']));
    const rest = [...needed].map(([dex, coins]): [string, readonly string[]] => {
      const taken = coins.filter((coin) => !this.#refusals.isGivenUp(coin) && !unknown.has(coin));
      return [dex, taken.length === 0 ? coins : taken];
    });
    return new Map(rest);
  }
}
