/** Runs long work on answers: one piece of work at a time, in short slices. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { runInSlices, type WorkStep } from '../../../timing/slices.ts';

const SLICE_MS = 4;

export class WorkQueue {
  #last: Promise<void> = Promise.resolve();

  /** Rejects with the error that a step throws. */
  run(step: WorkStep): Promise<void> {
    const done = this.#last.then(async () => {
      // The current turn of the event loop may have been long already.
      await nextTurn();
      await runInSlices(step, SLICE_MS);
    });
    this.#last = done.catch(() => undefined);
    return done;
  }
}
