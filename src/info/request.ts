/**
 * How a type of question is declared: its fields once, each with its meaning and its parser, and the
 * function that answers it. The type of a parsed question follows from the declaration.
 */

import { ADDRESS_EXPECTED, type Address, parseAddress } from '../address.ts';
import { RequestError } from '../errors.ts';
import { describeValue } from '../event.ts';
import type { StateView } from '../state/state.ts';

export interface Field<T> {
  readonly description: string;
  /** What an absent field stands for; where undefined, the field is required. */
  readonly fallback?: T;
  parse(name: string, value: unknown): T;
}

type FieldTable = Record<string, Field<unknown>>;
type Question<F extends FieldTable> = { [Name in keyof F]: ReturnType<F[Name]['parse']> };

export interface RequestType<F extends FieldTable = FieldTable> {
  readonly type: string;
  readonly summary: string;
  readonly fields: F;
  /** The answer as JSON text. */
  answer(state: StateView, question: Question<F>): string;
}

export const addressField: Field<Address> = {
  description: `an address: ${ADDRESS_EXPECTED}, either case`,
  parse(name, value) {
    const address = typeof value === 'string' ? parseAddress(value) : undefined;
    if (address !== undefined) return address;
    const message = `${name}: got ${describeValue(value)}, expected ${ADDRESS_EXPECTED}`;
    throw new RequestError('invalid_address', message, name);
  },
};

export const dexField: Field<string> = {
  description: 'the name of a perp dex; "", the default, is the first one',
  fallback: '',
  parse(name, value) {
    if (typeof value === 'string') return value;
    const message = `${name}: got ${describeValue(value)}, expected the name of a perp dex as text`;
    throw new RequestError('invalid_field', message, name);
  },
};

/** Parses a question's fields and answers it; fields that the type does not have are ignored. */
export function answerRequest<F extends FieldTable>(
  request: RequestType<F>,
  state: StateView,
  source: Readonly<Record<string, unknown>>,
): string {
  const question: Record<string, unknown> = {};
  for (const name of Object.keys(request.fields)) {
    question[name] = parseField(request, name, source[name]);
  }
  return request.answer(state, question as Question<F>);
}

function parseField(request: RequestType, name: string, value: unknown): unknown {
  const field = request.fields[name];
  if (value !== undefined) return field.parse(name, value);
  if (field.fallback !== undefined) return field.fallback;
  const message = `${name}: got nothing, expected ${field.description}`;
  throw new RequestError('missing_field', message, name);
}
