/** Long work in slices, between which others get their turn; of several works one at a time. */

import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long a slice may take before the next step is left to another one. */
const SLICE_MS = 4;

/** A small part of a work; true if that was the last one. */
export type WorkStep = () => boolean;

export class SlicedWork {
  #last: Promise<void> = Promise.resolve();

  /** Rejects with what a step throws. */
  run(step: WorkStep): Promise<void> {
    const done = this.#last.then(() => runInSlices(step));
    this.#last = done.catch(() => undefined);
    return done;
  }
}

async function runInSlices(step: WorkStep): Promise<void> {
  for (;;) {
    // The turn before may have been long.
    await nextTurn();
    const endMs = performance.now() + SLICE_MS;
    while (performance.now() < endMs) if (step()) return;
  }
}
