/**
 * Reads an upstream's JSON. The fields that we use are read strictly. Unknown fields are ignored,
 * so that a server may add fields.
 */

import { FieldReader, isJsonObject, STAKE_DECIMALS } from '../../events/fields.ts';
import { describeValue, prefixRefusal, Refusal } from '../../events/refusal.ts';
import { BIG_UNITS_MAX, DecimalError } from '../../exact/decimal.ts';
import { readPrinted } from './printed-amounts.ts';

/**
 * - shape: the answer has the wrong form; nothing in it can be trusted
 * - market: the answer names a market that was not read, or that our events cannot describe
 * - figure: the form is right, but a figure contradicts another figure or a rule that we know
 */
type DialectFault = 'shape' | 'market' | 'figure';

/**
 * A figure of an answer, our figure for the same account, and the coin if the figure belongs to a
 * position.
 */
export interface Mismatch {
  readonly field: string;
  readonly coin: string | undefined;
  readonly ours: string;
  readonly theirs: string;
}

/** The reason why an answer of the upstream cannot be used. */
export class DialectError extends Error {
  readonly fault: DialectFault;
  readonly mismatch: Mismatch;

  constructor(fault: DialectFault, mismatch: Mismatch, message = describeMismatch(mismatch)) {
    super(message);
    this.name = 'DialectError';
    this.fault = fault;
    this.mismatch = mismatch;
  }
}

export function describeMismatch({ field, coin, ours, theirs }: Mismatch): string {
  const place = coin === undefined ? field : `${field} of ${coin}`;
  return `${place}: got ${theirs}, expected ${ours}`;
}

/** Returns the value that `read` returns, or the error that `read` throws to refuse the answer. */
export function readAnswer<T>(read: () => T): T | DialectError {
  try {
    return read();
  } catch (error) {
    if (error instanceof DialectError) return error;
    if (!(error instanceof Refusal)) throw error;
    return shapeError(error);
  }
}

/**
 * Returns the name of a field without array indexes. Fields are counted by name, and array indexes
 * would make too many names.
 */
export function nameField(field: string): string {
  const name = field.replace(/\[\d+\]/g, '').replace(/^\./, '');
  return name === '' ? 'answer' : name;
}

function shapeError({ field, value, expected, message }: Refusal): DialectError {
  const mismatch = {
    field: nameField(field),
    coin: undefined,
    ours: expected,
    theirs: describeValue(value),
  };
  return new DialectError('shape', mismatch, field === '' ? undefined : message);
}

/** Reads some fields of an object; other fields are ignored. */
export function readOpen<T>(source: unknown, read: (fields: FieldReader) => T): T {
  if (!isJsonObject(source)) throw new Refusal('', source, 'an object');
  return read(new FieldReader(source));
}

/** Reads the object in a field; a refusal names the full path of the refused field. */
export function readOpenField<T>(
  fields: FieldReader,
  name: string,
  read: (fields: FieldReader) => T,
): T {
  const source = fields.take(name);
  try {
    return readOpen(source, read);
  } catch (error) {
    throw error instanceof Refusal ? prefixRefusal(name, error) : error;
  }
}

/** Reads the items of an answer that is an array. */
export function readItems<T>(source: unknown, read: (item: unknown, index: number) => T): T[] {
  if (!Array.isArray(source)) throw new Refusal('', source, 'an array');
  return source.map((item, index) => {
    try {
      return read(item, index);
    } catch (error) {
      throw error instanceof Refusal ? prefixRefusal(`[${index}]`, error) : error;
    }
  });
}

/**
 * The maximum length of an amount as text. A longer text is refused: to parse it would cost too
 * much time.
 */
const DECIMAL_LENGTH_MAX = 64;
const DECIMAL = /^-?[0-9]+(?:\.[0-9]+)?$/;

const RATIO = /^-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?$/;

/**
 * Reads a double as text, in any notation. The text is only compared with our figure, with a
 * tolerance for rounding.
 */
export function readRatio(fields: FieldReader, name: string): string {
  const value = fields.take(name);
  if (typeof value === 'string' && value.length <= DECIMAL_LENGTH_MAX && RATIO.test(value)) {
    return value;
  }
  throw new Refusal(name, value, 'a number as text');
}

/** Reads a decimal as text. The number of decimals is checked where the value is used. */
export function readDecimal(fields: FieldReader, name: string): string {
  const value = fields.take(name);
  if (typeof value === 'string' && value.length <= DECIMAL_LENGTH_MAX && DECIMAL.test(value)) {
    return value;
  }
  throw new Refusal(name, value, 'a decimal as text');
}

/** Reads a staking or gas amount of 0 or more. */
export function readStake(fields: FieldReader, name: string): bigint {
  const text = readDecimal(fields, name);
  try {
    const units = BigInt(readPrinted(text, STAKE_DECIMALS));
    if (units >= 0n && units <= BIG_UNITS_MAX) return units;
  } catch (error) {
    throw error instanceof DecimalError ? new Refusal(name, text, error.expected) : error;
  }
  throw new Refusal(name, text, 'an amount of 0 or more');
}
