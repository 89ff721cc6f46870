/**
 * The follower's subscriptions: to marks, to the users that clients ask for most often, and to
 * trades.
 */

import type { Clock } from '../../client/limits/clock.ts';
import type { LeftOut } from '../../client/push/left-out-subscriptions.ts';
import type { UpstreamSubscription } from '../../client/push/upstream-subscription.ts';
import type { WatchList } from '../accounts/watch-list.ts';
import type { PendingChanges } from '../blocks/pending-changes.ts';
import type { MarkKeeper } from '../markets/mark-keeper.ts';
import type { TradeCoverage } from './trade-coverage.ts';
import { TradeRefusals } from './trade-refusals.ts';

/**
 * The maximum number of subscriptions to trades. A connection may have 1,000 subscriptions; the
 * rest is for marks and users.
 */
const TRADES_MAX = 900;
/**
 * The time in which an upstream that does not confirm subscriptions should refuse the trial
 * subscription.
 */
const TRIAL_MS = 3_000;
/** Stands for all coins in the refusals, while it is not known whether the upstream has trades. */
const ANY = '';

const FIRST_DEX: ReadonlySet<string> = new Set(['']);

/** The part of the push connection that this class uses. */
export interface FollowPush {
  /** The subscriptions that the upstream does not accept. */
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
  /** The maximum number of users to subscribe to. */
  readonly usersMax: number;
  /** The dexes of the followed accounts. */
  listDexes(): readonly string[];
}

export class FollowSubscriptions {
  readonly #options: SubscriptionsOptions;
  #push: FollowPush | undefined;
  readonly #refusals: TradeRefusals;
  /**
   * When the trades of one coin were subscribed to as a trial. The trial shows whether the upstream
   * has trades.
   */
  #trialMs: number | undefined;
  /**
   * True if the upstream has had trades. Then a single refusal does not mean that it has no trades.
   */
  #hasTrades = false;
  /** True if the upstream has ever confirmed a subscription. */
  #hasConfirmed = false;
  /** True if this connection has delivered a message. */
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

  /** Notes that the connection has delivered a message. */
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

  /**
   * Tries refused subscriptions again when they are due, and ends the trial. To be called
   * repeatedly.
   */
  check(): void {
    if (this.#refusals.takeDue() || this.#isTrialOver) this.update();
    this.#options.coverage.check();
  }

  /** Gives the wanted subscriptions to the push connection, the most important first. */
  update(): void {
    const marks = this.#options.marks.subscription;
    this.#push?.subscribe([
      ...(marks === undefined ? [] : [marks]),
      ...this.#listUsers(),
      ...this.#listTrades(),
    ]);
  }

  /**
   * Returns the subscriptions to users, only on dexes that the upstream has: the ledger may have
   * dexes of an earlier upstream. Every upstream has the first dex.
   */
  #listUsers(): UpstreamSubscription[] {
    const { watchList, usersMax, clock, pending } = this.#options;
    const { dexNames = FIRST_DEX } = pending.directory;
    const users = new Set(watchList.chooseUsers(usersMax, clock.nowMs()));
    const subscriptions: UpstreamSubscription[] = [];
    for (const { item } of watchList) {
      if (item.kind !== 'account' || !users.has(item.user) || !dexNames.has(item.dex)) continue;
      const { user, dex } = item;
      const type = 'clearinghouseState';
      subscriptions.push(dex === '' ? { type, user } : { type, user, dex });
    }
    return subscriptions;
  }

  /**
   * Returns the subscriptions to trades on the dexes of followed accounts: trades on other dexes do
   * not name these accounts. Only markets that are traded are included, because the upstream closes
   * the connection if it does not know a coin.
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
    this.#setNeeded(this.#hasTrades ? needed : new Map());
    const chosen = this.#chooseCoins(coins);
    // If an upstream confirms no subscription, we assume that it delivers everything that it does
    // not refuse.
    if (this.#hasTrades && !this.#hasConfirmed)
      for (const coin of chosen) coverage.noteConfirmed(coin);
    return chosen.map((coin) => ({ type: 'trades', coin }));
  }

  /** True if the trial subscription was not refused for so long that a refusal is unlikely. */
  get #isTrialOver(): boolean {
    if (this.#hasTrades || this.#hasConfirmed || !this.#isHeard) return false;
    const { clock } = this.#options;
    return this.#trialMs !== undefined && clock.nowMs() - this.#trialMs >= TRIAL_MS;
  }

  /**
   * Returns the coins whose trades to subscribe to. While it is not known whether the upstream has
   * trades, returns a single coin, and another coin after each refusal.
   */
  #chooseCoins(coins: readonly string[]): readonly string[] {
    if (this.#hasTrades) {
      return coins.filter((coin) => !this.#refusals.isWaiting(coin)).slice(0, TRADES_MAX);
    }
    if (coins.length === 0 || this.#refusals.isWaiting(ANY)) return [];
    return [coins[this.#trials % coins.length]];
  }

  /** Sets the markets whose trades the upstream is expected to deliver. */
  #setNeeded(needed: ReadonlyMap<string, readonly string[]>): void {
    const { coverage, watchList } = this.#options;
    const unseen = new Set<string>();
    const expected = [...needed].map(([dex, coins]): [string, readonly string[]] => {
      const refused = this.#listUnavailable(coins);
      // If no market is left, none of the dex's trades are received.
      if (refused.length === coins.length) return [dex, coins];
      for (const coin of refused) unseen.add(coin);
      return [dex, coins.filter((coin) => !unseen.has(coin))];
    });
    watchList.setUnseenCoins(unseen);
    coverage.setNeeded(new Map(expected));
  }

  /**
   * Returns the coins whose trades cannot be subscribed to: the upstream refused them repeatedly,
   * or closes the connection because of them. The upstream lists these coins, so there may be
   * trades in them that no message reports.
   */
  #listUnavailable(coins: readonly string[]): string[] {
    const leftOut = this.#push?.leftOut ?? [];
    const proven = leftOut.filter(({ isProven }) => isProven);
    const closing = new Set(proven.map(({ subscription }) => subscription['coin']));
    return coins.filter((coin) => this.#refusals.isGivenUp(coin) || closing.has(coin));
  }
}
