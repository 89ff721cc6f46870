/**
 * What was answered: folds a ledger block by block, and notes answers at the height at which they were
 * given. They are what an archive has to answer about that height later.
 */

import assert from 'node:assert/strict';
import { parseBlock } from '../../src/events/event.ts';
import type { HistoryView } from '../../src/info/archive/history-view.ts';
import { askAtMoment } from '../../src/info/archive-question.ts';
import { STATE_TYPES } from '../../src/info/question-types.ts';
import { parseQuestion } from '../../src/info/read-question.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { Random } from '../../src/simulator/random.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState, type StateView } from '../../src/state/state.ts';

interface Noted {
  readonly height: number;
  readonly body: Record<string, unknown>;
  /** The answer, or the refusal's text. */
  readonly answer: string;
}

/** A body of each type of question, with these values for its fields. */
export function listBodies(
  values: Readonly<Record<string, readonly unknown[]>>,
): Record<string, unknown>[] {
  return STATE_TYPES.flatMap(({ type, fields }) => {
    let bodies: Record<string, unknown>[] = [{ type }];
    for (const name of Object.keys(fields)) {
      bodies = bodies.flatMap((body) => values[name].map((value) => ({ ...body, [name]: value })));
    }
    return bodies;
  });
}

/** The answer from a state, or the text of the refusal. */
function answerFrom(state: StateView, body: Record<string, unknown>): string {
  try {
    return parseQuestion(body).answer(state);
  } catch (error) {
    if (error instanceof RequestError) return error.toJson();
    throw error;
  }
}

/** The archive's answer about a height, or the text of the refusal. */
function answerAt(history: HistoryView, height: number, body: Record<string, unknown>): string {
  try {
    const steps = askAtMoment(parseQuestion(body), { height }).answer(history);
    for (;;) {
      const step = steps.next();
      if (step.done === true) return String(step.value.body);
    }
  } catch (error) {
    if (error instanceof RequestError) return error.toJson();
    throw error;
  }
}

/** In an answer about many accounts, leaves the addresses of those that were unknown then. */
function withoutReasons(answer: string): string {
  const value = JSON.parse(answer);
  if (value?.failed_wallets === undefined) return answer;
  const failed = value.failed_wallets.map(([address]: [string, string]) => address);
  return JSON.stringify({ ...value, failed_wallets: failed });
}

/** What a partial ledger did not know at that height is refused for good, and not as "not ready". */
function assertSameThen(found: string, noted: string, note: string): void {
  if (JSON.parse(noted)?.error !== 'not_ready') {
    assert.equal(withoutReasons(found), withoutReasons(noted), note);
    return;
  }
  const { error, field } = JSON.parse(found);
  assert.deepEqual([error, field], ['unknown_height', 'atHeight'], note);
}

export class Witness {
  readonly #random: Random;
  readonly #bodies: readonly Record<string, unknown>[];
  readonly #perBlock: number;
  readonly #noted: Noted[] = [];

  constructor(seed: string, bodies: readonly Record<string, unknown>[], perBlock: number) {
    this.#random = new Random(seed);
    this.#bodies = bodies;
    this.#perBlock = perBlock;
  }

  get count(): number {
    return this.#noted.length;
  }

  get noted(): readonly Noted[] {
    return this.#noted;
  }

  /** Notes answers from the state, some at random. */
  look(state: StateView): void {
    for (let count = 0; count < this.#perBlock; count++) {
      const body = this.#random.pick(this.#bodies);
      this.#noted.push({ height: state.height, body, answer: answerFrom(state, body) });
    }
  }

  lookAtAll(lines: readonly string[]): void {
    const state = createState();
    for (const line of lines) {
      applyBlock(state, parseBlock(line));
      this.look(state);
    }
  }

  /** The first answer that was noted at a height. */
  answerOf(height: number): string | undefined {
    return this.#noted.find((noted) => noted.height === height)?.answer;
  }

  /** Compares what was noted about the heights that the archive holds; returns how many those are. */
  compare(history: HistoryView): number {
    let compared = 0;
    for (const { height, body, answer } of this.#noted) {
      if (!history.holds(height)) continue;
      const found = answerAt(history, height, body);
      assertSameThen(found, answer, `height ${height}: ${JSON.stringify(body)}`);
      compared++;
    }
    return compared;
  }
}
