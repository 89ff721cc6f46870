/**
 * Reads an account: asks the upstream, checks each figure of the answer, and makes sure that the
 * answer is about this account. An answer that our rules do not reproduce is passed on, but not
 * recorded.
 */

import type { StateView } from '../../../state/state.ts';
import type { AnswerAsker, ParsedAnswer } from '../../client/question-asker.ts';
import type { AskOptions } from '../../client/upstream.ts';
import { UpstreamError } from '../../client/upstream-error.ts';
import type { AccountReading, AccountRows } from '../../dialect/account-answer.ts';
import { recordedCollateral } from '../../dialect/account-events.ts';
import { isRecorded, isSameAccount } from '../../dialect/account-identity.ts';
import type { Mismatch } from '../../dialect/dialect.ts';
import { hasKnownRules, readCollateral, UNIFIED_MODE } from '../../dialect/spot-answer.ts';
import type { PendingChanges } from '../blocks/pending-changes.ts';
import type { FollowAudit } from '../follow-audit.ts';
import type {
  AccountJudge,
  CheckedAccount,
  CollateralSource,
  FailedAccount,
  JudgedAccount,
  UncheckedAccount,
} from './account-judge.ts';
import type { ModeReader } from './mode-reader.ts';
import { describeItem, type Watched } from './watch-list.ts';

/** An answer that our rules do not reproduce, as the upstream wrote it. */
interface PassedOn {
  readonly kind: 'unchecked';
  readonly answer: string;
  readonly time: number;
  /**
   * True if it is not known whether our rules reproduce the answer, because the questions that
   * decide this failed. Then the recorded rows may still be right.
   */
  readonly isUndecided: boolean;
  /** True if another read would not change the result. */
  readonly isFinal: boolean;
  /** The reasons why the answer is not recorded; empty if `isUndecided`. */
  readonly mismatches: readonly Mismatch[];
  /**
   * The rows and figures of the answer, as they were read last; undefined if the answer has no
   * rows.
   */
  readonly reading: AccountReading | undefined;
}

export type AccountResult = CheckedAccount | PassedOn | FailedAccount;

export interface AccountReaderOptions {
  readonly upstream: AnswerAsker;
  readonly ledger: StateView;
  readonly pending: Pick<PendingChanges, 'directory'>;
  readonly judge: AccountJudge;
  readonly modes: ModeReader;
  readonly audit: Pick<FollowAudit, 'countMismatch' | 'noteMismatch' | 'warnOnce'>;
  /** Reads the markets again, unless they were read just before. */
  refreshMarkets(): Promise<void>;
}

/** The part of a followed account that a read needs. */
type ReadAccount = Pick<Watched, 'key' | 'item' | 'address' | 'needsSpot' | 'isUnrecorded'>;

/** The maximum number of reads to get two consecutive answers about the same account. */
const READS_MAX = 7;
/** The maximum number of unusable answers. After the first, the account is read once more. */
const FAILURES_MAX = 2;
/**
 * The maximum number of reads of the spot balance. After each, the account is read again, until the
 * answers before and after the spot balance have the same marks.
 */
const SPOT_READS_MAX = 3;
/** The kinds of failures that may be gone at the next try. */
const TRANSIENT: readonly string[] = ['malformed', 'network', 'server'];

interface Read {
  readonly judged: JudgedAccount;
  readonly answer: string;
  readonly isUndecided?: boolean;
  readonly isFinal?: boolean;
}

/**
 * An answer that another collateral may explain, or in which no figure depends on the collateral.
 */
interface Unexplained {
  readonly answer: ParsedAnswer;
  readonly judged: CheckedAccount | UncheckedAccount;
  /** True if the markets were read again for this answer. */
  readonly areMarketsNew: boolean;
}

export class AccountReader {
  readonly #options: AccountReaderOptions;

  constructor(options: AccountReaderOptions) {
    this.#options = options;
  }

