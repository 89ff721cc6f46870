/**
 * Checks an answer about an account against our rules. The answer can be the reply to a question,
 * or a pushed message. Only an answer that our rules reproduce is recorded.
 */

import { USD_DECIMALS } from '../../../events/fields.ts';
import { DecimalError, type Exact, subtract } from '../../../exact/decimal.ts';
import type { StateView } from '../../../state/state.ts';
import {
  type AccountReading,
  readAccountAnswer,
  withCollateral,
} from '../../dialect/account-answer.ts';
import { checkAccount, isCollateralSuspected } from '../../dialect/account-check.ts';
import { recordedCollateral, recordedTiers } from '../../dialect/account-events.ts';
import { findCollateral } from '../../dialect/collateral.ts';
import { DialectError, type Mismatch } from '../../dialect/dialect.ts';
import type { MarketDirectory } from '../../dialect/market-directory.ts';
import { withFittingTiers, withSingleTiers, withTiers } from '../../dialect/own-tiers.ts';
import { readPrinted } from '../../dialect/printed-amounts.ts';
import type { ExchangeTime } from '../blocks/exchange-time.ts';
import type { Watched } from './watch-list.ts';

export interface CheckedAccount extends AccountReading {
  readonly kind: 'checked';
}

/** An answer of the right form that our rules do not reproduce. */
export interface UncheckedAccount {
  readonly kind: 'unchecked';
  /** When the upstream computed the answer, in milliseconds. */
  readonly time: number;
  readonly mismatches: readonly Mismatch[];
  /** True if a spot balance behind the positions may explain every mismatch. */
  readonly isCollateralMissing: boolean;
  /**
   * True for a known kind of account that our rules cannot reproduce. Another read would not change
   * this.
   */
  readonly isKnownForm: boolean;
  /**
   * The rows and figures of the answer, as the last try read them; undefined if the answer has no
   * rows.
   */
  readonly reading: AccountReading | undefined;
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

/** The account that an answer describes. */
export type JudgedItem = Pick<Watched, 'item' | 'address'>;

/**
 * Returns the collateral that backs the account of an answer, in millionths; returns undefined if
 * the collateral is not known.
 */
export type CollateralSource = (reading: AccountReading) => number | DialectError | undefined;

interface JudgeOptions {
  /**
   * True if the markets were just read. With older markets, a changed margin table of a market
   * could be mistaken for a separate table of the position.
   */
  readonly areMarketsNew?: boolean;
}

/** The result of one try. If there are no mismatches, the reading reproduces the answer. */
interface Attempt {
  readonly reading: AccountReading;
  readonly mismatches: readonly Mismatch[];
}

export class AccountJudge {
  readonly #options: AccountJudgeOptions;

  constructor(options: AccountJudgeOptions) {
    this.#options = options;
  }

  /**
   * Judges an answer without further questions to the upstream. Tries three collaterals: zero, the
   * collateral that the liquidation prices imply, and the recorded collateral.
   */
  judge(json: unknown, watched: JudgedItem, options: JudgeOptions = {}): JudgedAccount {
    const { ledger, pending } = this.#options;
    const sources: readonly CollateralSource[] = [
      () => 0,
      (reading) => findCollateral(reading, pending.directory),
      ({ rows }) => recordedCollateral(ledger, watched.address, rows.dex),
    ];
    return this.judgeWith(json, watched, sources, options);
  }

