/** Links a worker to the supervisor, and through the supervisor to the other workers. */

import type { ChargeChannel } from '../../access/budget-sharing.ts';
import type { Charge } from '../../access/budgets.ts';
import type { SavedSnapshot } from '../../replica/snapshot-keeper.ts';
import { FeedFailures } from '../feed-failures.ts';
import {
  type FromSupervisor,
  type FromWorker,
  ignoreFailure,
  type WorkerStart,
} from './worker-messages.ts';

export class SupervisorLink implements ChargeChannel {
  readonly #stop = new AbortController();
  readonly #welcome: Promise<WorkerStart>;
  readonly feedFailures = new FeedFailures();
  #absorb: ((charges: readonly Charge[]) => void) | undefined;
  #saveSnapshot: (() => Promise<SavedSnapshot>) | undefined;

  constructor() {
    this.#welcome = new Promise((resolve) => {
      process.on('message', (message: FromSupervisor) => {
        if (message === 'stop') this.#stop.abort();
        else if ('welcome' in message) resolve(message.welcome);
        else if ('charges' in message) this.#absorb?.(message.charges);
        else if ('feedFailure' in message) this.feedFailures.report(message.feedFailure);
        else if ('saveSnapshot' in message) void this.#answerSnapshot(message.saveSnapshot);
      });
    });
    void this.#welcome.then(({ feedFailure }) => {
      if (feedFailure !== undefined) this.feedFailures.report(feedFailure);
    });
  }

  /** Aborted when the supervisor stops this worker. */
  get stop(): AbortSignal {
    return this.#stop.signal;
  }

  /** Reports to the supervisor that this worker is ready for messages. */
  greet(): Promise<WorkerStart> {
    this.#send('hello');
    return this.#welcome;
  }

  reportAnswering(): void {
    this.#send('answering');
  }

  send(charges: readonly Charge[]): void {
    this.#send({ charges });
  }

  onCharges(absorb: (charges: readonly Charge[]) => void): void {
    this.#absorb = absorb;
  }

  onSaveSnapshot(save: () => Promise<SavedSnapshot>): void {
    this.#saveSnapshot = save;
  }

  async #answerSnapshot(id: number): Promise<void> {
    try {
      // The supervisor only asks a worker that answers, and that worker has already offered its
      // function.
      const saved = await this.#saveSnapshot?.();
      if (saved !== undefined) this.#send({ snapshot: { id, saved } });
    } catch (error) {
      this.#send({ snapshot: { id, reason: (error as Error).message } });
    }
  }

  #send(message: FromWorker): void {
    process.send?.(message, undefined, undefined, ignoreFailure);
  }
}
