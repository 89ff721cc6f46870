/**
 * Random numbers from a seed: sfc32, a small fast generator, started from a hash of text.
 *
 * The simulator uses only + - * /, square roots and integer operations. Logarithms and sines may
 * differ in the last bit between engines, but a seed must give the same bytes on every machine.
 */

const WORD_RANGE = 2 ** 32;
const WARM_UP_ROUNDS = 12;

/**
 * FNV-1a with a final mix. Different values of `basis` give independent hashes of the same text.
 */
function hashText(text: string, basis: number): number {
  let hash = basis | 0;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}

export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  constructor(seed: string) {
    this.#a = hashText(seed, 0x811c9dc5);
    this.#b = hashText(seed, 0x9e3779b9);
    this.#c = hashText(seed, 0x7f4a7c15);
    for (let round = 0; round < WARM_UP_ROUNDS; round++) this.word();
  }

  /** Draws a whole number of 32 bits. */
  word(): number {
    const result = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + result) | 0;
    return result >>> 0;
  }

  /** Draws a number from 0 to just below 1. */
  fraction(): number {
    return this.word() / WORD_RANGE;
  }

  /** Draws a whole number from 0 to count - 1. */
  below(count: number): number {
    return Math.floor(this.fraction() * count);
  }

  between(low: number, high: number): number {
    return low + this.fraction() * (high - low);
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(items: readonly T[]): T {
    return items[this.below(items.length)];
  }

  /**
   * Draws a number that is approximately normal with mean 0 and standard deviation 1, and never
   * beyond 3.5: a sum of four uniform numbers.
   */
  normal(): number {
    const sum = this.fraction() + this.fraction() + this.fraction() + this.fraction();
    return (sum - 2) * Math.sqrt(3);
  }

  /**
   * Draws a number from `least` to `least * spread`. Small values are far more frequent, as in a
   * distribution of wealth.
   */
  heavyTailed(least: number, spread: number): number {
    return least / this.between(1 / spread, 1);
  }
}
