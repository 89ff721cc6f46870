/** `batchClearinghouseStates`: the accounts of many users in one answer. */

import { describeValue } from '../../events/refusal.ts';
import {
  ADDRESS_EXPECTED,
  type Address,
  expectedAddress,
  parseAddress,
} from '../../exact/address.ts';
import { findAccount } from '../../state/accounts.ts';
import type { StateView } from '../../state/state.ts';
import { writeAccount } from '../answers/account-answer.ts';
import {
  type AccountSources,
  ALL_DEXES_WEIGHT,
  accountsChangedAt,
  accountsOf,
  areAccountsKnown,
  LIST_END,
  NAME_BYTES_MAX,
  NEXT_ITEM,
  PAIR_MIDDLE,
  PAIR_START,
  writeAllDexes,
  writeUpstreamAnswer,
} from '../answers/user-accounts.ts';
import { ADDRESS_SCHEMA } from '../fields/address-field.ts';
import { dexField, requireDex } from '../fields/dex-field.ts';
import type { Field } from '../fields/field.ts';
import type { StateQuestionType } from '../question-type.ts';
import { wrongValue } from '../request-error.ts';
import { anyText, listOf, object, tuple } from '../schema.ts';
import { findRefusal } from '../upstream-answers.ts';
import { type AnswerWriter, fixedText, writtenText } from '../writing/answer-writer.ts';
import { toAscii } from '../writing/ascii-json.ts';
import { dexStatesSchema } from './all-dexs-clearinghouse-state.ts';
import { accountExample, accountSchema } from './clearinghouse-state.ts';

/**
 * The name that selects all dexes. No dex can have this name, because names of dexes are in lower
 * case.
 */
const ALL_DEXES = 'ALL_DEXES';
const USERS_MAX = 1000;
const USERS_ON_ALL_DEXES_MAX = 100;
const ACCOUNT_WEIGHT = 2;
const SUCCESSFUL = fixedText('{"successful_states":[');

/** A user in a question. The address is undefined if the given value is not an address. */
interface ListedUser {
  readonly address: Address | undefined;
  readonly given: unknown;
}

function parseListedUser(given: unknown): ListedUser {
  return { given, address: typeof given === 'string' ? parseAddress(given) : undefined };
}

const usersField: Field<readonly ListedUser[]> = {
  description: `up to ${USERS_MAX} addresses (up to ${USERS_ON_ALL_DEXES_MAX} with dex "${ALL_DEXES}")`,
  // An invalid address does not fail the whole call: the answer lists it.
  schema: { type: 'array', items: anyText, maxItems: USERS_MAX },
  read(name, value) {
    if (Array.isArray(value) && value.length <= USERS_MAX) return value.map(parseListedUser);
    return wrongValue(name, value, `a list of at most ${USERS_MAX} addresses`);
  },
  // users=A&users=B, or users=A,B
  readTexts: (texts) => texts.flatMap((text) => text.split(',')),
};

const batchDexField: Field<string> = {
  ...dexField,
  description: `the name of a perp dex; "", the default, is the first one, "${ALL_DEXES}" all`,
};

const batchFields = { users: usersField, dex: batchDexField };

export const batchClearinghouseStates: StateQuestionType<typeof batchFields> = {
  source: 'state',
  type: 'batchClearinghouseStates',
  group: 'accounts',
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
    return wrongValue('users', users, expected);
  },
  validate(state, { dex }) {
    findBatchDex(state, dex);
  },
  partial: {
    subjects(state, { users, dex }) {
      const dexIndex = findBatchDex(state, dex);
      return users.flatMap(({ address }) =>
        address === undefined ? [] : accountsOf(state, address, dexIndex),
      );
    },
    listsUnknown: true,
  },
  changedAt(state, { users, dex }) {
    const dexIndex = findBatchDex(state, dex);
    let changedAt = 0;
    for (const { address } of users) {
      if (address === undefined) continue;
      // The answer lists unknown users, and no row has the height since which a user is unknown.
      if (state.isPartial && !areAccountsKnown(state, address, dexIndex)) return state.height;
      changedAt = Math.max(changedAt, accountsChangedAt(state, address, dexIndex));
    }
    return changedAt;
  },
  answer: (state, fields, upstream) =>
    writtenText((out) => {
      for (const _piece of writeBatch(out, { state, upstream }, fields));
    }),
  pieces: {
    expectBytes({ users, dex }) {
      const isOnAllDexes = dex === ALL_DEXES;
      const atOnce = isOnAllDexes ? USERS_AT_ONCE_ON_ALL_DEXES : USERS_AT_ONCE;
      if (users.length <= atOnce) return undefined;
      return users.length * (isOnAllDexes ? ALL_DEXES_BYTES : ACCOUNT_BYTES);
    },
    write: (out, state, fields, upstream) => writeBatch(out, { state, upstream }, fields),
  },
};

