/**
 * Compares the figures of an account on another server with our figures. The follower's code reads
 * and judges the account, so the comparison finds the same collateral and the same margin tiers as
 * a follower.
 */

import { USD_DECIMALS } from '../../events/fields.ts';
import { type Address, formatAddress } from '../../exact/address.ts';
import { formatUnits } from '../../exact/decimal.ts';
import { createState } from '../../state/state.ts';
import { type Clock, SYSTEM_CLOCK } from '../client/limits/clock.ts';
import type { AnswerAsker } from '../client/question-asker.ts';
import type { AskOptions } from '../client/upstream.ts';
import { UpstreamError } from '../client/upstream-error.ts';
import type { AccountReading } from '../dialect/account-answer.ts';
import { type ComparedFigure, compareAccount } from '../dialect/account-check.ts';
import { describeMismatch, type Mismatch } from '../dialect/dialect.ts';
import { directoryOfLedger, type MarketDirectory } from '../dialect/market-directory.ts';
import { findUnknownRule } from '../dialect/spot-answer.ts';
import { AccountJudge } from '../follower/accounts/account-judge.ts';
import { AccountReader, type AccountResult } from '../follower/accounts/account-reader.ts';
import { ModeReader } from '../follower/accounts/mode-reader.ts';
import { MarketKeeper } from '../follower/markets/market-keeper.ts';

/**
 * - differs: our rules give another figure
 * - not known: the figure depends on a rule or an amount that we do not know
 */
type FigureVerdict = 'same' | 'differs' | 'not known';

interface JudgedFigure extends ComparedFigure {
  readonly verdict: FigureVerdict;
}

export interface AccountComparison {
  /** The time of the answer, in milliseconds. */
  readonly time: number;
  /** The answer to `userAbstraction`; undefined if the server does not answer this question. */
  readonly mode: string | undefined;
  /** True if a follower would record the account. */
  readonly isReproduced: boolean;
  /** Sentences about what the figures alone do not show, and about what we do not know. */
  readonly notes: readonly string[];
  readonly figures: readonly JudgedFigure[];
  /**
   * The mismatches because of which a follower would not record the account; empty if it would
   * record the account, or if the reason is not a mismatch.
   */
  readonly mismatches: readonly Mismatch[];
  /**
   * The rows of the answer, with the collateral and the margin tiers that were found; undefined if
   * the answer has no rows.
   */
  readonly reading: AccountReading | undefined;
  readonly directory: MarketDirectory;
}

interface ComparedAccount {
  readonly user: Address;
  readonly dex: string;
}

const ISOLATED_LEG = 'isolatedLeg';
/** The figures that include an isolated amount outside of all positions. */
const LEG_FIGURES: readonly string[] = ['marginSummary.accountValue', 'marginSummary.totalRawUsd'];
/**
 * A clock without timers: with it, the market keeper reads the markets only when `refresh` is
 * called.
 */
const CLOCK: Clock = { nowMs: () => SYSTEM_CLOCK.nowMs(), setTimer: () => () => undefined };
const LEG_NOTE = 'isolated leg: cash outside of all positions, whose rule is not known';

export class AccountComparer {
  /** A ledger without accounts, because nothing is known about an account before it is read. */
  readonly #ledger = createState();
  readonly #markets: MarketKeeper;
  readonly #modes: ModeReader;
  readonly #accounts: AccountReader;
  #directory = directoryOfLedger(this.#ledger);
  #hasMarkets = false;
  /**
   * The last warning: the reason why the markets, or the collateral of an account, could not be
   * read.
   */
  #warning = '';

  /** The options of every question to the server. */
  readonly #ask: AskOptions;

