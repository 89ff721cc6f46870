/** Holds an account's answer, asked for or pushed, against our rules: what they reproduce is recorded. */

import type { StateView } from '../../state/state.ts';
import {
  type AccountReading,
  type AccountRows,
  readAccountAnswer,
  withCollateral,
} from './dialect/account-answer.ts';
import { checkAccount, isCollateralSuspected } from './dialect/account-check.ts';
import { recordedCollateral } from './dialect/account-events.ts';
import { findCollateral } from './dialect/collateral.ts';
import { DialectError, type Mismatch } from './dialect/dialect.ts';
import type { MarketDirectory } from './dialect/market-directory.ts';
import type { ExchangeTime } from './exchange-time.ts';
import type { Watched } from './watch-list.ts';

export interface CheckedAccount {
  readonly kind: 'checked';
  readonly rows: AccountRows;
}

/** Of the right form, but our rules do not reproduce it. */
export interface UncheckedAccount {
  readonly kind: 'unchecked';
  /** When the upstream computed the answer, in milliseconds. */
  readonly time: number;
  readonly mismatches: readonly Mismatch[];
  /** A spot balance behind the positions may explain every mismatch. */
  readonly isCollateralMissing: boolean;
}

export interface FailedAccount {
  readonly kind: 'failed';
  readonly reason: string;
  readonly mismatches?: readonly Mismatch[];
}

export type JudgedAccount = CheckedAccount | UncheckedAccount | FailedAccount;

export interface AccountJudgeOptions {
  readonly ledger: StateView;
  readonly pending: { readonly directory: MarketDirectory };
  readonly time: Pick<ExchangeTime, 'note'>;
}

/** The account that an answer is about. */
export type JudgedItem = Pick<Watched, 'item' | 'address'>;

/** The collateral behind the account of an answer, in millionths; undefined where it is not known. */
export type CollateralSource = (reading: AccountReading) => number | DialectError | undefined;

export class AccountJudge {
  readonly #options: AccountJudgeOptions;

  constructor(options: AccountJudgeOptions) {
    this.#options = options;
  }

  /** With the collateral that costs no question: none, the one of the prices, or the recorded one. */
  judge(json: unknown, watched: JudgedItem): JudgedAccount {
    const { ledger, pending } = this.#options;
    const sources: readonly CollateralSource[] = [
      () => 0,
      (reading) => findCollateral(reading, pending.directory),
      ({ rows }) => recordedCollateral(ledger, watched.address, rows.dex),
    ];
    return this.judgeWith(json, watched, sources);
  }

  /** With the first collateral that reproduces the answer. */
  judgeWith(
    json: unknown,
    { item }: JudgedItem,
    sources: readonly CollateralSource[],
  ): JudgedAccount {
    const { directory } = this.#options.pending;
    const dex = item.kind === 'account' ? item.dex : '';
    const reading = readAccountAnswer(json, { dex, directory });
    if (reading instanceof DialectError) return refuse(reading, json);
    const { time } = reading.rows;
    const fault = this.#options.time.note(time);
    if (fault !== undefined) return { kind: 'failed', reason: fault };
    let mismatches: readonly Mismatch[] = [];
    let isCollateralMissing = true;
    for (const findSource of sources) {
      const collateral = findSource(reading);
      if (collateral === undefined) continue;
      if (collateral instanceof DialectError) {
        return { kind: 'unchecked', time, mismatches: [collateral.mismatch], isCollateralMissing };
      }
      const backed = withCollateral(reading, collateral);
      mismatches = checkAccount(backed, directory);
      if (mismatches.length === 0) return { kind: 'checked', rows: backed.rows };
      isCollateralMissing = isCollateralSuspected(mismatches);
      if (!isCollateralMissing) break;
    }
    return { kind: 'unchecked', time, mismatches, isCollateralMissing };
  }
}

function refuse({ fault, mismatch, message }: DialectError, json: unknown): JudgedAccount {
  const mismatches = [mismatch];
  if (fault === 'shape') return { kind: 'failed', reason: message, mismatches };
  // An answer of the right shape has a time.
  const { time } = json as { readonly time: number };
  return { kind: 'unchecked', time, mismatches, isCollateralMissing: false };
}
