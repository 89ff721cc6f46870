/**
 * The margin tiers of positions whose tiers differ from those of their market. Each different table
 * is stored once and has a number, which the rows of positions contain. Tables are never removed: a
 * number means the same table at every height.
 */

import { Refusal } from '../../events/refusal.ts';
import { createTiers } from './margin-formulas.ts';
import { checkTiers, type MarginTier, type TierTerms } from './margin-tiers.ts';

const TABLE_COUNT_MAX = 10_000;

type Tiers = readonly MarginTier[];

export class TierTables {
  readonly #tables: Tiers[] = [];
  /** The number of each table, by the text of its terms: equal tables share a number. */
  readonly #numbers = new Map<string, number>();
  #countCommitted = 0;

  constructor(tables: readonly (readonly TierTerms[])[] = []) {
    for (const terms of tables) this.findOrAdd(terms);
    this.commit();
  }

  /** The number of tables that committed blocks have added. */
  get count(): number {
    return this.#countCommitted;
  }

  /** The tables that committed blocks have added, in the order of their numbers. */
  get all(): readonly Tiers[] {
    return this.#tables.slice(0, this.#countCommitted);
  }

  /** Returns the table with this number. Numbers start at 1. */
  at(number: number): Tiers {
    return this.#tables[number - 1];
  }

  /**
   * Returns the number of the table with these terms, and adds the table if it is new. Refuses
   * terms that are not a valid table.
   */
  findOrAdd(terms: readonly TierTerms[]): number {
    checkTiers(terms);
    const key = textOf(terms);
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    if (this.#tables.length === TABLE_COUNT_MAX) {
      const expected = `at most ${TABLE_COUNT_MAX} different margin tables of positions`;
      throw new Refusal('marginTiers', terms, expected);
    }
    const number = this.#tables.push(createTiers(terms));
    this.#numbers.set(key, number);
    return number;
  }

  commit(): void {
    this.#countCommitted = this.#tables.length;
  }

  rollback(): void {
    for (const added of this.#tables.splice(this.#countCommitted)) {
      this.#numbers.delete(textOf(added));
    }
  }
}

function textOf(terms: readonly TierTerms[]): string {
  return terms.map(({ lowerBound, maxLeverage }) => `${lowerBound}:${maxLeverage}`).join();
}
