/**
 * Stores the changes that were received from the upstream and are not in the ledger yet: markets,
 * the latest marks, accounts, delegations, and the auction. A block contains the changes that
 * differ from the ledger when the block is written.
 */

import type { WireEvent } from '../../../events/event.ts';
import type { BlockError } from '../../../events/refusal.ts';
import type { StateView } from '../../../state/state.ts';
import type { Clock } from '../../client/limits/clock.ts';
import { findChangedPrices, type Prices } from '../../dialect/mark-answers.ts';
import { directoryOfLedger, type MarketDirectory } from '../../dialect/market-directory.ts';
import {
  describeListChanges,
  describeMarketChanges,
  describeNewDexes,
} from '../../dialect/market-events.ts';
import { BlockLine } from './block-line.ts';
import { MarkSchedule } from './mark-schedule.ts';

/** If no block was written for this long, a block without events is written to record the time. */
const TIME_STEP_MS = 1_000;
/**
 * The maximum number of prices in one event. The event is then much shorter than the maximum length
 * of a line.
 */
const PRICES_MAX = 500;
/** The time for which the new markets of a dex wait for a first price. */
const UNPRICED_MS_MAX = 3_000;
/**
 * The maximum number of refused events that are remembered. A remembered event is not tried again.
 */
const REFUSED_MAX = 1_000;

/** The height from which the ledger has the change, or the reason why the change was refused. */
export type RecordOutcome = { readonly height: number } | { readonly refusal: string };

const CLOSED: RecordOutcome = { refusal: 'the follower stops' };

/** Events that are recorded together or not at all. */
interface Unit {
  readonly events: readonly WireEvent[];
  /**
   * The change that the events come from; undefined for events that are computed again for each
   * block.
   */
  readonly pending?: Pending;
}

/** The latest version of a change, and the callers that wait until it is recorded. */
interface Pending {
  readonly key: string;
  /**
   * Returns the events that add the change to the ledger; returns none if the ledger already has
   * it.
   */
  describe(ledger: StateView): readonly WireEvent[];
  readonly waiting: ((outcome: RecordOutcome) => void)[];
}

export interface TakenBlock {
  readonly line: Buffer;
  /** The caller calls this when the ledger's state has the block. */
  applied(height: number): void;
  /**
   * The caller calls this if the block is refused. Returns the name of the change that is dropped;
   * returns undefined if no single change caused the refusal.
   */
  refused(error: BlockError): string | undefined;
}

export interface PendingChangesOptions {
  /** The maximum size of a block's line, in bytes. */
  readonly lineBytesMax: number;
  /**
   * The interval at which marks of markets without a position are recorded; 0 to record each mark
   * when it arrives.
   */
  readonly marksEveryMs: number;
  readonly clock: Clock;
}

export class PendingChanges {
  readonly #options: PendingChangesOptions;
  readonly #pending = new Map<string, Pending>();
  readonly marks: MarkSchedule;
  readonly #refused = new Set<string>();
  /** By dex: since when new markets of the dex have had no price. */
  readonly #unpricedMs = new Map<string, number>();
  #directory: MarketDirectory;
  #hasNewMarkets = true;
  #isHolding = false;
  #hasStarted = false;
  #isClosed = false;
  /** Called when there may be something to write. */
  changed: () => void = () => undefined;

  constructor(ledger: StateView, options: PendingChangesOptions) {
    this.#directory = directoryOfLedger(ledger);
    this.#options = options;
    this.marks = new MarkSchedule({ everyMs: options.marksEveryMs, clock: options.clock });
  }

  get directory(): MarketDirectory {
    return this.#directory;
  }

  setDirectory(directory: MarketDirectory): void {
    this.#directory = directory;
    this.#hasNewMarkets = true;
    this.changed();
  }

  hasPrice(coin: string): boolean {
    return this.marks.latest.has(coin);
  }

  setPrices(prices: Prices): void {
    // A new market may have waited for this price.
    if (this.marks.set(prices)) this.#hasNewMarkets = true;
    this.changed();
  }

