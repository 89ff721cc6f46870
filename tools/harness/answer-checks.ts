/**
 * Checks answers against the schemas that the types of questions declare, and leaves a note of the parts of
 * the schemas that have occurred, for the check at the end of a run (test/schema-parts.ts).
 */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { QuestionType } from '../../src/info/question-type.ts';
import { QUESTION_TYPES } from '../../src/info/question-types.ts';
import type { Schema } from '../../src/info/schema.ts';
import { listSchemas, SchemaCoverage } from './schema-coverage.ts';

/** Names the folder in which each process leaves the parts that it has seen. */
export const SCHEMA_PARTS_FOLDER = 'PERPTEST_SCHEMA_PARTS';

/** Longer answers are checked only the first few times, because a check takes milliseconds. */
const LONG_LENGTH = 1 << 20;
const LONG_CHECKS = 3;
/** After that many answers of a type, every hundredth shows which parts occur. */
const NOTED_ALWAYS = 200;
const NOTED_LATER = 100;

/** The check of one schema, and which parts of the schema have occurred. */
class SchemaCheck {
  readonly #fits: ValidateFunction;
  readonly coverage: SchemaCoverage;
  #count = 0;

  constructor(schema: Schema) {
    this.#fits = ajv.compile(schema);
    this.coverage = new SchemaCoverage(schema);
  }

  /** How the answer differs from the schema; undefined if the answer fits. */
  findFault(answer: unknown): string | undefined {
    if (!this.#fits(answer)) return ajv.errorsText(this.#fits.errors);
    this.#note(answer);
    return undefined;
  }

  #note(answer: unknown): void {
    this.#count++;
    if (this.coverage.isComplete) return;
    if (this.#count > NOTED_ALWAYS && this.#count % NOTED_LATER !== 0) return;
    this.coverage.note(answer);
  }
}

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
const BY_TYPE = new Map<unknown, QuestionType>(QUESTION_TYPES.map((each) => [each.type, each]));
const checks = new Map<string, SchemaCheck>();
let longCount = 0;

/** Fails if an answer, as JSON text, fits no schema of its type. */
export function checkAnswer(type: unknown, json: string): void {
  const known = BY_TYPE.get(type);
  if (known === undefined) return;
  if (json.length > LONG_LENGTH && ++longCount > LONG_CHECKS) return;
  const answer: unknown = JSON.parse(json);
  const faults = checksOf(known).map((check) => check.findFault(answer));
  if (faults.includes(undefined)) return;
  const message = `the answer to ${type} does not fit: ${faults.join('; ')}: ${json.slice(0, 300)}`;
  // Inside a service, the exception only ends the connection.
  process.stderr.write(`${message}\n`);
  assert.fail(message);
}

function checksOf(questionType: QuestionType): SchemaCheck[] {
  return listSchemas(questionType).map(([name, schema]) => {
    if (checks.size === 0) process.once('exit', leaveParts);
    const check = checks.get(name) ?? new SchemaCheck(schema);
    checks.set(name, check);
    return check;
  });
}

function leaveParts(): void {
  const folder = process.env[SCHEMA_PARTS_FOLDER];
  if (folder === undefined) return;
  const seen = [...checks].map(([name, { coverage }]) => [name, coverage.seen]);
  writeFileSync(
    path.join(folder, `${randomUUID()}.json`),
    JSON.stringify(Object.fromEntries(seen)),
  );
}

interface AnsweredRequest {
  readonly method: string;
  readonly path: string;
  readonly requestBody: string;
  readonly status: number;
  readonly contentType: string | undefined;
  readonly body: string;
}

const INFO_PATH = /^\/[^/?]+\/info(?:\?(?<query>.*))?$/;

/** Checks the answer to a request over HTTP, if it is an answer to a question. */
export function checkResponse(answered: AnsweredRequest): void {
  const { status, contentType, body } = answered;
  if (status !== 200 || body === '' || contentType !== 'application/json') return;
  const type = findType(answered);
  if (type !== undefined) checkAnswer(type, body);
}

function findType({ method, path: target, requestBody }: AnsweredRequest): unknown {
  const match = INFO_PATH.exec(target);
  if (match === null) return undefined;
  if (method !== 'POST') return new URLSearchParams(match.groups?.['query'] ?? '').get('type');
  return (JSON.parse(requestBody) as { type?: unknown } | null)?.type;
}
