/**
 * How a type of question is declared: its fields once, each with its meaning and its parser, what it
 * weighs, and the function that answers it. The type of a parsed question follows from the
 * declaration, and so does the description of the interface that others read.
 */

import { ADDRESS_EXPECTED, type Address, parseAddress } from '../address.ts';
import { RequestError } from '../errors.ts';
import { describeValue } from '../refusal.ts';
import type { StateView } from '../state/state.ts';

export interface Field<T> {
  readonly description: string;
  /** The form of the value, as a JSON Schema. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** What an absent field stands for; where undefined, the field is required. */
  readonly fallback?: T;
  parse(name: string, value: unknown): T;
}

type FieldTable = Record<string, Field<unknown>>;
type Fields<F extends FieldTable> = { [Name in keyof F]: ReturnType<F[Name]['parse']> };

export interface RequestType<F extends FieldTable = FieldTable> {
  readonly type: string;
  readonly summary: string;
  /** What one question takes from a key's budget. */
  readonly weight: number;
  readonly fields: F;
  /** The form of the answer, as a JSON Schema. */
  readonly answerSchema: Readonly<Record<string, unknown>>;
  readonly example: { readonly question: Record<string, unknown>; readonly answer: unknown };
  /** Refuses what only the state can judge; `answer` refuses it as well. */
  validate?(state: StateView, fields: Fields<F>): void;
  /** The answer as JSON text. */
  answer(state: StateView, fields: Fields<F>): string;
}

/** A question whose fields have been parsed. */
export interface Question {
  readonly type: string;
  readonly weight: number;
  /** Throws what `answer` would throw, at less cost. */
  validate(state: StateView): void;
  answer(state: StateView): string;
}

export const ADDRESS_SCHEMA = { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' };

export const addressField: Field<Address> = {
  description: `an address: ${ADDRESS_EXPECTED}, either case`,
  schema: ADDRESS_SCHEMA,
  parse(name, value) {
    const address = typeof value === 'string' ? parseAddress(value) : undefined;
    if (address !== undefined) return address;
    const message = `${name}: got ${describeValue(value)}, expected ${ADDRESS_EXPECTED}`;
    throw new RequestError('invalid_address', message, name);
  },
};

export const dexField: Field<string> = {
  description: 'the name of a perp dex; "", the default, is the first one',
  schema: { type: 'string', default: '' },
  fallback: '',
  parse(name, value) {
    if (typeof value === 'string') return value;
    const message = `${name}: got ${describeValue(value)}, expected the name of a perp dex as text`;
    throw new RequestError('invalid_field', message, name);
  },
};

/** Parses the fields that the type has; others are ignored. */
export function parseFields<F extends FieldTable>(
  request: RequestType<F>,
  source: Readonly<Record<string, unknown>>,
): Question {
  const fields: Record<string, unknown> = {};
  for (const name of Object.keys(request.fields)) {
    fields[name] = parseField(request.fields[name], name, source[name]);
  }
  return {
    type: request.type,
    weight: request.weight,
    validate: (state) => request.validate?.(state, fields as Fields<F>),
    answer: (state) => request.answer(state, fields as Fields<F>),
  };
}

function parseField(field: Field<unknown>, name: string, value: unknown): unknown {
  if (value !== undefined) return field.parse(name, value);
  if (field.fallback !== undefined) return field.fallback;
  const message = `${name}: got nothing, expected ${field.description}`;
  throw new RequestError('missing_field', message, name);
}
