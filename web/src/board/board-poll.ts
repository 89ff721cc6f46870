/** Polls the accounts of the board in batches, while push is not available. */

import type { Answer, Delegation, Question, States } from '../figures/answers.ts';
import type { Refusal } from '../service/service.ts';

const STEP_MS = 2_000;
const FAILED_MS = 10_000;
/** The number of accounts in a batch. A question about one account has a weight of 20. */
const USERS_PER_STEP = 20;
/**
 * Stakes change rarely, and a question about stakes has the same weight as a question about an
 * account.
 */
const STAKES_MS = 600_000;

interface BatchQuestion extends Question {
  readonly users: readonly string[];
}

interface Batch {
  readonly successful_states: readonly (readonly [user: string, states: States])[];
  readonly failed_wallets: readonly (readonly [user: string, reason: string])[];
}

export interface BoardPollOptions {
  users(): readonly string[];
  ask(question: Question): Promise<Answer>;
  answered(user: string, answer: Answer<States>): void;
  answeredStakes(user: string, answer: Answer<readonly Delegation[]>): void;
  failed(user: string, reason: string): void;
}

export class BoardPoll {
  readonly #options: BoardPollOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOn = false;
  /** Incremented at each start, so that steps of an earlier start do not continue. */
  #round = 0;
  #next = 0;
  #usersPerStep = USERS_PER_STEP;
  /** The time of the last question about an account's stakes, by performance.now(). */
  readonly #stakesMs = new Map<string, number>();

  constructor(options: BoardPollOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#isOn) return;
    this.#isOn = true;
    this.#round++;
    this.#schedule(STEP_MS);
  }

  stop(): void {
    this.#isOn = false;
    clearTimeout(this.#timer);
  }

  #schedule(delayMs: number): void {
    const round = this.#round;
    this.#timer = setTimeout(() => void this.#step(round), delayMs);
  }

  async #step(round: number): Promise<void> {
    let delayMs = STEP_MS;
    try {
      await this.#askAccounts(this.#takeUsers());
      const [due] = this.#options.users().filter((user) => this.#isStakesDue(user));
      if (due !== undefined) await this.#askStakes(due);
    } catch (error) {
      const { status, retryAfterMs = 0 } = error as Refusal;
      // The service never answers a batch whose weight exceeds the whole budget.
      if (status === 422) this.#usersPerStep = Math.max(1, Math.floor(this.#usersPerStep / 2));
      delayMs = Math.max(FAILED_MS, retryAfterMs);
    }
    if (this.#isOn && round === this.#round) this.#schedule(delayMs);
  }

  #takeUsers(): readonly string[] {
    const users = this.#options.users();
    if (this.#next >= users.length) this.#next = 0;
    const taken = users.slice(this.#next, this.#next + this.#usersPerStep);
    this.#next += taken.length;
    return taken;
  }

  async #askAccounts(users: readonly string[]): Promise<void> {
    if (users.length === 0) return;
    const question: BatchQuestion = { type: 'batchClearinghouseStates', users, dex: 'ALL_DEXES' };
    const { value, ...rest } = await this.#options.ask(question).catch((refusal: Refusal) => {
      this.#failAll(users, refusal);
      throw refusal;
    });
    if (!this.#isOn) return;
    const { successful_states: found, failed_wallets: failed } = value as Batch;
    for (const [user, states] of found) {
      this.#options.answered(user.toLowerCase(), { ...rest, value: states });
    }
    for (const [user, reason] of failed) this.#options.failed(user.toLowerCase(), reason);
  }

  /**
   * Reports the refusal for each account of a batch. A batch that was too large is not reported,
   * because its accounts are asked again in smaller batches.
   */
  #failAll(users: readonly string[], { status, message }: Refusal): void {
    if (!this.#isOn || (status === 422 && users.length > 1)) return;
    for (const user of users) this.#options.failed(user, message);
  }

  #isStakesDue(user: string): boolean {
    return performance.now() - (this.#stakesMs.get(user) ?? Number.NEGATIVE_INFINITY) > STAKES_MS;
  }

  async #askStakes(user: string): Promise<void> {
    const answer = await this.#options.ask({ type: 'delegations', user });
    if (!this.#isOn) return;
    this.#stakesMs.set(user, performance.now());
    this.#options.answeredStakes(user, answer as Answer<readonly Delegation[]>);
  }
}
