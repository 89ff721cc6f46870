/**
 * The declaration of a type of question. `source` says where the answers come from: the state, the
 * archive or the upstream. Every transport, the OpenAPI description and llms.txt read the
 * declaration. The values of a parsed question are derived from `fields`.
 *
 * Few members are required. The optional members are capabilities: if a type does not have them,
 * its questions are answered in the general way. No code depends on the name of a type.
 */

import type { Address } from '../exact/address.ts';
import type { StateView } from '../state/state.ts';
import type { ArchiveSteps } from './archive/archive-answer.ts';
import type { HistoryView } from './archive/history-view.ts';
import type { ShareName } from './archive/surcharge.ts';
import type { FieldTable, ParsedFields } from './fields/field.ts';
import type { AnswerFormat } from './fields/format-field.ts';
import type { QuestionSubject } from './question-subject.ts';
import type { RequestError } from './request-error.ts';
import type { Schema } from './schema.ts';
import type { UpstreamAnswers } from './upstream-answers.ts';
import type { UpstreamCost } from './upstream-cost.ts';
import type { AnswerWriter } from './writing/answer-writer.ts';

export type QuestionType<F extends FieldTable = FieldTable> =
  | StateQuestionType<F>
  | ArchiveQuestionType<F>
  | UpstreamQuestionType<F>;

/** The heading under which help and documents list a type. */
export type HelpGroup =
  | 'accounts'
  | 'staking'
  | 'auction'
  | 'markets'
  | 'market data'
  | 'history'
  | 'orders and fills'
  | 'fees and permissions'
  | 'vaults and lending'
  | 'spot';

interface DeclaredQuestion<F extends FieldTable> {
  /** The name on the wire. */
  readonly type: string;
  readonly group: HelpGroup;
  readonly summary: string;
  /** The cost of one question, charged to the key's budget. */
  readonly weight: number;
  readonly fields: F;
  /** The form of the answer, as a JSON Schema. */
  readonly answerSchema: Schema;
  /** What the exchange charges for the question, if that is not the ordinary weight of 20. */
  readonly upstreamCost?: UpstreamCost;
  /** Refuses combinations of fields. */
  check?(fields: ParsedFields<F>): RequestError | undefined;
}

interface Example {
  readonly question: Record<string, unknown>;
  readonly answer: unknown;
}

/** The upstream answers all questions of the type. */
export interface UpstreamQuestionType<F extends FieldTable = FieldTable>
  extends DeclaredQuestion<F> {
  readonly source: 'upstream';
  readonly example?: Example;
}

/**
 * With --forward, the upstream answers, because its answer contains more than ours. Without
 * --forward, the state or the archive answers.
 */
interface UpstreamFirst {
  /** The form of the upstream's answer, with the members that we know. */
  readonly answerSchema: Schema;
  /** The fields that are passed on, if they differ from the fields of the type. */
  readonly fields?: FieldTable;
  /** Present if `dex` must be a dex that the exchange lists, or one of these names. */
  readonly dexNames?: readonly string[];
  /**
   * If true, a question about the past is answered from the archive; otherwise the question is
   * refused.
   */
  readonly isPastFromArchive?: true;
}

interface LedgerQuestionType<F extends FieldTable> extends DeclaredQuestion<F> {
  readonly example: Example;
  /** Present if the upstream answers where questions are forwarded. */
  readonly upstreamFirst?: UpstreamFirst;
}

/** The answer is a series over time, from the archive. */
export interface ArchiveQuestionType<F extends FieldTable = FieldTable>
  extends LedgerQuestionType<F> {
  readonly source: 'archive';
  /** The reads from the archive that the question is charged for. */
  readonly shares: readonly ShareName[];
  /** True if the answer can be CSV too. */
  readonly hasCsv: boolean;
  answer(history: HistoryView, fields: ParsedFields<F>, format: AnswerFormat): ArchiveSteps;
}

