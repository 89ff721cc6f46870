/** The fields of questions that are passed on to the exchange: which values are taken, and how. */

import {
  ADDRESS_EXPECTED,
  expectedAddress,
  formatAddress,
  parseAddress,
} from '../exact/address.ts';

/** The latest time that a JavaScript date can hold. */
const TIME_MAX = 8.64e15;

export interface ForwardedField {
  /** The code of a refused value. */
  readonly code?: 'invalid_address';
  /** Follows "expected" in error messages. */
  readonly expected: string;
  /** In place of it, where more can be said about the value. */
  expectedFor?(value: unknown): string;
  /** What the text of a query parameter stands for; undefined if it is text itself. */
  parse?(text: string): unknown;
  /** True if the field may be absent or null. */
  readonly isOptional?: boolean;
  /**
   * The value as it is passed on, never the one that came in; undefined if it is refused, or a
   * RequestError if one of its own fields is.
   */
  rebuild(value: unknown): unknown;
}

export function optionalField(field: ForwardedField): ForwardedField {
  return { ...field, isOptional: true };
}

function matching(pattern: RegExp, expected: string): ForwardedField {
  return {
    expected,
    rebuild: (value) => (typeof value === 'string' && pattern.test(value) ? value : undefined),
  };
}

function oneChoice(...choices: readonly (string | number)[]): ForwardedField {
  return {
    expected: `one of ${choices.join(', ')}`,
    parse: (text) => choices.find((choice) => String(choice) === text),
    rebuild: (value) => choices.find((choice) => choice === value),
  };
}

function parseWhole(text: string): number | undefined {
  return /^\d{1,16}$/.test(text) ? Number(text) : undefined;
}

function wholeUpTo(max: number, expected: string): ForwardedField {
  return {
    expected,
    parse: parseWhole,
    rebuild: (value) =>
      Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= max
        ? value
        : undefined,
  };
}

/** In lower case, so that identical questions are identical texts. */
export const addressForm: ForwardedField = {
  code: 'invalid_address',
  expected: ADDRESS_EXPECTED,
  expectedFor: expectedAddress,
  rebuild(value) {
    const parsed = typeof value === 'string' ? parseAddress(value) : undefined;
    return parsed === undefined ? undefined : formatAddress(parsed);
  },
};

/** Perps (`BTC`, `xyz:TSLA`), spot pairs (`PURR/USDC`, `@107`), outcomes (`#12`). */
export const coinForm = matching(/^[\w:@#/.+-]{1,40}$/, 'the name of a market');
export const dexForm = matching(/^\w{0,16}$/, 'the name of a perp dex');
export const timeForm = wholeUpTo(TIME_MAX, 'a time in milliseconds');
export const tokenForm = wholeUpTo(2 ** 32 - 1, 'the number of a token');
export const tokenIdForm = matching(/^0x[0-9a-fA-F]{32}$/, '0x and 32 hexadecimal digits');
export const significantFiguresForm = oneChoice(2, 3, 4, 5);
export const mantissaForm = oneChoice(1, 2, 5);
export const intervalForm = oneChoice(
  ...['1m', '3m', '5m', '15m', '30m', '1h', '2h', '4h', '8h', '12h', '1d', '3d', '1w', '1M'],
);

export const flagForm: ForwardedField = {
  expected: 'true or false',
  parse: (text) => (text === 'true' || text === 'false' ? text === 'true' : undefined),
  rebuild: (value) => (typeof value === 'boolean' ? value : undefined),
};

const orderNumber = wholeUpTo(Number.MAX_SAFE_INTEGER, '');
const clientOrderId = tokenIdForm;

export const orderIdForm: ForwardedField = {
  expected: 'the number of an order, up to 2^53 - 1, or 0x and 32 hexadecimal digits',
  parse: parseWhole,
  rebuild: (value) => orderNumber.rebuild(value) ?? clientOrderId.rebuild(value),
};
