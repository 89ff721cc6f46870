/**
 * A cache of answers. An answer expires after a fixed time, and the number and the size of all
 * answers are limited.
 */

import type { Clock } from '../limits/clock.ts';

const ANSWERS_MAX = 10_000;
const BYTES_MAX = 32 << 20;

/**
 * An answer that is passed on without parsing. `rows` is the number of rows if the answer is a
 * list; otherwise undefined.
 */
export interface RawAnswer {
  readonly bytes: Buffer;
  readonly rows: number | undefined;
}

interface CachedAnswer {
  readonly answer: RawAnswer;
  readonly untilMs: number;
}

export class AnswerCache {
  readonly #ttlMs: number;
  readonly #clock: Clock;
  /**
   * The answers by question. All answers expire after the same time, so the oldest answers come
   * first.
   */
  readonly #answers = new Map<string, CachedAnswer>();
  #bytes = 0;

  constructor(ttlMs: number, clock: Clock) {
    this.#ttlMs = ttlMs;
    this.#clock = clock;
  }

  get count(): number {
    return this.#answers.size;
  }

  get(question: string): RawAnswer | undefined {
    this.#evict();
    return this.#answers.get(question)?.answer;
  }

  set(question: string, answer: RawAnswer): void {
    if (this.#ttlMs === 0) return;
    this.#delete(question);
    this.#answers.set(question, { answer, untilMs: this.#clock.nowMs() + this.#ttlMs });
    this.#bytes += question.length + answer.bytes.length;
    this.#evict();
  }

  /** Removes expired answers, and the oldest answers if there are too many. */
  #evict(): void {
    const nowMs = this.#clock.nowMs();
    for (const [question, { untilMs }] of this.#answers) {
      const isTooMuch = this.#answers.size > ANSWERS_MAX || this.#bytes > BYTES_MAX;
      if (untilMs > nowMs && !isTooMuch) return;
      this.#delete(question);
    }
  }

  #delete(question: string): void {
    const cached = this.#answers.get(question);
    if (cached === undefined) return;
    this.#bytes -= question.length + cached.answer.bytes.length;
    this.#answers.delete(question);
  }
}
