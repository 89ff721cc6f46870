/**
 * What the service says of itself, in /openapi.json, /llms.txt and the help, is held
 * against the table of errors, the declarations of questions, and what a live service answers.
 */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { serve } from '../../src/cli/commands/serve.ts';
import { describeNeed, listSettings } from '../../src/config/setting.ts';
import { formatAddress } from '../../src/exact/address.ts';
import { formatLlms } from '../../src/http/pages/llms.ts';
import { formatOpenApi } from '../../src/http/pages/openapi.ts';
import { describeSurcharge } from '../../src/info/archive/surcharge.ts';
import { OWN_TYPES, STATE_TYPES } from '../../src/info/question-types.ts';
import { REQUEST_ERRORS } from '../../src/info/request-error.ts';
import type { StateView } from '../../src/state/state.ts';
import { MAIN } from '../../tools/harness/paths.ts';
import { EXPLORER_URL, LiveService, type Reply } from './live-service.ts';

type Json = Record<string, unknown>;

interface MediaType {
  schema: Json;
  examples?: Record<string, { value: unknown }>;
}

interface Body {
  content: Record<string, MediaType>;
}

interface Response extends Body {
  headers?: Record<string, { schema: Json }>;
}

interface Operation {
  requestBody?: Body;
  responses: Record<string, Response>;
}

interface Description extends Json {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Json> };
}

const JSON_TYPE = 'application/json';
const DESCRIPTION: Description = JSON.parse(formatOpenApi());
const INFO = DESCRIPTION.paths['/{key}/info']['post'];
const HEALTH = DESCRIPTION.paths['/health']['get'];

/** References point to "#/components", so every schema is compiled together with the components. */
const ajv = new Ajv2020({ allErrors: true, strict: true, allowUnionTypes: true });
ajv.addVocabulary(['components']);

function compileSchema(schema: Json): ValidateFunction {
  return ajv.compile({ ...schema, components: DESCRIPTION.components });
}

function compileComponent(name: string): ValidateFunction {
  return compileSchema({ $ref: `#/components/schemas/${name}` });
}

function assertValid(validate: ValidateFunction, value: unknown, what: string): void {
  assert.ok(validate(value), `${what}: ${ajv.errorsText(validate.errors)}`);
}

/** Status and code of every error, in order. */
const ERROR_ROWS = Object.entries(REQUEST_ERRORS).map(
  ([code, { status, meaning }]) => `${status} ${code}: ${meaning}`,
);

test('the description has every error with its status, and no other', () => {
  const { 200: _, ...responses } = INFO.responses;
  const described = Object.entries(responses).flatMap(([status, { content }]) =>
    Object.entries(content[JSON_TYPE].examples ?? {}).map(([name, { value }]) => {
      const { error, message, code, msg } = value as Record<string, string>;
      assert.deepEqual([error, code, msg], [name, name, message]);
      return `${status} ${error}: ${message}`;
    }),
  );
  assert.deepEqual(described, ERROR_ROWS);
  const { error } = DESCRIPTION.components.schemas['Error']['properties'] as Record<string, Json>;
  assert.deepEqual(error['enum'], Object.keys(REQUEST_ERRORS));
});

test('the description is valid OpenAPI 3.1', async () => {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(structuredClone(DESCRIPTION));
  assert.ok(valid, JSON.stringify(errors));
  assert.equal(validator.version, '3.1');
});

test('the description has an example of every question and its answer', () => {
  const types = OWN_TYPES.map(({ type }) => type);
  const questions = INFO.requestBody?.content[JSON_TYPE].examples ?? {};
  const answers = INFO.responses['200'].content[JSON_TYPE].examples ?? {};
  assert.deepEqual(Object.keys(questions), types);
  assert.deepEqual(Object.keys(answers), types);
  for (const type of types) {
    assertValid(compileComponent(`${type}Question`), questions[type].value, `${type}, question`);
    assertValid(compileComponent(`${type}Answer`), answers[type].value, `${type}, answer`);
  }
});

test('every example matches its schema', () => {
  const operations = Object.values(DESCRIPTION.paths).flatMap((methods) => Object.values(methods));
  const bodies = operations.flatMap(({ requestBody, responses }) => [
    ...(requestBody === undefined ? [] : [requestBody]),
    ...Object.values(responses),
  ]);
  for (const { schema, examples = {} } of bodies.flatMap(({ content = {} }) =>
    Object.values(content),
  )) {
    const validate = compileSchema(schema);
    for (const [name, { value }] of Object.entries(examples)) assertValid(validate, value, name);
  }
});

