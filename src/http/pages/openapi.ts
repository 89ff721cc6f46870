/**
 * The content of /openapi.json: the interface as OpenAPI 3.1, generated from the declarations that
 * parse questions.
 */

import { describeSurcharge } from '../../info/archive/surcharge.ts';
import { type Field, isRequired } from '../../info/fields/field.ts';
import { formatField } from '../../info/fields/format-field.ts';
import { PAST_MOMENT_FIELDS } from '../../info/fields/past-moment.ts';
import type { QuestionType } from '../../info/question-type.ts';
import { OWN_TYPES, QUESTION_TYPES } from '../../info/question-types.ts';
import { REQUEST_ERRORS, RequestError, type RequestErrorCode } from '../../info/request-error.ts';
import { anyOf, type Schema } from '../../info/schema.ts';
import { LARGEST_HEADER_NUMBER } from '../message/request-head.ts';
import type { ServiceHealth } from './health.ts';

type Json = Record<string, unknown>;

const ERROR_CODES = Object.keys(REQUEST_ERRORS) as RequestErrorCode[];

function header(description: string, schema: Json = { type: 'integer' }): Json {
  return { description, schema };
}

const LEDGER_HEADERS: Json = {
  'Ledger-Height': header('the ledger height that the answer is computed from'),
  'Ledger-Time': header("the ledger's time at that height, in milliseconds"),
};

const ACCOUNT_HEADERS: Json = {
  'Account-Time': header(
    'on a partial ledger: when the account (of several, the oldest) was read from the exchange, in milliseconds',
  ),
  'Account-Source': header(
    "on a partial ledger: an account in the answer is the exchange's own answer, without a ledger position",
    { const: 'upstream' },
  ),
};

const BUDGET_HEADERS: Json = {
  'RateLimit-Limit': header("the key's budget; absent for keys without one"),
  'RateLimit-Remaining': header('what remains of the budget'),
  'RateLimit-Reset': header('seconds until the budget is full again'),
};

const RETRY_HEADER: Json = {
  'Retry-After': header('seconds to wait before a retry'),
};

const ALLOW_HEADER: Json = {
  Allow: header('the methods that the path takes', { type: 'string' }),
};

/** The headers that responses with an error status may have in addition to the common headers. */
const ERROR_HEADERS: Readonly<Record<number, Json>> = {
  400: BUDGET_HEADERS,
  405: ALLOW_HEADER,
  413: BUDGET_HEADERS,
  415: BUDGET_HEADERS,
  422: BUDGET_HEADERS,
  429: { ...RETRY_HEADER, ...BUDGET_HEADERS },
  503: { ...RETRY_HEADER, ...LEDGER_HEADERS, ...BUDGET_HEADERS },
};

/**
 * Returns the fields of a type. For a type that perpinfo answers itself, also returns the optional
 * fields that all these types have.
 */
function fieldsOf({ source, fields }: QuestionType): [string, Field<unknown>][] {
  if (source === 'upstream') return Object.entries(fields);
  const others = source === 'archive' ? SERIES_FIELDS : PAST_MOMENT_FIELDS;
  const optional = Object.entries(others).map(([name, field]): [string, Field<unknown>] => [
    name,
    { ...(field as Field<unknown>), isOptional: true },
  ]);
  return [...Object.entries(fields), ...optional];
}

const SERIES_FIELDS = { ...PAST_MOMENT_FIELDS, format: formatField };

/** Describes the source of the answer, and the charges in addition to the weight of the type. */
function describeSource(questionType: QuestionType): string {
  if (questionType.source === 'upstream') return 'Answered by the exchange, with --forward only.';
  const shares = questionType.source === 'archive' ? questionType.shares : undefined;
  return describeSurcharge(shares);
}

function questionSchema(questionType: QuestionType): Json {
  const { type, summary, weight } = questionType;
  const entries = fieldsOf(questionType);
  const properties = entries.map(([name, { description, schema }]) => [
    name,
    { ...schema, description },
  ]);
  const required = entries.filter(([, field]) => isRequired(field));
  const isForwarded =
    questionType.source !== 'upstream' && questionType.upstreamFirst !== undefined;
  const forwarded = isForwarded ? ' With --forward, the exchange answers.' : '';
  return {
    type: 'object',
    description: `${summary}${forwarded} Weight ${weight}. ${describeSource(questionType)}`,
    properties: { type: { const: type }, ...Object.fromEntries(properties) },
    required: ['type', ...required.map(([name]) => name)],
  };
}

