/**
 * The messages between the supervisor and its workers:
 *
 *   worker -> supervisor   "hello"               the worker is ready for messages
 *   supervisor -> worker   { welcome }           the initial state of the worker
 *   worker -> supervisor   "answering"           the worker has a state to answer from
 *   both ways              { charges }           new charges, for every other worker
 *   supervisor -> worker   { saveSnapshot }      a request to save a snapshot: its id
 *   worker -> supervisor   { snapshot }          the outcome of that request
 *   supervisor -> worker   { feedFailure }       the feed has failed (also in a later welcome)
 *   supervisor -> worker   "stop"
 */

import type { Charge } from '../../access/budgets.ts';
import type { FeedFailure } from '../../replica/live-state.ts';
import type { SavedSnapshot } from '../../replica/snapshot-keeper.ts';

export interface WorkerStart {
  /**
   * The weight that each key has spent. With these charges, a worker that replaces another worker
   * does not refill the budgets.
   */
  readonly spent: readonly Charge[];
  /**
   * True if other workers answer already. This worker then listens only when it has a state to
   * answer from.
   */
  readonly othersAnswer: boolean;
  readonly feedFailure?: FeedFailure | undefined;
}

export type FromWorker =
  | 'hello'
  | 'answering'
  | { readonly charges: readonly Charge[] }
  | { readonly snapshot: SnapshotOutcome };

/**
 * The outcome of a request for a snapshot, with the id of the request: the saved snapshot, or the
 * reason why it was not saved.
 */
export type SnapshotOutcome = { readonly id: number } & (
  | { readonly saved: SavedSnapshot }
  | { readonly reason: string }
);

/** "stop" is a message and not a signal, because a second signal would end a worker at once. */
export type FromSupervisor =
  | 'stop'
  | { readonly welcome: WorkerStart }
  | { readonly feedFailure: FeedFailure }
  | { readonly charges: readonly Charge[] }
  | { readonly saveSnapshot: number };

/**
 * The callback of a send to a process that may have exited already. Without a callback, a failed
 * send causes an error event, which would end the sender too.
 */
export function ignoreFailure(): void {}
