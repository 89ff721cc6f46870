/** The supervisor's requests for snapshots that workers have not answered yet. */

import type { SavedSnapshot } from '../../replica/snapshot-keeper.ts';
import type { SnapshotOutcome } from './worker-messages.ts';

interface Pending<W> {
  readonly worker: W;
  readonly resolve: (saved: SavedSnapshot) => void;
  readonly reject: (error: Error) => void;
}

/** `W` identifies a worker. */
export class SnapshotRequests<W> {
  readonly #pending = new Map<number, Pending<W>>();
  #idNext = 1;

  /**
   * Resolves with the worker's answer. Rejects if the worker fails to save, or ends before it
   * answers.
   */
  ask(worker: W, send: (id: number) => void): Promise<SavedSnapshot> {
    const id = this.#idNext++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { worker, resolve, reject });
      send(id);
    });
  }

  settle(outcome: SnapshotOutcome): void {
    const pending = this.#pending.get(outcome.id);
    this.#pending.delete(outcome.id);
    if ('saved' in outcome) pending?.resolve(outcome.saved);
    else pending?.reject(new Error(outcome.reason));
  }

  /** Call this function when a worker has ended. */
  dropOf(worker: W): void {
    for (const [id, pending] of this.#pending) {
      if (pending.worker !== worker) continue;
      this.#pending.delete(id);
      pending.reject(new Error('the worker ended before it had saved the snapshot'));
    }
  }
}
