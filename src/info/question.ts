/**
 * A parsed question. `source` says where the answer comes from, and which members the question has.
 */

import type { StateView } from '../state/state.ts';
import type { ArchiveSteps } from './archive/archive-answer.ts';
import type { HistoryView } from './archive/history-view.ts';
import type { Present } from './archive/moment-height.ts';
import type { QuestionSubject } from './question-subject.ts';
import type { Dependencies, StateQuestionType } from './question-type.ts';
import type { UpstreamAnswers } from './upstream-answers.ts';
import { PUBLIC_WEIGHTS } from './upstream-weights.ts';
import type { AnswerWriter } from './writing/answer-writer.ts';

export type Question = StateQuestion | ArchiveQuestion | UpstreamQuestion;

/** A question about the present, answered from the state. */
export interface StateQuestion {
  readonly source: 'state';
  readonly questionType: StateQuestionType;
  readonly type: string;
  readonly weight: number;
  /** Throws the same RequestError as `answer`, unless the reason is an unknown subject. */
  validate(state: StateView): void;
  /**
   * The subjects of the answer; empty if the answer is not about users. Throws the errors of
   * `validate`.
   */
  subjects(state: StateView): readonly QuestionSubject[];
  /**
   * Returns the height since which the state's answer has not changed, apart from its time; or a
   * later height.
   */
  changedAt(state: StateView): number;
  /**
   * Returns the rows that the answer depends on, in addition to markets; returns undefined if any
   * block may change the answer.
   */
  dependencies(state: StateView): Dependencies | undefined;
  /**
   * Returns the row that the answer is made from; returns undefined if the answer is not made from
   * one row.
   */
  findRow(state: StateView): number | undefined;
  /** On a partial ledger, throws a RequestError if a subject is unknown, or could not be read. */
  answer(state: StateView, upstream?: UpstreamAnswers): string;
  /** Writes the text that `answer` returns. */
  write(out: AnswerWriter, state: StateView, upstream?: UpstreamAnswers): void;
  /** The estimated length of a long answer, in bytes; undefined if the answer is not long. */
  readonly bytesExpected: number | undefined;
  /** Writes the text that `answer` returns, with pauses. Only for long answers. */
  writePieces(out: AnswerWriter, state: StateView, upstream?: UpstreamAnswers): Iterator<number>;
  /** The fields in canonical form, as members of a JSON object: `"user":"0x...","dex":""`. */
  formatFields(): string;
}

/** A question about the past, answered from the archive: as of a moment, or over a time range. */
export interface ArchiveQuestion {
  readonly source: 'archive';
  readonly type: string;
  readonly weight: number;
  /** True if the answer may take megabytes. */
  readonly isLong: boolean;
  /**
   * The height of the answer; undefined for a time range. Throws a RequestError if the archive does
   * not have the height. `present` is the height and time of the ledger.
   */
  findHeight(history: HistoryView, present: Present): number | undefined;
  /** True if the question will always be about this height. */
  isFixedAt(height: number, history: HistoryView): boolean;
  /**
   * Returns true if later blocks belong to the answer too. If the archive does not have these
   * blocks yet, its answer is older.
   */
  isUntilNow(history: HistoryView): boolean;
  /** The same question as CSV, if its answer can be CSV and the question names no format. */
  asCsv?(): ArchiveQuestion;
  answer(history: HistoryView): ArchiveSteps;
}

/** The body of a question: JSON with a type. */
export interface QuestionBody {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** A question that the upstream answers. */
export class UpstreamQuestion {
  readonly source = 'upstream';
  /** The body that is sent to the upstream. It is rebuilt from checked fields. */
  readonly body: QuestionBody;

  constructor(body: QuestionBody) {
    this.body = body;
  }

  get type(): string {
    return this.body.type;
  }

  /** The weight that the upstream charges, without the weight of the rows of the answer. */
  get weight(): number {
    return PUBLIC_WEIGHTS.of(this.type);
  }

  /**
   * The weight of an answer with this number of rows; `rows` is undefined if the answer is not a
   * list.
   */
  weighAnswer(rows: number | undefined): number {
    return PUBLIC_WEIGHTS.ofRows(this.type, rows);
  }
}
