/** The forms that answers are made of, as JSON Schema. */

type Schema = Readonly<Record<string, unknown>>;

/** An amount, price or size: plain decimal text with a point and at least one digit after it. */
export const amount: Schema = { type: 'string', pattern: '^-?[0-9]+\\.[0-9]+$' };

export const wholeNumber: Schema = { type: 'integer' };

/** An object with these fields, the optional ones where they apply, and no others. */
export function object(
  properties: Record<string, Schema>,
  optional: Record<string, Schema> = {},
): Schema {
  const required = Object.keys(properties);
  const all = { ...properties, ...optional };
  return { type: 'object', properties: all, required, additionalProperties: false };
}

export function listOf(items: Schema): Schema {
  return { type: 'array', items };
}

/** A list of exactly these. */
export function tuple(...items: Schema[]): Schema {
  return { type: 'array', prefixItems: items, minItems: items.length, maxItems: items.length };
}

/** A list that is always empty: of what the exchange does not have. */
export const nothing: Schema = { type: 'array', maxItems: 0 };