test('/llms.txt names every type with its fields and weight, and every error', () => {
  const text = formatLlms();
  for (const request of OWN_TYPES) {
    const { type, weight, fields, answerSchema } = request;
    const section = text.split(`### ${type}\n`)[1]?.split('\n\n')[0] ?? '';
    assert.ok(section.includes(`Weight ${weight}.`), `${type}: weight ${weight}`);
    const surcharge = describeSurcharge('shares' in request ? request.shares : undefined);
    assert.ok(('shares' in request ? section : text).includes(surcharge), type);
    const description = DESCRIPTION.components.schemas[`${type}Question`]['description'];
    assert.ok(String(description).endsWith(` Weight ${weight}. ${surcharge}`), type);
    for (const [name, { description }] of Object.entries(fields)) {
      assert.match(section, new RegExp(`^  - ${name} \\((required|optional)\\): `, 'm'));
      assert.ok(section.includes(description), `${type}: ${description}`);
    }
    for (const name of propertyNames(answerSchema)) {
      assert.ok(section.includes(`"${name}":`), `${type}: ${name}`);
    }
  }
  for (const row of ERROR_ROWS) assert.ok(text.includes(`- ${row}\n`), row);
});

/** The names of all fields that a schema declares, at any depth. */
function propertyNames(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const own = Object.keys((schema as { properties?: object }).properties ?? {});
  return [...own, ...Object.values(schema).flatMap(propertyNames)];
}

/** The placeholders of numeric settings, which name the unit. */
const UNITS = ['MS', 'BYTES', 'N', 'PORT', 'WEIGHT'];

test('every setting of serve is in its help: name, default, unit, meaning', () => {
  const help = execFileSync(process.execPath, [MAIN, 'serve', '--help'], { encoding: 'utf8' });
  const lines = help.split('\n').map((line) => line.trim().replace(/ {2,}/g, ' '));
  for (const setting of listSettings(serve.settings)) {
    const { placeholder } = setting.type;
    const flag = `--${setting.flag} ${placeholder}`.trimEnd();
    const isRequired = !('default' in setting);
    const { default: value = 'none' } = setting;
    const ending = isRequired
      ? `; ${describeNeed(setting)}`
      : value === 'none'
        ? ''
        : `; default ${value}`;
    assert.ok(lines.includes(`${flag} ${setting.help} (${setting.variable}${ending})`), flag);
    if (typeof value === 'number') assert.ok(UNITS.includes(placeholder), flag);
  }
});

let service: LiveService;
let key: string;
/** A key with a budget, whose responses have rate-limit headers. */
let budgetedKey: string;

const UNKNOWN_USER = '0x00000000000000000000000000000000000000Ff';

before(async () => {
  service = await LiveService.start();
  key = await service.createKey();
  budgetedKey = await service.createKey({ weight: 1_000_000, periodMs: 1000 });
});

after(() => service.close());

/** Every header of ours in a response is declared for its status. */
function assertHeaders({ status, headers }: Reply, { responses }: Operation): void {
  const ours = /^(ledger-|ratelimit-|retry-after$|allow$)/;
  const entries = Object.entries(responses[status].headers ?? {});
  const declared = new Map(entries.map(([name, { schema }]) => [name.toLowerCase(), schema]));
  for (const [name, text] of headers) {
    if (!ours.test(name)) continue;
    const schema = declared.get(name);
    assert.ok(schema, `${status}: the header ${name} is not declared`);
    if (schema['type'] === 'integer') assert.match(text, /^\d+$/, name);
  }
}

function questionsAbout({ addresses, markets }: StateView): { type: string }[] {
  const rows = Array.from({ length: addresses.table.rowCount - 1 }, (_, index) => index + 1);
  const users = [UNKNOWN_USER, ...rows.map((row) => formatAddress(addresses.addressOf(row)))];
  return [
    ...users.map((user) => ({ type: 'clearinghouseState', user })),
    ...users.flatMap((user) =>
      markets.dexes.map(({ name: dex }) => ({ type: 'clearinghouseState', user, dex })),
    ),
    ...users.map((user) => ({ type: 'delegations', user })),
    ...otherQuestions(users[users.length - 1]),
    { type: 'perpDeployAuctionStatus' },
  ];
}

/** One question of every type, but for marginTable: it needs a market. */
function otherQuestions(user: string): { type: string }[] {
  const values: Record<string, unknown> = { user, dex: '', users: [user, 'x'] };
  const types = STATE_TYPES.filter(({ type }) => type !== 'marginTable');
  return types.map(({ type, fields }) => {
    const given = Object.keys(fields).map((name) => [name, values[name]]);
    return { type, ...Object.fromEntries(given) };
  });
}