/** Returns the schema of an answer, which comes from the ledger or from the exchange. */
function answerSchemaOf(questionType: QuestionType): Schema {
  const { answerSchema } = questionType;
  if (questionType.source === 'upstream' || questionType.upstreamFirst === undefined) {
    return answerSchema;
  }
  return anyOf(answerSchema, questionType.upstreamFirst.answerSchema);
}

/** Returns the response of one status, with an example for each of its error codes. */
function errorResponse(status: number): Json {
  const codes = ERROR_CODES.filter((code) => REQUEST_ERRORS[code].status === status);
  const examples = codes.map((code) => [
    code,
    { value: JSON.parse(new RequestError(code, REQUEST_ERRORS[code].meaning).toJson()) },
  ]);
  return {
    description: codes.map((code) => `${code}: ${REQUEST_ERRORS[code].meaning}`).join('; '),
    headers: ERROR_HEADERS[status] ?? {},
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        examples: Object.fromEntries(examples),
      },
    },
  };
}

function errorResponses(): Json {
  const statuses = new Set(ERROR_CODES.map((code) => REQUEST_ERRORS[code].status));
  return Object.fromEntries([...statuses].map((status) => [status, errorResponse(status)]));
}

const KEY_PARAMETER: Json = {
  name: 'key',
  in: 'path',
  required: true,
  schema: { type: 'string' },
};

const MIN_HEIGHT_PARAMETER: Json = {
  name: 'Ledger-Min-Height',
  in: 'header',
  description: 'answer from this height or later',
  schema: { type: 'integer', minimum: 0, maximum: LARGEST_HEADER_NUMBER },
};

const MAX_AGE_PARAMETER: Json = {
  name: 'Account-Max-Age',
  in: 'header',
  description:
    'on a partial ledger: accounts older than this, in milliseconds, are read again first',
  schema: { type: 'integer', minimum: 0, maximum: LARGEST_HEADER_NUMBER },
};

const TAG_HEADER: Json = {
  ETag: header(
    'changes whenever the answer does, apart from its time; may also change without it. ' +
      'Histories and answers of another server have none.',
    { type: 'string' },
  ),
};

function answerContent(): Json {
  const answers = OWN_TYPES.map(({ type, example }) => [type, { value: example.answer }]);
  return {
    'application/json': {
      schema: { anyOf: schemaReferences('Answer') },
      examples: Object.fromEntries(answers),
    },
    'text/csv': { schema: { type: 'string', description: 'of questions with format csv' } },
  };
}

function schemaReferences(kind: 'Question' | 'Answer'): Json[] {
  return QUESTION_TYPES.map(({ type }) => ({ $ref: `#/components/schemas/${type}${kind}` }));
}

function infoOperation(): Json {
  const questions = OWN_TYPES.map(({ type, example }) => [type, { value: example.question }]);
  return {
    operationId: 'info',
    summary: 'Answers one question, selected by the field `type`.',
    parameters: [KEY_PARAMETER, MIN_HEIGHT_PARAMETER, MAX_AGE_PARAMETER],
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: { oneOf: schemaReferences('Question') },
          examples: Object.fromEntries(questions),
        },
      },
    },
    responses: {
      200: {
        description: 'the answer; its schema depends on the type',
        headers: { ...LEDGER_HEADERS, ...ACCOUNT_HEADERS, ...BUDGET_HEADERS },
        content: answerContent(),
      },
      ...errorResponses(),
    },
  };
}

/** Returns the union of the fields of all types. Each type uses a part of these fields. */
function queryParameters(): Json[] {
  const fields = new Map(QUESTION_TYPES.flatMap(fieldsOf));
  return Array.from(fields, ([name, { description, schema }]) => ({
    name,
    in: 'query',
    description,
    schema,
  }));
}

function pollOperation(): Json {
  const headers = { ...LEDGER_HEADERS, ...ACCOUNT_HEADERS, ...BUDGET_HEADERS, ...TAG_HEADER };
  const types = QUESTION_TYPES.map(({ type }) => type);
  return {
    operationId: 'poll',
    summary: 'The same question as query parameters; an unchanged answer is a 304.',
    parameters: [
      KEY_PARAMETER,
      MIN_HEIGHT_PARAMETER,
      MAX_AGE_PARAMETER,
      {
        name: 'If-None-Match',
        in: 'header',
        description: 'the ETag of the answer that the client holds',
        schema: { type: 'string' },
      },
      { name: 'type', in: 'query', required: true, schema: { enum: types } },
      ...queryParameters(),
    ],
    responses: {
      200: { description: 'the answer, as for POST', headers, content: answerContent() },
      304: { description: 'unchanged: the client holds the current answer', headers },
      ...errorResponses(),
    },
  };
}

