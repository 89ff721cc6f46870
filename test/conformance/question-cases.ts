/**
 * Questions, right and wrong ones, asked and polled, with and without a budget; about the present, about the past,
 * and passed on to an exchange.
 */

import { OWN_TYPES, STATE_TYPES } from '../../src/info/question-types.ts';
import type { RequestErrorCode } from '../../src/info/request-error.ts';
import { HEIGHT, QUESTION } from '../../tools/harness/service.ts';
import { FORWARDED_EXAMPLES } from '../../tools/stub-exchange/forwarded-answers.ts';
import { TYPES } from '../info/types.ts';
import {
  type Asked,
  AUCTION,
  answered,
  BODY_BYTES_MAX,
  type Case,
  type Deviation,
  type Expected,
  type Fields,
  KEY,
  minHeight,
  queryOf,
  type Subjects,
} from './case.ts';

/** A question of each type, with all of its fields. */
function everyQuestion({ user, dex, table }: Subjects): Fields[] {
  const values: Fields = { user, dex, id: table, users: [user, 'nobody', user] };
  return STATE_TYPES.map(({ type, fields }) => {
    const given = Object.keys(fields).map((name) => [name, values[name]]);
    return { type, ...Object.fromEntries(given) };
  });
}

const POLLED = { status: 200, isTagged: true } as const;

function questionCases(subjects: Subjects): Case[] {
  return everyQuestion(subjects).flatMap((question): Case[] => {
    const get = { method: 'GET', path: `/${KEY}/info?${queryOf(question)}` };
    return [
      answered(`POST ${question['type']}`, { question }, question),
      { name: `GET ${question['type']}`, asked: get, expected: { ...POLLED, answerTo: question } },
    ];
  });
}

const POLL = { method: 'GET', path: `/${KEY}/info?type=perpDeployAuctionStatus` };
const UNCHANGED = { status: 304, answerTo: AUCTION, isTagged: true } as const;

function pollingCases(tag: string): Case[] {
  const matching = [tag, tag.slice(2), `"other", ${tag}`, `${tag},W/"x"`, '*'];
  // Of many tags in one header, only the first are read.
  matching.push(`${'"a", '.repeat(31)}${tag}`);
  const others = ['"other"', tag.slice(3, -1), '', 'W/"'];
  others.push(`${'"a", '.repeat(32)}${tag}`, `${','.repeat(15_000)}${tag}`);
  const withTag = (header: string) => ({ ...POLL, headers: { 'If-None-Match': header } });
  return [
    ...matching.map((header) => ({
      ...{ name: `GET with If-None-Match: ${header.slice(0, 60)}`, asked: withTag(header) },
      expected: UNCHANGED,
    })),
    ...others.map((header) => ({
      ...{ name: `GET with If-None-Match: ${header.slice(0, 60)}`, asked: withTag(header) },
      expected: { ...POLLED, answerTo: AUCTION },
    })),
    {
      name: 'HEAD',
      asked: { ...POLL, method: 'HEAD' },
      expected: { ...POLLED, answerTo: AUCTION },
    },
    answered('POST with If-None-Match', { question: AUCTION, headers: { 'If-None-Match': '*' } }),
    {
      name: 'GET with a body, which is passed over',
      asked: { ...POLL, body: '{}' },
      expected: { ...POLLED, answerTo: AUCTION },
    },
  ];
}

function wrongQuestion(
  question: unknown,
  error: RequestErrorCode,
  field: string,
  message: string,
): Case {
  const name = `the question ${JSON.stringify(question)?.slice(0, 60)}`;
  return { name, asked: { question }, expected: { status: 422, error, field, message } };
}

/** What is wrong with a query, by the part after the question mark. */
const WRONG_QUERIES: readonly [query: string, error: RequestErrorCode, field: string][] = [
  ['', 'missing_field', 'type'],
  ['user=0x12', 'missing_field', 'type'],
  ['type=openOrders', 'unknown_type', 'type'],
  ['type=meta&type=meta', 'invalid_field', 'type'],
  ['type=delegations', 'missing_field', 'user'],
  ['type=delegations&user=', 'invalid_address', 'user'],
  ['type=delegations&user=%zz', 'invalid_address', 'user'],
  ['type=delegations&user=0x1&user=0x1', 'invalid_field', 'user'],
  ['type=meta&dex=nowhere', 'unknown_dex', 'dex'],
  ['type=marginTable&id=one', 'invalid_field', 'id'],
  ['type=marginTable&id=1&id=2', 'invalid_field', 'id'],
];

