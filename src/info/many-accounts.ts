/** Several accounts in one answer: a user's on all dexes, and those of many users. */

import { describeValue } from '../events/refusal.ts';
import { ADDRESS_EXPECTED, type Address, parseAddress } from '../exact/address.ts';
import { findAccount } from '../state/accounts.ts';
import type { StateView } from '../state/state.ts';
import { AnswerWriter, fixedText } from './answer-writer.ts';
import { accountExample, accountSchema, writeAccount } from './clearinghouse.ts';
import { dexField, requireDex } from './dex-field.ts';
import { ADDRESS_SCHEMA, addressField, type Field, type RequestType } from './request.ts';
import { RequestError } from './request-error.ts';
import { anyText, listOf, object, tuple } from './schema.ts';

/** Selects all dexes; names of dexes are lower case, so none can be equal. */
const ALL_DEXES = 'ALL_DEXES';
const USERS_MAX = 1000;
const USERS_ON_ALL_DEXES_MAX = 100;
const ACCOUNT_WEIGHT = 2;
const ALL_DEXES_WEIGHT = 20;

const dexStatesSchema = listOf(tuple(anyText, accountSchema));

const allDexsFields = { user: addressField };

export const allDexsClearinghouseState: RequestType<typeof allDexsFields> = {
  type: 'allDexsClearinghouseState',
  summary: "A user's perpetuals accounts on all dexes, in their order, from one height.",
  weight: ALL_DEXES_WEIGHT,
  fields: allDexsFields,
  answerSchema: dexStatesSchema,
  example: {
    question: {
      type: 'allDexsClearinghouseState',
      user: '0xeaa346d93e222853a2229e2fbb584830fa478fd2',
    },
    answer: [['', accountExample]],
  },
  pushedAs: 'clearinghouseStates',
  answer(state, { user }) {
    writer.clear();
    writeAllDexes(writer, state, user);
    return writer.toString();
  },
};

const writer = new AnswerWriter();

/** An upper bound for the dex or the user that precedes an account. */
const NAME_BYTES_MAX = 64;

const LIST = fixedText('[');
const LIST_END = fixedText(']');
const NEXT = fixedText(',');
const PAIR = fixedText('["');
const SECOND = fixedText('",');
const SUCCESSFUL = fixedText('{"successful_states":[');
const NONE_FAILED = fixedText('],"failed_wallets":[]}');

function writeAllDexes(out: AnswerWriter, state: StateView, user: Address): void {
  const addressRow = state.addresses.find(user);
  out.reserve(NAME_BYTES_MAX);
  out.fixed(LIST);
  for (const [dexIndex, { name }] of state.markets.dexes.entries()) {
    out.reserve(NAME_BYTES_MAX);
    if (dexIndex > 0) out.fixed(NEXT);
    out.fixed(PAIR);
    out.text(name);
    out.fixed(SECOND);
    writeAccount(out, state, findAccount(state, addressRow, dexIndex));
    out.fixed(LIST_END);
  }
  out.reserve(NAME_BYTES_MAX);
  out.fixed(LIST_END);
}

/** One of the users in a question; the address is undefined if the given value is not one. */
interface ListedUser {
  readonly address: Address | undefined;
  readonly given: unknown;
}

function listUser(given: unknown): ListedUser {
  return { given, address: typeof given === 'string' ? parseAddress(given) : undefined };
}

const usersField: Field<readonly ListedUser[]> = {
  description: `up to ${USERS_MAX} addresses (up to ${USERS_ON_ALL_DEXES_MAX} with dex "${ALL_DEXES}")`,
  // An invalid address does not fail the whole call: the answer lists it.
  schema: { type: 'array', items: anyText, maxItems: USERS_MAX },
  read(name, value) {
    if (Array.isArray(value) && value.length <= USERS_MAX) return value.map(listUser);
    return invalidField(name, value, `a list of at most ${USERS_MAX} addresses`);
  },
  // users=A&users=B, or users=A,B
  readTexts: (texts) => texts.flatMap((text) => text.split(',')),
};

