/** What is wrong with a simulated disk at the moment. */

import type { Random } from '../../../src/simulator/random.ts';

const SLOW_MS_MAX = 120;
const FAILED_READ_CHANCE = 0.3;
const SHORT_CHANCE = 0.3;

/** What may be wrong for a while. */
export type DiskFlag = 'isFull' | 'hasNoInodes' | 'isSlow' | 'hasFailingReads' | 'hasShortCalls';

export class DiskFaults {
  readonly #random: Random;
  isFull = false;
  /** Files that are there can grow, and none can be added. */
  hasNoInodes = false;
  isSlow = false;
  hasFailingReads = false;
  hasShortCalls = false;

  constructor(random: Random) {
    this.#random = random;
  }

  /** By how much a call takes longer. */
  slowMs(): number {
    return this.isSlow ? this.#random.between(0, SLOW_MS_MAX) : 0;
  }

  failsReads(): boolean {
    return this.hasFailingReads && this.#random.chance(FAILED_READ_CHANCE);
  }

  /** Whether a read or a write gets fewer bytes done than it was asked for. */
  isShort(): boolean {
    return this.hasShortCalls && this.#random.chance(SHORT_CHANCE);
  }

  mend(): void {
    this.isFull = false;
    this.hasNoInodes = false;
    this.isSlow = false;
    this.hasFailingReads = false;
    this.hasShortCalls = false;
  }
}
