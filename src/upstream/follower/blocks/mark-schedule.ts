/**
 * Stores the latest marks, and chooses the marks that the next block records. If a followed account
 * has a position in a market, each mark of the market is recorded when it arrives. Every other mark
 * is recorded once in an interval: if it were recorded with each change, other marks would be most
 * of a ledger, although no account depends on them.
 */

import type { Clock } from '../../client/limits/clock.ts';
import type { Prices } from '../../dialect/mark-answers.ts';

export interface MarkScheduleOptions {
  /**
   * The interval at which a mark of a market without a position is recorded; 0 to record each mark
   * when it arrives.
   */
  readonly everyMs: number;
  readonly clock: Clock;
}

export class MarkSchedule {
  readonly #options: MarkScheduleOptions;
  readonly #latest = new Map<string, number>();
  /** The coins of the positions of followed accounts. */
  readonly #held = new Set<string>();
  /** True if a mark has arrived that must be recorded at once. */
  #isNew = false;
  /**
   * All coins, in the order of their turns. Each block records the marks of a few coins: many marks
   * at once would fill whole pages of the database.
   */
  readonly #coins: string[] = [];
  #place = 0;
  /** All turns up to this time have been used. */
  #turnMs = Number.NEGATIVE_INFINITY;
  /** The number of coins whose turn is used in the block of the last `select`. */
  #selectedTurns = 0;
  /** The coins in the block of the last `select`. */
  #selected: Iterable<string> = [];
  /**
   * By coin: the last time at which the ledger had the coin's latest mark, because a block recorded
   * the mark or because the mark was unchanged.
   */
  readonly #recordedMs = new Map<string, number>();

  constructor(options: MarkScheduleOptions) {
    this.#options = options;
  }

  get latest(): Prices {
    return this.#latest;
  }

  /** Stores the marks. Returns true if one of them is the first mark of its market. */
  set(prices: Prices): boolean {
    let isAnyFirst = false;
    for (const [coin, price] of prices) {
      const before = this.#latest.get(coin);
      if (before === price) continue;
      this.#latest.set(coin, price);
      if (this.#options.everyMs === 0 || this.#held.has(coin)) this.#isNew = true;
      if (before !== undefined) continue;
      this.#coins.push(coin);
      isAnyFirst = true;
    }
    return isAnyFirst;
  }

  /** Sets the coins of all positions that followed accounts have now. */
  setPositionCoins(coins: ReadonlySet<string>): void {
    for (const coin of this.#held) if (!coins.has(coin)) this.#held.delete(coin);
    this.addPositionCoins(coins);
  }

  /**
   * Adds the coins of more positions. The ledger may not have their latest marks, so the next block
   * records these marks.
   */
  addPositionCoins(coins: Iterable<string>): void {
    for (const coin of coins) {
      if (this.#held.has(coin)) continue;
      this.#held.add(coin);
      this.#isNew = true;
    }
  }

  /**
   * The longest time for which the ledger may not have the latest mark of a market without a
   * position; undefined if there is no such market.
   */
  get othersMs(): number | undefined {
    const recordedMs = this.#coins
      .filter((coin) => !this.#held.has(coin))
      .flatMap((coin) => this.#recordedMs.get(coin) ?? []);
    if (recordedMs.length === 0) return undefined;
    return this.#options.clock.nowMs() - Math.min(...recordedMs);
  }

  /** True if a mark needs a block now. Marks that are recorded in turns wait for the next block. */
  get isDue(): boolean {
    return this.#isNew;
  }

  /**
   * Returns the marks that a block records now. They include the marks of coins whose positions are
   * opened in the same block.
   */
  select(opened: ReadonlySet<string>): Prices {
    const selected = this.#select(opened);
    this.#selected = selected.keys();
    return selected;
  }

  #select(opened: ReadonlySet<string>): Prices {
    this.#selectedTurns = this.#countTurns();
    if (this.#selectedTurns === this.#coins.length) return this.#latest;
    const coins = new Set(opened);
    if (this.#isNew) for (const coin of this.#held) coins.add(coin);
    for (let turn = 0; turn < this.#selectedTurns; turn++) {
      coins.add(this.#coins[(this.#place + turn) % this.#coins.length]);
    }
    const known = [...coins].filter((coin) => this.#latest.has(coin));
    return new Map(known.map((coin) => [coin, this.#latest.get(coin) as number]));
  }

  #countTurns(): number {
    const { everyMs, clock } = this.#options;
    const { length } = this.#coins;
    const passedMs = clock.nowMs() - this.#turnMs;
    return passedMs >= everyMs ? length : Math.floor((length * passedMs) / everyMs);
  }

  /** Notes that the block has all marks of the last `select`. */
  noteRecorded(): void {
    this.#isNew = false;
    const { everyMs, clock } = this.#options;
    const { length } = this.#coins;
    const turns = this.#selectedTurns;
    const nowMs = clock.nowMs();
    for (const coin of this.#selected) this.#recordedMs.set(coin, nowMs);
    if (turns === length) this.#turnMs = nowMs;
    else this.#turnMs += (turns * everyMs) / length;
    this.#place = length === 0 ? 0 : (this.#place + turns) % length;
  }

  /** Notes that a block was refused. Its marks must be recorded again. */
  noteRefused(): void {
    this.#isNew = true;
    this.#turnMs = Number.NEGATIVE_INFINITY;
  }
}