/**
 * The number of accounts, or bytes, after which the writer may pause. Writing them takes far less
 * time than a slice of long work.
 */
const PIECE_ACCOUNTS = 8;
const PIECE_BYTES = 16 << 10;
/** The maximum number of users whose answer is written without a pause. */
const USERS_AT_ONCE = 32;
/** The same for all dexes. The number of dexes is not known here. */
const USERS_AT_ONCE_ON_ALL_DEXES = 4;
/** The estimated length of the answer about an account with a few positions, in bytes. */
const ACCOUNT_BYTES = 2500;
const ALL_DEXES_BYTES = 2 * ACCOUNT_BYTES;

interface Batch {
  readonly users: readonly ListedUser[];
  readonly dex: string;
}

function* writeBatch(
  out: AnswerWriter,
  sources: AccountSources,
  { users, dex }: Batch,
): Generator<number> {
  const dexIndex = findBatchDex(sources.state, dex);
  const accountsEach = dexIndex === undefined ? sources.state.markets.dexes.length : 1;
  const failed: string[] = [];
  let sincePause = 0;
  let pausedAt = 0;
  out.fixed(SUCCESSFUL);
  for (const [index, { address, given }] of users.entries()) {
    const reason = findFailure(sources, { address, given }, dexIndex);
    if (reason !== undefined) failed.push(formatFailure(given, index, reason));
    else if (address !== undefined) writeSuccess(out, sources, address, dexIndex);
    sincePause += accountsEach;
    if (sincePause < PIECE_ACCOUNTS && out.length - pausedAt < PIECE_BYTES) continue;
    sincePause = 0;
    pausedAt = out.length;
    yield 0;
  }
  out.long(toAscii(`],"failed_wallets":[${failed.join(',')}]}`));
}

/** The index of the dex of a batch; undefined for all dexes. */
function findBatchDex(state: StateView, dex: string): number | undefined {
  return dex === ALL_DEXES ? undefined : requireDex(state, dex);
}

/**
 * Returns why there is no answer for a user: the value is not an address, or a partial ledger does
 * not know the account. Returns undefined if there is an answer.
 */
function findFailure(
  { state, upstream }: AccountSources,
  { address, given }: ListedUser,
  dexIndex: number | undefined,
): string | undefined {
  if (address === undefined)
    return `got ${describeValue(given)}, expected ${expectedAddress(given)}`;
  if (!state.isPartial) return undefined;
  return findRefusal(state, accountsOf(state, address, dexIndex), upstream)?.message;
}

/** Writes a user and the account, or the accounts on all dexes, as a member of a list. */
function writeSuccess(
  out: AnswerWriter,
  sources: AccountSources,
  user: Address,
  dexIndex: number | undefined,
): void {
  const { state } = sources;
  out.reserve(NAME_BYTES_MAX);
  if (out.length > SUCCESSFUL.length) out.fixed(NEXT_ITEM);
  out.fixed(PAIR_START);
  out.address(user);
  out.fixed(PAIR_MIDDLE);
  if (dexIndex === undefined) writeAllDexes(out, sources, user);
  else if (!writeUpstreamAnswer(out, sources, { kind: 'account', user, dexIndex })) {
    writeAccount(out, state, findAccount(state, state.addresses.find(user), dexIndex));
  }
  out.fixed(LIST_END);
}

/** Names the wallet by the given text, or by its index if the given value is not a text. */
function formatFailure(given: unknown, index: number, reason: string): string {
  const wallet = typeof given === 'string' ? given : `users[${index}]`;
  return JSON.stringify([wallet, reason]);
}