  /** Rejects with an UpstreamError if the upstream does not answer. */
  async read(watched: ReadAccount, ask: AskOptions): Promise<AccountResult> {
    let before: AccountRows | undefined;
    let failures = 0;
    for (let reads = 0; reads < READS_MAX; reads++) {
      const result = await this.#readOnce(watched, ask, failures);
      if (result.kind === 'checked') {
        const isOfThisAccount =
          isRecorded(this.#options.ledger, watched.address, result.rows) ||
          (before !== undefined && isSameAccount(before, result.rows));
        if (isOfThisAccount) return result;
        before = result.rows;
        continue;
      }
      const isFinal = result.kind === 'unchecked' && (result.isFinal || watched.isUnrecorded);
      if (isFinal || ++failures >= FAILURES_MAX) return result;
      // Only consecutive answers can confirm each other.
      before = undefined;
    }
    return {
      kind: 'failed',
      reason: `in ${READS_MAX} answers, no two in a row were of one account`,
    };
  }

  async #readOnce(watched: ReadAccount, ask: AskOptions, failures: number): Promise<AccountResult> {
    try {
      const {
        judged,
        answer,
        isUndecided = false,
        isFinal = false,
      } = await this.#ask(watched, ask);
      this.#noteJudged(watched, judged);
      if (judged.kind !== 'unchecked') return judged;
      const { time, mismatches, reading } = judged;
      return { kind: 'unchecked', answer, time, isUndecided, isFinal, mismatches, reading };
    } catch (error) {
      const isTransient = error instanceof UpstreamError && TRANSIENT.includes(error.kind);
      if (!isTransient || failures + 1 >= FAILURES_MAX) throw error;
      return { kind: 'failed', reason: error.message };
    }
  }

  #noteJudged(watched: ReadAccount, judged: JudgedAccount): void {
    const { audit, modes } = this.#options;
    if (judged.kind === 'checked') {
      modes.confirm(watched.item.user);
      return;
    }
    for (const mismatch of judged.mismatches ?? []) {
      // The caller logs the reason of a failed read, so it is only counted here.
      if (judged.kind === 'failed') audit.countMismatch(mismatch);
      else audit.noteMismatch(describeItem(watched.item), mismatch);
    }
  }

  async #ask(watched: ReadAccount, ask: AskOptions): Promise<Read> {
    const answer = await this.#askAccount(watched, ask);
    const first = this.#options.judge.judge(answer.json, watched);
    const areMarketsNew = doMarketsMatter(first);
    const { judged } = areMarketsNew ? await this.#judgeAgain(watched, answer) : { judged: first };
    if (judged.kind === 'failed') return { judged, answer: answer.text };
    if (judged.kind === 'checked') {
      watched.needsSpot = false;
      if (judged.rows.isCollateralShown) return { judged, answer: answer.text };
    } else if (judged.isKnownForm) return { judged, answer: answer.text, isFinal: true };
    else if (!judged.isCollateralMissing) return { judged, answer: answer.text };
    return this.#explain(watched, { answer, judged, areMarketsNew }, ask);
  }

  async #askAccount({ key, item }: ReadAccount, ask: AskOptions): Promise<ParsedAnswer> {
    if (item.kind !== 'account') throw new Error(`${key} is not an account`);
    const { user, dex } = item;
    return this.#options.upstream.askAnswer({ type: 'clearinghouseState', user, dex }, ask);
  }

  async #judgeAgain(watched: ReadAccount, { json, text }: ParsedAnswer): Promise<Read> {
    await this.#options.refreshMarkets();
    const judged = this.#options.judge.judge(json, watched, { areMarketsNew: true });
    return { judged, answer: text };
  }

  /**
   * Asks for the account's mode, and for the spot balance if the mode needs it. Called if the
   * collateral may explain the mismatches, or if no figure depends on the collateral.
   */
  async #explain(
    watched: ReadAccount,
    { answer, judged, areMarketsNew }: Unexplained,
    ask: AskOptions,
  ): Promise<Read> {
    const { user } = watched.item;
    const isDoubted = judged.kind === 'unchecked';
    try {
      const mode = await this.#options.modes.find({ user, isDoubted }, ask);
      if (mode !== undefined && !hasKnownRules(mode)) {
        return { judged: refuseMode(mode, judged), answer: answer.text, isFinal: true };
      }
      if (mode === UNIFIED_MODE || (mode === undefined && isDoubted)) {
        return await this.#askWithSpot(watched, { answer, areMarketsNew }, ask);
      }
    } catch (error) {
      if (!(error instanceof UpstreamError) || error.kind === 'closed') throw error;
      this.#noteUndecided(watched, error);
      return {
        judged: {
          kind: 'unchecked',
          time: timeOf(judged),
          mismatches: [],
          isCollateralMissing: true,
          isKnownForm: false,
          reading: readingOf(judged),
        },
        answer: answer.text,
        isUndecided: true,
      };
    }
    if (judged.kind === 'checked' || areMarketsNew) return { judged, answer: answer.text };
    return this.#judgeAgain(watched, answer);
  }

  #noteUndecided({ item }: ReadAccount, { message }: UpstreamError): void {
    const what = describeItem(item);
    this.#options.audit.warnOnce(`${what} not recorded: its mode or spot balance: ${message}`);
  }

  /**
   * Reads the account with its spot balance. The spot answer has no time. It fits an account's
   * answer if a liquidation price confirms it, or if the account's answers before and after the
   * spot answer have the same marks.
   */
  async #askWithSpot(
    watched: ReadAccount,
    { answer, areMarketsNew }: Pick<Unexplained, 'answer' | 'areMarketsNew'>,
    ask: AskOptions,
  ): Promise<Read> {
    watched.needsSpot = true;
    const { judge } = this.#options;
    let before = answer;
    const readsMax = watched.isUnrecorded ? 1 : SPOT_READS_MAX;
    for (let reads = 1; ; reads++) {
      const source = await this.#askSpot(watched, ask);
      const judgedBefore = judge.judgeWith(before.json, watched, [source], { areMarketsNew });
      if (isConfirmed(judgedBefore)) return { judged: judgedBefore, answer: before.text };
      const after = await this.#askAccount(watched, ask);
      const judged = judge.judgeWith(after.json, watched, [source], { areMarketsNew });
      const isSettled =
        isConfirmed(judged) ||
        (judged.kind === 'checked' && this.#isRecordedCollateral(watched, judged)) ||
        hasSameMarks(judgedBefore, judged);
      if (isSettled || judged.kind === 'failed')
        return { judged, answer: after.text, isFinal: true };
      if (reads === readsMax) return this.#giveUp(watched, after, judged);
      before = after;
    }
  }

  /**
   * Tries a last time with new markets, and refuses the answer if this try does not confirm it. A
   * liquidation price may differ because the tiers of its market have changed.
   */
  async #giveUp(
    watched: ReadAccount,
    answer: ParsedAnswer,
    judged: CheckedAccount | UncheckedAccount,
  ): Promise<Read> {
    if (judged.kind === 'unchecked') {
      const again = await this.#judgeAgain(watched, answer);
      if (isConfirmed(again.judged)) return again;
    }
    return { judged: refuseCollateral(judged), answer: answer.text, isFinal: true };
  }

  async #askSpot({ item }: ReadAccount, ask: AskOptions): Promise<CollateralSource> {
    const { upstream, pending } = this.#options;
    const { user } = item;
    const json = await upstream.ask({ type: 'spotClearinghouseState', user }, ask);
    return ({ rows, reported }) =>
      readCollateral(json, pending.directory.collateralTokenOf(rows.dex), reported);
  }

  #isRecordedCollateral({ address }: ReadAccount, { rows }: CheckedAccount): boolean {
    return rows.collateral === recordedCollateral(this.#options.ledger, address, rows.dex);
  }
}

