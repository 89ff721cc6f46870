/** The fields of questions that the upstream answers: which values are passed on. */

import { isJsonObject } from '../../events/fields.ts';
import { RequestError, wrongValue } from '../request-error.ts';
import type { Schema } from '../schema.ts';
import { addressField } from './address-field.ts';
import type { Field, FieldTable } from './field.ts';
import { readUpstreamFields } from './upstream-fields.ts';

/** The latest time that a JavaScript date can hold. */
const TIME_MAX = 8.64e15;

export function optional<T>(field: Field<T>): Field<T> {
  return { ...field, isOptional: true };
}

function matchingField(pattern: RegExp, description: string): Field<string> {
  return {
    description,
    schema: { type: 'string', pattern: pattern.source },
    read: (name, value) =>
      typeof value === 'string' && pattern.test(value)
        ? value
        : wrongValue(name, value, description),
  };
}

function choiceField<T extends string | number>(...choices: readonly T[]): Field<T> {
  const description = `one of ${choices.join(', ')}`;
  return {
    description,
    schema: { enum: choices },
    readTexts: ([text]) => choices.find((choice) => String(choice) === text),
    read: (name, value) =>
      choices.find((choice) => choice === value) ?? wrongValue(name, value, description),
  };
}

function readWholeText([text]: readonly string[]): number | undefined {
  return /^\d{1,16}$/.test(text) ? Number(text) : undefined;
}

function isWhole(value: unknown, max: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= max;
}

function numberField(max: number, description: string): Field<number> {
  return {
    description,
    schema: { type: 'integer', minimum: 0, maximum: max },
    readTexts: readWholeText,
    read: (name, value) => (isWhole(value, max) ? value : wrongValue(name, value, description)),
  };
}

/** Perps (`BTC`, `xyz:TSLA`), spot pairs (`PURR/USDC`, `@107`), outcomes (`#12`). */
export const coinField = matchingField(/^[\w:@#/.+-]{1,40}$/, 'the name of a market');
export const dexNameField = matchingField(/^\w{0,16}$/, 'the name of a perp dex');
const timeField = numberField(TIME_MAX, 'a time in milliseconds');
export const tokenField = numberField(2 ** 32 - 1, 'the number of a token');
export const tokenIdField = matchingField(/^0x[0-9a-fA-F]{32}$/, '0x and 32 hexadecimal digits');
export const significantFiguresField = choiceField(2, 3, 4, 5);
export const mantissaField = choiceField(1, 2, 5);
const intervalField = choiceField(
  ...['1m', '3m', '5m', '15m', '30m', '1h', '2h', '4h', '8h', '12h', '1d', '3d', '1w', '1M'],
);

export const flagField: Field<boolean> = {
  description: 'true or false',
  schema: { type: 'boolean' },
  readTexts: ([text]) => (text === 'true' || text === 'false' ? text === 'true' : undefined),
  read: (name, value) =>
    typeof value === 'boolean' ? value : wrongValue(name, value, 'true or false'),
};

const ORDER_EXPECTED = 'the number of an order, up to 2^53 - 1, or 0x and 32 hexadecimal digits';

export const orderIdField: Field<unknown> = {
  description: ORDER_EXPECTED,
  schema: { anyOf: [{ type: 'integer', minimum: 0 }, tokenIdField.schema] },
  readTexts: readWholeText,
  read(name, value) {
    const isClientId = !(tokenIdField.read(name, value) instanceof RequestError);
    if (isClientId || isWhole(value, Number.MAX_SAFE_INTEGER)) return value;
    return wrongValue(name, value, ORDER_EXPECTED);
  },
};

export const NO_FIELDS: Readonly<Record<never, never>> = {};
export const USER_FIELDS: { user: typeof addressField } = { user: addressField };
export const DEX_FIELDS: { dex: Field<string> } = { dex: optional(dexNameField) };
export const USER_AND_DEX_FIELDS: FieldTable = { ...USER_FIELDS, ...DEX_FIELDS };
export const PERIOD_FIELDS: FieldTable = {
  startTime: timeField,
  endTime: optional(timeField),
};
export const ANY_PERIOD_FIELDS: FieldTable = {
  startTime: optional(timeField),
  endTime: optional(timeField),
};

const CANDLE_FIELDS: FieldTable = { coin: coinField, interval: intervalField, ...PERIOD_FIELDS };
const CANDLES_EXPECTED = 'an object with coin, interval, startTime and, if wanted, endTime';

/** Candles are asked for in an object inside the question. */
export const candlesField: Field<unknown> = {
  description: CANDLES_EXPECTED,
  schema: objectSchema(CANDLE_FIELDS),
  read: (name, value) =>
    isJsonObject(value)
      ? readUpstreamFields(CANDLE_FIELDS, value, `${name}.`)
      : wrongValue(name, value, CANDLES_EXPECTED),
};

function objectSchema(fields: FieldTable): Schema {
  const entries = Object.entries(fields);
  const properties = Object.fromEntries(entries.map(([name, { schema }]) => [name, schema]));
  const required = entries.filter(([, field]) => !field.isOptional).map(([name]) => name);
  return { type: 'object', properties, required };
}
