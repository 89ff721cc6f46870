/**
 * Questions about the past: any question with a moment, and those about a time range. They are
 * answered in steps, since a long series takes longer than others should wait.
 */

import type { StateView } from '../state/state.ts';
import { AnswerWriter } from './answer-writer.ts';
import { HistoryUntil } from './history-until.ts';
import type { HistoryView, PastView } from './history-view.ts';
import { type Moment, type Present, resolveMoment } from './moment.ts';
import type { Field, FieldTable, ParsedFields, Question, RequestType } from './request.ts';
import { type RequestError, wrongValue } from './request-error.ts';
import { oldestTime } from './subject.ts';
import { type ShareName, WEIGHT_SHARES, withSurcharge } from './surcharge.ts';

export type AnswerFormat = 'json' | 'csv';

export interface HistoryAnswer {
  /** Bytes if it is long. */
  readonly body: string | Buffer;
  readonly format: AnswerFormat;
  /** The position that the answer is of, or ends with. */
  readonly height: number;
  readonly time: number;
  /** True if the same question will always have this answer. */
  readonly isFixed: boolean;
  /** On a partial ledger, when the oldest account of the answer was read; -1 if it is about none. */
  readonly accountTime: number;
}

/**
 * Yields where work may pause: the surcharge, in weight units, for the work since the last pause. It adds
 * to the weight of the question, which covers what is known before the work starts.
 */
export type HistorySteps = Generator<number, HistoryAnswer, void>;

/** A question that an archive answers. */
export interface HistoryQuestion {
  readonly type: string;
  readonly weight: number;
  /** True if the answer may take megabytes. */
  readonly isLong: boolean;
  /**
   * The height that the answer is of, if it is of one. Throws a RequestError if the archive does not hold
   * it; `present` is where the ledger is.
   */
  findHeight(history: HistoryView, present: Present): number | undefined;
  /** Whether the question is about this height for good. */
  isFixedAt(height: number, history: HistoryView): boolean;
  answer(history: HistoryView): HistorySteps;
}

/** A type of question about a time range, answered by a series. */
export interface HistoryType<F extends FieldTable = FieldTable>
  extends Pick<
    RequestType<F>,
    'type' | 'summary' | 'weight' | 'fields' | 'answerSchema' | 'example' | 'check'
  > {
  /** What it reads, and is charged for. */
  readonly shares: readonly ShareName[];
  /** It can be answered as CSV too. */
  readonly hasCsv: boolean;
  answer(history: HistoryView, fields: ParsedFields<F>, format: AnswerFormat): HistorySteps;
}

/** A question as of a moment. */
export class PastQuestion implements HistoryQuestion {
  readonly #question: Question;
  readonly #moment: Moment;

  constructor(question: Question, moment: Moment) {
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
    return resolveMoment(this.#moment, history, present);
  }

  /** By time, a block of the same time may still follow the last one that is kept. */
  isFixedAt(height: number, history: HistoryView): boolean {
    return this.#moment.height !== undefined || height < history.range().last;
  }

  answer(history: HistoryView): HistorySteps {
    return withSurcharge(history, this.weight, this.#answer(history));
  }

  *#answer(history: HistoryView): HistorySteps {
    const height = this.findHeight(history);
    const isFixed = this.isFixedAt(height, history);
    const past = history.at(height);
    try {
      return { ...(yield* this.#answerFrom(past)), isFixed };
    } finally {
      past.release();
    }
  }

  *#answerFrom(past: PastView): Generator<number, Omit<HistoryAnswer, 'isFixed'>, void> {
    const { state } = past;
    const question = this.#question;
    question.validate(state);
    const subjects = question.subjects(state);
    yield WEIGHT_SHARES.moment + subjects.length * WEIGHT_SHARES.account;
    for (const subject of subjects) {
      past.load(subject);
      yield 0;
    }
    // Without `dependencies` it may depend on every mark.
    if (question.request.dependencies === undefined) past.loadMarks();
    const body = yield* writeBody(question, state);
    const { height, time, isPartial } = state;
    const accountTime = isPartial ? (oldestTime(state, subjects) ?? -1) : -1;
    return { body, format: 'json', height, time, accountTime };
  }
}

/** The answer; a long one in pieces. */
function* writeBody(
  question: Question,
  state: StateView,
): Generator<number, string | Buffer, void> {
  const { bytesExpected } = question;
  if (bytesExpected === undefined) return question.answer(state);
  const out = new AnswerWriter(bytesExpected);
  const pieces = question.writePieces(out, state);
  for (let piece = pieces.next(); piece.done !== true; piece = pieces.next()) yield piece.value;
  return out.bytesFrom(0);
}

/** What a question about a time range names beside its fields. */
export interface SeriesTerms {
  readonly format: AnswerFormat | undefined;
  /** The answer is as the archive was at this moment: without what came later. */
  readonly moment: Moment | undefined;
}

/** A question about a time range. */
export class SeriesQuestion<F extends FieldTable> implements HistoryQuestion {
  /** It has a limited number of rows. */
  readonly isLong = false;
  readonly #request: HistoryType<F>;
  readonly #fields: ParsedFields<F>;
  readonly #terms: SeriesTerms;

  constructor(request: HistoryType<F>, fields: ParsedFields<F>, terms: SeriesTerms) {
    this.#request = request;
    this.#fields = fields;
    this.#terms = terms;
  }

  get type(): string {
    return this.#request.type;
  }

  get weight(): number {
    return this.#request.weight;
  }

  /** Its answer is of many heights; only checks that the moment is kept. */
  findHeight(history: HistoryView, present?: Present): undefined {
    const { moment } = this.#terms;
    if (moment !== undefined) resolveMoment(moment, history, present);
  }

  isFixedAt(): boolean {
    return false;
  }

  /** The same question as CSV, if it has such an answer and names no format itself. */
  asCsv(): SeriesQuestion<F> {
    if (!this.#request.hasCsv || this.#terms.format !== undefined) return this;
    return new SeriesQuestion(this.#request, this.#fields, { ...this.#terms, format: 'csv' });
  }

  answer(history: HistoryView): HistorySteps {
    return withSurcharge(history, this.weight, this.#answer(history));
  }

  *#answer(history: HistoryView): HistorySteps {
    const { format = 'json', moment } = this.#terms;
    const known =
      moment === undefined ? history : new HistoryUntil(history, resolveMoment(moment, history));
    return yield* this.#request.answer(known, this.#fields, format);
  }
}

const FORMATS: readonly unknown[] = ['json', 'csv'];

/** The field `format` of questions about a time range. */
export const formatField: Field<unknown> = {
  description: 'json or csv',
  schema: { enum: FORMATS },
  fallback: 'json',
  read: (_name, value) => value,
};

/** The format that is asked for, undefined if none is, or why it is refused. */
export function readFormat(
  { type, hasCsv }: HistoryType,
  value: unknown,
): AnswerFormat | RequestError | undefined {
  if (value === undefined) return undefined;
  if (FORMATS.includes(value) && (hasCsv || value === 'json')) return value as AnswerFormat;
  const expected = hasCsv ? '"json" or "csv"' : `"json", the only format of ${type}`;
  return wrongValue('format', value, expected);
}
