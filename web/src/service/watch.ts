/**
 * Polls one question, with backoff after failures. A question is not polled while its answers are
 * pushed, and a question about the past is asked only once.
 */

import type { Answer, Question } from '../figures/answers.ts';
import { retryDelayMs } from './retry-delay.ts';
import { Refusal } from './service.ts';

const BACKOFF_MS_MAX = 30_000;

export interface WatchOptions {
  readonly pollMs: number;
  ask(question: Question): Promise<Answer>;
  answered(answer: Answer, question: Question): void;
  refused(refusal: Refusal): void;
}

export class Watch {
  readonly #options: WatchOptions;
  #question: Question | undefined;
  #isPushed = false;
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Incremented to discard the response of a request in flight. */
  #round = 0;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  get question(): Question | undefined {
    return this.#question;
  }

  get isPushed(): boolean {
    return this.#isPushed;
  }

  /** Replaces the question; undefined stops polling. */
  change(question: Question | undefined): void {
    this.#question = question;
    this.#isPushed = false;
    this.kick();
  }

  /** Polls now instead of at the next interval. */
  kick(): void {
    this.#round++;
    this.#failures = 0;
    clearTimeout(this.#timer);
    if (this.#question !== undefined) void this.#poll(this.#question, this.#round);
  }

  /** Pauses polling while answers are pushed. */
  setPushed(isPushed: boolean): void {
    if (this.#isPushed === isPushed) return;
    this.#isPushed = isPushed;
    if (isPushed) clearTimeout(this.#timer);
    else this.kick();
  }

  async #poll(question: Question, round: number): Promise<void> {
    try {
      const answer = await this.#options.ask(question);
      if (round !== this.#round) return;
      this.#failures = 0;
      this.#options.answered(answer, question);
    } catch (error) {
      if (round !== this.#round) return;
      const refusal = error instanceof Refusal ? error : new Refusal(String(error));
      this.#failures++;
      this.#options.refused(refusal);
      // A retry does not help after a status of 4xx, except 429.
      if (refusal.status >= 400 && refusal.status < 500 && refusal.status !== 429) return;
      return this.#schedule(question, round, this.#backoffMs(refusal));
    }
    // An answer about the past never changes.
    const isPast = question.atHeight !== undefined;
    if (!this.#isPushed && !isPast) this.#schedule(question, round, this.#options.pollMs);
  }

  #schedule(question: Question, round: number, delayMs: number): void {
    this.#timer = setTimeout(() => void this.#poll(question, round), delayMs);
  }

  #backoffMs({ retryAfterMs }: Refusal): number {
    const terms = { firstMs: 2 * this.#options.pollMs, maxMs: BACKOFF_MS_MAX };
    return Math.max(retryAfterMs, retryDelayMs(this.#failures, terms));
  }
}
