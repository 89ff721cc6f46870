/**
 * How a type of question is declared, once: its fields, each with description and parser, its weight,
 * and the function that answers it. The type of a parsed question and the OpenAPI description follow
 * from the declaration.
 */

import {
  ADDRESS_EXPECTED,
  ADDRESS_PATTERN,
  type Address,
  expectedAddress,
  formatAddress,
  parseAddress,
} from '../exact/address.ts';
import type { StateView } from '../state/state.ts';
import type { AnswerWriter } from './answer-writer.ts';
import { type Readings, requireKnown } from './readings.ts';
import { RequestError, wrongValue } from './request-error.ts';
import type { Schema } from './schema.ts';
import type { Subject } from './subject.ts';

export interface Field<T> {
  readonly description: string;
  /** The form of the value, as a JSON Schema. */
  readonly schema: Schema;
  /** The value of an absent field; if undefined, the field is required. */
  readonly fallback?: T;
  /** The value, or the refusal; refusals are returned because throwing costs more than an answer. */
  read(name: string, value: unknown): T | RequestError;
  /** The value as JSON text, for fields of types that can be subscribed to. */
  format?(value: T): string;
  /** True if pushed frames omit the field when it has its fallback, as clients expect. */
  readonly omitsFallback?: boolean;
  /** Converts query parameters to the input of `read`, for fields that are not a single text. */
  readTexts?(texts: readonly string[]): unknown;
}

/** For `pushedAs`: the answer's members are the frame's data, not one member of it. */
export const AS_DATA = Symbol('as data');

export type FieldTable = Record<string, Field<unknown>>;
export type ParsedFields<F extends FieldTable> = {
  [Name in keyof F]: Exclude<ReturnType<F[Name]['read']>, RequestError>;
};

export interface RequestType<F extends FieldTable = FieldTable> {
  readonly type: string;
  readonly summary: string;
  /** The cost of one question, charged to the key's budget. */
  readonly weight: number;
  readonly fields: F;
  /** The form of the answer, as a JSON Schema. */
  readonly answerSchema: Schema;
  readonly example: { readonly question: Record<string, unknown>; readonly answer: unknown };
  /** The answer's name in a pushed frame's data; only types with one can be subscribed to. */
  readonly pushedAs?: string | typeof AS_DATA;
  /** How many times the weight is charged, if that depends on the question. */
  countWeights?(fields: ParsedFields<F>): number;
  /** Refuses combinations of fields. */
  check?(fields: ParsedFields<F>): RequestError | undefined;
  /** Checks that need the state; `answer` makes them as well. */
  validate?(state: StateView, fields: ParsedFields<F>): void;
  /**
   * The accounts and delegations that the answer is about; throws what `validate` throws. Absent if the
   * question is not about users.
   */
  subjects?(state: StateView, fields: ParsedFields<F>): readonly Subject[];
  /** True if the answer itself lists subjects that are unknown, so that they do not refuse it. */
  readonly listsUnknown?: true;
  /** True if the answer is a constant about a user, which a followed exchange may contradict. */
  readonly isRefusedOnPartial?: true;
  /**
   * The height since which the state's answer, apart from its time, has been the same. It may be
   * later than the true one, never earlier. Throws what `validate` throws.
   */
  changedAt(state: StateView, fields: ParsedFields<F>): number;
  /**
   * The rows that the answer depends on, beside the markets of open positions. Absent, or undefined, if
   * any block may change it.
   */
  dependencies?(state: StateView, fields: ParsedFields<F>): Dependencies | undefined;
  /** Present if the answer is made of one row of the state, and of what the row leads to. */
  readonly rowAnswer?: RowAnswer<F>;
  /** The answer as JSON text; subjects that have an answer in the readings are answered by that. */
  answer(state: StateView, fields: ParsedFields<F>, readings?: Readings): string;
  /** Estimated bytes of an answer written in pieces; else undefined. */
  expectBytes?(fields: ParsedFields<F>): number | undefined;
  /** The same as `answer`, written with pauses. */
  writePieces?(
    out: AnswerWriter,
    state: StateView,
    fields: ParsedFields<F>,
    readings?: Readings,
  ): Iterator<number>;
  /** The same, written instead of returned, for answers that are pushed often. */
  write?(out: AnswerWriter, state: StateView, fields: ParsedFields<F>, readings?: Readings): void;
}

/**
 * The answer of one row. Rows never move, so a repeated question finds its row once per state.
 * `changedAt` and `write` must match the type's own.
 */
