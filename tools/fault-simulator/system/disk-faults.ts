/** The current faults of a simulated disk. */

import type { Random } from '../../../src/simulator/random.ts';

const SLOW_MS_MAX = 120;
const FAILED_READ_CHANCE = 0.3;
const SHORT_CHANCE = 0.3;

/** The faults of a disk that last for some time. */
export type DiskFlag = 'isFull' | 'hasNoInodes' | 'isSlow' | 'hasFailingReads' | 'hasShortCalls';

export class DiskFaults {
  readonly #random: Random;
  isFull = false;
  /** True if existing files can grow, but no file can be created. */
  hasNoInodes = false;
  isSlow = false;
  hasFailingReads = false;
  hasShortCalls = false;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Returns the additional time of a call. */
  slowMs(): number {
    return this.isSlow ? this.#random.between(0, SLOW_MS_MAX) : 0;
  }

  failsReads(): boolean {
    return this.hasFailingReads && this.#random.chance(FAILED_READ_CHANCE);
  }

  /** True if a read or write transfers fewer bytes than requested. */
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
