/** The format of an answer over time. */

import { type RequestError, wrongValue } from '../request-error.ts';
import type { Field } from './field.ts';

export type AnswerFormat = 'json' | 'csv';

const FORMATS: readonly unknown[] = ['json', 'csv'];

/** The field `format` of questions about a time range. */
export const formatField: Field<unknown> = {
  description: 'json or csv',
  schema: { enum: FORMATS },
  fallback: 'json',
  read: (_name, value) => value,
};

/** Returns the requested format, or its refusal; returns undefined if no format is requested. */
export function readFormat(
  { type, hasCsv }: { readonly type: string; readonly hasCsv: boolean },
  value: unknown,
): AnswerFormat | RequestError | undefined {
  if (value === undefined) return undefined;
  if (FORMATS.includes(value) && (hasCsv || value === 'json')) return value as AnswerFormat;
  const expected = hasCsv ? '"json" or "csv"' : `"json", the only format of ${type}`;
  return wrongValue('format', value, expected);
}
