/**
 * Refusals of questions about a moment of the past at which a partial ledger did not have the answer. The past does
 * not change, so these refusals do not ask for a retry.
 */

import type { StateView } from '../../state/state.ts';
import type { PastMoment } from '../fields/past-moment.ts';
import { describeSubject, isSubjectKnown, type QuestionSubject } from '../question-subject.ts';
import { RequestError } from '../request-error.ts';
import { UpstreamAnswers } from '../upstream-answers.ts';
import type { HistoryView } from './history-view.ts';

/**
 * Refusals of the subjects that the ledger did not know at the moment; undefined if it knew all of them. There may be
 * thousands, so the work may pause after each of them.
 */
export function* findUnknown(
  subjects: readonly QuestionSubject[],
  moment: PastMoment,
  state: StateView,
  history: HistoryView,
): Generator<number, UpstreamAnswers | undefined, void> {
  if (!state.isPartial) return undefined;
  const unknown = new UpstreamAnswers();
  for (const subject of subjects) {
    if (isSubjectKnown(state, subject)) continue;
    unknown.noteFailure(subject, refuseSubject(subject, moment, state, history));
    yield 0;
  }
  return unknown.isEmpty ? undefined : unknown;
}

function refuseSubject(
  subject: QuestionSubject,
  moment: PastMoment,
  state: StateView,
  history: HistoryView,
): RequestError {
  const what = describeSubject(state, subject);
  const since = subject.kind === 'account' ? history.nextChange(subject, state.height) : undefined;
  const known =
    since === undefined
      ? `this ledger did not know ${what} at height ${state.height}`
      : `this ledger knows ${what} from height ${since} on, time ${history.timeOf(since)}`;
  return refuse(moment, known);
}

/** A refusal that asks for a retry becomes one that does not; other errors stay as they are. */
export function refuseForGood(error: unknown, moment: PastMoment): unknown {
  if (!(error instanceof RequestError) || error.code !== 'not_ready') return error;
  return refuse(moment, error.message);
}

function refuse({ height, time }: PastMoment, reason: string): RequestError {
  const [field, got] = height === undefined ? ['atTime', time] : ['atHeight', height];
  const message = `${field}: got ${got}, expected a moment at which the ledger had the answer: ${reason}`;
  return new RequestError('unknown_height', message, field as string);
}
