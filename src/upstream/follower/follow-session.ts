/**
 * A follower that works on a ledger. It decides which items are followed, when they are read again,
 * and which clients wait for a read.
 */

import type { WireEvent } from '../../events/event.ts';
import { expectedAddress, formatAddress, parseAddress } from '../../exact/address.ts';
import type { UpstreamWeights } from '../../info/upstream-weights.ts';
import type { StateView } from '../../state/state.ts';
import type {
  FollowedItem,
  FollowStatus,
  Interest,
  ItemOutcome,
} from '../channel/follower-client.ts';
import type { Clock } from '../client/limits/clock.ts';
import type { PushHandler } from '../client/push/upstream-push.ts';
import type { AnswerAsker } from '../client/question-asker.ts';
import type { UpstreamHealth, UpstreamLog } from '../client/upstream.ts';
import { WaitingKeys } from '../client/waiting-keys.ts';
import type { MarketDirectory } from '../dialect/market-directory.ts';
import { AccountJudge } from './accounts/account-judge.ts';
import { AccountReader } from './accounts/account-reader.ts';
import { recordConfirmation } from './accounts/confirmations.ts';
import { DelegationsReader } from './accounts/delegations-reader.ts';
import { ItemReader } from './accounts/item-reader.ts';
import { ModeReader } from './accounts/mode-reader.ts';
import { findPositionCoins } from './accounts/position-coins.ts';
import { findRecentItems, recordedTime } from './accounts/restored-items.ts';
import { type DueReason, type Watched, WatchList } from './accounts/watch-list.ts';
import { ExchangeTime } from './blocks/exchange-time.ts';
import { PendingChanges, type RecordOutcome } from './blocks/pending-changes.ts';
import { withSent } from './failure-outcomes.ts';
import { FollowAudit } from './follow-audit.ts';
import { describeStatus } from './follow-status.ts';
import { startHeartbeat } from './heartbeat.ts';
import { startAuctionReads } from './markets/auction-keeper.ts';
import { MarkKeeper } from './markets/mark-keeper.ts';
import { MarketKeeper } from './markets/market-keeper.ts';
import { PeriodicTask } from './periodic-task.ts';
import { type FollowPush, FollowSubscriptions } from './push/follow-subscriptions.ts';
import { PushReader } from './push/push-reader.ts';
import { TradeCoverage } from './push/trade-coverage.ts';

/** The part of the upstream's client that the follower uses. */
export interface FollowUpstream extends AnswerAsker {
  readonly budget: { readonly limit: number; readonly left: number };
  readonly health: UpstreamHealth;
  readonly weights: UpstreamWeights;
}

/** Times in milliseconds. */
export interface SessionSettings {
  readonly sweepMs: number;
  readonly forgetMs: number;
  /** The time that a client waits for an account. */
  readonly waitMs: number;
  /** The time for which an answer is reused for other clients if its account is not recorded. */
  readonly sharedMs: number;
  readonly usersMax: number;
  /**
   * The interval at which marks of markets without a position are recorded; 0 to record each mark
   * at once.
   */
  readonly marksEveryMs: number;
  readonly aheadMsMax: number;
  readonly lineBytesMax: number;
}

export interface SessionOptions {
  readonly origin: string;
  readonly upstream: FollowUpstream;
  readonly settings: SessionSettings;
  readonly log: UpstreamLog;
  readonly clock: Clock;
  /**
   * Opens the push connection. `log` takes the log lines of the connection, and limits their
   * number.
   */
  createPush(handler: PushHandler, log: UpstreamLog): FollowPush;
  /** This machine's clock, in milliseconds since 1970. */
  wallMs(): number;
}

/** A read that clients wait for. */
interface PendingRead {
  readonly waitingKeys: WaitingKeys;
  readonly outcome: Promise<ItemOutcome>;
}

/** The maximum number of items that are followed. */
const WATCHED_MAX = 20_000;
/** The maximum number of due items that are read at the same time. */
const READS_MAX = 64;
const DUE_CHECK_MS = 100;
const CLEAN_UP_MS = 10_000;
const SUBSCRIBE_MS = 2_000;

