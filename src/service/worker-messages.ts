/**
 * The messages between the supervisor and its workers:
 *
 *   worker -> supervisor   "hello"               it listens to messages from here on
 *   supervisor -> worker   { welcome }           its initial state
 *   worker -> supervisor   "answering"           it has a state to answer from
 *   both ways              { charges }           what was charged, to every other worker
 *   supervisor -> worker   { feedFailure }       the feed has failed; also part of a later welcome
 *   supervisor -> worker   "stop"
 */

import type { Charge } from '../access/budgets.ts';
import type { FeedFailure } from '../replica/live-state.ts';

export interface Welcome {
  /** What each key has spent: a worker that replaces another must not refill the budgets. */
  readonly spent: readonly Charge[];
  /** True where others answer already: this one accepts no connection before it can answer too. */
  readonly othersAnswer: boolean;
  readonly feedFailure?: FeedFailure | undefined;
}

export type FromWorker = 'hello' | 'answering' | { readonly charges: readonly Charge[] };

/** "stop" is a message, since a signal to the process group has reached the workers already. */
export type FromSupervisor =
  | 'stop'
  | { readonly welcome: Welcome }
  | { readonly feedFailure: FeedFailure }
  | { readonly charges: readonly Charge[] };

/**
 * The callback of a send. A process that has just exited may still look connected; without a callback
 * the failed send would be an error event, and end the sender too.
 */
export function ignoreFailure(): void {}
