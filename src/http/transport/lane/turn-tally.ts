/** Counts the responses of a turn together, because all of them took the same time. */

import type { RequestCounters } from '../../answering/counters.ts';

interface Tally {
  readonly type: string;
  readonly status: number;
  count: number;
}

export class TurnTally {
  readonly #counters: RequestCounters;
  /**
   * The counts by type and status. A list is sufficient, because a turn has few different types and
   * statuses.
   */
  readonly #tallies: Tally[] = [];

  constructor(counters: RequestCounters) {
    this.#counters = counters;
  }

  count(type: string, status: number): void {
    for (const tally of this.#tallies) {
      if (tally.status === status && tally.type === type) {
        tally.count++;
        return;
      }
    }
    this.#tallies.push({ type, status, count: 1 });
  }

  /** Adds the counts to the metrics, and clears them. */
  flush(seconds: number): void {
    for (const { type, status, count } of this.#tallies) {
      this.#counters.countRequests(type, status, seconds, count);
    }
    this.#tallies.length = 0;
  }
}