/** Bodies that would cost far more to parse than any question. */
const EXCESSIVE: Readonly<Record<string, string>> = {
  '[': '['.repeat(BODY_BYTES_MAX / 2) + ']'.repeat(BODY_BYTES_MAX / 2),
  '{': `{"type":[${'{},'.repeat(20_000)}{}]}`,
  ':': `{${Array.from({ length: 5000 }, (_, at) => `"${at}":1`).join()}}`,
  ',': `{"type":[${'1,'.repeat(30_000)}1]}`,
};

function wrongQuestionCases({ user }: Subjects): Case[] {
  const short = '0x and 40 hexadecimal digits';
  const body = (name: string, sent: string | Buffer): Case => ({
    ...{ name, asked: { body: sent } },
    expected: { status: 400, error: 'malformed_json', field: 'body' },
  });
  return [
    wrongQuestion({}, 'missing_field', 'type', `type: got nothing, expected one of ${TYPES}`),
    wrongQuestion(
      [],
      'invalid_field',
      'body',
      'body: got an array of 0, expected an object with a type',
    ),
    wrongQuestion(null, 'invalid_field', 'body', 'body: got null, expected an object with a type'),
    wrongQuestion({ type: 7 }, 'invalid_field', 'type', `type: got 7, expected one of ${TYPES}`),
    wrongQuestion(
      ...([{ type: 'constructor' }, 'unknown_type', 'type'] as const),
      `type: got "constructor", expected one of ${TYPES}`,
    ),
    wrongQuestion(
      ...([{ type: 'delegations', user: '0x12' }, 'invalid_address', 'user'] as const),
      `user: got "0x12", expected ${short}`,
    ),
    wrongQuestion(
      ...([{ type: 'delegations', user: user.slice(2) }, 'invalid_address', 'user'] as const),
      `user: got "${user.slice(2)}", expected ${short}: 0x is missing`,
    ),
    wrongQuestion(
      ...([{ type: 'delegations' }, 'missing_field', 'user'] as const),
      `user: got nothing, expected an address: ${short}, either case`,
    ),
    wrongQuestion(
      ...([{ type: 'clearinghouseState', user, dex: 'nowhere' }, 'unknown_dex', 'dex'] as const),
      'dex: got "nowhere", expected one of "", "abc", "idx"',
    ),
    {
      name: 'a moment, where there is no archive',
      asked: { body: JSON.stringify({ type: 'delegations', user, atHeight: 1 }) },
      expected: { status: 422, error: 'unknown_height' },
    },
    wrongQuestion(
      ...([{ type: 'y'.repeat(900) }, 'unknown_type', 'type'] as const),
      `type: got "${'y'.repeat(60)}"… (900 characters), expected one of ${TYPES}`,
    ),
    {
      ...{ name: 'a body that is cut', asked: { body: '{"type":' } },
      expected: {
        ...{ status: 400, error: 'malformed_json', field: 'body' },
        message: 'body: got "{\\"type\\":", expected a JSON object',
      },
    },
    {
      ...{ name: 'a body with a byte order mark', asked: { body: '\ufeff{}' } },
      expected: {
        ...{ status: 400, error: 'malformed_json', field: 'body' },
        message: 'body: got "\\ufeff{}", expected a JSON object',
      },
    },
    body('an empty body', ''),
    body('a body that is not UTF-8', Buffer.from([0x22, 0xff, 0x22])),
    {
      ...{ name: 'no body', asked: { body: '', headers: { 'Content-Length': undefined } } },
      expected: { status: 400, error: 'malformed_json', field: 'body' },
    },
    {
      ...{ name: 'a body over the limit', asked: { body: QUESTION.padEnd(70_000) } },
      expected: {
        ...{ status: 413, error: 'body_too_large', field: 'body', closes: true },
        message: `body: got more than ${BODY_BYTES_MAX} bytes, expected at most ${BODY_BYTES_MAX}`,
      },
    },
    ...Object.entries(EXCESSIVE).map(([mark, sent]): Case => {
      const message = `body: got more than ${mark === ',' ? 2048 : 256} of "${mark}", expected one question`;
      const expected = { status: 422, error: 'invalid_field', field: 'body', message } as const;
      return { name: `a body of many "${mark}"`, asked: { body: sent }, expected };
    }),
    answered('a body at the limit', { body: QUESTION.padEnd(BODY_BYTES_MAX) }),
    ...WRONG_QUERIES.map(([query, error, field]) => ({
      name: `GET with the query ${query}`,
      asked: { method: 'GET', path: `/${KEY}/info?${query}` },
      expected: { status: 422, error, field },
    })),
    {
      ...{ name: 'GET without a query', asked: { method: 'GET', path: `/${KEY}/info` } },
      expected: { status: 422, error: 'missing_field', field: 'type' },
    },
    {
      name: 'GET of a minimum height that the ledger is not at',
      asked: { ...POLL, headers: { 'Ledger-Min-Height': `${HEIGHT + 1}` } },
      expected: {
        ...{ status: 503, error: 'behind', field: 'Ledger-Min-Height' },
        headers: { 'retry-after': '1' },
      },
    },
  ];
}

