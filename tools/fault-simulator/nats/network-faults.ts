/** The current faults of the network between the processes and the NATS servers. */

import type { Random } from '../../../src/simulator/random.ts';

const DELAY_MS_MIN = 0.1;
const DELAY_MS_MAX = 1;

export class NetworkFaults {
  readonly #random: Random;
  /** The maximum delay of a message, in addition to the usual delay. */
  slowMsMax = 0;
  /** The chance that a request, an answer or a delivered message is lost. */
  lossChance = 0;
  /** The chance that an answer or a message is delivered twice. */
  duplicateChance = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  delayMs(): number {
    const lateMs = this.slowMsMax === 0 ? 0 : this.#random.between(0, this.slowMsMax);
    return this.#random.between(DELAY_MS_MIN, DELAY_MS_MAX) + lateMs;
  }

  losesMessage(): boolean {
    return this.lossChance > 0 && this.#random.chance(this.lossChance);
  }

  repeatsMessage(): boolean {
    return this.duplicateChance > 0 && this.#random.chance(this.duplicateChance);
  }

  mend(): void {
    this.slowMsMax = 0;
    this.lossChance = 0;
    this.duplicateChance = 0;
  }
}
