/**
 * Reads an account: asks the upstream, checks the answer figure by figure, and makes sure that it is of
 * this account. What our rules do not reproduce is not recorded.
 */

import type { StateView } from '../../state/state.ts';
import { type AccountRows, readAccountAnswer } from './dialect/account-answer.ts';
import { checkAccount, isCollateralSuspected } from './dialect/account-check.ts';
import { isRecorded, isSameAccount } from './dialect/account-identity.ts';
import { DialectError, type Mismatch } from './dialect/dialect.ts';
import { readAbstraction, readCollateral } from './dialect/spot-answer.ts';
import type { ExchangeTime } from './exchange-time.ts';
import type { FollowAudit } from './follow-audit.ts';
import type { PendingChanges } from './pending-changes.ts';
import type { Clock } from './upstream/clock.ts';
import type { AskOptions, UpstreamQuestion } from './upstream/upstream.ts';
import type { UpstreamAnswer } from './upstream/upstream-answer.ts';
import { UpstreamError } from './upstream/upstream-error.ts';
import { describeItem, type Watched } from './watch-list.ts';

/** What a reader needs of the upstream. */
export interface Asker {
  ask(question: UpstreamQuestion, options: AskOptions): Promise<unknown>;
}

/** The same, for answers that may be given on as the upstream wrote them. */
export interface AnswerAsker extends Asker {
  askAnswer(question: UpstreamQuestion, options: AskOptions): Promise<UpstreamAnswer>;
}

interface Checked {
  readonly kind: 'checked';
  readonly rows: AccountRows;
}

export type AccountResult =
  | Checked
  /** Not reproduced by our rules: the upstream's own answer, as it wrote it. */
  | { readonly kind: 'unchecked'; readonly answer: string; readonly time: number }
  | Failed;

interface Failed {
  readonly kind: 'failed';
  readonly reason: string;
}

export interface AccountReaderOptions {
  readonly upstream: AnswerAsker;
  readonly ledger: StateView;
  readonly pending: PendingChanges;
  readonly time: ExchangeTime;
  readonly audit: FollowAudit;
  readonly clock: Clock;
  /** Reads the markets again, unless that was done just before. */
  refreshMarkets(): Promise<void>;
}

/** Maximum number of reads until two in a row are of one account. */
const READS_MAX = 7;
/** What cannot be used is asked for once more. */
const FAILURES_MAX = 2;
/** Two answers are needed for a unified account, and must be of the same moment. */
const UNIFIED_FAILURES_MAX = 4;
/**
 * How long a known mode of an account is trusted, unless a figure contradicts it: the question is
 * ten times as heavy as the account.
 */
const MODE_MS = 6 * 3_600_000;
/** How soon it is asked again if it does not explain the account; twice as late each time, up to a limit. */
const MODE_RETRY_MS = 15_000;
const MODE_RETRY_MS_MAX = 600_000;
/** The same where the upstream did not tell the mode. */
const UNKNOWN_MODE_RETRY_MS = 1_000;
const UNKNOWN_MODE_RETRY_MS_MAX = 60_000;
/** After this many, an upstream that has never told a mode is taken not to know the question. */
const MODE_REFUSALS_MAX = 3;
/** Transient failures, worth one retry. */
const TRANSIENT: readonly string[] = ['malformed', 'network', 'server'];

/** An answer that was read, before it is known whose it is. */
type Judged = (Checked | { readonly kind: 'unchecked'; readonly time: number } | Failed) & {
  readonly mismatches?: readonly Mismatch[];
};
/** The answer was read in the wrong mode. */
const AGAIN = { kind: 'again' } as const;

interface Asked {
  readonly judged: Judged | typeof AGAIN;
  readonly answer: string;
}

export class AccountReader {
  readonly #options: AccountReaderOptions;
  /** How often modes were refused; -Infinity once the upstream has answered one. */
  #modeRefusals = 0;

  constructor(options: AccountReaderOptions) {
    this.#options = options;
  }

