/**
 * The latest marks, and which of them the next block records. Marks of markets in which a followed
 * account has a position are due as they come, those of all others together once in an interval: at
 * the exchange's pace they would be most of what a ledger stores, and no account depends on them.
 */

import type { Prices } from './dialect/mark-answers.ts';
import type { Clock } from './upstream/clock.ts';

export interface DueMarksOptions {
  /** How often marks of markets without a position are recorded; 0 for as they come. */
  readonly everyMs: number;
  readonly clock: Clock;
}

export class DueMarks {
  readonly #options: DueMarksOptions;
  readonly #latest = new Map<string, number>();
  /** The coins of the positions of followed accounts. */
  readonly #held = new Set<string>();
  #isHeldDue = false;
  #areOthersNew = false;
  #othersMs = Number.NEGATIVE_INFINITY;
  #isAllSelected = false;

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
      if (this.#held.has(coin)) this.#isHeldDue = true;
      else this.#areOthersNew = true;
      if (before === undefined) isAnyFirst = true;
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
      this.#isHeldDue = true;
    }
  }

  get isDue(): boolean {
    return this.#isHeldDue || this.#areOthersDue;
  }

  get #areOthersDue(): boolean {
    const { everyMs, clock } = this.#options;
    return this.#areOthersNew && clock.nowMs() - this.#othersMs >= everyMs;
  }

  /** Those that a block records now; also those of coins whose positions the same block opens. */
  select(opened: ReadonlySet<string>): Prices {
    this.#isAllSelected = this.#areOthersDue;
    if (this.#isAllSelected) return this.#latest;
    const isSelected = (coin: string) =>
      opened.has(coin) || (this.#isHeldDue && this.#held.has(coin));
    return new Map([...this.#latest].filter(([coin]) => isSelected(coin)));
  }

  /** All that was selected is in the block. */
  noteRecorded(): void {
    this.#isHeldDue = false;
    if (!this.#isAllSelected) return;
    this.#areOthersNew = false;
    this.#othersMs = this.#options.clock.nowMs();
  }

  /** A block was refused: what it had is due again. */
  noteRefused(): void {
    this.#isHeldDue = true;
    this.#areOthersNew = true;
    this.#othersMs = Number.NEGATIVE_INFINITY;
  }
}