export class FollowSession {
  readonly pending: PendingChanges;
  readonly time: ExchangeTime;
  readonly audit: FollowAudit;
  readonly #ledger: StateView;
  readonly #options: SessionOptions;
  readonly #watchList: WatchList;
  readonly #items: ItemReader;
  readonly #markets: MarketKeeper;
  readonly #marks: MarkKeeper;
  readonly #tasks: readonly { stop(): void }[];
  readonly #coverage: TradeCoverage;
  readonly #subscriptions: FollowSubscriptions;
  readonly #push: FollowPush;
  /** Reads that clients wait for, by item key. */
  readonly #asked = new Map<string, PendingRead>();
  #readCount = 0;
  #pushedMs: number | undefined;
  /** The dexes of the followed accounts. */
  #dexes: readonly string[] = [''];
  /** The coins of the followed accounts' positions, by dex. */
  #coins: ReadonlyMap<string, ReadonlySet<string>> = new Map();

  constructor(ledger: StateView, options: SessionOptions) {
    const { upstream, settings, log, clock, wallMs } = options;
    const { aheadMsMax, lineBytesMax, marksEveryMs, sweepMs, forgetMs } = settings;
    this.#ledger = ledger;
    this.#options = options;
    this.pending = new PendingChanges(ledger, { lineBytesMax, marksEveryMs, clock });
    this.time = new ExchangeTime({ clock, aheadMsMax, wallMs });
    this.audit = new FollowAudit(clock, log);
    this.#watchList = new WatchList({ sweepMs, forgetMs, watchedMax: WATCHED_MAX });
    const { pending, time, audit } = this;
    const watchList = this.#watchList;
    const shared = { upstream, ledger, pending, time, audit, clock, watchList };
    this.#markets = new MarketKeeper({
      ...shared,
      readMarks: (dexes, directory) => this.#marks.readNew(dexes, directory),
      updated: () => {
        this.#cleanUp();
        this.#subscriptions.update();
      },
    });
    const listDexes = () => this.#dexes;
    const refreshMarkets = () => this.#markets.refresh();
    this.#marks = new MarkKeeper({
      ...shared,
      budget: upstream.budget.limit,
      weights: upstream.weights,
      listDexes,
      listCoins: () => this.#coins,
      resubscribe: () => this.#subscriptions.update(),
      refreshMarkets,
    });
    const judge = new AccountJudge(shared);
    const modes = new ModeReader({ ...shared, learned: (user, mode) => this.#putMode(user, mode) });
    const accounts = new AccountReader({ ...shared, judge, modes, refreshMarkets });
    const delegations = new DelegationsReader(upstream, audit);
    const readers = { ...shared, accounts, delegations, marks: this.#marks };
    const { budget } = upstream;
    this.#items = new ItemReader({ ...readers, budget, sharedMs: settings.sharedMs });
    this.#coverage = new TradeCoverage(shared);
    const coverage = this.#coverage;
    this.#subscriptions = new FollowSubscriptions({
      ...shared,
      coverage,
      marks: this.#marks,
      usersMax: settings.usersMax,
      listDexes,
    });
    this.#restore();
    this.#push = options.createPush(
      this.#handlePush(new PushReader({ ...readers, judge, modes, coverage, items: this.#items })),
      audit,
    );
    this.#subscriptions.use(this.#push);
    this.#tasks = [this.#markets, this.#marks, startAuctionReads(shared), ...this.#startTasks()];
  }

  #startTasks(): PeriodicTask[] {
    const { time, audit, pending } = this;
    const { upstream, clock } = this.#options;
    const every = (ms: number, run: () => void) =>
      new PeriodicTask({
        clock,
        intervalMs: () => ms,
        run: async () => run(),
        failed: (error) => audit.warn(`a bug: ${error.stack}`),
      });
    return [
      startHeartbeat({ upstream, time, audit, clock, timeReceived: () => pending.changed() }),
      every(DUE_CHECK_MS, () => {
        this.#subscriptions.check();
        this.#readDue();
      }),
      every(CLEAN_UP_MS, () => this.#cleanUp()),
      every(SUBSCRIBE_MS, () => this.#subscriptions.update()),
    ];
  }

  stop(): void {
    for (const task of this.#tasks) task.stop();
    this.#push.close();
    this.pending.close();
  }

  #handlePush(reader: PushReader): PushHandler {
    const { clock } = this.#options;
    return {
      opened: () => this.#subscriptions.noteOpened(),
      message: (channel, data) => {
        this.#pushedMs = clock.nowMs();
        this.#subscriptions.noteHeard();
        reader.take(channel, data);
      },
      acknowledged: (subscription) => this.#subscriptions.noteConfirmed(subscription),
      refused: (subscription) => this.#subscriptions.noteRefused(subscription),
      lost: () => this.#subscriptions.noteLost(),
    };
  }

  /** Records the mode with the next block; no caller waits for this. */
  #putMode(user: string, mode: string): void {
    void this.pending.put(`mode of ${user}`, (ledger) => describeMode(ledger, user, mode));
  }

  /** Follows the items again that an earlier follower of this ledger has read recently. */
  #restore(): void {
    const { forgetMs } = this.#options.settings;
    for (const item of findRecentItems(this.#ledger, forgetMs)) this.#watch(item);
    const { size } = this.#watchList;
    if (size > 0) this.#options.log.info(`following ${size} items again`);
  }

  /** Follows the item, and returns it; returns undefined if the item's address is invalid. */
  #watch(item: FollowedItem): Watched | undefined {
    const address = parseAddress(item.user);
    if (address === undefined) return undefined;
    const named = { ...item, user: formatAddress(address) };
    const watched = this.#watchList.add(named, address, this.#options.clock.nowMs());
    if (watched.readTime === 0) {
      watched.readTime = recordedTime(this.#ledger, watched);
      watched.hasPositions = watched.readTime > 0;
      watched.coins = [...findPositionCoins(this.#ledger, watched)];
      this.pending.marks.addPositionCoins(watched.coins);
      this.#noteDex(item);
    }
    return watched;
  }

  /**
   * Adds the item's dex, so that trades of the dex are subscribed to before the first account on
   * this dex is read.
   */
  #noteDex(item: FollowedItem): void {
    if (item.kind !== 'account' || this.#dexes.includes(item.dex)) return;
    if (this.pending.directory.findDex(item.dex) === undefined) return;
    this.#dexes = [...this.#dexes, item.dex];
    this.#subscriptions.update();
  }

  noteInterest(interests: readonly Interest[]): void {
    const nowMs = this.#options.clock.nowMs();
    const { directory } = this.pending;
    for (const { item, count } of interests) {
      const watched = isForeign(item, directory) ? undefined : this.#watch(item);
      if (watched !== undefined) this.#watchList.noteAsked(watched, count, nowMs);
    }
  }

  /** Never rejects. */
  async readItem(item: FollowedItem, maxAgeMs: number, keyId: string): Promise<ItemOutcome> {
    const watched = this.#watch(item);
    if (watched === undefined) {
      const reason = `${item.user} is not an address, expected ${expectedAddress(item.user)}`;
      return { outcome: 'failed', reason };
    }
    this.#watchList.noteAsked(watched, 1, this.#options.clock.nowMs());
    if (this.#isFresh(watched, maxAgeMs)) {
      return { outcome: 'recorded', height: this.#ledger.height };
    }
    const confirming = this.#confirmWithin(watched, maxAgeMs);
    const confirmed = confirming && (await confirming);
    if (confirmed !== undefined && 'height' in confirmed) {
      return { outcome: 'recorded', height: confirmed.height };
    }
    return this.#items.findShared(watched, maxAgeMs) ?? this.#readAsked(watched, keyId);
  }

  #isFresh(watched: Watched, maxAgeMs: number): boolean {
    const readTime = recordedTime(this.#ledger, watched);
    if (readTime === 0) return false;
    return maxAgeMs === Number.POSITIVE_INFINITY || this.#isWithin(readTime, maxAgeMs);
  }

  /**
   * Returns whether the time is less than `maxAgeMs` away from the exchange's time. A time in the
   * future is as wrong as a time that is equally far in the past.
   */
  #isWithin(readTime: number, maxAgeMs: number): boolean {
    const { now } = this.time;
    return now !== undefined && Math.abs(now - readTime) < maxAgeMs;
  }

  /**
   * Records the last confirmation of a pushed state; returns undefined if no pushed state has
   * confirmed the account within `maxAgeMs`.
   */
  #confirmWithin(watched: Watched, maxAgeMs: number): Promise<RecordOutcome> | undefined {
    if (!this.#isWithin(watched.readTime, maxAgeMs)) return undefined;
    return recordConfirmation(this.#ledger, this.pending, watched);
  }

  /** Reads the item once for all clients that ask for it during the read. */
  #readAsked(watched: Watched, keyId: string): Promise<ItemOutcome> {
    const { key } = watched;
    const shared = this.#asked.get(key);
    shared?.waitingKeys.join(keyId);
    if (shared !== undefined) return shared.outcome;
    const { waitMs: waitMsMax } = this.#options.settings;
    const waitingKeys = new WaitingKeys(keyId);
    const reading = this.#items.read(watched, { priority: 'asked', waitMsMax, waitingKeys });
    const outcome = reading.then((read) => {
      this.#asked.delete(key);
      // An item that could not be read is dropped. Otherwise the items of a flood of invalid
      // requests would be read again later, although no client needs them.
      if (isNotRead(read)) this.#watchList.dropUnread(watched);
      return withSent(read, waitingKeys);
    });
    this.#asked.set(key, { waitingKeys, outcome });
    return outcome;
  }

  /** Reads due items, up to the maximum number of reads at the same time. */
  #readDue(): void {
    const { now: exchange } = this.time;
    const free = READS_MAX - this.#readCount;
    if (exchange === undefined || free === 0) return;
    const now = { ms: this.#options.clock.nowMs(), exchange };
    for (const { watched, reason } of this.#watchList.findDue(now, free)) {
      void this.#readOne(watched, reason);
    }
  }

  async #readOne(watched: Watched, reason: DueReason): Promise<void> {
    watched.readReason = reason;
    this.#readCount++;
    // An account that may have missed a trade has the priority `hour`, the priority of accounts
    // that have certainly changed at the hour.
    await this.#items.read(watched, { priority: reason === 'missed' ? 'hour' : reason });
    this.#readCount--;
    // A more urgent read of the same account may have started in the meantime.
    if (watched.readReason === reason) watched.readReason = undefined;
  }

  #cleanUp(): void {
    const { directory } = this.pending;
    const isReadable = (item: FollowedItem) => !isForeign(item, directory);
    this.#watchList.forget(this.#options.clock.nowMs(), isReadable);
    this.#items.dropExpired();
    const coins = new Map([['', new Set<string>()]]);
    for (const watched of this.#watchList) {
      if (watched.item.kind !== 'account') continue;
      const { dex } = watched.item;
      const held = coins.get(dex) ?? new Set();
      for (const coin of findPositionCoins(this.#ledger, watched)) held.add(coin);
      coins.set(dex, held);
    }
    this.#coins = coins;
    this.pending.marks.setPositionCoins(new Set([...coins.values()].flatMap((held) => [...held])));
    this.#dexes = [...coins.keys()];
  }

  /**
   * The reason why no market is recorded, although the upstream lists markets and should report
   * their marks; undefined if there is no such problem.
   */
  get #marketsFault(): string | undefined {
    const { failure, isSource } = this.#marks;
    const isListed = this.#ledger.markets.markets.length > 0;
    if (isListed || !isSource || this.pending.directory.markets.length === 0) return undefined;
    const reason = failure === undefined ? '' : `: ${failure}`;
    return `none of its markets has a mark yet${reason}`;
  }

  get status(): FollowStatus {
    const { origin, upstream, clock } = this.#options;
    return describeStatus({
      origin,
      upstream,
      watchList: this.#watchList,
      audit: this.audit,
      leftOut: this.#push.leftOut,
      marksAgeMs: this.#marks.ageMs,
      otherMarksMs: this.pending.marks.othersMs,
      marketsAgeMs: this.#markets.ageMs,
      skipped: this.#markets.skipped,
      marketsFault: this.#marketsFault,
      clockMs: clock.nowMs(),
      unseenMs: this.#coverage.unseenMs,
      streamAgeMs: this.#pushedMs === undefined ? undefined : clock.nowMs() - this.#pushedMs,
      quietMs: this.time.quietMs,
      timeFailure: this.time.failure,
      exchangeTime: this.time.now,
    });
  }
}

function describeMode({ addresses, modes }: StateView, user: string, mode: string): WireEvent[] {
  const address = parseAddress(user);
  const recorded = address && modes.find(addresses.find(address));
  return recorded === mode ? [] : [{ type: 'accountMode', user, mode }];
}

/** Returns true if the account is on a dex of the ledger that this upstream does not have. */
function isForeign(item: FollowedItem, { dexNames }: MarketDirectory): boolean {
  return item.kind === 'account' && dexNames?.has(item.dex) === false;
}

function isNotRead({ outcome }: ItemOutcome): boolean {
  return outcome === 'busy' || outcome === 'failed';
}
