/**
 * The subjects of a question: accounts and delegations of users. A partial ledger refuses a
 * question about an unknown subject, because an empty answer would be wrong.
 */

import { type Address, formatAddress } from '../exact/address.ts';
import {
  accountTime,
  areDelegationsKnown,
  delegationsTime,
  isAccountKnown,
} from '../state/partial-ledger.ts';
import type { StateView } from '../state/state.ts';

export interface AccountSubject {
  readonly kind: 'account';
  readonly user: Address;
  readonly dexIndex: number;
}

export type QuestionSubject =
  | AccountSubject
  | { readonly kind: 'delegations'; readonly user: Address };

export function isSubjectKnown(state: StateView, subject: QuestionSubject): boolean {
  return subject.kind === 'account'
    ? isAccountKnown(state, subject.user, subject.dexIndex)
    : areDelegationsKnown(state, subject.user);
}

/**
 * The time of the last complete read of the subject, in milliseconds; 0 if the subject was never
 * read.
 */
export function subjectTime(state: StateView, subject: QuestionSubject): number {
  return subject.kind === 'account'
    ? accountTime(state, subject.user, subject.dexIndex)
    : delegationsTime(state, subject.user);
}

/**
 * Returns the earliest `subjectTime` of the subjects; returns undefined if there are no subjects.
 */
export function oldestTime(
  state: StateView,
  subjects: readonly QuestionSubject[],
): number | undefined {
  if (subjects.length === 0) return undefined;
  return subjects.reduce(
    (oldest, subject) => Math.min(oldest, subjectTime(state, subject)),
    Number.POSITIVE_INFINITY,
  );
}

export function describeSubject({ markets }: StateView, subject: QuestionSubject): string {
  const user = formatAddress(subject.user);
  if (subject.kind === 'delegations') return `the delegations of ${user}`;
  return `the account of ${user} on dex "${markets.dexes[subject.dexIndex].name}"`;
}
