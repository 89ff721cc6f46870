/**
 * Compares the form of another server's answer with our schema: finds members that are missing or
 * have another form, and members that we do not know.
 */

import { isJsonObject, type JsonObject } from '../../events/fields.ts';
import { describeValue } from '../../events/refusal.ts';
import type { Schema } from '../../info/schema.ts';

/** A difference at one place of the answer. All elements of a list count as one place. */
interface FormDifference {
  /** The path of the place, such as `assetPositions[].position.szi`. */
  readonly path: string;
  readonly expected: string;
  /** The first value that was found at this place. */
  readonly got: string;
  readonly count: number;
}

export interface AnswerForm {
  readonly differences: readonly FormDifference[];
  /** The paths of members that our schema does not have. */
  readonly additional: readonly string[];
}

/** The maximum number of findings of each kind. Further findings are left out. */
const FINDINGS_MAX = 20;
/** The maximum number of values that are checked: an answer may have millions of values. */
const VALUES_MAX = 500_000;
const NAME = /^[A-Za-z]\w{0,39}$/;
/** Members that the exchange leaves out if they have no meaning. Our answers always have them. */
const LEFT_OUT: readonly string[] = ['assetPositions[].position.leverage.rawUsd'];

/** Never throws, for any value. */
export function compareForm(schema: Schema, value: unknown): AnswerForm {
  const comparison = new FormComparison();
  comparison.compare(schema, value, '');
  const { differences, additional } = comparison;
  return { differences, additional };
}

class FormComparison implements AnswerForm {
  readonly #differences = new Map<string, { first: FormDifference; count: number }>();
  readonly #additional = new Set<string>();
  #looked = 0;

  get differences(): FormDifference[] {
    return [...this.#differences.values()].map(({ first, count }) => ({ ...first, count }));
  }

  get additional(): string[] {
    return [...this.#additional];
  }

  compare(schema: Schema, value: unknown, path: string): void {
    if (++this.#looked > VALUES_MAX) return;
    const { type, anyOf, enum: choices } = schema;
    if (Array.isArray(anyOf)) this.#compareAny(anyOf, value, path);
    else if (Array.isArray(choices)) {
      const expected = `one of ${choices.join(', ')}`;
      if (!choices.includes(value)) this.#note(path, value, expected);
    } else if ('const' in schema) this.#compareConstant(schema['const'], value, path);
    else if (type === 'object') this.#compareObject(schema, value, path);
    else if (type === 'array') this.#compareList(schema, value, path);
    else this.#compareScalar(schema, value, path);
  }

  /**
   * Compares only the types. Our ledger always has the same value here, while the exchange has real
   * figures.
   */
  #compareConstant(constant: unknown, value: unknown, path: string): void {
    if (typeof value !== typeof constant) this.#note(path, value, `a ${typeof constant}`);
  }

  #compareAny(schemas: readonly Schema[], value: unknown, path: string): void {
    if (value === null && schemas.some(({ type }) => type === 'null')) return;
    const [schema] = schemas.filter(({ type }) => type !== 'null');
    if (schema !== undefined) this.compare(schema, value, path);
  }

  #compareScalar({ type, pattern }: Schema, value: unknown, path: string): void {
    // In our schema, null stands for a figure that the ledger does not have.
    if (type === undefined || type === 'null') return;
    const isOfType = type === 'integer' ? Number.isInteger(value) : typeof value === type;
    if (!isOfType) this.#note(path, value, type === 'integer' ? 'a whole number' : `a ${type}`);
    else if (typeof pattern === 'string' && !new RegExp(pattern).test(String(value))) {
      this.#note(path, value, `text like ${pattern}`);
    }
  }

  #compareList(schema: Schema, value: unknown, path: string): void {
    if (!Array.isArray(value)) {
      this.#note(path, value, 'an array');
      return;
    }
    const { items, prefixItems } = schema;
    if (Array.isArray(prefixItems)) {
      if (value.length < prefixItems.length) {
        this.#note(path, value, `an array of ${prefixItems.length}`);
      }
      for (const [index, part] of prefixItems.entries()) {
        if (index < value.length) this.compare(part, value[index], `${path}[${index}]`);
      }
    }
    if (!isJsonObject(items)) return;
    for (const item of value.slice(0, VALUES_MAX)) this.compare(items, item, `${path}[]`);
  }

  #compareObject(schema: Schema, value: unknown, path: string): void {
    if (!isJsonObject(value)) {
      this.#note(path, value, 'an object');
      return;
    }
    const properties = (schema['properties'] ?? {}) as Readonly<Record<string, Schema>>;
    for (const name of (schema['required'] ?? []) as readonly string[]) {
      const place = join(path, name);
      if (!Object.hasOwn(value, name) && !LEFT_OUT.includes(place)) {
        this.#note(place, undefined, 'this member');
      }
    }
    this.#compareMembers(schema, properties, value, path);
  }

  #compareMembers(
    { additionalProperties: others }: Schema,
    properties: Readonly<Record<string, Schema>>,
    value: JsonObject,
    path: string,
  ): void {
    for (const [name, member] of Object.entries(value)) {
      if (this.#looked > VALUES_MAX) return;
      if (Object.hasOwn(properties, name)) {
        this.compare(properties[name], member, join(path, name));
      } else if (isJsonObject(others)) this.compare(others, member, `${path}{}`);
      else if (others === false && this.#additional.size < FINDINGS_MAX) {
        this.#additional.add(join(path, name));
      }
    }
  }

  #note(path: string, value: unknown, expected: string): void {
    const place = path === '' ? 'answer' : path;
    const known = this.#differences.get(place);
    if (known !== undefined) known.count++;
    else if (this.#differences.size < FINDINGS_MAX) {
      const first = { path: place, expected, got: describeValue(value), count: 1 };
      this.#differences.set(place, { first, count: 1 });
    }
  }
}

function join(path: string, name: string): string {
  const shown = NAME.test(name) ? name : describeValue(name);
  return path === '' ? shown : `${path}.${shown}`;
}