/** The type is a Record, so that a missing status is a compile error. */
const HEALTH_STATUSES: Readonly<Record<ServiceHealth['status'], true>> = {
  ok: true,
  replaying: true,
  cut_off: true,
  behind: true,
  feed_failed: true,
  upstream_failed: true,
  stale: true,
  ahead: true,
  broken: true,
};

const HEALTH_SCHEMA: Json = {
  type: 'object',
  properties: {
    status: { enum: Object.keys(HEALTH_STATUSES) },
    message: { type: 'string' },
    ledger: { type: 'string', description: 'which ledger it is; empty before its first block' },
    height: { type: 'integer' },
    time: { type: 'integer', description: "the ledger's time, in milliseconds" },
    lagMs: {
      type: 'integer',
      description: 'age of the ledger time in milliseconds; below 0 if it is ahead of the clock',
    },
    maxAgeMs: { type: 'integer', description: 'the age at which it becomes stale; 0 for none' },
    head: { type: 'integer', description: 'the newest block in the ledger' },
    explorerUrl: {
      type: 'string',
      description: "the operator's explorer, with {address} for an address; absent if none is set",
    },
    archive: {
      type: 'object',
      description: 'what the archive holds, times in milliseconds; absent if there is none',
      properties: {
        first: { type: 'integer', description: 'the first height' },
        firstTime: { type: 'integer' },
        last: { type: 'integer', description: 'the last height' },
        lastTime: { type: 'integer' },
      },
      required: ['first', 'firstTime', 'last', 'lastTime'],
    },
    archiveFault: {
      type: 'string',
      description: 'why there are no answers from the archive that is there; absent otherwise',
    },
    disk: {
      type: 'object',
      description: 'the data folder and its disk; absent in the first moments',
      properties: {
        bytes: { type: 'integer', description: 'size of the folder' },
        dayBytes: { type: ['integer', 'null'], description: 'its growth in a day' },
        freeBytes: { type: 'integer', description: 'what is free on its disk' },
        daysLeft: { type: ['integer', 'null'], description: 'until the disk is full' },
        warning: { type: 'string', description: 'only if the disk is filling up' },
      },
      required: ['bytes', 'dayBytes', 'freeBytes', 'daysLeft'],
    },
    follow: { type: 'object', description: 'on a partial ledger, the report of its follower' },
  },
  required: ['status', 'message', 'ledger', 'height', 'time', 'lagMs', 'maxAgeMs', 'head'],
};

const ERROR_SCHEMA: Json = {
  type: 'object',
  properties: {
    error: { enum: ERROR_CODES },
    message: { type: 'string', description: 'what was wrong, which value, what was expected' },
    field: { type: 'string', description: 'the field or header to blame, if any' },
    code: { enum: ERROR_CODES, description: 'same as error, for clients that read `code`' },
    msg: { type: 'string', description: 'same as message, for clients that read `msg`' },
  },
  required: ['error', 'message', 'code', 'msg'],
};

function describeInterface(): Json {
  const schemas: Json = { Error: ERROR_SCHEMA, Health: HEALTH_SCHEMA };
  for (const questionType of QUESTION_TYPES) {
    schemas[`${questionType.type}Question`] = questionSchema(questionType);
    schemas[`${questionType.type}Answer`] = answerSchemaOf(questionType);
  }
  const healthContent = {
    'application/json': { schema: { $ref: '#/components/schemas/Health' } },
  };
  return {
    openapi: '3.1.0',
    info: {
      title: 'perpinfo',
      version: '1',
      description:
        'Read-only queries for perpetuals accounts, staking delegations and the deployment auction. ' +
        'States are also pushed over a WebSocket at /{key}/ws; see /llms.txt.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    paths: {
      '/{key}/info': { post: infoOperation(), get: pollOperation() },
      '/health': {
        get: {
          operationId: 'health',
          summary: 'Whether the replica has caught up with the ledger and is fresh.',
          responses: {
            200: {
              description: 'caught up and fresh',
              headers: LEDGER_HEADERS,
              content: healthContent,
            },
            503: {
              description: 'not caught up or not fresh; status and message say why',
              headers: { ...LEDGER_HEADERS, ...RETRY_HEADER },
              content: healthContent,
            },
          },
        },
      },
    },
    components: { schemas },
  };
}

const DESCRIPTION = JSON.stringify(describeInterface());

/** Returns the description of the interface as JSON text, which is rendered only once. */
export function formatOpenApi(): string {
  return DESCRIPTION;
}
