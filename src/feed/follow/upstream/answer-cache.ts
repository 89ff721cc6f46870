/** Answers that are kept for a short time, bounded in number and size. */

import type { Clock } from './clock.ts';

const ANSWERS_MAX = 10_000;
const CHARACTERS_MAX = 32 << 20;

interface CachedAnswer {
  readonly text: string;
  readonly untilMs: number;
}

export class AnswerCache {
  readonly #ttlMs: number;
  readonly #clock: Clock;
  /** By question. All are kept equally long, so the oldest come first. */
  readonly #answers = new Map<string, CachedAnswer>();
  #characters = 0;

  constructor(ttlMs: number, clock: Clock) {
    this.#ttlMs = ttlMs;
    this.#clock = clock;
  }

  get count(): number {
    return this.#answers.size;
  }

  get(question: string): string | undefined {
    this.#evict();
    return this.#answers.get(question)?.text;
  }

  set(question: string, text: string): void {
    if (this.#ttlMs === 0) return;
    this.#delete(question);
    this.#answers.set(question, { text, untilMs: this.#clock.nowMs() + this.#ttlMs });
    this.#characters += question.length + text.length;
    this.#evict();
  }

  /** Drops what has expired, and the oldest where there is too much. */
  #evict(): void {
    const nowMs = this.#clock.nowMs();
    for (const [question, { untilMs }] of this.#answers) {
      const isTooMuch = this.#answers.size > ANSWERS_MAX || this.#characters > CHARACTERS_MAX;
      if (untilMs > nowMs && !isTooMuch) return;
      this.#delete(question);
    }
  }

  #delete(question: string): void {
    const cached = this.#answers.get(question);
    if (cached === undefined) return;
    this.#characters -= question.length + cached.text.length;
    this.#answers.delete(question);
  }
}
