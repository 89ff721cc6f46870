/** The accounts of one user, on one dex or on all dexes. */

import type { Address } from '../../exact/address.ts';
import { findAccount } from '../../state/accounts.ts';
import { FIRST_ACCOUNT } from '../../state/addresses.ts';
import { accountChangedAt } from '../../state/changed-at.ts';
import type { StateView } from '../../state/state.ts';
import { NEXT_ACCOUNT } from '../../state/tables/columns.ts';
import { listedDexes } from '../fields/dex-field.ts';
import { isSubjectKnown, type QuestionSubject } from '../question-subject.ts';
import type { UpstreamAnswers } from '../upstream-answers.ts';
import { type AnswerWriter, fixedText } from '../writing/answer-writer.ts';
import { writeAccount } from './account-answer.ts';

/** The weight of a user's accounts on all dexes. */
export const ALL_DEXES_WEIGHT = 20;

/** The rows of an address's accounts. */
export function listAccounts(state: StateView, addressRow: number): number[] {
  const rows: number[] = [];
  let account = state.addresses.table.get(addressRow, FIRST_ACCOUNT);
  for (; account !== 0; account = state.accounts.get(account, NEXT_ACCOUNT)) rows.push(account);
  return rows;
}

/** The sources of an answer about accounts. */
export interface AccountSources {
  readonly state: StateView;
  readonly upstream: UpstreamAnswers | undefined;
}

/** The account of a user on a dex, or the accounts on all dexes if `dexIndex` is undefined. */
export function accountsOf(
  state: StateView,
  user: Address,
  dexIndex: number | undefined,
): QuestionSubject[] {
  if (dexIndex !== undefined) return [{ kind: 'account', user, dexIndex }];
  return listedDexes(state).map((index) => ({ kind: 'account', user, dexIndex: index }));
}

export function areAccountsKnown(
  state: StateView,
  user: Address,
  dexIndex: number | undefined,
): boolean {
  return accountsOf(state, user, dexIndex).every((account) => isSubjectKnown(state, account));
}

/** The height of the last change of the accounts that `accountsOf` lists. */
export function accountsChangedAt(
  state: StateView,
  user: Address,
  dexIndex: number | undefined,
): number {
  const addressRow = state.addresses.find(user);
  if (dexIndex !== undefined) {
    return accountChangedAt(state, findAccount(state, addressRow, dexIndex));
  }
  const { markets, universes } = state;
  let changedAt = Math.max(markets.dexesChangedAt, universes.dexes?.changedAt ?? 0);
  for (const account of listAccounts(state, addressRow)) {
    changedAt = Math.max(changedAt, accountChangedAt(state, account));
  }
  return changedAt;
}

/**
 * The maximum number of bytes of the dex or user that is written before an account. After
 * `writeAccount`, this number of bytes is still reserved.
 */
export const NAME_BYTES_MAX = 64;

const LIST = fixedText('[');
export const LIST_END = fixedText(']');
export const NEXT_ITEM = fixedText(',');
export const PAIR_START = fixedText('["');
export const PAIR_MIDDLE = fixedText('",');

export function writeAllDexes(out: AnswerWriter, sources: AccountSources, user: Address): void {
  const { state } = sources;
  const addressRow = state.addresses.find(user);
  out.reserve(NAME_BYTES_MAX);
  out.fixed(LIST);
  for (const [place, dexIndex] of listedDexes(state).entries()) {
    if (place > 0) out.fixed(NEXT_ITEM);
    out.fixed(PAIR_START);
    out.text(state.markets.dexes[dexIndex].name);
    out.fixed(PAIR_MIDDLE);
    if (!writeUpstreamAnswer(out, sources, { kind: 'account', user, dexIndex })) {
      writeAccount(out, state, findAccount(state, addressRow, dexIndex));
    }
    out.fixed(LIST_END);
  }
  out.fixed(LIST_END);
}

/** Writes the exchange's own answer about an account; returns false if there is none. */
export function writeUpstreamAnswer(
  out: AnswerWriter,
  { upstream }: AccountSources,
  account: QuestionSubject,
): boolean {
  const answer = upstream?.findAnswer(account);
  if (answer === undefined) return false;
  out.reserve(answer.length + NAME_BYTES_MAX);
  out.text(answer);
  return true;
}