interface RowAnswer<F extends FieldTable> {
  /** 0 if the state does not have it yet. Throws what `validate` throws. */
  find(state: StateView, fields: ParsedFields<F>): number;
  changedAt(state: StateView, row: number): number;
  write(out: AnswerWriter, state: StateView, row: number): void;
}

/** Rows of the state. */
export interface Dependencies {
  readonly accounts: readonly number[];
  readonly addresses: readonly number[];
}

/** A question whose fields have been parsed. */
export interface Question {
  readonly request: RequestType;
  readonly type: string;
  readonly weight: number;
  /** Throws what `answer` would throw, without answering, unless a subject is unknown. */
  validate(state: StateView): void;
  /** What the answer is about; empty if it is not about users. Throws what `validate` throws. */
  subjects(state: StateView): readonly Subject[];
  /** The height since which the state's answer, apart from its time, has been the same, or later. */
  changedAt(state: StateView): number;
  /** The rows that the answer depends on, beside markets; undefined if any block may change it. */
  dependencies(state: StateView): Dependencies | undefined;
  /** On a partial ledger, throws a RequestError if a subject is unknown, or could not be read. */
  answer(state: StateView, readings?: Readings): string;
  /** As `answer`, written. */
  write(out: AnswerWriter, state: StateView, readings?: Readings): void;
  /** Estimated bytes of a long answer; undefined if the answer is not long. */
  readonly bytesExpected: number | undefined;
  /** As `answer`, written with pauses, if the answer is long. */
  writePieces(out: AnswerWriter, state: StateView, readings?: Readings): Iterator<number>;
  /** The fields in canonical form, as members of a JSON object: `"user":"0x...","dex":""`. */
  formatFields(): string;
}

export const ADDRESS_SCHEMA: Schema<string> = { type: 'string', pattern: ADDRESS_PATTERN };

export const addressField: Field<Address> = {
  description: `an address: ${ADDRESS_EXPECTED}, either case`,
  schema: ADDRESS_SCHEMA,
  read(name, value) {
    const address = typeof value === 'string' ? parseAddress(value) : undefined;
    if (address !== undefined) return address;
    return wrongValue(name, value, expectedAddress(value), 'invalid_address');
  },
  format: (address) => `"${formatAddress(address)}"`,
};

/** The longest number that a query may have. */
const NUMBER_LENGTH = 16;

/** A whole number; in a query, its digits. */
export function wholeField(description: string, { from = 0 } = {}): Field<number> {
  const to = Number.MAX_SAFE_INTEGER;
  return {
    description,
    schema: { type: 'integer', minimum: from, maximum: to },
    read(name, value) {
      if (Number.isSafeInteger(value) && (value as number) >= from) return value as number;
      return wrongValue(name, value, `a whole number from ${from} to ${to}`);
    },
    readTexts: ([text, ...others]) =>
      others.length === 0 && /^\d+$/.test(text) && text.length <= NUMBER_LENGTH
        ? Number(text)
        : undefined,
  };
}

/** Reads the declared fields; others are ignored. */
export function readFields<F extends FieldTable>(
  request: RequestType<F>,
  source: Readonly<Record<string, unknown>>,
): Question | RequestError {
  const fields = readValues(request, source);
  return fields instanceof RequestError ? fields : new ParsedRequest(request, fields);
}

/** What declares fields. */
type Declaring<F extends FieldTable> = Pick<RequestType<F>, 'fields' | 'check'>;

/** The values of the declared fields, or why they are refused. */
export function readValues<F extends FieldTable>(
  request: Declaring<F>,
  source: Readonly<Record<string, unknown>>,
): ParsedFields<F> | RequestError {
  const parsed: Record<string, unknown> = {};
  for (const name of Object.keys(request.fields)) {
    const value = readField(request.fields[name], name, source[name]);
    if (value instanceof RequestError) return value;
    parsed[name] = value;
  }
  const fields = parsed as ParsedFields<F>;
  return request.check?.(fields) ?? fields;
}

/** A class: subscriptions keep many of them, and closures would take more memory. */
class ParsedRequest<F extends FieldTable> implements Question {
  readonly request: RequestType;
  readonly #request: RequestType<F>;
  readonly #fields: ParsedFields<F>;
  /** The row that the answer is made of, and the state that it was found in. */
  #row = 0;
  #rowState: StateView | undefined;

  constructor(request: RequestType<F>, fields: ParsedFields<F>) {
    this.request = request;
    this.#request = request;
    this.#fields = fields;
  }

