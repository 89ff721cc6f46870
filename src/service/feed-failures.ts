/** Reports each failure of the service's feed. The last one is also reported to those who listen later. */

import type { FeedFailure } from '../replica/live-state.ts';

export class FeedFailures {
  readonly #listeners: ((failure: FeedFailure) => void)[] = [];
  #last: FeedFailure | undefined;

  get last(): FeedFailure | undefined {
    return this.#last;
  }

  report(failure: FeedFailure): void {
    this.#last = failure;
    for (const listener of this.#listeners) listener(failure);
  }

  listen(listener: (failure: FeedFailure) => void): void {
    this.#listeners.push(listener);
    if (this.#last !== undefined) listener(this.#last);
  }
}
