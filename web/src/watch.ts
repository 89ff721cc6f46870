/** One question that is asked again and again, slower when it fails, not at all while it is pushed. */

import type { Answer, Question } from './answers.ts';
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
  /** Raised to make whatever is under way count no more. */
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

  /** Asks a question from now on, or nothing. */
  change(question: Question | undefined): void {
    this.#question = question;
    this.#isPushed = false;
    this.kick();
  }

  /** Asks at once, whatever was waited for. */
  kick(): void {
    this.#round++;
    this.#failures = 0;
    clearTimeout(this.#timer);
    if (this.#question !== undefined) void this.#poll(this.#question, this.#round);
  }

  /** Answers come by themselves, or no longer do. */
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
      // What was asked wrongly stays wrong.
      if (refusal.status >= 400 && refusal.status < 500 && refusal.status !== 429) return;
      return this.#schedule(question, round, this.#backoffMs(refusal));
    }
    if (!this.#isPushed) this.#schedule(question, round, this.#options.pollMs);
  }

  #schedule(question: Question, round: number, delayMs: number): void {
    this.#timer = setTimeout(() => void this.#poll(question, round), delayMs);
  }

  #backoffMs({ retryAfterMs }: Refusal): number {
    const doubled = this.#options.pollMs * 2 ** Math.min(this.#failures, 10);
    // Not all at the same moment, where many pages wait for one service.
    const spread = 0.75 + Math.random() / 2;
    return Math.max(retryAfterMs, Math.min(BACKOFF_MS_MAX, doubled) * spread);
  }
}
