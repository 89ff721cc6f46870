/**
 * Checks answers against the schemas that the types of questions declare. It also notes which parts
 * of the schemas have occurred, for the check at the end of a run (test/schema-parts.ts).
 */

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { AS_DATA, type QuestionType } from '../../src/info/question-type.ts';
import { PUSHED_TYPES, QUESTION_TYPES } from '../../src/info/question-types.ts';
import type { Schema } from '../../src/info/schema.ts';
import { listSchemas, SchemaCoverage } from './schema-coverage.ts';

/** The variable that names the folder in which each process stores the parts that it has seen. */
export const SCHEMA_PARTS_FOLDER = 'PERPTEST_SCHEMA_PARTS';

/** Longer answers are checked only the first few times, because a check takes milliseconds. */
const LONG_LENGTH = 1 << 20;
const LONG_CHECKS = 3;
/** After this many answers of a type, only every hundredth answer is searched for new parts. */
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

  /** Returns how the answer differs from the schema; returns undefined if the answer fits. */
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
const PUSHED = new Map(PUSHED_TYPES.flatMap(({ type, push }) => (push ? [[type, push]] : [])));
const BY_TYPE = new Map<unknown, QuestionType>(QUESTION_TYPES.map((each) => [each.type, each]));
const checks = new Map<string, SchemaCheck>();
let longCount = 0;

/** Fails if an answer, as JSON text, fits no schema of its type. */
export function checkAnswer(type: unknown, json: string): void {
  if (!BY_TYPE.has(type)) return;
  if (json.length > LONG_LENGTH && ++longCount > LONG_CHECKS) return;
  checkValue(type, JSON.parse(json));
}

/** Does the same as `checkAnswer` for a parsed answer. */
function checkValue(type: unknown, answer: unknown): void {
  const known = BY_TYPE.get(type);
  if (known === undefined) return;
  const faults = checksOf(known).map((check) => check.findFault(answer));
  if (faults.includes(undefined)) return;
  const json = String(JSON.stringify(answer)).slice(0, 300);
  const message = `the answer to ${type} does not fit: ${faults.join('; ')}: ${json}`;
  // Inside a service, the exception only ends the connection, so the message is also printed.
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

/** Members that a pushed frame has next to the answer. */
interface FrameData {
  readonly height?: number;
  readonly time?: number;
  readonly accountTime?: number;
  readonly accountSource?: string;
  readonly [name: string]: unknown;
}

interface PostData {
  readonly response: { readonly type: string; readonly payload: unknown };
}

/** Checks the answer in a frame of push: in a state that is pushed, or in the response to a post. */
export function checkFrame({ channel, data }: { channel: string; data: unknown }): void {
  if (channel === 'post') {
    checkPost(data as PostData);
    return;
  }
  const push = PUSHED.get(channel);
  if (push === undefined) return;
  const { height, time, accountTime, accountSource, ...answer } = data as FrameData;
  if (push.name === AS_DATA) checkValue(channel, answer);
  else checkValue(channel, answer[push.name]);
}

function checkPost({ response: { type, payload } }: PostData): void {
  if (type !== 'info') return;
  const answer = payload as { readonly type: string; readonly data: unknown };
  // A frame is JSON, so an answer in CSV is a text in the frame.
  const isCsv = typeof answer.data === 'string' && answer.data.includes('\r\n');
  if (!isCsv) checkValue(answer.type, answer.data);
}