  /**
   * Adds a change. The change replaces an older change with the same key that is not recorded yet.
   */
  put(key: string, describe: Pending['describe']): Promise<RecordOutcome> {
    if (this.#isClosed) return Promise.resolve(CLOSED);
    return new Promise((resolve) => {
      const waiting = this.#pending.get(key)?.waiting ?? [];
      this.#pending.set(key, { key, describe, waiting: [...waiting, resolve] });
      this.changed();
    });
  }

  /** Returns true if a change with this key waits to be recorded. */
  has(key: string): boolean {
    return this.#pending.has(key);
  }

  isDue(ledger: StateView, time: number): boolean {
    if (!this.#hasStarted) return true;
    if (time === 0) return false;
    const hasNews = this.#pending.size > 0 || this.marks.isDue || this.#hasNewMarkets;
    return hasNews || time - ledger.time >= TIME_STEP_MS;
  }

  /**
   * Returns the next block, with as many changes as a line has room for; returns undefined if there
   * is nothing to write. The first block of a ledger is written at once, because it marks the
   * ledger as partial.
   */
  takeBlock(ledger: StateView, latestTime: number): TakenBlock | undefined {
    this.#hasStarted = true;
    const time = Math.max(ledger.time, latestTime);
    const block = new BlockLine({ height: ledger.height + 1, time }, this.#options.lineBytesMax);
    const taken: Unit[] = [];
    if (this.#fill(block, taken, ledger)) {
      this.marks.noteRecorded();
      this.#hasNewMarkets = this.#isHolding;
    }
    const isNeeded = taken.length > 0 || time - ledger.time >= TIME_STEP_MS;
    if (!isNeeded) return undefined;
    return {
      line: block.close(),
      applied: (height) => {
        this.marks.addPositionCoins(listOpened(taken));
        this.#settle(taken, { height });
      },
      refused: (error) => this.#refuse(taken, error),
    };
  }

  /** Adds changes to the block. Returns false if the line is full before all changes are added. */
  #fill(block: BlockLine, taken: Unit[], ledger: StateView): boolean {
    const listed = new Set<unknown>();
    for (const unit of this.#units(ledger)) {
      if (this.#isRefused(unit)) continue;
      for (const event of unit.events) if (event.type === 'market') listed.add(event['coin']);
      if (!areCoinsListed(unit, ledger, listed)) continue;
      if (unit.events.length === 0) this.#settle([unit], { height: ledger.height });
      else if (!this.#add(block, unit, taken)) return false;
    }
    return true;
  }

  /**
   * Adds a unit to the block. Returns false if the line is full. Drops a unit that is too large for
   * any line.
   */
  #add(block: BlockLine, unit: Unit, taken: Unit[]): boolean {
    const added = block.add(unit.events);
    if (added === 'added') taken.push(unit);
    if (added === 'too_large') {
      this.#drop(unit, `it does not fit into a block of ${this.#options.lineBytesMax} bytes`);
    }
    return added !== 'full';
  }

  /** Returns the units in the order in which the ledger must apply them. */
  *#units(ledger: StateView): Generator<Unit> {
    if (!ledger.isPartial) yield { events: [{ type: 'partial' }] };
    if (this.#hasNewMarkets) yield* this.#marketUnits(ledger);
    const learned = [...this.#pending.values()].map((pending) => ({
      events: pending.describe(ledger),
      pending,
    }));
    yield* this.#priceUnits(ledger, listOpened(learned));
    yield* learned;
  }

  *#marketUnits(ledger: StateView): Generator<Unit> {
    const dexes = describeNewDexes(ledger, this.#directory);
    const { events, waiting } = describeMarketChanges(ledger, this.#directory, this.marks.latest);
    const held = this.#findHeld(waiting);
    // Lists come before markets, so that the ledger knows the order of all markets when the first
    // market is added.
    const lists = describeListChanges(ledger, this.#directory);
    for (const event of [...dexes, ...lists, ...events]) {
      const isNew = event.type === 'market' && !isListed(ledger, event['coin']);
      if (!isNew || !held.has(event['dex'])) yield { events: [event] };
    }
  }

  /**
   * Returns the dexes whose new markets wait for a first price. The new markets of a dex wait
   * together, because clients number markets by the exchange's order, and markets must be added in
   * this order.
   */
  #findHeld(coins: readonly string[]): ReadonlySet<unknown> {
    const nowMs = this.#options.clock.nowMs();
    const dexes = new Set(coins.map((coin) => this.#dexOf(coin)));
    for (const dex of this.#unpricedMs.keys()) if (!dexes.has(dex)) this.#unpricedMs.delete(dex);
    for (const dex of dexes) {
      if (!this.#unpricedMs.has(dex)) this.#unpricedMs.set(dex, nowMs);
    }
    const held = [...this.#unpricedMs].filter(([, ms]) => nowMs - ms < UNPRICED_MS_MAX);
    this.#isHolding = held.length > 0;
    return new Set(held.map(([dex]) => dex));
  }

  #dexOf(coin: string): string {
    const market = this.#directory.find(coin);
    return market === undefined ? '' : this.#directory.dexes[market.dexIndex].name;
  }

  *#priceUnits(ledger: StateView, opened: ReadonlySet<string>): Generator<Unit> {
    const all = [...this.marks.select(opened)];
    for (let start = 0; start < all.length; start += PRICES_MAX) {
      const prices = findChangedPrices(ledger, new Map(all.slice(start, start + PRICES_MAX)));
      if (prices !== undefined) yield { events: [{ type: 'marks', prices }] };
    }
  }

  /** Gives all waiting callers an outcome. No more changes are recorded. */
  close(): void {
    this.#isClosed = true;
    for (const pending of [...this.#pending.values()]) {
      this.#settle([{ events: [], pending }], CLOSED);
    }
  }

  #isRefused({ events, pending }: Unit): boolean {
    if (pending !== undefined || this.#refused.size === 0) return false;
    return this.#refused.has(JSON.stringify(events[0]));
  }

  #settle(units: readonly Unit[], outcome: RecordOutcome): void {
    for (const { pending } of units) {
      if (pending === undefined) continue;
      // A newer change may have replaced this change in the meantime.
      if (this.#pending.get(pending.key) === pending) this.#pending.delete(pending.key);
      for (const resolve of pending.waiting) resolve(outcome);
    }
  }

  #refuse(taken: readonly Unit[], { index, message }: BlockError): string | undefined {
    this.#hasNewMarkets = true;
    this.marks.noteRefused();
    const unit = index === undefined ? undefined : unitOf(taken, index);
    if (unit === undefined) return undefined;
    this.#drop(unit, message);
    return unit.pending?.key ?? unit.events[0].type;
  }

  #drop(unit: Unit, refusal: string): void {
    if (this.#refused.size >= REFUSED_MAX) this.#refused.clear();
    if (unit.pending === undefined) this.#refused.add(JSON.stringify(unit.events[0]));
    this.#settle([unit], { refusal });
  }
}

/**
 * Returns the coins of the positions in the units' accounts. The block also records the current
 * marks of these coins.
 */
function listOpened(units: readonly Unit[]): Set<string> {
  const accounts = units.flatMap(({ events }) => events.filter(({ type }) => type === 'account'));
  return new Set(accounts.flatMap((account) => positionsOf(account).map(({ coin }) => coin)));
}

function positionsOf(account: WireEvent): readonly { readonly coin: string }[] {
  return account['positions'] as readonly { readonly coin: string }[];
}

function isListed({ markets }: StateView, coin: unknown): boolean {
  return markets.findMarket(String(coin)) !== undefined;
}

/**
 * Returns true if all coins of the unit's accounts are in the ledger, or are added earlier in the
 * same block.
 */
function areCoinsListed(
  { events }: Unit,
  ledger: StateView,
  listed: ReadonlySet<unknown>,
): boolean {
  return events.every((event) => {
    if (event.type !== 'account') return true;
    return positionsOf(event).every(({ coin }) => listed.has(coin) || isListed(ledger, coin));
  });
}

function unitOf(units: readonly Unit[], eventIndex: number): Unit | undefined {
  let first = 0;
  return units.find(({ events }) => {
    first += events.length;
    return eventIndex < first;
  });
}
