/** The questions of `weights.ts`: every type, about ordinary accounts and whales, and what is refused. */

import { Random } from '../src/feed/simulator/random.ts';
import { ALL_TYPES } from '../src/info/registry.ts';
import { POINTS_MAX } from '../src/info/time-range.ts';
import { formatQuestion, formatRequest } from '../test/http/service.ts';
import { UNTRADED, type WeightsData, WHALES } from './weights-data.ts';

/** The question that all others are compared with. */
export const ORDINARY = 'clearinghouseState';
const BODY_BYTES_MAX = 65_536;
const PAST_HEIGHTS = 500;

const HISTORY_TYPES = new Set(
  ALL_TYPES.filter((request) => 'hasCsv' in request).map(({ type }) => type),
);

export interface Case {
  readonly question: string;
  readonly account: string;
  readonly requests: readonly Buffer[];
  readonly connections?: number;
}

export interface Keys {
  readonly key: string;
  /** Of a key whose budget is spent with the first question. */
  readonly spentKey: string;
}

interface Account {
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
    ...listPresent(accounts, post),
    ...listPast(accounts, data, post),
    ...listSeries(accounts, data, post),
    ...listRefused(data, keys),
  ];
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
    // In this order of fields it is not recognized, so no answer is cached.
    add(
      'clearinghouseState, not cached',
      users.map((user) => ({ user, type: 'clearinghouseState' })),
    );
    for (const { type, fields } of ALL_TYPES) {
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
  for (const { type, fields, example } of ALL_TYPES) {
    if ('user' in fields || 'users' in fields) continue;
    cases.push({ question: type, account: '', requests: [post(example.question)] });
  }
  return cases;
}

/** Present types at random heights. */
function listPast(accounts: readonly Account[], { height }: WeightsData, post: Post): Case[] {
  const random = new Random('heights');
  const atHeights = (users: readonly string[], fields: (user: string) => Fields) =>
    Array.from({ length: PAST_HEIGHTS }, (_, index) =>
      post({ ...fields(users[index % users.length]), atHeight: 200 + random.below(height - 200) }),
    );
  const cases: Case[] = [];
  for (const { account, users } of accounts) {
    for (const { type, fields } of ALL_TYPES) {
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
  for (const { type, fields, example } of ALL_TYPES) {
    if (HISTORY_TYPES.has(type) || 'user' in fields || 'users' in fields) continue;
    const requests = atHeights([''], () => example.question);
    cases.push({ question: `${type} at a past height`, account: '', requests });
  }
  return cases;
}

/** Series: short ones, and as long as they may be. */
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

function listRefused({ users }: WeightsData, { key, spentKey }: Keys): Case[] {
  const nested = '['.repeat(BODY_BYTES_MAX / 2) + ']'.repeat(BODY_BYTES_MAX / 2);
  const arrays = `[${'[],'.repeat(BODY_BYTES_MAX / 3 - 2)}[]]`;
  const question = JSON.stringify({ type: 'clearinghouseState', user: users[0] });
  const unlike = JSON.stringify({
    type: 'batchClearinghouseStates',
    users: Array.from({ length: 1000 }, (_, index) => `${index}`.padStart(28, 'é')),
  });
  const refuse = (what: string, account: string, requests: Buffer[]) => ({
    question: `refused: ${what}`,
    account,
    requests,
  });
  const of = (name: string, secret: string) => [
    refuse('64 KiB of nested arrays', name, [formatQuestion(secret, { body: nested })]),
    refuse('64 KiB of arrays', name, [formatQuestion(secret, { body: arrays })]),
    refuse('an unknown type', name, [formatQuestion(secret, { body: '{"type":"a"}' })]),
    refuse('not JSON, 64 KiB', name, [formatQuestion(secret, { body: 'x'.repeat(65_000) })]),
    refuse('1,000 wallets that are no addresses', name, [formatQuestion(secret, { body: unlike })]),
    {
      ...refuse('If-None-Match with 15,000 commas', name, [
        formatRequest({
          method: 'GET',
          path: `/${secret}/info?type=clearinghouseState&user=${users[0]}`,
          headers: { 'If-None-Match': ','.repeat(15_000) },
        }),
      ]),
      question: 'a poll with 15,000 commas in If-None-Match',
    },
  ];
  return [
    ...of('', key),
    refuse('clearinghouseState', 'key spent', [formatQuestion(spentKey, { body: question })]),
    ...of('key spent', spentKey),
  ];
}
