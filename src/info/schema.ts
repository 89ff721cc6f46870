/** The forms that answers are made of, as JSON Schema. */

type Schema = Readonly<Record<string, unknown>>;

/** An amount, price or size: plain decimal text with a point and at least one digit after it. */
export const amount: Schema = { type: 'string', pattern: '^-?[0-9]+\\.[0-9]+$' };

export const wholeNumber: Schema = { type: 'integer' };

/** An object with exactly these fields. */
export function object(properties: Record<string, Schema>): Schema {
  const required = Object.keys(properties);
  return { type: 'object', properties, required, additionalProperties: false };
}
