/**
 * Notes which parts of a schema have occurred in answers. A part is a member of an object, an element of a
 * list, a branch of a schema with several forms, or a choice.
 */

import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { QuestionType } from '../../src/info/question-type.ts';
import type { Schema } from '../../src/info/schema.ts';

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
const branchValidators = new WeakMap<Schema, ValidateFunction>();

/**
 * Returns the schemas that a type declares, with their names: of our answers, and of the upstream's
 * answers.
 */
export function listSchemas(questionType: QuestionType): [name: string, schema: Schema][] {
  const { type, answerSchema } = questionType;
  const schemas: [string, Schema][] = [[type, answerSchema]];
  if (questionType.source !== 'upstream' && questionType.upstreamFirst !== undefined) {
    schemas.push([`${type} (upstream)`, questionType.upstreamFirst.answerSchema]);
  }
  return schemas;
}

export class SchemaCoverage {
  readonly #schema: Schema;
  readonly #parts = new Set<string>();
  readonly #seen = new Set<string>();

  constructor(schema: Schema) {
    this.#schema = schema;
    this.#list(schema, '');
  }

  get seen(): string[] {
    return [...this.#seen];
  }

  /** The parts that have not occurred in an answer. */
  get missing(): string[] {
    return [...this.#parts].filter((part) => !this.#seen.has(part));
  }

  get isComplete(): boolean {
    return this.#seen.size === this.#parts.size;
  }

  /** Adds parts that another process has seen. */
  add(parts: readonly string[]): void {
    for (const part of parts) if (this.#parts.has(part)) this.#seen.add(part);
  }

  /** Notes the parts of an answer, which fits the schema. */
  note(answer: unknown): void {
    this.#note(this.#schema, answer, '');
  }

  #list(schema: Schema, path: string): void {
    this.#parts.add(path);
    for (const [part, member] of partsOf(schema, path)) this.#list(member, part);
  }

  #note(schema: Schema, value: unknown, path: string): void {
    this.#seen.add(path);
    const { anyOf, enum: choices } = schema;
    if (Array.isArray(anyOf)) {
      const index = anyOf.findIndex((branch) => fitsBranch(branch, value));
      if (index >= 0) this.#note(anyOf[index], value, `${path}|${index}`);
    } else if (Array.isArray(choices)) {
      this.#seen.add(`${path}=${String(value)}`);
    } else if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) this.#noteItem(schema, item, index, path);
    } else if (typeof value === 'object' && value !== null) {
      this.#noteMembers(schema, value, path);
    }
  }

  #noteItem({ items, prefixItems }: Schema, item: unknown, index: number, path: string): void {
    if (Array.isArray(prefixItems)) this.#note(prefixItems[index], item, `${path}[${index}]`);
    else if (isSchema(items)) this.#note(items, item, `${path}[]`);
  }

  #noteMembers(schema: Schema, value: object, path: string): void {
    const members = (schema['properties'] ?? {}) as Readonly<Record<string, Schema>>;
    const others = schema['additionalProperties'];
    for (const [name, item] of Object.entries(value)) {
      if (Object.hasOwn(members, name)) this.#note(members[name], item, `${path}.${name}`);
      else if (isSchema(others)) this.#note(others, item, `${path}{}`);
    }
  }
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null;
}

/** The parts of a schema itself, without the parts of its parts. */
function* partsOf(schema: Schema, path: string): Generator<[path: string, part: Schema]> {
  const { anyOf, enum: choices, items, prefixItems, properties } = schema;
  const others = schema['additionalProperties'];
  if (Array.isArray(choices)) for (const choice of choices) yield [`${path}=${choice}`, {}];
  if (Array.isArray(anyOf)) {
    for (const [index, branch] of anyOf.entries()) yield [`${path}|${index}`, branch];
  }
  if (Array.isArray(prefixItems)) {
    for (const [index, part] of prefixItems.entries()) yield [`${path}[${index}]`, part];
  }
  if (isSchema(items)) yield [`${path}[]`, items];
  if (isSchema(others)) yield [`${path}{}`, others];
  for (const [name, member] of Object.entries((properties ?? {}) as Record<string, Schema>)) {
    yield [`${path}.${name}`, member];
  }
}

function fitsBranch(branch: Schema, value: unknown): boolean {
  const fits = branchValidators.get(branch) ?? ajv.compile(branch);
  branchValidators.set(branch, fits);
  return fits(value);
}
