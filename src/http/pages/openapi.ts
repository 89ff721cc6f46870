/** The interface as OpenAPI 3.1, made from the same declarations that parse questions. */

import { REQUEST_TYPES } from '../../info/registry.ts';
import type { RequestType } from '../../info/request.ts';
import { REQUEST_ERRORS, RequestError, type RequestErrorCode } from '../../info/request-error.ts';

type Json = Record<string, unknown>;

const ERROR_CODES = Object.keys(REQUEST_ERRORS) as RequestErrorCode[];

function header(description: string, schema: Json = { type: 'integer' }): Json {
  return { description, schema };
}

const LEDGER_HEADERS: Json = {
  'Ledger-Height': header('the height that the answer is computed from'),
  'Ledger-Time': header("the ledger's time at that height, in milliseconds"),
};

const BUDGET_HEADERS: Json = {
  'RateLimit-Limit': header("the key's budget; only where it has one"),
  'RateLimit-Remaining': header('what is left of it'),
  'RateLimit-Reset': header('seconds until it is full again'),
};

const RETRY_HEADER: Json = {
  'Retry-After': header('seconds after which the request may be tried again'),
};

const ALLOW_HEADER: Json = {
  Allow: header('the methods that the path takes', { type: 'string' }),
};

/** The headers that the responses of a status may carry, beside those that all have. */
const ERROR_HEADERS: Readonly<Record<number, Json>> = {
  400: BUDGET_HEADERS,
  405: ALLOW_HEADER,
  413: BUDGET_HEADERS,
  415: BUDGET_HEADERS,
  422: BUDGET_HEADERS,
  429: { ...RETRY_HEADER, ...BUDGET_HEADERS },
  503: { ...RETRY_HEADER, ...LEDGER_HEADERS, ...BUDGET_HEADERS },
};

function questionSchema({ type, summary, fields }: RequestType): Json {
  const entries = Object.entries(fields);
  const properties = entries.map(([name, { description, schema }]) => [
    name,
    { ...schema, description },
  ]);
  const required = entries.filter(([, field]) => field.fallback === undefined);
  return {
    type: 'object',
    description: summary,
    properties: { type: { const: type }, ...Object.fromEntries(properties) },
    required: ['type', ...required.map(([name]) => name)],
  };
}

/** The responses of one status: every error code that has it, each with an example. */
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
  schema: { type: 'integer', minimum: 0 },
};

const TAG_HEADER: Json = {
  ETag: header('changes when the answer does, its time left aside', { type: 'string' }),
};

function answerContent(): Json {
  const answers = REQUEST_TYPES.map(({ type, example }) => [type, { value: example.answer }]);
  return {
    'application/json': {
      schema: { anyOf: schemaReferences('Answer') },
      examples: Object.fromEntries(answers),
    },
  };
}

function schemaReferences(kind: 'Question' | 'Answer'): Json[] {
  return REQUEST_TYPES.map(({ type }) => ({ $ref: `#/components/schemas/${type}${kind}` }));
}

function infoOperation(): Json {
  const questions = REQUEST_TYPES.map(({ type, example }) => [type, { value: example.question }]);
  return {
    operationId: 'info',
    summary: 'Asks one question; the field `type` selects which.',
    parameters: [KEY_PARAMETER, MIN_HEIGHT_PARAMETER],
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
        description: 'the answer; its form depends on the type',
        headers: { ...LEDGER_HEADERS, ...BUDGET_HEADERS },
        content: answerContent(),
      },
      ...errorResponses(),
    },
  };
}

/** The fields of all types, each once: which of them a question has depends on its type. */
function queryParameters(): Json[] {
  const fields = new Map(REQUEST_TYPES.flatMap((request) => Object.entries(request.fields)));
  return Array.from(fields, ([name, { description, schema }]) => ({
    name,
    in: 'query',
    description,
    schema,
  }));
}

function pollOperation(): Json {
  const headers = { ...LEDGER_HEADERS, ...BUDGET_HEADERS, ...TAG_HEADER };
  const types = REQUEST_TYPES.map(({ type }) => type);
  return {
    operationId: 'poll',
    summary: 'Asks the same in the query; an answer that has not changed is not sent again.',
    parameters: [
      KEY_PARAMETER,
      MIN_HEIGHT_PARAMETER,
      {
        name: 'If-None-Match',
        in: 'header',
        description: 'the ETag of the answer that the client has',
        schema: { type: 'string' },
      },
      { name: 'type', in: 'query', required: true, schema: { enum: types } },
      ...queryParameters(),
    ],
    responses: {
      200: { description: 'the answer, as to a POST', headers, content: answerContent() },
      304: { description: 'the answer is the one that the client has', headers },
      ...errorResponses(),
    },
  };
}

const HEALTH_SCHEMA: Json = {
  type: 'object',
  properties: {
    status: { enum: ['ok', 'replaying', 'behind', 'feed_failed', 'stale', 'ahead', 'broken'] },
    message: { type: 'string' },
    height: { type: 'integer' },
    time: { type: 'integer', description: "the ledger's time, in milliseconds" },
    lagMs: { type: 'integer', description: 'how old that is' },
    head: { type: 'integer', description: 'the newest block in the ledger' },
  },
  required: ['status', 'message', 'height', 'time', 'lagMs', 'head'],
};

const ERROR_SCHEMA: Json = {
  type: 'object',
  properties: {
    error: { enum: ERROR_CODES },
    message: { type: 'string', description: 'what was wrong, which value, what was expected' },
    field: { type: 'string', description: 'the field or header to blame, where one is' },
    code: { enum: ERROR_CODES, description: 'the same as error, for clients that read this' },
    msg: { type: 'string', description: 'the same as message, for clients that read this' },
  },
  required: ['error', 'message', 'code', 'msg'],
};

function createDescription(): Json {
  const schemas: Json = { Error: ERROR_SCHEMA, Health: HEALTH_SCHEMA };
  for (const request of REQUEST_TYPES) {
    schemas[`${request.type}Question`] = questionSchema(request);
    schemas[`${request.type}Answer`] = request.answerSchema;
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
        'Perpetuals accounts, staking delegations and the deployment auction, read-only. States are ' +
        'also pushed, over a WebSocket at /{key}/ws; /llms.txt tells how.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    paths: {
      '/{key}/info': { post: infoOperation(), get: pollOperation() },
      '/health': {
        get: {
          operationId: 'health',
          summary: 'Whether answers are caught up with the ledger and fresh.',
          responses: {
            200: {
              description: 'caught up and fresh',
              headers: LEDGER_HEADERS,
              content: healthContent,
            },
            503: {
              description: 'not so; status and message say why',
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

const DESCRIPTION = JSON.stringify(createDescription());

/** The description as JSON text. */
export function describeInterface(): string {
  return DESCRIPTION;
}
