/**
 * Strict reading of fields from untrusted JSON: every field has one form, and is required unless it
 * is read as optional; unknown fields are refused.
 */

import { type Address, expectedAddress, parseAddress } from '../exact/address.ts';
import { DecimalError, parseBigUnits, parseUnits } from '../exact/decimal.ts';
import { prefixRefusal, Refusal } from './refusal.ts';

export const USD_DECIMALS = 6;
export const STAKE_DECIMALS = 8;

/**
 * Runs a nested reader. If the reader refuses a field, the path is added before the field's name.
 */
function readNested<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof Refusal ? prefixRefusal(path, error) : error;
  }
}

export type JsonObject = Record<string, unknown>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

type Bound = 'any' | 'zero or more' | 'above zero';

function expectedWithin(bound: Bound): string {
  return bound === 'above zero' ? 'an amount above 0' : 'an amount of 0 or more';
}

export function readAddress(field: string, value: unknown): Address {
  const address = typeof value === 'string' ? parseAddress(value) : undefined;
  if (address === undefined) throw new Refusal(field, value, expectedAddress(value));
  return address;
}

/**
 * Returns the refusal of a decimal that cannot be parsed. Returns any other error unchanged,
 * because it is a bug.
 */
function refuseDecimal(field: string, value: string, error: unknown): unknown {
  return error instanceof DecimalError ? new Refusal(field, value, error.expected) : error;
}

/** Exported for the fold, which knows the decimals of each market. */
export function readUnits(field: string, value: unknown, decimals: number): number {
  if (typeof value !== 'string') throw new Refusal(field, value, 'a decimal as text');
  try {
    return parseUnits(value, decimals);
  } catch (error) {
    throw refuseDecimal(field, value, error);
  }
}

function readBigUnits(field: string, value: unknown, decimals: number): bigint {
  if (typeof value !== 'string') throw new Refusal(field, value, 'a decimal as text');
  try {
    return parseBigUnits(value, decimals);
  } catch (error) {
    throw refuseDecimal(field, value, error);
  }
}

/** Reads the fields of one object, each once, and refuses unknown fields. */
export class FieldReader {
  readonly #source: JsonObject;
  readonly #taken: string[] = [];
  /** Optional fields that the object does not have. */
  readonly #absent: string[] = [];

  constructor(source: JsonObject) {
    this.#source = source;
  }

  take(name: string): unknown {
    this.#taken.push(name);
    return this.#source[name];
  }

  text(name: string): string {
    const value = this.take(name);
    if (typeof value !== 'string') throw new Refusal(name, value, 'text');
    return value;
  }

  textOf(name: string, pattern: RegExp, expected: string): string {
    const value = this.take(name);
    if (typeof value === 'string' && pattern.test(value)) return value;
    throw new Refusal(name, value, expected);
  }

  oneOf<T extends string>(name: string, choices: readonly T[]): T {
    const value = this.take(name);
    if (choices.includes(value as T)) return value as T;
    throw new Refusal(name, value, choices.join(' or '));
  }

  flag(name: string): boolean {
    const value = this.take(name);
    if (typeof value !== 'boolean') throw new Refusal(name, value, 'true or false');
    return value;
  }

  whole(name: string, { from, to }: { from: number; to: number }): number {
    const value = this.take(name);
    if (typeof value === 'number' && Number.isInteger(value) && value >= from && value <= to) {
      return value + 0; // JSON allows -0: it becomes 0.
    }
    throw new Refusal(name, value, `a whole number from ${from} to ${to}`);
  }

  address(name: string): Address {
    return readAddress(name, this.take(name));
  }

  /** Reads a decimal as text, because the number of its decimals depends on the market. */
  decimal(name: string): string {
    const value = this.take(name);
    if (typeof value !== 'string') throw new Refusal(name, value, 'a decimal as text');
    return value;
  }

  usd(name: string, bound: Bound = 'any'): number {
    const text = this.take(name);
    const units = readUnits(name, text, USD_DECIMALS);
    if (bound === 'any' || units > 0 || (units === 0 && bound === 'zero or more')) return units;
    throw new Refusal(name, text, expectedWithin(bound));
  }

  stake(name: string, bound: Bound): bigint {
    const text = this.take(name);
    const units = readBigUnits(name, text, STAKE_DECIMALS);
    if (units > 0n || (units === 0n && bound === 'zero or more')) return units;
    throw new Refusal(name, text, expectedWithin(bound));
  }

  list<T>(name: string, read: (item: unknown) => T): T[] {
    const value = this.take(name);
    if (!Array.isArray(value)) throw new Refusal(name, value, 'an array');
    const items: T[] = [];
    let index = 0;
    try {
      for (; index < value.length; index++) items.push(read(value[index]));
    } catch (error) {
      throw error instanceof Refusal ? prefixRefusal(`${name}[${index}]`, error) : error;
    }
    return items;
  }

  /** Reads a list that may be absent. The value null is refused. */
  optionalList<T>(name: string, read: (item: unknown) => T): T[] | undefined {
    if (Object.hasOwn(this.#source, name)) return this.list(name, read);
    this.#absent.push(name);
    return undefined;
  }

  object<T>(name: string, read: (fields: FieldReader) => T): T {
    const value = this.take(name);
    return readNested(name, () => readObject(value, read));
  }

  /** Refuses fields that were not taken. */
  end(): void {
    let count = 0;
    for (const _ in this.#source) count++;
    if (count === this.#taken.length) return;
    for (const name in this.#source) {
      if (this.#taken.includes(name)) continue;
      const fields = [...this.#taken, ...this.#absent].join(', ');
      const shown = name === '' ? '(empty)' : name; // An empty path means the object itself.
      throw new Refusal(shown, this.#source[name], `only the fields ${fields}`);
    }
  }
}

export function readObject<T>(source: unknown, read: (fields: FieldReader) => T): T {
  if (!isJsonObject(source)) throw new Refusal('', source, 'an object');
  const fields = new FieldReader(source);
  const value = read(fields);
  fields.end();
  return value;
}
