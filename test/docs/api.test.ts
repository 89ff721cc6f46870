/** The reference of questions is compared with their declarations, and the tables of errors, push and weights too. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatShare, SHARE_TEXTS, WEIGHT_SHARES } from '../../src/info/archive/surcharge.ts';
import {
  type ArchiveQuestionType,
  AS_DATA,
  type StateQuestionType,
} from '../../src/info/question-type.ts';
import {
  FORWARDED_TYPES,
  OWN_TYPES,
  PUSHED_TYPES,
  STATE_TYPES,
} from '../../src/info/question-types.ts';
import { REQUEST_ERRORS, RequestError } from '../../src/info/request-error.ts';
import { fencedBlocks, readDocument, readSections } from './documents.ts';

const QUESTIONS = readDocument('docs/reference/questions.md');
const SECTIONS = readSections(QUESTIONS, 3);
const ERRORS = readDocument('docs/reference/errors.md');
const WEIGHTS = readDocument('docs/reference/weights.md');
const ANSWERS = new Map(OWN_TYPES.map(({ type, example }) => [type, example.answer]));

/** A text such as "<meta>" stands for the example answer of that type. */
function fillIn(shown: unknown): unknown {
  if (typeof shown === 'string') {
    const [, type] = /^<(\w+)>$/.exec(shown) ?? [];
    return type === undefined ? shown : ANSWERS.get(type);
  }
  if (Array.isArray(shown)) return shown.map(fillIn);
  if (typeof shown !== 'object' || shown === null) return shown;
  return Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, fillIn(value)]));
}

function describeFields(questionType: StateQuestionType | ArchiveQuestionType): string {
  const { fields, weight, source } = questionType;
  const names = Object.entries(fields).map(
    ([name, { fallback }]) => `\`${name}\`${fallback === undefined ? '' : ' (optional)'}`,
  );
  const end = source === 'archive' ? `${weight}, or [more](weights.md#shares).` : `${weight}`;
  return `Fields: ${names.join(', ') || 'none'}. Weight: ${end}`;
}

test('the page has a section for each question, and no other', () => {
  const types = OWN_TYPES.map(({ type }) => type);
  assert.deepEqual([...SECTIONS.keys()].sort(), types.sort());
});

test('each question is shown with its fields, its weight, an example and its answer', () => {
  for (const questionType of OWN_TYPES) {
    const { type, example } = questionType;
    const section = SECTIONS.get(type) ?? '';
    assert.ok(section.replaceAll('\n', ' ').includes(describeFields(questionType)), type);
    const examples = fencedBlocks(section, 'json').map((block) => fillIn(JSON.parse(block)));
    assert.deepEqual(examples, [example.question, example.answer]);
  }
});

test('every field that a question has is explained', () => {
  const names = new Set(OWN_TYPES.flatMap(({ fields }) => Object.keys(fields)));
  const listed = Array.from(
    QUESTIONS.matchAll(/^\| `(users?|dex|id|coin|from|to|step)` \|/gm),
    ([, name]) => name,
  );
  assert.deepEqual(listed.sort(), [...names].sort());
});

test('the table of subscriptions is that of the code', () => {
  const rows = readDocument('docs/reference/push.md').matchAll(
    /^\| `(\w+)` \| (?:`(\w+)`|none: .*?) \| .*\|$/gm,
  );
  const listed = Array.from(rows, ([, type, name]) => `${type} ${name}`);
  const pushed = PUSHED_TYPES.map(
    ({ type, push }) => `${type} ${push?.name === AS_DATA ? undefined : push?.name}`,
  );
  assert.deepEqual(listed.sort(), pushed.sort());
});

test('the table of errors is that of the code', () => {
  const rows = ERRORS.matchAll(/^\| (\d{3}) \| `(\w+)` \| (.*) \|$/gm);
  const listed = Array.from(rows, ([, status, code, meaning]) => `${status} ${code}: ${meaning}`);
  const expected = Object.entries(REQUEST_ERRORS).map(
    ([code, { status, meaning }]) => `${status} ${code}: ${meaning}`,
  );
  assert.deepEqual(listed, expected);
});

test('the example of an error has the form of an error', () => {
  const [example] = fencedBlocks(ERRORS, 'json');
  const shown = JSON.parse(example);
  assert.deepEqual(
    shown,
    JSON.parse(new RequestError(shown.error, shown.message, shown.field).toJson()),
  );
});

test('the table of weights has every question that does not weigh 20', () => {
  const rows = WEIGHTS.split('\n').filter((line) => /^\| `\w+` \| \d+/.test(line));
  const listed = rows.map((row) => row.match(/\w+/g)?.slice(0, 2));
  const light = STATE_TYPES.filter(({ weight }) => weight !== 20);
  assert.deepEqual(
    listed,
    light.map(({ type, weight }) => [type, String(weight)]),
  );
});

test('the table of shares is that of the code', () => {
  const table = readSections(WEIGHTS, 2).get('Shares') ?? '';
  const rows = Array.from(table.matchAll(/^\| (.*) \| ([\d/]+) \|$/gm), ([, text, share]) => [
    text,
    share,
  ]);
  const names = Object.keys(WEIGHT_SHARES) as (keyof typeof WEIGHT_SHARES)[];
  assert.deepEqual(
    rows,
    names.map((name) => [SHARE_TEXTS[name], formatShare(WEIGHT_SHARES[name])]),
  );
});

test('the histories that have no tag are named where tags are described', () => {
  const [, list = ''] =
    /^- (`accountHistory`[^:]*?), also with/m.exec(readDocument('docs/reference/http.md')) ?? [];
  const histories = OWN_TYPES.filter(({ source }) => source === 'archive').map(({ type }) => type);
  assert.deepEqual(list.match(/(?<=`)\w+(?=`)/g), histories);
});

test('the types that are passed on are those of the code', () => {
  const page = readDocument('docs/reference/upstream.md');
  const table = readSections(page, 2).get('Questions that are passed on') ?? '';
  const rows = table.split('\n').filter((line) => line.startsWith('| '));
  const listed = rows.flatMap((row) => row.match(/(?<=`)\w+(?=`)/g) ?? []);
  assert.deepEqual(listed.sort(), FORWARDED_TYPES.map(({ type }) => type).sort());
});

test('the page says who answers each type that --forward passes on, and about markets', () => {
  const page = readDocument('docs/reference/upstream.md');
  const section = readSections(page, 2).get('Who answers') ?? '';
  const own = OWN_TYPES.filter(({ source }) => source !== 'archive');
  const forwarded = OWN_TYPES.filter(({ upstreamFirst }) => upstreamFirst !== undefined);
  const fromLedger = own.filter(
    ({ group, upstreamFirst }) => group === 'markets' && upstreamFirst === undefined,
  );
  for (const { type } of [...forwarded, ...fromLedger]) {
    assert.ok(section.includes(`\`${type}\``), type);
  }
});