/**
 * Returns true if new markets may explain the mismatches: new coins, new margin tiers of a market,
 * or separate tiers of a position.
 */
function doMarketsMatter(judged: JudgedAccount): boolean {
  return judged.kind === 'unchecked' && !judged.isKnownForm && !judged.isCollateralMissing;
}

/** Returns true if our rules reproduce a liquidation price that depends on the collateral. */
function isConfirmed(judged: JudgedAccount): boolean {
  return judged.kind === 'checked' && judged.rows.isCollateralShown;
}

function hasSameMarks(first: JudgedAccount, second: JudgedAccount): boolean {
  if (first.kind !== 'checked' || second.kind !== 'checked') return false;
  const prices = new Map(
    first.rows.positions.map(({ market, markPrice }) => [market.coin, markPrice]),
  );
  const { positions } = second.rows;
  return (
    positions.length === prices.size &&
    positions.every(({ market, markPrice }) => prices.get(market.coin) === markPrice)
  );
}

function timeOf(judged: CheckedAccount | UncheckedAccount): number {
  return judged.kind === 'checked' ? judged.rows.time : judged.time;
}

function readingOf(judged: CheckedAccount | UncheckedAccount): AccountReading | undefined {
  return judged.kind === 'checked' ? judged : judged.reading;
}

function refuseMode(mode: string, judged: CheckedAccount | UncheckedAccount): UncheckedAccount {
  const ours = 'a mode whose rule for the price of liquidation is known';
  const mismatch = { field: 'userAbstraction', coin: undefined, ours, theirs: mode };
  return {
    kind: 'unchecked',
    time: timeOf(judged),
    mismatches: [mismatch],
    isCollateralMissing: false,
    isKnownForm: false,
    reading: readingOf(judged),
  };
}

/**
 * Refuses an account whose collateral is not certain. If the answer has mismatches, they remain the
 * reason.
 */
function refuseCollateral(judged: CheckedAccount | UncheckedAccount): UncheckedAccount {
  if (judged.kind === 'unchecked') return judged;
  const mismatch = {
    field: 'collateral',
    coin: undefined,
    ours: 'a spot balance of the same marks as the account',
    theirs: 'other marks at each read',
  };
  return {
    kind: 'unchecked',
    time: judged.rows.time,
    mismatches: [mismatch],
    isCollateralMissing: true,
    isKnownForm: false,
    reading: judged,
  };
}