/** What is told of the budget while the clock stands still. */
function left(remaining: number): Record<string, string> {
  return {
    'ratelimit-limit': '40',
    'ratelimit-remaining': `${remaining}`,
    'ratelimit-reset': `${(40 - remaining) * 90}`,
  };
}

function budgetCases({ user }: Subjects): Case[] {
  const hasBudget = true;
  const light = { type: 'clearinghouseState', user };
  const polled = { method: 'GET', path: `/${KEY}/info?${queryOf(light)}` };
  const refused = (name: string, asked: Asked, expected: Expected): Case => ({
    ...{ name, hasBudget, asked, expected: { ...expected, headers: left(39) } },
  });
  return [
    {
      ...{ name: 'a budget, for a light question', hasBudget, asked: { question: light } },
      expected: { status: 200, answerTo: light, headers: left(38) },
    },
    {
      ...{ name: 'a budget, for a heavy question', hasBudget, asked: { question: AUCTION } },
      expected: { status: 200, answerTo: AUCTION, headers: left(20) },
    },
    {
      ...{ name: 'a budget, for an answer that is not sent again', hasBudget },
      asked: { ...polled, headers: { 'If-None-Match': '*' } },
      expected: { status: 304, answerTo: light, isTagged: true, headers: left(38) },
    },
    refused(
      'a budget, for a body that is not JSON',
      { body: '{' },
      {
        ...{ status: 400, error: 'malformed_json', field: 'body' },
      },
    ),
    refused(
      'a budget, for a wrong question',
      { question: {} },
      {
        ...{ status: 422, error: 'missing_field', field: 'type' },
      },
    ),
    refused(
      'a budget, for a wrong query',
      { method: 'GET', path: `/${KEY}/info` },
      {
        ...{ status: 422, error: 'missing_field', field: 'type' },
      },
    ),
    refused(
      'a budget, for another media type',
      { body: QUESTION, headers: { 'Content-Type': 'text/plain' } },
      { status: 415, error: 'unsupported_media_type', field: 'Content-Type' },
    ),
    {
      ...{ name: 'a budget, for a body over the limit', hasBudget },
      asked: { body: QUESTION.padEnd(70_000) },
      expected: {
        ...{ status: 413, error: 'body_too_large', field: 'body', closes: true },
        headers: left(20),
      },
    },
    refused('a budget, for a minimum height that is none', minHeight('x'), {
      ...{ status: 422, error: 'invalid_field', field: 'Ledger-Min-Height' },
    }),
    {
      ...{ name: 'a budget, for a height that does not come', hasBudget },
      asked: minHeight(`${HEIGHT + 1}`),
      expected: {
        ...{ status: 503, error: 'behind', field: 'Ledger-Min-Height' },
        headers: { 'retry-after': '1', ...left(39) },
      },
    },
    {
      ...{ name: 'a budget that is spent', hasBudget, asked: { question: AUCTION } },
      before: [{ question: AUCTION }, { question: light }, { question: {} }],
      expected: {
        ...{ status: 429, error: 'rate_limited' },
        message: 'budget: this question weighs 20, 17 of 40 are left; try again in 270 s',
        headers: { 'retry-after': '270', ...left(17) },
      },
    },
    {
      ...{ name: 'a budget that is spent, for a light question', hasBudget },
      ...{ before: [{ question: AUCTION }, { question: AUCTION }], asked: { question: light } },
      expected: {
        ...{ status: 429, error: 'rate_limited' },
        message: 'budget: this question weighs 2, 0 of 40 are left; try again in 180 s',
        headers: { 'retry-after': '180', ...left(0) },
      },
    },
    {
      ...{ name: 'a budget that is spent, for a long body that is not JSON', hasBudget },
      before: [{ question: AUCTION }, { question: AUCTION }],
      asked: { body: '{'.repeat(1025) },
      expected: {
        ...{ status: 429, error: 'rate_limited' },
        message: 'budget: a question weighs 2 or more, 0 of 40 are left; try again in 180 s',
        headers: { 'retry-after': '180', ...left(0) },
      },
    },
    {
      ...{ name: 'a question that is heavier than the whole budget', hasBudget },
      asked: {
        question: {
          type: 'batchClearinghouseStates',
          users: Array.from({ length: 21 }, () => user),
        },
      },
      expected: {
        ...{ status: 422, error: 'invalid_field', field: 'users', headers: left(39) },
        message:
          "users: the question weighs 42, the key's whole budget is 40; expected fewer users",
      },
    },
  ];
}

