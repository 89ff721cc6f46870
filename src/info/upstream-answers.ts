/**
 * What was read from the exchange for one question, beside the state: its own answers about subjects
 * that are not recorded, because our rules do not reproduce them, and why others could not be read.
 */

import { formatAddress } from '../exact/address.ts';
import type { StateView } from '../state/state.ts';
import { describeSubject, isSubjectKnown, type QuestionSubject } from './question-subject.ts';
import { RequestError } from './request-error.ts';
import { toAscii } from './writing/ascii-json.ts';

/** Identifies a subject within one state. */
function subjectKey(subject: QuestionSubject): string {
  const user = formatAddress(subject.user);
  return subject.kind === 'account' ? `${user} ${subject.dexIndex}` : user;
}

export class UpstreamAnswers {
  readonly #answers = new Map<string, string>();
  readonly #failures = new Map<string, RequestError>();
  /** When the oldest of the answers was given, in milliseconds; Infinity if there is none. */
  oldestAnswerTime = Number.POSITIVE_INFINITY;

  /** The answer is JSON text. */
  noteAnswer(subject: QuestionSubject, answer: string, time: number): void {
    this.#answers.set(subjectKey(subject), toAscii(answer));
    this.oldestAnswerTime = Math.min(this.oldestAnswerTime, time);
  }

  noteFailure(subject: QuestionSubject, refusal: RequestError): void {
    this.#failures.set(subjectKey(subject), refusal);
  }

  get hasAnswers(): boolean {
    return this.#answers.size > 0;
  }

  /** True if all that was read was recorded, so that the state answers. */
  get isEmpty(): boolean {
    return this.#answers.size === 0 && this.#failures.size === 0;
  }

  /** The exchange's own answer about the subject; undefined if the state answers. */
  findAnswer(subject: QuestionSubject): string | undefined {
    return this.#answers.size === 0 ? undefined : this.#answers.get(subjectKey(subject));
  }

  /** Why the subject could not be read; undefined if it was, or did not have to be. */
  findFailure(subject: QuestionSubject): RequestError | undefined {
    return this.#failures.size === 0 ? undefined : this.#failures.get(subjectKey(subject));
  }
}

/** Why a partial ledger cannot answer about them: one is unknown, or could not be read. */
export function findRefusal(
  state: StateView,
  subjects: readonly QuestionSubject[],
  readings?: UpstreamAnswers,
): RequestError | undefined {
  for (const subject of subjects) {
    const failure = readings?.findFailure(subject);
    if (failure !== undefined) return failure;
    if (isSubjectKnown(state, subject) || readings?.findAnswer(subject) !== undefined) continue;
    return refuseUnknown(state, subject);
  }
  return undefined;
}

/** On a partial ledger, throws that refusal. */
export function requireKnown(
  state: StateView,
  subjects: readonly QuestionSubject[],
  readings?: UpstreamAnswers,
): void {
  const refusal = state.isPartial ? findRefusal(state, subjects, readings) : undefined;
  if (refusal !== undefined) throw refusal;
}

function refuseUnknown(state: StateView, subject: QuestionSubject): RequestError {
  return new RequestError('not_ready', describeUnknown(state, subject), 'user');
}

/** Why there is no answer about an unknown subject. */
function describeUnknown(state: StateView, subject: QuestionSubject): string {
  const what = describeSubject(state, subject);
  return `this ledger does not hold ${what}: it is partial, and no event has named it`;
}