const batchDexField: Field<string> = {
  ...dexField,
  description: `the name of a perp dex; "", the default, is the first one, "${ALL_DEXES}" all`,
};

function invalidField(name: string, got: unknown, expected: string): RequestError {
  const message = `${name}: got ${describeValue(got)}, expected ${expected}`;
  return new RequestError('invalid_field', message, name);
}

const batchFields = { users: usersField, dex: batchDexField };

export const batchClearinghouseStates: RequestType<typeof batchFields> = {
  type: 'batchClearinghouseStates',
  summary:
    'The perpetuals accounts of many users, from one height; the weight is per user, ' +
    `and ${ALL_DEXES_WEIGHT} with dex "${ALL_DEXES}".`,
  weight: ACCOUNT_WEIGHT,
  fields: batchFields,
  answerSchema: object({
    successful_states: listOf(tuple(ADDRESS_SCHEMA, { anyOf: [accountSchema, dexStatesSchema] })),
    failed_wallets: listOf(tuple(anyText, anyText)),
  }),
  example: {
    question: {
      type: 'batchClearinghouseStates',
      users: ['0xeaa346d93e222853a2229e2fbb584830fa478fd2', '0xeaa3'],
      dex: '',
    },
    answer: {
      successful_states: [['0xeaa346d93e222853a2229e2fbb584830fa478fd2', accountExample]],
      failed_wallets: [['0xeaa3', `got "0xeaa3", expected ${ADDRESS_EXPECTED}`]],
    },
  },
  countWeights({ users, dex }) {
    const perUser = dex === ALL_DEXES ? ALL_DEXES_WEIGHT / ACCOUNT_WEIGHT : 1;
    return Math.max(1, users.length * perUser);
  },
  check({ users, dex }) {
    if (dex !== ALL_DEXES || users.length <= USERS_ON_ALL_DEXES_MAX) return undefined;
    const expected = `at most ${USERS_ON_ALL_DEXES_MAX} addresses with dex "${ALL_DEXES}"`;
    return invalidField('users', users, expected);
  },
  validate(state, { dex }) {
    if (dex !== ALL_DEXES) requireDex(state, dex);
  },
  answer(state, { users, dex }) {
    const dexIndex = dex === ALL_DEXES ? undefined : requireDex(state, dex);
    const failed: string[] = [];
    writer.clear();
    writer.fixed(SUCCESSFUL);
    for (const [index, { address, given }] of users.entries()) {
      if (address === undefined) failed.push(formatFailure(given, index));
      else writeSuccess(writer, state, address, dexIndex);
    }
    if (failed.length > 0) return `${writer}],"failed_wallets":[${failed.join(',')}]}`;
    // Written instead of joined: text of megabytes is not copied once more.
    writer.fixed(NONE_FAILED);
    return writer.toString();
  },
};

/** A user and the account, or the accounts on all dexes, as a member of a list. */
function writeSuccess(
  out: AnswerWriter,
  state: StateView,
  user: Address,
  dexIndex: number | undefined,
): void {
  out.reserve(NAME_BYTES_MAX);
  if (out.length > SUCCESSFUL.length) out.fixed(NEXT);
  out.fixed(PAIR);
  out.address(user);
  out.fixed(SECOND);
  if (dexIndex === undefined) writeAllDexes(out, state, user);
  else writeAccount(out, state, findAccount(state, state.addresses.find(user), dexIndex));
  out.reserve(NAME_BYTES_MAX);
  out.fixed(LIST_END);
}

/** Names the wallet by its text, or by its index if it is not text. */
function formatFailure(given: unknown, index: number): string {
  const wallet = typeof given === 'string' ? given : `users[${index}]`;
  return JSON.stringify([wallet, `got ${describeValue(given)}, expected ${ADDRESS_EXPECTED}`]);
}