  /** Rejects with an UpstreamError if the upstream does not answer. */
  async read(watched: Watched, ask: AskOptions): Promise<AccountResult> {
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
      if (result.kind !== 'again' && ++failures >= failuresMaxOf(watched)) return result;
      // Only consecutive answers can confirm each other.
      before = undefined;
    }
    return {
      kind: 'failed',
      reason: `in ${READS_MAX} answers, no two in a row were of one account`,
    };
  }

  async #readOnce(
    watched: Watched,
    ask: AskOptions,
    failures: number,
  ): Promise<AccountResult | typeof AGAIN> {
    try {
      const { judged, answer } = await this.#ask(watched, ask);
      if (judged.kind === 'again') return judged;
      this.#noteMismatches(watched, judged);
      return judged.kind === 'unchecked' ? { ...judged, answer } : judged;
    } catch (error) {
      const isTransient = error instanceof UpstreamError && TRANSIENT.includes(error.kind);
      if (!isTransient || failures + 1 >= FAILURES_MAX) throw error;
      return { kind: 'failed', reason: error.message };
    }
  }

  /** The line of a failure that lasts has its reason already. */
  #noteMismatches({ item }: Watched, { kind, mismatches = [] }: Judged): void {
    const { audit } = this.#options;
    for (const mismatch of mismatches) {
      if (kind === 'failed') audit.countMismatch(mismatch);
      else audit.noteMismatch(describeItem(item), mismatch);
    }
  }

  async #ask(watched: Watched, ask: AskOptions): Promise<Asked> {
    const { item } = watched;
    if (item.kind !== 'account') throw new Error(`${watched.key} is not an account`);
    const question = { type: 'clearinghouseState', user: item.user, dex: item.dex };
    const [{ json, text }, collateral] = await Promise.all([
      this.#options.upstream.askAnswer(question, ask),
      watched.isUnified ? this.#askCollateral(item, ask) : 0,
    ]);
    const judge = () => this.judge(json, item.dex, collateral);
    return { judged: await this.#explain(watched, judge(), ask, judge), answer: text };
  }

  /** Holds an answer, asked for or pushed, against our rules. */
  judge(json: unknown, dex: string, collateral: number | DialectError): Judged {
    const { pending, time } = this.#options;
    if (collateral instanceof DialectError) return { kind: 'failed', reason: collateral.message };
    const { directory } = pending;
    const reading = readAccountAnswer(json, { dex, directory, collateral });
    if (reading instanceof DialectError) return this.#refuse(reading, json);
    const fault = time.note(reading.rows.time);
    if (fault !== undefined) return { kind: 'failed', reason: fault };
    const mismatches = checkAccount(reading, directory);
    if (mismatches.length === 0) return { kind: 'checked', rows: reading.rows };
    return { kind: 'unchecked', time: reading.rows.time, mismatches };
  }

  #refuse({ fault, mismatch, message }: DialectError, json: unknown): Judged {
    const mismatches = [mismatch];
    if (fault === 'shape') return { kind: 'failed', reason: message, mismatches };
    // An answer of the right shape has a time.
    return { kind: 'unchecked', time: (json as { time: number }).time, mismatches };
  }

  /** New margin tiers, a new coin and a unified account explain mismatches: then it is judged again. */
  async #explain(
    watched: Watched,
    judged: Judged,
    ask: AskOptions,
    judgeAgain: () => Judged,
  ): Promise<Judged | typeof AGAIN> {
    const { mismatches = [] } = judged;
    if (judged.kind === 'checked') return this.#confirmCollateral(watched, judged, ask);
    if (judged.kind !== 'unchecked') return judged;
    if (isCollateralSuspected(mismatches) && this.#isModeOld(watched, modeRetryMsOf(watched))) {
      await this.#askMode(watched, ask);
      watched.modeDoubts++;
      return AGAIN;
    }
    await this.#options.refreshMarkets();
    return judgeAgain();
  }

  /** If no figure depends on the collateral, any would fit: the account's mode is asked for. */
  async #confirmCollateral(
    watched: Watched,
    judged: Extract<Judged, { kind: 'checked' }>,
    ask: AskOptions,
  ): Promise<Judged | typeof AGAIN> {
    const ageMsMax = watched.isModeKnown ? MODE_MS : MODE_RETRY_MS;
    if (judged.rows.isCollateralShown || !this.#isModeOld(watched, ageMsMax)) return judged;
    const wasUnified = watched.isUnified;
    await this.#askMode(watched, ask);
    return watched.isUnified === wasUnified ? judged : AGAIN;
  }

  #isModeOld({ modeMs }: Watched, ageMs: number): boolean {
    return this.#options.clock.nowMs() - modeMs > ageMs;
  }

  async #askMode(watched: Watched, ask: AskOptions): Promise<void> {
    const { upstream, clock, audit } = this.#options;
    const { user } = watched.item;
    try {
      const mode = readAbstraction(await upstream.ask({ type: 'userAbstraction', user }, ask));
      if (mode instanceof DialectError) throw mode;
      watched.isUnified = mode.isUnified;
      watched.isModeKnown = true;
      this.#modeRefusals = Number.NEGATIVE_INFINITY;
    } catch (error) {
      if (!isWithoutMode(error)) throw error;
      if (error instanceof UpstreamError && error.kind === 'refused') this.#modeRefusals++;
      // A server that does not know the question will not know it in a moment either.
      watched.isModeKnown = this.#modeRefusals >= MODE_REFUSALS_MAX;
      audit.warnOnce(`mode of ${user}: ${error.message}`, `mode: ${error.message}`);
    }
    // Not before: a question that nobody answered is asked again by the next read.
    watched.modeMs = clock.nowMs();
  }

  async #askCollateral(
    { user, dex }: { readonly user: string; readonly dex: string },
    ask: AskOptions,
  ): Promise<number | DialectError> {
    const { upstream, pending } = this.#options;
    const json = await upstream.ask({ type: 'spotClearinghouseState', user }, ask);
    return readCollateral(json, pending.directory.collateralTokenOf(dex));
  }
}

function failuresMaxOf({ isUnified }: Watched): number {
  return isUnified ? UNIFIED_FAILURES_MAX : FAILURES_MAX;
}

function modeRetryMsOf({ isModeKnown, modeDoubts }: Watched): number {
  return isModeKnown
    ? Math.min(MODE_RETRY_MS * 2 ** modeDoubts, MODE_RETRY_MS_MAX)
    : Math.min(UNKNOWN_MODE_RETRY_MS * 2 ** modeDoubts, UNKNOWN_MODE_RETRY_MS_MAX);
}

/** Not every server knows the question; then an account is not unified, as far as anyone can tell. */
function isWithoutMode(error: unknown): error is Error {
  if (error instanceof DialectError) return true;
  return error instanceof UpstreamError && (error.kind === 'refused' || error.kind === 'server');
}
