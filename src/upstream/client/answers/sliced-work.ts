/**
 * Runs long work in short slices, so that other work can run in between. Only one long work runs at
 * a time.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';

/** How long a slice may take before the event loop continues with other work. */
const SLICE_MS = 4;

/** Does a small part of the work; true if the work is complete. */
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
    // The current turn of the event loop may already have been long.
    await nextTurn();
    const endMs = performance.now() + SLICE_MS;
    while (performance.now() < endMs) if (step()) return;
  }
}
