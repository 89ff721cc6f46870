/** The account answers that were sent, and answers that a test has fixed. */

import type { Json, Question } from './dialect-answers.ts';

/** The maximum number of stored answers for each account. */
const KEPT_MAX = 200;

function keyOf(question: Readonly<Record<string, unknown>>): string {
  const { type, user = '', dex = '' } = question;
  return `${type} ${String(user).toLowerCase()} ${dex}`;
}

export class ServedAnswers {
  readonly #bodies = new Map<string, string[]>();
  readonly #fixed = new Map<string, Json>();

  add(question: Question, body: string): void {
    const key = keyOf(question);
    const bodies = this.#bodies.get(key) ?? [];
    this.#bodies.set(key, bodies);
    bodies.push(body);
    if (bodies.length > KEPT_MAX) bodies.shift();
  }

  /** Returns the answers that were sent to the question, the latest last. */
  list(question: Question): readonly string[] {
    return this.#bodies.get(keyOf(question)) ?? [];
  }

  /** Fixes the answer to a question, whatever the exchange's state is. */
  fix(question: Question, answer: Json): void {
    this.#fixed.set(keyOf(question), answer);
  }

  fixedAnswer(question: Question): Json | undefined {
    return this.#fixed.get(keyOf(question));
  }
}
