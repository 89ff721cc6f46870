/**
 * Questions about the past. They are answered in steps, so that other questions need not wait for a
 * long series.
 */

import type { StateView } from '../state/state.ts';
import type { ArchiveAnswer, ArchiveSteps } from './archive/archive-answer.ts';
import { HistoryUntil } from './archive/history-until.ts';
import type { HistoryView, PastView } from './archive/history-view.ts';
import { findMomentHeight, type Present } from './archive/moment-height.ts';
import { WEIGHT_SHARES, withSurcharge } from './archive/surcharge.ts';
import { isOpenEnd } from './archive/time-range.ts';
import { findUnknown, refuseForGood } from './archive/unknown-then.ts';
import type { FieldTable, ParsedFields } from './fields/field.ts';
import type { AnswerFormat } from './fields/format-field.ts';
import type { PastMoment } from './fields/past-moment.ts';
import type { ArchiveQuestion, StateQuestion } from './question.ts';
import { oldestTime } from './question-subject.ts';
import type { ArchiveQuestionType } from './question-type.ts';
import type { UpstreamAnswers } from './upstream-answers.ts';
import { AnswerWriter } from './writing/answer-writer.ts';

/** Returns a question that asks a question about the present at a moment of the past. */
export function askAtMoment(question: StateQuestion, moment: PastMoment): ArchiveQuestion {
  return new QuestionAtMoment(question, moment);
}

/** Returns a question about a time range. */
export function askOverTime<F extends FieldTable>(
  questionType: ArchiveQuestionType<F>,
  fields: ParsedFields<F>,
  terms: SeriesTerms,
): ArchiveQuestion {
  return new QuestionOverTime(questionType, fields, terms);
}

class QuestionAtMoment implements ArchiveQuestion {
  readonly source = 'archive';
  readonly #question: StateQuestion;
  readonly #moment: PastMoment;

  constructor(question: StateQuestion, moment: PastMoment) {
    this.#question = question;
    this.#moment = moment;
  }

  get type(): string {
    return this.#question.type;
  }

  get weight(): number {
    return this.#question.weight;
  }

  get isLong(): boolean {
    return this.#question.bytesExpected !== undefined;
  }

  findHeight(history: HistoryView, present?: Present): number {
    return findMomentHeight(this.#moment, history, present);
  }

  /**
   * If the question names a time, the last block is not final: another block with the same time may
   * follow.
   */
  isFixedAt(height: number, history: HistoryView): boolean {
    return this.#moment.height !== undefined || height < history.range().last;
  }

  isUntilNow(): boolean {
    return false;
  }

  answer(history: HistoryView): ArchiveSteps {
    return withSurcharge(history, this.weight, this.#answer(history));
  }

  *#answer(history: HistoryView): ArchiveSteps {
    const height = this.findHeight(history);
    const isFixed = this.isFixedAt(height, history);
    const past = history.at(height);
    try {
      return { ...(yield* this.#answerFrom(past, history)), isFixed };
    } catch (error) {
      throw refuseForGood(error, this.#moment);
    } finally {
      past.release();
    }
  }

  *#answerFrom(
    past: PastView,
    history: HistoryView,
  ): Generator<number, Omit<ArchiveAnswer, 'isFixed'>, void> {
    const { state } = past;
    const question = this.#question;
    question.validate(state);
    const subjects = question.subjects(state);
    yield WEIGHT_SHARES.moment + subjects.length * WEIGHT_SHARES.account;
    for (const subject of subjects) {
      past.load(subject);
      yield 0;
    }
    // An answer without `dependencies` may depend on every mark price.
    if (question.questionType.dependencies === undefined) past.loadMarks();
    const unknown = yield* findUnknown(subjects, this.#moment, state, history);
    const body = yield* writeBody(question, state, unknown);
    const { height, time, isPartial } = state;
    const accountTime = isPartial ? (oldestTime(state, subjects) ?? -1) : -1;
    return { body, format: 'json', height, time, accountTime };
  }
}

/** Writes the answer. A long answer is written in pieces. */
function* writeBody(
  question: StateQuestion,
  state: StateView,
  unknown: UpstreamAnswers | undefined,
): Generator<number, string | Buffer, void> {
  const { bytesExpected } = question;
  if (bytesExpected === undefined) return question.answer(state, unknown);
  const out = new AnswerWriter(bytesExpected);
  const pieces = question.writePieces(out, state, unknown);
  for (let piece = pieces.next(); piece.done !== true; piece = pieces.next()) yield piece.value;
  return out.bytesFrom(0);
}

/** The terms that every question about a time range may name, in addition to its own fields. */
export interface SeriesTerms {
  readonly format: AnswerFormat | undefined;
  /**
   * If defined, the question is answered from the archive as it was at this moment, without later
   * blocks.
   */
  readonly moment: PastMoment | undefined;
}

class QuestionOverTime<F extends FieldTable> implements ArchiveQuestion {
  readonly source = 'archive';
  /** The number of rows is limited. */
  readonly isLong = false;
  readonly #questionType: ArchiveQuestionType<F>;
  readonly #fields: ParsedFields<F>;
  readonly #terms: SeriesTerms;

  constructor(questionType: ArchiveQuestionType<F>, fields: ParsedFields<F>, terms: SeriesTerms) {
    this.#questionType = questionType;
    this.#fields = fields;
    this.#terms = terms;
  }

  get type(): string {
    return this.#questionType.type;
  }

  get weight(): number {
    return this.#questionType.weight;
  }

  /**
   * Returns undefined, because the answer has no single height. Throws a RequestError if the
   * archive does not have the moment.
   */
  findHeight(history: HistoryView, present?: Present): undefined {
    const { moment } = this.#terms;
    if (moment !== undefined) findMomentHeight(moment, history, present);
  }

  isFixedAt(): boolean {
    return false;
  }

  /** A portfolio has no time range: its periods end now. */
  isUntilNow(history: HistoryView): boolean {
    if (this.#terms.moment !== undefined) return false;
    const { to } = this.#fields as { readonly to?: number };
    return to === undefined || isOpenEnd(to, history);
  }

  asCsv(): ArchiveQuestion {
    if (!this.#questionType.hasCsv || this.#terms.format !== undefined) return this;
    return new QuestionOverTime(this.#questionType, this.#fields, {
      ...this.#terms,
      format: 'csv',
    });
  }

  answer(history: HistoryView): ArchiveSteps {
    return withSurcharge(history, this.weight, this.#answer(history));
  }

  *#answer(history: HistoryView): ArchiveSteps {
    const { format = 'json', moment } = this.#terms;
    const known =
      moment === undefined ? history : new HistoryUntil(history, findMomentHeight(moment, history));
    return yield* this.#questionType.answer(known, this.#fields, format);
  }
}