export const PAST_HEIGHT = 30;

const NO_OBJECTS = 'a query string cannot have the object that the question needs';

/** A listed case that passes fails the run, so that it is taken off the list. */
export const DEVIATIONS: readonly Deviation[] = [
  { case: 'passed on: candleSnapshot 1', way: 'GET', reason: NO_OBJECTS },
  {
    ...{ case: 'past: accountHistory as CSV', way: 'push' },
    reason: 'a frame is JSON: CSV is a text in it, with the same lines',
  },
];

/** The exchange answers these types about the present, and the archive about the past. */
const FROM_BOTH = ['allMids', 'metaAndAssetCtxs'];

function pastCases({ user, dex, table, coin }: Subjects): Case[] {
  const values: Fields = { user, dex, coin, id: table, users: [user, 'nobody'] };
  const forwarded = FORWARDED_EXAMPLES.map(({ type }) => type);
  const own = OWN_TYPES.filter(({ type }) => !forwarded.includes(type) || FROM_BOTH.includes(type));
  const past = (name: string, question: Fields): Case => ({
    ...{ name: `past: ${name}`, from: 'archive', asked: { question } },
    expected: { status: 200, answerTo: question },
  });
  const cases = own.map(({ type, fields }) => {
    const given = Object.keys(fields)
      .filter((name) => values[name] !== undefined)
      .map((name) => [name, values[name]]);
    return past(type, { type, ...Object.fromEntries(given), atHeight: PAST_HEIGHT });
  });
  const csv = { type: 'accountHistory', user, atHeight: PAST_HEIGHT, format: 'csv' };
  return [...cases, past('accountHistory as CSV', csv)];
}

function forwardedCases(): Case[] {
  return FORWARDED_EXAMPLES.flatMap(({ type, fields, answers }) =>
    answers.map(
      (answer, index): Case => ({
        ...{ name: `passed on: ${type} ${index + 1}`, from: 'exchange' },
        // A field that only this case has: equal questions may share an answer.
        asked: { question: { type, ...fields, variant: `${index}` } },
        expected: { status: 200, body: JSON.stringify(answer) },
      }),
    ),
  );
}

export function listQuestionCases(subjects: Subjects, tag: string): Case[] {
  return [
    ...questionCases(subjects),
    ...pollingCases(tag),
    ...wrongQuestionCases(subjects),
    ...budgetCases(subjects),
    ...pastCases(subjects),
    ...forwardedCases(),
  ];
}
