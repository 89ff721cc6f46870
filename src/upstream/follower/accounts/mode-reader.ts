/**
 * Reads the modes of accounts with the question `userAbstraction`. This question costs ten times as
 * much as the question for the account. So an answer is trusted for hours, unless the account's
 * figures contradict it.
 */

import { backoffMs } from '../../../timing/backoff.ts';
import type { Clock } from '../../client/limits/clock.ts';
import type { QuestionAsker } from '../../client/question-asker.ts';
import type { AskOptions } from '../../client/upstream.ts';
import { isUnknownQuestion, UpstreamError } from '../../client/upstream-error.ts';
import { DialectError } from '../../dialect/dialect.ts';
import { readMode } from '../../dialect/spot-answer.ts';

export interface ModeReaderOptions {
  readonly upstream: QuestionAsker;
  readonly clock: Clock;
  /** Called with each mode that the upstream answers. */
  learned(user: string, mode: string): void;
}

export interface ModeLookup {
  readonly user: string;
  /** True if the known mode does not explain the figures of the account. */
  readonly isDoubted: boolean;
}

interface KnownMode {
  /** The mode; undefined if the upstream did not answer, or does not know the question. */
  mode: string | undefined;
  askedMs: number;
  /** The number of times in a row that the mode was asked again because of a doubt. */
  doubts: number;
  failures: number;
  failure: UpstreamError | undefined;
}

const USERS_MAX = 20_000;
const TRUSTED_MS = 6 * 3_600_000;
/**
 * The time after which a mode is asked again if it does not explain the account's figures. The time
 * doubles with each try, up to the maximum.
 */
const DOUBTED = { firstMs: 15_000, maxMs: 600_000 };
/** The time after which the question is asked again if it failed. */
const FAILED = { firstMs: 1_000, maxMs: 60_000 };
/**
 * The time for which no account's mode is asked, if the upstream seems not to know the question.
 */
const UNKNOWN = { firstMs: 1_000, maxMs: 600_000 };

export class ModeReader {
  readonly #options: ModeReaderOptions;
  /** The modes by user; the user whose mode was not used for the longest time is first. */
  readonly #modes = new Map<string, KnownMode>();
  /**
   * True if the upstream has ever answered the question. Then a refusal has another reason than an
   * unknown question.
   */
  #isSupported = false;
  #refusals = 0;
  #refusedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: ModeReaderOptions) {
    this.#options = options;
  }

  /** Returns the mode if it is known without a question; otherwise returns undefined. */
  peek(user: string): string | undefined {
    return this.#modes.get(user)?.mode;
  }

  /**
   * Returns the mode; returns undefined if the upstream does not know the question. Rejects with an
   * UpstreamError if the upstream does not answer. For a short time afterwards, rejects without
   * another question.
   */
  async find(question: ModeLookup, ask: AskOptions): Promise<string | undefined> {
    const { user, isDoubted } = question;
    const nowMs = this.#options.clock.nowMs();
    if (nowMs < this.#refusedUntilMs) return undefined;
    const known = this.#use(user);
    if (nowMs - known.askedMs < restMsOf(known, isDoubted)) {
      if (known.failure !== undefined) throw known.failure;
      return known.mode;
    }
    await this.#ask(user, known, ask);
    if (isDoubted) known.doubts++;
    return known.mode;
  }

  /** Notes that the figures of the account agree with its mode. */
  confirm(user: string): void {
    const known = this.#modes.get(user);
    if (known !== undefined) known.doubts = 0;
  }

  #use(user: string): KnownMode {
    const known = this.#modes.get(user) ?? {
      mode: undefined,
      askedMs: Number.NEGATIVE_INFINITY,
      doubts: 0,
      failures: 0,
      failure: undefined,
    };
    this.#modes.delete(user);
    if (this.#modes.size >= USERS_MAX) {
      const [unused] = this.#modes.keys();
      this.#modes.delete(unused);
    }
    this.#modes.set(user, known);
    return known;
  }

  async #ask(user: string, known: KnownMode, ask: AskOptions): Promise<void> {
    const { upstream, clock, learned } = this.#options;
    known.askedMs = clock.nowMs();
    try {
      const mode = readMode(await upstream.ask({ type: 'userAbstraction', user }, ask));
      if (mode instanceof DialectError) throw new UpstreamError('malformed', mode.message);
      this.#isSupported = true;
      Object.assign(known, { mode, failures: 0, failure: undefined });
      learned(user, mode);
    } catch (error) {
      this.#noteFailed(user, known, error);
    }
  }

  #noteFailed(user: string, known: KnownMode, error: unknown): void {
    const nowMs = this.#options.clock.nowMs();
    if (!(error instanceof UpstreamError)) throw error;
    if (isUnknownQuestion(error) && !this.#isSupported) {
      this.#modes.delete(user);
      this.#refusedUntilMs = nowMs + backoffMs(++this.#refusals, UNKNOWN);
      return;
    }
    known.askedMs = nowMs;
    known.failures++;
    known.failure = error;
    throw error;
  }
}

/** Returns the time for which the last answer or failure is valid. */
function restMsOf({ mode, failures, doubts }: KnownMode, isDoubted: boolean): number {
  if (failures > 0) return backoffMs(failures, FAILED);
  if (mode === undefined) return 0;
  return isDoubted ? backoffMs(doubts + 1, DOUBTED) : TRUSTED_MS;
}
