/**
 * How a type of question is declared, once: its fields, each with description and parser, its weight,
 * and the function that answers it. The type of a parsed question and the OpenAPI description follow
 * from the declaration.
 */

import { describeValue } from '../events/refusal.ts';
import {
  ADDRESS_EXPECTED,
  ADDRESS_PATTERN,
  type Address,
  formatAddress,
  parseAddress,
} from '../exact/address.ts';
import type { StateView } from '../state/state.ts';
import { RequestError } from './request-error.ts';
import type { Schema } from './schema.ts';

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

/** For `pushedAs`: the frame's data has the answer's members, instead of the answer under a name. */
export const AS_DATA = Symbol('as data');

type FieldTable = Record<string, Field<unknown>>;
type ParsedFields<F extends FieldTable> = {
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
  /** The answer as JSON text. */
  answer(state: StateView, fields: ParsedFields<F>): string;
}

/** A question whose fields have been parsed. */
export interface Question {
  readonly request: RequestType;
  readonly type: string;
  readonly weight: number;
  /** Throws what `answer` would throw, without answering. */
  validate(state: StateView): void;
  answer(state: StateView): string;
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
    const message = `${name}: got ${describeValue(value)}, expected ${ADDRESS_EXPECTED}`;
    return new RequestError('invalid_address', message, name);
  },
  format: (address) => `"${formatAddress(address)}"`,
};

/** Reads the declared fields; others are ignored. */
export function readFields<F extends FieldTable>(
  request: RequestType<F>,
  source: Readonly<Record<string, unknown>>,
): Question | RequestError {
  const parsed: Record<string, unknown> = {};
  for (const name of Object.keys(request.fields)) {
    const value = readField(request.fields[name], name, source[name]);
    if (value instanceof RequestError) return value;
    parsed[name] = value;
  }
  const fields = parsed as ParsedFields<F>;
  const refusal = request.check?.(fields);
  if (refusal !== undefined) return refusal;
  return {
    request,
    type: request.type,
    weight: request.weight * (request.countWeights?.(fields) ?? 1),
    validate: (state) => request.validate?.(state, fields),
    answer: (state) => request.answer(state, fields),
    formatFields: () => formatFields(request, fields),
  };
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
  request: RequestType,
  parameters: URLSearchParams,
): Record<string, unknown> | RequestError {
  const source: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(request.fields)) {
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
