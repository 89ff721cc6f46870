/**
 * The latest marks, and which of them the next block records. Marks of markets in which a followed
 * account has a position are due as they come, each of the others once in an interval: at the
 * exchange's pace they would be most of what a ledger stores, and no account depends on them.
 */

import type { Clock } from '../../client/limits/clock.ts';
import type { Prices } from '../../dialect/mark-answers.ts';

export interface DueMarksOptions {
  /** How often a mark of a market without a position is recorded; 0 for as it comes. */
  readonly everyMs: number;
  readonly clock: Clock;
}

export class DueMarks {
  readonly #options: DueMarksOptions;
  readonly #latest = new Map<string, number>();
  /** The coins of the positions of followed accounts. */
  readonly #held = new Set<string>();
  /** True if a mark has come that is recorded as it comes. */
  #isNew = false;
  /** All coins take turns, some with each block: many marks at once would fill pages of their own. */
  readonly #coins: string[] = [];
  #place = 0;
  /** Up to when the turns have been taken. */
  #turnMs = Number.NEGATIVE_INFINITY;
  /** How many coins have their turn in the block that was selected for last. */
  #selectedTurns = 0;

  constructor(options: DueMarksOptions) {
    this.#options = options;
  }

  get latest(): Prices {
    return this.#latest;
  }

  /** True if one of the marks is the first of its market. */
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

  /** The coins of all positions that followed accounts have now. */
  setHeld(coins: ReadonlySet<string>): void {
    for (const coin of this.#held) if (!coins.has(coin)) this.#held.delete(coin);
    this.addHeld(coins);
  }

  /** Coins of further positions. What came while they were seldom recorded is not in the ledger. */
  addHeld(coins: Iterable<string>): void {
    for (const coin of coins) {
      if (this.#held.has(coin)) continue;
      this.#held.add(coin);
      this.#isNew = true;
    }
  }

  /** Whether they need a block. Those that take turns wait for the next one. */
  get isDue(): boolean {
    return this.#isNew;
  }

  /** Those that a block records now; also those of coins whose positions the same block opens. */
  select(opened: ReadonlySet<string>): Prices {
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

  /** All that was selected is in the block. */
  noteRecorded(): void {
    this.#isNew = false;
    const { everyMs, clock } = this.#options;
    const { length } = this.#coins;
    const turns = this.#selectedTurns;
    if (turns === length) this.#turnMs = clock.nowMs();
    else this.#turnMs += (turns * everyMs) / length;
    this.#place = length === 0 ? 0 : (this.#place + turns) % length;
  }

  /** A block was refused: what it had is due again. */
  noteRefused(): void {
    this.#isNew = true;
    this.#turnMs = Number.NEGATIVE_INFINITY;
  }
}
