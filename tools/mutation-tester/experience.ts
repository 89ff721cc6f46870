/**
 * Decides in which order tests are tried: by the time that each test takes for each mutant that it
 * notices. A test that notices many mutants of a file comes early, however long it takes without a
 * mutant. A quick test that never notices a mutant comes late.
 */

import type { Tried } from './trial.ts';

/**
 * The assumption about a test that was never tried: it notices half a mutant, in at most this time.
 * Random tests take long, but fail early.
 */
const ASSUMED_KILLS = 0.5;
const ASSUMED_MS_MAX = 30;

interface Record {
  ms: number;
  kills: number;
}

export class Experience {
  readonly #records = new Map<string, Record>();

  /** Adds the results of the tests that were tried, in this order, against a mutant of the file. */
  add(
    file: string,
    names: readonly string[],
    { ms, verdict }: Pick<Tried, 'ms' | 'verdict'>,
  ): void {
    for (const [index, each] of ms.entries()) this.#find(file, names[index]).ms += each;
    if (verdict.outcome !== 'survived') this.#find(file, names[ms.length - 1]).kills++;
  }

  /** Sorts the tests by their promise, with the most promising test first. */
  sort<T>(
    file: string,
    tests: readonly T[],
    nameOf: (test: T) => string,
    msOf: (test: T) => number,
  ): T[] {
    type Ranked = { test: T; rank: number };
    const ranked = tests.map((test): Ranked => {
      const { ms, kills } = this.#find(file, nameOf(test));
      const expected = Math.min(msOf(test), ASSUMED_MS_MAX);
      return { test, rank: (ms + expected) / (kills + ASSUMED_KILLS) };
    });
    const compare = (a: Ranked, b: Ranked) => a.rank - b.rank || msOf(a.test) - msOf(b.test);
    return ranked.sort(compare).map(({ test }) => test);
  }

  #find(file: string, name: string): Record {
    const key = `${file} ${name}`;
    const found = this.#records.get(key) ?? { ms: 0, kills: 0 };
    this.#records.set(key, found);
    return found;
  }
}
