/** A field that is a whole number. */

import { wrongValue } from '../request-error.ts';
import type { Field } from './field.ts';

/** The maximum number of digits in a query. */
const NUMBER_LENGTH = 16;

/** A field that is a whole number. In a query string, the number is written as digits. */
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