/** Asks every question about every user, and returns the answer about the auction. */
async function checkAllAnswers(): Promise<unknown> {
  const forms = new Map(
    STATE_TYPES.map(({ type }) => [type, compileComponent(`${type}Answer`)] as const),
  );
  let answer: unknown;
  for (const question of questionsAbout(service.state)) {
    const reply = await service.ask(budgetedKey, question);
    const what = `${JSON.stringify(question)} at height ${service.state.height}`;
    assert.equal(reply.status, 200, `${what}: ${reply.text}`);
    assertHeaders(reply, INFO);
    answer = JSON.parse(reply.text);
    assertValid(forms.get(question.type) as ValidateFunction, answer, what);
  }
  return answer;
}

test('answers match their schemas before, during and after an auction', async () => {
  assert.equal(await checkAllAnswers(), null);
  await service.growUntil(({ accounts }) => accounts.rowCount > 1);
  assert.equal(await checkAllAnswers(), null);
  await service.growUntil(({ auction }) => auction !== undefined);
  const running = (await checkAllAnswers()) as { endGas: string | null };
  assert.equal(running.endGas, null);
  await service.growUntil(({ auction }) => auction?.endGas !== undefined);
  const ended = (await checkAllAnswers()) as { endGas: string | null };
  assert.equal(typeof ended.endGas, 'string');
});

/** Errors that no single request provokes; other suites cover them. */
const OUT_OF_REACH = ['request_timeout', 'upstream_failed', 'not_ready', 'overloaded'];

async function provokeErrors(): Promise<Reply[]> {
  const auction = { type: 'perpDeployAuctionStatus' };
  const account = { type: 'clearinghouseState', user: UNKNOWN_USER };
  const ask = (question: unknown, headers?: Record<string, string>) =>
    service.ask(budgetedKey, question, headers);
  const poorKey = await service.createKey({ weight: 20, periodMs: 3_600_000 });
  return [
    await service.sendRaw('what is this?\r\n\r\n'),
    await service.sendRaw(`POST / HTTP/1.1\r\nHost: here\r\nLong: ${'x'.repeat(20_000)}\r\n\r\n`),
    await ask('{"type":'),
    await service.ask('no-such-key', auction),
    await service.ask(`${key}/more`, auction),
    await service.fetch(`/${key}/info`, { method: 'PUT' }),
    await ask({ ...auction, padding: 'x'.repeat(65_536) }),
    await ask(auction, { 'Content-Type': 'text/plain' }),
    await ask([]),
    await ask({}),
    await ask({ type: 1 }),
    await ask({ type: 'constructor' }),
    await ask({ type: 'delegations' }),
    await ask({ type: 'delegations', user: '0x12' }),
    await ask({ ...account, dex: 7 }),
    await ask({ ...account, dex: 'none' }),
    await ask({ ...account, atHeight: 1 }),
    await ask(account, { 'Ledger-Min-Height': 'now' }),
    await service.ask(poorKey, auction).then(() => service.ask(poorKey, auction)),
    await ask(account, { 'Ledger-Min-Height': '999999999' }),
  ];
}

test('errors match their schema and have their status', async () => {
  const { schemas } = DESCRIPTION.components;
  const validate = compileSchema({ ...schemas['Error'], additionalProperties: false });
  const seen = new Set<string>();
  for (const reply of await provokeErrors()) {
    const body = JSON.parse(reply.text) as { error: keyof typeof REQUEST_ERRORS };
    assertValid(validate, body, reply.text);
    assert.equal(reply.status, REQUEST_ERRORS[body.error].status, reply.text);
    assert.equal(reply.headers.get('content-type'), JSON_TYPE);
    assertHeaders(reply, INFO);
    seen.add(body.error);
  }
  const expected = Object.keys(REQUEST_ERRORS).filter((code) => !OUT_OF_REACH.includes(code));
  assert.deepEqual([...seen].sort(), expected.sort());
});

test('the service serves these documents, and its health matches its schema', async () => {
  const [openapi, llms, health] = await Promise.all(
    ['/openapi.json', '/llms.txt', '/health'].map((page) => service.fetch(page)),
  );
  assert.equal(openapi.text, formatOpenApi());
  assert.equal(llms.text, formatLlms());
  assert.equal(health.status, 200, health.text);
  const { schemas } = DESCRIPTION.components;
  const validate = compileSchema({ ...schemas['Health'], additionalProperties: false });
  assertValid(validate, JSON.parse(health.text), 'health');
  assert.equal(JSON.parse(health.text).explorerUrl, EXPLORER_URL);
  assertHeaders(health, HEALTH);
});