/** The answer is a function of the state. */
export interface StateQuestionType<F extends FieldTable = FieldTable>
  extends LedgerQuestionType<F> {
  readonly source: 'state';
  /**
   * Returns the answer as JSON text. If `upstream` has an answer about a subject, the text contains
   * this answer.
   */
  answer(state: StateView, fields: ParsedFields<F>, upstream?: UpstreamAnswers): string;
  /** Makes the checks that need the state; `answer` makes these checks too. */
  validate?(state: StateView, fields: ParsedFields<F>): void;
  /** Returns how many times the weight is charged. Absent if the weight is charged once. */
  countWeights?(fields: ParsedFields<F>): number;
  /**
   * Returns the height since which the state's answer has not changed, apart from its time. This
   * height may be later than the true height, but never earlier. If the function is absent, every
   * block may change the answer. Throws what `validate` throws.
   */
  changedAt?(state: StateView, fields: ParsedFields<F>): number;
  /**
   * Returns the rows that the answer depends on, in addition to the markets of open positions. If
   * the function is absent or returns undefined, any block may change the answer.
   */
  dependencies?(state: StateView, fields: ParsedFields<F>): Dependencies | undefined;
  /** How a partial ledger answers; absent if the question is not about users. */
  readonly partial?: PartialLedger<F>;
  /** Present if the type can be subscribed to. */
  readonly push?: PushedAnswer<F>;
  /**
   * Present if the answer is made from one row of the state, and from the rows that this row links
   * to.
   */
  readonly rows?: RowAnswers<F>;
  /** Present if answers may be so long that they are written with pauses. */
  readonly pieces?: AnswerInPieces<F>;
}

/** How a ledger that does not know every account answers. */
interface PartialLedger<F extends FieldTable> {
  /** The accounts and delegations that the answer is about; throws what `validate` throws. */
  subjects?(state: StateView, fields: ParsedFields<F>): readonly QuestionSubject[];
  /**
   * True if the answer lists its unknown subjects, so that the question is not refused because of
   * them.
   */
  readonly listsUnknown?: true;
  /**
   * True if the answer about any user is a constant. It may differ from the answer of a followed
   * exchange, so a partial ledger refuses the question.
   */
  readonly isRefused?: true;
}

/**
 * The value of `push.name` if the members of the answer are the data of the frame, not one member
 * of the data.
 */
export const AS_DATA = Symbol('as data');

interface PushedAnswer<F extends FieldTable> {
  /** The name of the member that contains the answer in the data of a pushed frame. */
  readonly name: string | typeof AS_DATA;
  /** Writes the text that `answer` returns. */
  write?(
    out: AnswerWriter,
    state: StateView,
    fields: ParsedFields<F>,
    upstream?: UpstreamAnswers,
  ): void;
}

/**
 * A row never moves. So a repeated question searches its row once per state, and the answer of a
 * row can be cached. `changedAt` and `write` must match those of the type.
 */
export interface RowAnswers<F extends FieldTable = FieldTable> {
  /**
   * Returns the row; returns 0 if the state does not have the row yet. Throws what `validate`
   * throws.
   */
  find(state: StateView, fields: ParsedFields<F>): number;
  changedAt(state: StateView, row: number): number;
  write(out: AnswerWriter, state: StateView, row: number): void;
  /**
   * Returns the fields of a question that names only a user. This question is recognized without
   * parsing JSON.
   */
  ofUser?(user: Address): ParsedFields<F>;
}

interface AnswerInPieces<F extends FieldTable> {
  /**
   * Returns the estimated length of a long answer, in bytes; returns undefined if the answer is not
   * long.
   */
  expectBytes(fields: ParsedFields<F>): number | undefined;
  /** Writes the text that `answer` returns, with pauses. */
  write(
    out: AnswerWriter,
    state: StateView,
    fields: ParsedFields<F>,
    upstream?: UpstreamAnswers,
  ): Iterator<number>;
}

/** Rows of the state. */
export interface Dependencies {
  readonly accounts: readonly number[];
  readonly addresses: readonly number[];
}
