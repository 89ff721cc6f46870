/**
 * The messages between the supervisor and its workers:
 *
 *   worker -> supervisor   "hello"               it is ready for messages
 *   supervisor -> worker   { welcome }           its initial state
 *   worker -> supervisor   "answering"           it has a state to answer from
 *   both ways              { charges }           what was charged, for every other worker
 *   supervisor -> worker   { saveSnapshot }      the id of a request to save one
 *   worker -> supervisor   { snapshot }          its outcome
 *   supervisor -> worker   { feedFailure }       the feed has failed; also part of a later welcome
 *   supervisor -> worker   "stop"
 */

import type { Charge } from '../../access/budgets.ts';
import type { FeedFailure } from '../../replica/live-state.ts';
import type { SavedSnapshot } from '../../replica/snapshot-keeper.ts';

export interface WorkerStart {
  /** The weight that each key has spent: a worker that replaces another must not refill the budgets. */
  readonly spent: readonly Charge[];
  /** True if others answer already: this one then listens only when it can answer too. */
  readonly othersAnswer: boolean;
  readonly feedFailure?: FeedFailure | undefined;
}

export type FromWorker =
  | 'hello'
  | 'answering'
  | { readonly charges: readonly Charge[] }
  | { readonly snapshot: SnapshotOutcome };

/** The outcome of a request by its id: the snapshot, or why it was not saved. */
export type SnapshotOutcome = { readonly id: number } & (
  | { readonly saved: SavedSnapshot }
  | { readonly reason: string }
);

/** "stop" is a message, since a second signal would end a worker at once. */
export type FromSupervisor =
  | 'stop'
  | { readonly welcome: WorkerStart }
  | { readonly feedFailure: FeedFailure }
  | { readonly charges: readonly Charge[] }
  | { readonly saveSnapshot: number };

/**
 * The callback of a send to a process that may just have exited: without a callback, a failed send is
 * an error event, which ends the sender too.
 */
export function ignoreFailure(): void {}
