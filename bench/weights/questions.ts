/**
 * The questions of `weights.ts`: every type about ordinary accounts and about whales, forwarded
 * questions, and requests that are refused.
 */

import { POINTS_MAX } from '../../src/info/archive/time-range.ts';
import { OWN_TYPES } from '../../src/info/question-types.ts';
import { Random } from '../../src/simulator/random.ts';
import { formatQuestion, formatRequest } from '../../tools/harness/service.ts';
import { FORWARDED_EXAMPLES } from '../../tools/stub-exchange/forwarded-answers.ts';
import { UNTRADED, type WeightsData, WHALES } from './data.ts';
import { GIANT_USER } from './stub-follower.ts';

/** The question that all others are compared with. */
export const ORDINARY = 'clearinghouseState';
const BODY_BYTES_MAX = 65_536;
const PAST_HEIGHTS = 500;

const HISTORY_TYPES = new Set(
  OWN_TYPES.filter((request) => 'hasCsv' in request).map(({ type }) => type),
);

export interface Case {
  readonly question: string;
  readonly account: string;
  readonly requests: readonly Buffer[];
  readonly connections?: number;
  /** True if the question is sent to the service that forwards questions. */
  readonly isForwarded?: true;
}

export interface Keys {
  readonly key: string;
  /**
   * Keys whose budgets are spent with the first question. There are many, because the refusals of
   * each key have a limited pace.
   */
  readonly spentKeys: readonly string[];
}

export interface Account {
  readonly account: string;
  readonly users: readonly string[];
}

type Fields = Readonly<Record<string, unknown>>;

export function listCases(data: WeightsData, keys: Keys): Case[] {
  const accounts: Account[] = [
    { account: 'ordinary', users: data.users },
    ...WHALES.map(({ name, user }) => ({ account: name, users: [user] })),
  ];
  const post = (body: unknown) => formatQuestion(keys.key, { body: JSON.stringify(body) });
  return [
    ...listPresent([...accounts, ...listManyAccounts(data)], post),
    ...listPast(accounts, data, post),
    ...listSeries(accounts, data, post),
    ...listForwarded(post),
    ...listRefused(data, keys),
  ];
}

/** Returns so many accounts that each answer is computed anew. */
export function listManyAccounts({ allUsers, allWhales }: WeightsData): Account[] {
  return [
    { account: 'ordinary, anew', users: allUsers },
    { account: 'whales, anew', users: allWhales },
  ];
}

function listForwarded(post: Post): Case[] {
  const giant = { type: 'userFills', user: GIANT_USER };
  return [
    ...FORWARDED_EXAMPLES.map(({ type, fields }): Case => {
      const requests = [post({ type, ...fields })];
      return { question: `forwarded: ${type}`, account: '', requests, isForwarded: true };
    }),
    {
      question: 'forwarded: userFills, 7.8 MB',
      account: '',
      requests: [post(giant)],
      connections: 1,
      isForwarded: true,
    },
  ];
}

/** Returns the questions that are asked while blocks are appended. */
export function listPresentCases(data: WeightsData, { key }: Keys): Case[] {
  const post = (body: unknown) => formatQuestion(key, { body: JSON.stringify(body) });
  const ordinary = { account: 'ordinary', users: data.users };
  return listPresent([ordinary, ...listManyAccounts(data)], post);
}

type Post = (body: unknown) => Buffer;

function listPresent(accounts: readonly Account[], post: Post): Case[] {
  const cases: Case[] = [];
  for (const { account, users } of accounts) {
    const add = (question: string, fields: readonly Fields[]) =>
      cases.push({ question, account, requests: fields.map(post) });
    add(
      ORDINARY,
      users.map((user) => ({ type: 'clearinghouseState', user })),
    );
    add(
      'clearinghouseState, its fields in another order',
      users.map((user) => ({ user, type: 'clearinghouseState' })),
    );
    for (const { type, fields } of OWN_TYPES) {
      if ('hasCsv' in { ...fields } || type === 'clearinghouseState' || !('user' in fields))
        continue;
      if (HISTORY_TYPES.has(type)) continue;
      add(
        type,
        users.map((user) => ({ type, user })),
      );
    }
    const many = Array.from({ length: 1000 }, (_, index) => users[index % users.length]);
    add('batchClearinghouseStates of 1', [{ type: 'batchClearinghouseStates', users: [users[0]] }]);
    add('batchClearinghouseStates of 1,000', [{ type: 'batchClearinghouseStates', users: many }]);
    add('batchClearinghouseStates of 100 on all dexes', [
      { type: 'batchClearinghouseStates', users: many.slice(0, 100), dex: 'ALL_DEXES' },
    ]);
  }
  for (const { type, fields, example } of OWN_TYPES) {
    if ('user' in fields || 'users' in fields) continue;
    cases.push({ question: type, account: '', requests: [post(example.question)] });
  }
  return cases;
}