  get type(): string {
    return this.#request.type;
  }

  get weight(): number {
    return this.#request.weight * (this.#request.countWeights?.(this.#fields) ?? 1);
  }

  get bytesExpected(): number | undefined {
    return this.#request.expectBytes?.(this.#fields);
  }

  validate(state: StateView): void {
    if (state.isPartial) requireRecorded(this.#request);
    this.#request.validate?.(state, this.#fields);
  }

  subjects(state: StateView): readonly Subject[] {
    return this.#request.subjects?.(state, this.#fields) ?? NO_SUBJECTS;
  }

  changedAt(state: StateView): number {
    const { rowAnswer } = this.#request;
    if (rowAnswer !== undefined) return rowAnswer.changedAt(state, this.#findRow(state, rowAnswer));
    return this.#request.changedAt(state, this.#fields);
  }

  #findRow(state: StateView, { find }: RowAnswer<F>): number {
    if (this.#row !== 0 && state === this.#rowState) return this.#row;
    const row = find(state, this.#fields);
    this.#row = row;
    this.#rowState = state;
    return row;
  }

  dependencies(state: StateView): Dependencies | undefined {
    this.#dropOldState(state);
    return this.#request.dependencies?.(state, this.#fields);
  }

  /** A subscription must not keep a replaced state alive. */
  #dropOldState(state: StateView): void {
    if (state !== this.#rowState) this.#rowState = undefined;
  }

  answer(state: StateView, readings?: Readings): string {
    this.#requireHeld(state, readings);
    return this.#request.answer(state, this.#fields, readings);
  }

  write(out: AnswerWriter, state: StateView, readings?: Readings): void {
    this.#requireHeld(state, readings);
    const { rowAnswer, write } = this.#request;
    if (rowAnswer !== undefined && readings === undefined) {
      rowAnswer.write(out, state, this.#findRow(state, rowAnswer));
    } else if (write !== undefined) {
      write(out, state, this.#fields, readings);
    } else {
      out.long(this.#request.answer(state, this.#fields, readings));
    }
  }

  writePieces(out: AnswerWriter, state: StateView, readings?: Readings): Iterator<number> {
    this.#requireHeld(state, readings);
    const pieces = this.#request.writePieces?.(out, state, this.#fields, readings);
    if (pieces === undefined) throw new Error(`the answers of ${this.type} are not long`);
    return pieces;
  }

  /** Throws a RequestError if a partial ledger does not hold what the question is about. */
  #requireHeld(state: StateView, readings?: Readings): void {
    if (!state.isPartial) return;
    requireRecorded(this.#request);
    if (this.#request.listsUnknown === true) return;
    requireKnown(state, this.subjects(state), readings);
  }

  formatFields(): string {
    return formatFields(this.#request, this.#fields);
  }
}

const NO_SUBJECTS: readonly Subject[] = [];

function requireRecorded<F extends FieldTable>({ type, isRefusedOnPartial }: RequestType<F>): void {
  if (isRefusedOnPartial !== true) return;
  const expected = 'a type that a partial ledger records';
  throw new RequestError('unknown_type', `type: got "${type}", expected ${expected}`, 'type');
}

function readField(field: Field<unknown>, name: string, value: unknown): unknown {
  if (value !== undefined) return field.read(name, value);
  if (field.fallback !== undefined) return field.fallback;
  const message = `${name}: got nothing, expected ${field.description}`;
  return new RequestError('missing_field', message, name);
}

function formatFields<F extends FieldTable>(
  request: RequestType<F>,
  fields: ParsedFields<F>,
): string {
  const members = Object.entries(request.fields)
    .filter(([name, field]) => !(field.omitsFallback && fields[name] === field.fallback))
    .map(([name, field]) => `"${name}":${field.format?.(fields[name])}`);
  return members.join(',');
}

/** Converts a query string to the object that a JSON body would hold. */
export function readParameters(
  fields: FieldTable,
  parameters: URLSearchParams,
): Record<string, unknown> | RequestError {
  const source: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const texts = parameters.getAll(name);
    if (texts.length === 0) continue;
    const value = field.readTexts?.(texts) ?? readOne(name, texts);
    if (value instanceof RequestError) return value;
    source[name] = value;
  }
  return source;
}

/** The text of a parameter that may be given once. */
export function readOne(name: string, texts: readonly string[]): string | RequestError {
  if (texts.length === 1) return texts[0];
  const message = `${name}: got ${texts.length} values in the query, expected one`;
  return new RequestError('invalid_field', message, name);
}
