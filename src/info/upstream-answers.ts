/**
 * The results of reading from the exchange for one question. The exchange's own answer is used for
 * a subject that the ledger does not record, because our rules cannot reproduce that answer. For a
 * subject that could not be read, there is a refusal.
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
  /** The time of the oldest answer, in milliseconds; Infinity if there are no answers. */
  oldestAnswerTime = Number.POSITIVE_INFINITY;

  /** Notes the exchange's answer about a subject, as JSON text. */
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

  /** True if the ledger has recorded all reads, so that the state answers. */
  get isEmpty(): boolean {
    return this.#answers.size === 0 && this.#failures.size === 0;
  }

  /** The exchange's own answer about the subject; undefined if the state answers. */
  findAnswer(subject: QuestionSubject): string | undefined {
    return this.#answers.size === 0 ? undefined : this.#answers.get(subjectKey(subject));
  }

  /**
   * Returns why the subject could not be read; returns undefined if no read of the subject failed.
   */
  findFailure(subject: QuestionSubject): RequestError | undefined {
    return this.#failures.size === 0 ? undefined : this.#failures.get(subjectKey(subject));
  }
}

/**
 * Returns why a partial ledger cannot answer: a subject is unknown, or could not be read. Returns
 * undefined if it can answer.
 */
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

/** On a partial ledger, throws the refusal that `findRefusal` returns. */
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

/** Says why there is no answer about an unknown subject. */
function describeUnknown(state: StateView, subject: QuestionSubject): string {
  const what = describeSubject(state, subject);
  return `this ledger does not hold ${what}: it is partial, and no event has named it`;
}
