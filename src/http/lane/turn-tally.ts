/** Counts the responses of a turn together: they all took as long. */

import type { RequestCounters } from '../counters.ts';

interface Tally {
  readonly type: string;
  readonly status: number;
  count: number;
}

export class TurnTally {
  readonly #counters: RequestCounters;
  /** Few: a turn has few types of questions, and few statuses. */
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

  /** Counts all of them, and begins anew. */
  flush(seconds: number): void {
    for (const { type, status, count } of this.#tallies) {
      this.#counters.countRequests(type, status, seconds, count);
    }
    this.#tallies.length = 0;
  }
}