  constructor(server: AnswerAsker, ask: AskOptions) {
    const clock = CLOCK;
    const upstream: AnswerAsker = {
      ask: (question) => server.ask(question, ask),
      askAnswer: (question) => server.askAnswer(question, ask),
    };
    this.#ask = ask;
    const warn = (message: string) => {
      this.#warning = message;
    };
    const ignore = () => undefined;
    const audit = { warn, warnOnce: warn, noteMismatch: ignore, countMismatch: ignore };
    const shared = { upstream, ledger: this.#ledger, audit, clock };
    const current = () => this.#directory;
    const pending = {
      get directory() {
        return current();
      },
      setDirectory: (directory: MarketDirectory) => {
        this.#directory = directory;
        this.#hasMarkets = true;
      },
    };
    const readMarks = () => Promise.resolve();
    this.#markets = new MarketKeeper({ ...shared, pending, readMarks, updated: ignore });
    this.#modes = new ModeReader({ upstream, clock, learned: ignore });
    const judge = new AccountJudge({ ledger: this.#ledger, pending, time: { note: ignore } });
    this.#accounts = new AccountReader({
      ...{ ...shared, pending, judge, modes: this.#modes },
      refreshMarkets: () => this.#markets.refresh(),
    });
  }

  /** Rejects if the account or the markets cannot be read. */
  async compare({ user, dex }: ComparedAccount): Promise<AccountComparison> {
    await this.#markets.refresh();
    if (!this.#hasMarkets) throw new Error(this.#warning);
    const item = { kind: 'account', user: formatAddress(user), dex } as const;
    const result = await this.#accounts.read(
      { key: item.user, item, address: user, needsSpot: false, isUnrecorded: false },
      this.#ask,
    );
    if (result.kind === 'failed') throw new Error(result.reason);
    return this.#describe(describeOutcome(result), await this.#findMode(item.user));
  }

  /**
   * Reads the account's mode. A follower reads the mode only if it needs the mode; a comparison
   * always reports it.
   */
  async #findMode(user: string): Promise<string | undefined> {
    try {
      return await this.#modes.find({ user, isDoubted: false }, this.#ask);
    } catch (error) {
      if (error instanceof UpstreamError && error.kind !== 'closed') return undefined;
      throw error;
    }
  }

  #describe(outcome: Outcome, mode: string | undefined): AccountComparison {
    const { isReproduced, isUndecided, time, mismatches, reading } = outcome;
    const unknownRule = isReproduced || mode === undefined ? undefined : findUnknownRule(mode);
    if (reading === undefined && unknownRule === undefined) {
      throw new Error(mismatches.map(describeMismatch).join('; '));
    }
    const directory = this.#directory;
    const isPriceUnknown = isUndecided || unknownRule !== undefined;
    const figures =
      reading === undefined ? [] : judgeFigures({ reading, mismatches, isPriceUnknown }, directory);
    const notes = [
      ...(unknownRule === undefined ? [] : [`${mode}: ${unknownRule} is not known`]),
      ...(isUndecided ? [this.#warning] : []),
      ...(reading === undefined ? [] : describeFound(reading)),
      ...describeOthers(mismatches, figures),
    ];
    return { time, mode, isReproduced, notes, figures, mismatches, reading, directory };
  }
}

/** The follower's decision about an answer. */
interface Outcome {
  readonly isReproduced: boolean;
  /** True if the questions about the collateral failed. */
  readonly isUndecided: boolean;
  readonly time: number;
  readonly mismatches: readonly Mismatch[];
  readonly reading: AccountReading | undefined;
}

function describeOutcome(result: Exclude<AccountResult, { kind: 'failed' }>): Outcome {
  if (result.kind === 'unchecked') return { isReproduced: false, ...result };
  const { time } = result.rows;
  return { isReproduced: true, isUndecided: false, time, mismatches: [], reading: result };
}

interface UnexplainedReading {
  readonly reading: AccountReading;
  readonly mismatches: readonly Mismatch[];
  /**
   * True if the liquidation prices of cross positions depend on a rule or an amount that is not
   * known.
   */
  readonly isPriceUnknown: boolean;
}

function judgeFigures(
  { reading, mismatches, isPriceUnknown }: UnexplainedReading,
  directory: MarketDirectory,
): JudgedFigure[] {
  const hasLeg = mismatches.some(({ field }) => field === ISOLATED_LEG);
  const isUnknown = ({ field, coin }: ComparedFigure) =>
    (hasLeg && LEG_FIGURES.includes(field)) ||
    (isPriceUnknown && field === 'liquidationPx' && isCross(reading, coin));
  return compareAccount(reading, directory).map((figure) => {
    const verdict = isUnknown(figure) ? 'not known' : 'differs';
    return { ...figure, verdict: figure.isSame ? 'same' : verdict };
  });
}

function isCross({ rows }: AccountReading, coin: string | undefined): boolean {
  return rows.positions.some(({ market, mode }) => market.coin === coin && mode === 'cross');
}

/**
 * Describes the collateral and the margin tiers that the follower has found, and records with the
 * account.
 */
function describeFound({ rows: { collateral, positions } }: AccountReading): string[] {
  const own = positions.flatMap(({ market, ownTiers }) => (ownTiers ? [market.coin] : []));
  return [
    ...(collateral === 0
      ? []
      : [`collateral: a spot balance of ${formatUnits(collateral, USD_DECIMALS)} is behind it`]),
    ...(own.length === 0 ? [] : [`margin tiers other than its market's: ${own.join(', ')}`]),
  ];
}

/** Describes the mismatches that do not belong to a figure of the table. */
function describeOthers(
  mismatches: readonly Mismatch[],
  figures: readonly ComparedFigure[],
): string[] {
  const shown = new Set([...figures.map(({ field }) => field), 'userAbstraction']);
  return mismatches
    .filter(({ field }) => !shown.has(field))
    .map((mismatch) => (mismatch.field === ISOLATED_LEG ? LEG_NOTE : describeMismatch(mismatch)));
}
