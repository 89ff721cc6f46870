/**
 * Building blocks of the JSON Schemas of answers. A schema carries the TypeScript type of the
 * values that it describes, so that an answer is declared once.
 */

declare const DESCRIBED: unique symbol;

/** A JSON Schema of values of type T; the symbol exists for the compiler only. */
export type Schema<T = unknown> = Readonly<Record<string, unknown>> & {
  readonly [DESCRIBED]?: T;
};

/**
 * The type of the values that a schema describes.
 *
 * @internal Exported for the test that compares the page's types with the schemas.
 */
export type Described<S> = S extends Schema<infer T> ? T : never;

type DescribedFields<P extends Record<string, Schema>> = {
  readonly [Name in keyof P]: Described<P[Name]>;
};

export const anyText: Schema<string> = { type: 'string' };

/** An amount, price or size: plain decimal text with a point and at least one digit after it. */
export const amount: Schema<string> = { type: 'string', pattern: '^-?[0-9]+\\.[0-9]+$' };

/** An answer of a followed server whose form differs from ours, for example with further fields. */
export const anythingElse: Schema<never> = {};

/** An amount with or without decimals: the upstream writes some amounts without decimals. */
export const decimalText: Schema<string> = { type: 'string', pattern: '^-?[0-9]+(\\.[0-9]+)?$' };

export const flag: Schema<boolean> = { type: 'boolean' };

/** A value of any form. */
export const anything: Schema = {};

export const wholeNumber: Schema<number> = { type: 'integer' };

/** An amount that the ledger does not have, where the interface requires an amount. */
export const zero: Schema<string> = { const: '0.0' };

/** A figure that the ledger does not have, where the interface allows null. */
export const alwaysNull: Schema<null> = { type: 'null' };

export function orNull<T>(schema: Schema<T>): Schema<T | null> {
  return { anyOf: [schema, alwaysNull] };
}

export function choiceOf<T extends string>(...values: readonly T[]): Schema<T> {
  return { enum: values };
}

/** An object with these required and optional fields, and no others. */
export function object<
  P extends Record<string, Schema>,
  O extends Record<string, Schema> = Record<never, never>,
>(properties: P, optional: O = {} as O): Schema<DescribedFields<P> & Partial<DescribedFields<O>>> {
  const required = Object.keys(properties);
  const all = { ...properties, ...optional };
  return { type: 'object', properties: all, required, additionalProperties: false };
}

/** An object with these required and optional fields, and any others: an answer of the upstream. */
export function openObject(
  properties: Readonly<Record<string, Schema>>,
  optional: Readonly<Record<string, Schema>> = {},
): Schema {
  return {
    type: 'object',
    properties: { ...properties, ...optional },
    required: Object.keys(properties),
  };
}

export function anyOf(...schemas: readonly Schema[]): Schema {
  return { anyOf: schemas };
}

export function listOf<T>(items: Schema<T>): Schema<readonly T[]> {
  return { type: 'array', items };
}

export function tuple(...items: Schema[]): Schema<readonly unknown[]> {
  return { type: 'array', prefixItems: items, minItems: items.length, maxItems: items.length };
}

/** A list that is always empty. */
export const emptyList: Schema<readonly never[]> = { type: 'array', maxItems: 0 };
