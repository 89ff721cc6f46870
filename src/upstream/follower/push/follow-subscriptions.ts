/** The follower's subscriptions: marks, the users that clients ask for most, and trades. */

import type { Clock } from '../../client/limits/clock.ts';
import type { LeftOut } from '../../client/push/left-out-subscriptions.ts';
import type { UpstreamSubscription } from '../../client/push/upstream-subscription.ts';
import type { WatchList } from '../accounts/watch-list.ts';
import type { PendingChanges } from '../blocks/pending-changes.ts';
import type { MarkKeeper } from '../markets/mark-keeper.ts';
import type { TradeCoverage } from './trade-coverage.ts';
import { TradeRefusals } from './trade-refusals.ts';

/** A connection may have 1,000 subscriptions. The rest is for marks and users. */
const TRADES_MAX = 900;
/** How long to wait for a refusal from an upstream that does not confirm subscriptions. */
const TRIAL_MS = 3_000;
/** Used in place of a coin for refusals, while it is not known whether the upstream has trades. */
const ANY = '';

const FIRST_DEX: ReadonlySet<string> = new Set(['']);

/** The part of the push connection that is used here. */
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
  /** Maximum number of users. */
  readonly usersMax: number;
  /** The dexes of the followed accounts. */
  listDexes(): readonly string[];
}

export class FollowSubscriptions {
  readonly #options: SubscriptionsOptions;
  #push: FollowPush | undefined;
  readonly #refusals: TradeRefusals;
  /**
   * When trades of one coin were subscribed to as a trial, to find out whether the upstream has
   * trades.
   */
  #trialMs: number | undefined;
  /** The upstream has had trades: a single refusal does not mean that it has none. */
  #hasTrades = false;
  /** The upstream confirms subscriptions. */
  #hasConfirmed = false;
  /** This connection has delivered a message. */
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
   * Called repeatedly: refused subscriptions are tried again, and missing confirmations are
   * noticed.
   */
  check(): void {
    if (this.#refusals.takeDue() || this.#isTrialOver) this.update();
    this.#options.coverage.check();
  }

  /** Sends the wanted subscriptions to the push connection, most important first. */
  update(): void {
    const marks = this.#options.marks.subscription;
    this.#push?.subscribe([
      ...(marks === undefined ? [] : [marks]),
      ...this.#listUsers(),
      ...this.#listTrades(),
    ]);
  }

  /**
   * Only on dexes that the upstream has: those of the ledger may be of an earlier upstream. The first
   * dex has the same name everywhere.
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
   * Trades of the dexes with followed accounts: other trades do not name a followed account. Only
   * markets that the upstream trades: it closes the connection if it does not know a coin.
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
    // If an upstream confirms nothing, we assume that it delivers everything that it does not
    // refuse.
    if (this.#hasTrades && !this.#hasConfirmed)
      for (const coin of chosen) coverage.noteConfirmed(coin);
    return chosen.map((coin) => ({ type: 'trades', coin }));
  }

  /** Whether the trial subscription was not refused for so long that a refusal is unlikely. */
  get #isTrialOver(): boolean {
    if (this.#hasTrades || this.#hasConfirmed || !this.#isHeard) return false;
    const { clock } = this.#options;
    return this.#trialMs !== undefined && clock.nowMs() - this.#trialMs >= TRIAL_MS;
  }

  /**
   * The coins whose trades to subscribe to. Until it is known that the upstream has trades: one
   * coin, and another coin after each refusal.
   */
  #chooseCoins(coins: readonly string[]): readonly string[] {
    if (this.#hasTrades) {
      return coins.filter((coin) => !this.#refusals.isWaiting(coin)).slice(0, TRADES_MAX);
    }
    if (coins.length === 0 || this.#refusals.isWaiting(ANY)) return [];
    return [coins[this.#trials % coins.length]];
  }

  /** Sets for which markets the upstream is expected to deliver trades. */
  #setNeeded(needed: ReadonlyMap<string, readonly string[]>): void {
    const { coverage, watchList } = this.#options;
    const unseen = new Set<string>();
    const expected = [...needed].map(([dex, coins]): [string, readonly string[]] => {
      const refused = this.#listUnavailable(coins);
      // If no market is left, the dex is not seen at all.
      if (refused.length === coins.length) return [dex, coins];
      for (const coin of refused) unseen.add(coin);
      return [dex, coins.filter((coin) => !unseen.has(coin))];
    });
    watchList.setUnseenCoins(unseen);
    coverage.setNeeded(new Map(expected));
  }

  /**
   * The coins whose trades were refused repeatedly, or that close the connection. The upstream lists
   * them, so trades in them are possible, but nothing reports these trades.
   */
  #listUnavailable(coins: readonly string[]): string[] {
    const leftOut = this.#push?.leftOut ?? [];
    const proven = leftOut.filter(({ isProven }) => isProven);
    const closing = new Set(proven.map(({ subscription }) => subscription['coin']));
    return coins.filter((coin) => this.#refusals.isGivenUp(coin) || closing.has(coin));
  }
}