/** Returns questions of the types about the present, at random heights. */
function listPast(accounts: readonly Account[], { height }: WeightsData, post: Post): Case[] {
  const random = new Random('heights');
  const atHeights = (users: readonly string[], fields: (user: string) => Fields) =>
    Array.from({ length: PAST_HEIGHTS }, (_, index) =>
      post({ ...fields(users[index % users.length]), atHeight: 200 + random.below(height - 200) }),
    );
  const cases: Case[] = [];
  for (const { account, users } of accounts) {
    for (const { type, fields } of OWN_TYPES) {
      if (HISTORY_TYPES.has(type) || !('user' in fields)) continue;
      const requests = atHeights(users, (user) => ({ type, user }));
      cases.push({ question: `${type} at a past height`, account, requests });
    }
    const many = Array.from({ length: 1000 }, (_, index) => users[index % users.length]);
    const batch = { type: 'batchClearinghouseStates', users: many };
    const requests = atHeights(users, () => batch);
    cases.push({
      question: 'batchClearinghouseStates of 1,000 at a past height',
      account,
      requests,
      connections: 1,
    });
  }
  for (const { type, fields, example } of OWN_TYPES) {
    if (HISTORY_TYPES.has(type) || 'user' in fields || 'users' in fields) continue;
    const requests = atHeights([''], () => example.question);
    cases.push({ question: `${type} at a past height`, account: '', requests });
  }
  return cases;
}

/** Returns questions about time series, short ones and the longest ones. */
function listSeries(
  accounts: readonly Account[],
  { firstTime, lastTime }: WeightsData,
  post: Post,
): Case[] {
  const step = Math.max(1, Math.ceil((lastTime - firstTime) / (POINTS_MAX - 2)));
  const aWhile = { from: lastTime - 600_000, to: lastTime };
  const cases: Case[] = [];
  for (const { account, users } of accounts) {
    const add = (question: string, fields: Fields) =>
      cases.push({
        question,
        account,
        connections: 1,
        requests: users.map((user) => post({ ...fields, user })),
      });
    add('accountHistory, ten minutes', { type: 'accountHistory', ...aWhile, step: 60_000 });
    add('accountHistory, 500 points', { type: 'accountHistory' });
    add('accountHistory, 5,000 points', { type: 'accountHistory', step });
    add('accountHistory, 5,000 points, CSV', { type: 'accountHistory', step, format: 'csv' });
    add('positionHistory, ten minutes', { type: 'positionHistory', coin: 'ETH', ...aWhile });
    add('positionHistory', { type: 'positionHistory', coin: 'ETH' });
    add('positionHistory of a coin without changes', { type: 'positionHistory', coin: UNTRADED });
    add('liquidationHistory, ten minutes', { type: 'liquidationHistory', ...aWhile });
    add('liquidationHistory', { type: 'liquidationHistory' });
    add('portfolio', { type: 'portfolio' });
  }
  return cases;
}

/**
 * Returns requests that are costly to read, with a key that has a large budget, and with keys whose
 * budgets are spent.
 */
function listRefused({ users }: WeightsData, { key, spentKeys }: Keys): Case[] {
  const account = { type: 'clearinghouseState', user: users[0] };
  const bodies = listBodies(JSON.stringify(account));
  const polls = listPolls(new URLSearchParams(account).toString());
  const of = (name: string, secrets: readonly string[]): Case[] => [
    ...Object.entries(bodies).map(([question, body]) => ({
      question,
      account: name,
      requests: secrets.map((secret) => formatQuestion(secret, { body })),
    })),
    ...Object.entries(polls).map(([question, { query, headers }]) => ({
      question,
      account: name,
      requests: secrets.map((secret) =>
        formatRequest({ method: 'GET', path: `/${secret}/info?${query}`, headers }),
      ),
    })),
  ];
  return [...of('', [key]), ...of('key spent', spentKeys)];
}

function listBodies(question: string): Record<string, string> {
  const unlike = Array.from({ length: 1000 }, (_, index) => `${index}`.padStart(28, 'é'));
  const numbers = Array.from({ length: 2000 }, () => '1.7976931348623157123456789e-30');
  const type = (text: string) => JSON.stringify({ type: text });
  return {
    'clearinghouseState in 84 bytes': question,
    'clearinghouseState in 64 KiB': question.padEnd(BODY_BYTES_MAX),
    'refused: 64 KiB of nested arrays':
      '['.repeat(BODY_BYTES_MAX / 2) + ']'.repeat(BODY_BYTES_MAX / 2),
    'refused: 64 KiB of arrays': `[${'[],'.repeat(BODY_BYTES_MAX / 3 - 2)}[]]`,
    'refused: 1 KiB of nested arrays': '['.repeat(1024),
    'refused: 2,000 numbers': `[${numbers.join()}]`,
    'refused: an unknown type': type('a'),
    'refused: a long text, 64 KB': type('x'.repeat(65_000)),
    'refused: a long text beyond ASCII, 64 KB': type('漢'.repeat(21_000)),
    'refused: not JSON, 64 KB': 'x'.repeat(65_000),
    'refused: a body over the limit': 'x'.repeat(BODY_BYTES_MAX + 1),
    '1,000 wallets that are no addresses': JSON.stringify({
      type: 'batchClearinghouseStates',
      users: unlike,
    }),
  };
}

interface Poll {
  readonly query: string;
  readonly headers: Record<string, string>;
}

function listPolls(query: string): Record<string, Poll> {
  return {
    'a poll with 15,000 commas in If-None-Match': {
      query,
      headers: { 'If-None-Match': ','.repeat(15_000) },
    },
    'refused: a query of 1,000 parts': {
      query: `type=a${'&aaaaaaaa=%41'.repeat(1000)}`,
      headers: {},
    },
    'refused: a query of 7,500 parts': { query: `type=a${'&a'.repeat(7500)}`, headers: {} },
  };
}
