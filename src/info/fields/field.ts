/**
 * Fields of questions: each has a description, a schema and a parser. The type of the parsed values
 * is derived from the table of fields.
 */

import { RequestError } from '../request-error.ts';
import type { Schema } from '../schema.ts';

export interface Field<T> {
  readonly description: string;
  /** The form of the value, as a JSON Schema. */
  readonly schema: Schema;
  /** The value of an absent field. */
  readonly fallback?: T;
  /** True if the field may be absent although it has no fallback. */
  readonly isOptional?: true;
  /**
   * Returns the value, or the refusal. Refusals are not thrown, because throwing costs more than an
   * answer.
   */
  read(name: string, value: unknown): T | RequestError;
  /** The value as JSON text, for fields of types that can be subscribed to. */
  format?(value: T): string;
  /** Converts the value for the upstream, if the upstream expects another value. */
  toUpstream?(value: T): unknown;
  /** True if pushed frames omit the field when it has its fallback, as clients expect. */
  readonly omitsFallback?: boolean;
  /** Converts query parameters to the input of `read`, for fields that are not a single text. */
  readTexts?(texts: readonly string[]): unknown;
}

export type FieldTable = Record<string, Field<unknown>>;
export type ParsedFields<F extends FieldTable> = {
  [Name in keyof F]: Exclude<ReturnType<F[Name]['read']>, RequestError>;
};

/** A declaration of fields. */
interface Declaring<F extends FieldTable> {
  readonly fields: F;
  /** Refuses combinations of fields. */
  check?(fields: ParsedFields<F>): RequestError | undefined;
}

export function isRequired({ fallback, isOptional }: Field<unknown>): boolean {
  return fallback === undefined && isOptional !== true;
}

/** Returns the values of the declared fields, or the refusal of a value. */
export function readValues<F extends FieldTable>(
  declared: Declaring<F>,
  source: Readonly<Record<string, unknown>>,
): ParsedFields<F> | RequestError {
  const parsed: Record<string, unknown> = {};
  for (const name of Object.keys(declared.fields)) {
    const value = readField(declared.fields[name], name, source[name]);
    if (value instanceof RequestError) return value;
    parsed[name] = value;
  }
  const fields = parsed as ParsedFields<F>;
  return declared.check?.(fields) ?? fields;
}

function readField(field: Field<unknown>, name: string, value: unknown): unknown {
  if (value !== undefined) return field.read(name, value);
  if (field.fallback !== undefined) return field.fallback;
  return field.isOptional ? undefined : refuseMissing(name, field);
}

export function refuseMissing(name: string, { description }: Field<unknown>): RequestError {
  const message = `${name}: got nothing, expected ${description}`;
  return new RequestError('missing_field', message, name);
}

/** The fields as members of a JSON object: `"user":"0x...","dex":""`. */
export function formatFields<F extends FieldTable>(
  declared: Declaring<F>,
  fields: ParsedFields<F>,
): string {
  const members = Object.entries(declared.fields)
    .filter(([name, field]) => !(field.omitsFallback && fields[name] === field.fallback))
    .map(([name, field]) => `"${name}":${field.format?.(fields[name])}`);
  return members.join(',');
}

/** Converts a query string to the object that a JSON body with the same fields would contain. */
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

/**
 * Returns the text of a query parameter; returns a refusal if the parameter occurs more than once.
 */
export function readOne(name: string, texts: readonly string[]): string | RequestError {
  if (texts.length === 1) return texts[0];
  const message = `${name}: got ${texts.length} values in the query, expected one`;
  return new RequestError('invalid_field', message, name);
}