  /**
   * Judges an answer with the first collateral, and the first margin tiers of positions, that
   * reproduce the answer.
   */
  judgeWith(
    json: unknown,
    { item, address }: JudgedItem,
    sources: readonly CollateralSource[],
    { areMarketsNew = false }: JudgeOptions = {},
  ): JudgedAccount {
    const { directory } = this.#options.pending;
    const dex = item.kind === 'account' ? item.dex : '';
    const reading = readAccountAnswer(json, { dex, directory });
    if (reading instanceof DialectError) return refuse(reading, json);
    const { time } = reading.rows;
    const fault = this.#options.time.note(time);
    if (fault !== undefined) return { kind: 'failed', reason: fault };
    const recorded = recordedTiers(this.#options.ledger, address, reading.rows);
    const attempts = [
      ...(recorded.size > 0 ? [() => this.#try(withTiers(reading, recorded), sources)] : []),
      () => this.#try(reading, sources),
    ];
    let attempt: Attempt = { reading, mismatches: [] };
    for (const run of attempts) {
      attempt = run();
      if (attempt.mismatches.length === 0) return { kind: 'checked', ...attempt.reading };
    }
    if (areMarketsNew) attempt = this.#tryOwnTiers(reading, attempt, sources);
    const { mismatches } = attempt;
    if (mismatches.length === 0) return { kind: 'checked', ...attempt.reading };
    const explained = explainMismatches(mismatches, reading);
    return { kind: 'unchecked', time, reading: attempt.reading, ...explained };
  }

  /**
   * Tries each collateral until one reproduces the answer, or until a mismatch shows that the
   * collateral is not the cause.
   */
  #try(reading: AccountReading, sources: readonly CollateralSource[]): Attempt {
    let attempt: Attempt | undefined;
    for (const findSource of sources) {
      const collateral = findSource(reading);
      if (collateral === undefined) continue;
      if (collateral instanceof DialectError) {
        return { reading, mismatches: [collateral.mismatch] };
      }
      const backed = withCollateral(reading, collateral);
      const mismatches = checkAccount(backed, this.#options.pending.directory);
      attempt = { reading: backed, mismatches };
      if (!isCollateralSuspected(mismatches)) break;
    }
    if (attempt === undefined) throw new Error('no collateral was tried');
    return attempt;
  }

  /**
   * Tries separate margin tiers for the positions whose maximum leverage is not that of their
   * market.
   */
  #tryOwnTiers(
    reading: AccountReading,
    before: Attempt,
    sources: readonly CollateralSource[],
  ): Attempt {
    const { directory } = this.#options.pending;
    const coins = new Set(
      before.mismatches.flatMap(({ field, coin }) =>
        field === 'maxLeverage' && coin ? [coin] : [],
      ),
    );
    if (coins.size === 0) return before;
    const single = withSingleTiers(reading, coins);
    const attempt = this.#try(single, sources);
    if (attempt.mismatches.length === 0) return attempt;
    const collaterals = new Set(sources.map((findSource) => findSource(single)));
    for (const collateral of collaterals) {
      if (typeof collateral !== 'number') continue;
      const fitting = withFittingTiers(reading, coins, { directory, collateral });
      const fitted = fitting && this.#try(fitting, [() => collateral]);
      if (fitted?.mismatches.length === 0) return fitted;
    }
    // With these tiers, a collateral that is not known yet may explain the remaining mismatches.
    return isCollateralSuspected(attempt.mismatches) ? attempt : before;
  }
}

/**
 * Reports a known kind of account that our events cannot describe with one mismatch, named after
 * the kind, instead of the mismatches of the figures.
 */
function explainMismatches(
  mismatches: readonly Mismatch[],
  { reported }: AccountReading,
): Pick<UncheckedAccount, 'mismatches' | 'isCollateralMissing' | 'isKnownForm'> {
  if (!isIsolatedLeg(mismatches)) {
    const isCollateralMissing =
      isCollateralSuspected(mismatches) || mismatches.some(({ field }) => field === 'collateral');
    return { mismatches, isCollateralMissing, isKnownForm: false };
  }
  const mismatch = {
    field: 'isolatedLeg',
    coin: undefined,
    ours: `the value of the cross account and of all positions`,
    theirs: `an account value of ${reported.marginSummary.accountValue}`,
  };
  return { mismatches: [mismatch], isCollateralMissing: false, isKnownForm: true };
}

/**
 * Returns true if only the account's value and cash differ, and both exceed our figures by the same
 * amount. Then the account has an isolated amount outside of all positions.
 */
function isIsolatedLeg(mismatches: readonly Mismatch[]): boolean {
  const [value, cash] = ['accountValue', 'totalRawUsd'].map((field) =>
    mismatches.find((mismatch) => mismatch.field === `marginSummary.${field}`),
  );
  if (mismatches.length !== 2 || value === undefined || cash === undefined) return false;
  const excess = excessOf(value);
  return excess !== undefined && excess > 0 && excess === excessOf(cash);
}

/**
 * Returns how much the exchange's amount exceeds our amount, in millionths; returns undefined if a
 * text is not an amount in dollars.
 */
function excessOf({ ours, theirs }: Mismatch): Exact | undefined {
  try {
    return subtract(readPrinted(theirs, USD_DECIMALS), readPrinted(ours, USD_DECIMALS));
  } catch (error) {
    if (error instanceof DecimalError) return undefined;
    throw error;
  }
}

function refuse({ fault, mismatch, message }: DialectError, json: unknown): JudgedAccount {
  const mismatches = [mismatch];
  if (fault === 'shape') return { kind: 'failed', reason: message, mismatches };
  // An answer with the right form has a time.
  const { time } = json as { readonly time: number };
  const unknown = { isCollateralMissing: false, isKnownForm: false, reading: undefined };
  return { kind: 'unchecked', time, mismatches, ...unknown };
}
