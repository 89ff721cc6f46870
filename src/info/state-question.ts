/** Reads the fields of questions about the present, and answers these questions from the state. */

import type { StateView } from '../state/state.ts';
import { type FieldTable, formatFields, type ParsedFields, readValues } from './fields/field.ts';
import type { StateQuestion } from './question.ts';
import type { QuestionSubject } from './question-subject.ts';
import type { Dependencies, RowAnswers, StateQuestionType } from './question-type.ts';
import { RequestError } from './request-error.ts';
import { requireKnown, type UpstreamAnswers } from './upstream-answers.ts';
import type { AnswerWriter } from './writing/answer-writer.ts';

/** Reads the declared fields, and ignores other fields. */
export function readStateQuestion<F extends FieldTable>(
  questionType: StateQuestionType<F>,
  source: Readonly<Record<string, unknown>>,
): StateQuestion | RequestError {
  const fields = readValues(questionType, source);
  return fields instanceof RequestError ? fields : new ParsedStateQuestion(questionType, fields);
}

/** Returns a question whose fields are already parsed. */
export function askState<F extends FieldTable>(
  questionType: StateQuestionType<F>,
  fields: ParsedFields<F>,
): StateQuestion {
  return new ParsedStateQuestion(questionType, fields);
}

/**
 * This is a class, because subscriptions store many questions, and closures would take more memory.
 */
class ParsedStateQuestion<F extends FieldTable> implements StateQuestion {
  readonly questionType: StateQuestionType;
  readonly #questionType: StateQuestionType<F>;
  readonly #fields: ParsedFields<F>;
  /** The row of the answer, and the state in which the row was found. */
  #row = 0;
  #rowState: StateView | undefined;

  constructor(questionType: StateQuestionType<F>, fields: ParsedFields<F>) {
    this.questionType = questionType;
    this.#questionType = questionType;
    this.#fields = fields;
  }

  get source(): 'state' {
    return 'state';
  }

  get type(): string {
    return this.#questionType.type;
  }

  get weight(): number {
    return this.#questionType.weight * (this.#questionType.countWeights?.(this.#fields) ?? 1);
  }

  get bytesExpected(): number | undefined {
    return this.#questionType.pieces?.expectBytes(this.#fields);
  }

  validate(state: StateView): void {
    if (state.isPartial) requireRecorded(this.#questionType);
    this.#questionType.validate?.(state, this.#fields);
  }

  subjects(state: StateView): readonly QuestionSubject[] {
    return this.#questionType.partial?.subjects?.(state, this.#fields) ?? NO_SUBJECTS;
  }

  changedAt(state: StateView): number {
    const { rows } = this.#questionType;
    if (rows !== undefined) return rows.changedAt(state, this.#findRow(state, rows));
    return this.#questionType.changedAt?.(state, this.#fields) ?? state.height;
  }

  findRow(state: StateView): number | undefined {
    const { rows } = this.#questionType;
    return rows === undefined ? undefined : this.#findRow(state, rows);
  }

  #findRow(state: StateView, { find }: RowAnswers<F>): number {
    if (this.#row !== 0 && state === this.#rowState) return this.#row;
    const row = find(state, this.#fields);
    this.#row = row;
    this.#rowState = state;
    return row;
  }

  dependencies(state: StateView): Dependencies | undefined {
    this.#dropOldState(state);
    return this.#questionType.dependencies?.(state, this.#fields);
  }

  /** A stored question must not prevent the garbage collection of a replaced state. */
  #dropOldState(state: StateView): void {
    if (state !== this.#rowState) this.#rowState = undefined;
  }

  answer(state: StateView, upstream?: UpstreamAnswers): string {
    this.#requireKnown(state, upstream);
    return this.#questionType.answer(state, this.#fields, upstream);
  }

  write(out: AnswerWriter, state: StateView, upstream?: UpstreamAnswers): void {
    this.#requireKnown(state, upstream);
    const { rows, push } = this.#questionType;
    if (rows !== undefined && upstream === undefined) {
      rows.write(out, state, this.#findRow(state, rows));
    } else if (push?.write !== undefined) {
      push.write(out, state, this.#fields, upstream);
    } else {
      out.long(this.#questionType.answer(state, this.#fields, upstream));
    }
  }

  writePieces(out: AnswerWriter, state: StateView, upstream?: UpstreamAnswers): Iterator<number> {
    this.#requireKnown(state, upstream);
    const { pieces } = this.#questionType;
    if (pieces === undefined) throw new Error(`the answers of ${this.type} are not long`);
    return pieces.write(out, state, this.#fields, upstream);
  }

  /** Throws a RequestError if a partial ledger does not know a subject of the question. */
  #requireKnown(state: StateView, upstream?: UpstreamAnswers): void {
    if (!state.isPartial) return;
    requireRecorded(this.#questionType);
    if (this.#questionType.partial?.listsUnknown === true) return;
    requireKnown(state, this.subjects(state), upstream);
  }

  formatFields(): string {
    return formatFields(this.#questionType, this.#fields);
  }
}

const NO_SUBJECTS: readonly QuestionSubject[] = [];

function requireRecorded<F extends FieldTable>({ type, partial }: StateQuestionType<F>): void {
  if (partial?.isRefused !== true) return;
  const expected = 'a type that a partial ledger records';
  throw new RequestError('unknown_type', `type: got "${type}", expected ${expected}`, 'type');
}
