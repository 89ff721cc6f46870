/**
 * Since when an answer has been the same, as the state says without answering: never earlier than the
 * text of the answers shows, and as seldom as possible later.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatAddress } from '../../src/exact/address.ts';
import type { StateQuestion } from '../../src/info/question.ts';
import { STATE_TYPES } from '../../src/info/question-types.ts';
import { parseQuestion } from '../../src/info/read-question.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { createState, type StateView } from '../../src/state/state.ts';
import { runs, SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import { withoutTime } from '../../tools/harness/without-time.ts';
import {
  blockAfter,
  FIRST_BLOCK,
  randomBlock,
  USERS,
} from '../../tools/naive-twin/random-events.ts';
import { ALSO_LONG, scale } from '../scale.ts';
import { restoreFromSnapshot } from '../state/restored-state.ts';
import { Tally } from './tally.ts';
import { tryApply } from './try-apply.ts';

const SEQUENCES = scale(4, 12, 150);
const BLOCKS_MAX = 150;
const SIMULATED_BLOCKS = scale(150, 600, 3000);
const SIMULATED_ACCOUNTS = 30;
/** A user that no event names. */
const STRANGER = `0x${'f'.repeat(40)}`;

/** Every type of question, on every dex that there may be. */
function listQuestions(users: readonly string[], dexes: readonly string[]): StateQuestion[] {
  const fields: Record<string, readonly unknown[]> = {
    user: users,
    users: [users, users.slice(0, 1), [STRANGER, 'no address']],
    dex: dexes,
    id: [3, 20, 1001, 1002],
  };
  return STATE_TYPES.flatMap((request) => {
    let bodies: Record<string, unknown>[] = [{ type: request.type }];
    for (const name of Object.keys(request.fields)) {
      bodies = bodies.flatMap((body) => fields[name].map((value) => ({ ...body, [name]: value })));
    }
    return bodies.map(parseQuestion);
  });
}

/** The answer apart from its times; undefined if the question is refused. */
function textOf(question: StateQuestion, state: StateView): string | undefined {
  try {
    return withoutTime(question.answer(state));
  } catch (error) {
    if (error instanceof RequestError) return undefined;
    throw error;
  }
}

/** Of what an exchange changes, hardly anything may be said to have changed later than it has. */
const LATER_SHARE_MAX = 0.05;

/** Since when each answer has been the same, by its text. */
class Observer {
  readonly #questions: readonly StateQuestion[];
  readonly #texts: (string | undefined)[];
  readonly #heights: number[];
  /** When each question was last answered: one about a dex that is not listed is refused in between. */
  readonly #answeredAt: number[];
  /** Of answers that have been seen to change: how many are said to have changed later. */
  readonly #tally: Tally;

  constructor(questions: readonly StateQuestion[], tally: Tally) {
    this.#questions = questions;
    this.#tally = tally;
    this.#texts = questions.map(() => undefined);
    this.#heights = questions.map(() => 0);
    this.#answeredAt = questions.map(() => 0);
  }

  look(state: StateView): void {
    for (const [index, question] of this.#questions.entries()) {
      const text = textOf(question, state);
      if (text === undefined) continue;
      if (text !== this.#texts[index] && this.#texts[index] !== undefined) {
        this.#heights[index] = this.#answeredAt[index] + 1;
      }
      this.#texts[index] = text;
      this.#answeredAt[index] = state.height;
      this.#check(question.changedAt(state), index, state.height);
    }
  }

  #check(changedAt: number, index: number, height: number): void {
    const { type } = this.#questions[index];
    assert.ok(changedAt <= height, `${type}: ${changedAt} at height ${height}`);
    assert.ok(changedAt >= this.#heights[index], `${type}: ${changedAt}, ${this.#heights[index]}`);
    if (this.#heights[index] === 0) return;
    this.#tally.count(`${type} ${changedAt > this.#heights[index] ? 'later' : 'exact'}`);
  }
}

function assertSame(
  questions: readonly StateQuestion[],
  state: StateView,
  restored: StateView,
): void {
  for (const question of questions) {
    if (textOf(question, state) === undefined) continue;
    assert.equal(question.changedAt(restored), question.changedAt(state), question.type);
  }
}

test(
  `random events change no answer before its height says so ${SEED_NOTE}`,
  ALSO_LONG,
  (context) => {
    const questions = listQuestions([...USERS, STRANGER], ['', 'xyz', 'abc']);
    const tally = new Tally();
    const sequences = fc.array(randomBlock, { maxLength: BLOCKS_MAX, size: 'max' });
    const property = fc.property(sequences, (sequence) => {
      const state = createState();
      const observer = new Observer(questions, tally);
      tryApply(state, JSON.stringify(FIRST_BLOCK));
      for (const steps of sequence) {
        tryApply(state, JSON.stringify(blockAfter(state, steps)));
        observer.look(state);
      }
      assertSame(questions, state, restoreFromSnapshot(state));
    });
    fc.assert(property, runs(SEQUENCES));
    context.diagnostic(tally.describe());
  },
);

test(
  `an exchange changes no answer before its height says so ${SEED_NOTE}`,
  ALSO_LONG,
  (context) => {
    const simulator = createSimulator({ seed: `changed ${SEED}`, accounts: SIMULATED_ACCOUNTS });
    while (!simulator.isSetUp) simulator.next();
    const { state } = simulator;
    const users = Array.from({ length: SIMULATED_ACCOUNTS }, (_, index) =>
      formatAddress(state.addresses.addressOf(index + 1)),
    );
    const dexes = state.markets.dexes.map(({ name }) => name);
    const questions = listQuestions([...users.slice(0, 10), STRANGER], dexes);
    const tally = new Tally();
    const observer = new Observer(questions, tally);
    for (let block = 0; block < SIMULATED_BLOCKS; block++) {
      simulator.next();
      observer.look(state);
    }
    assertSame(questions, state, restoreFromSnapshot(state));
    context.diagnostic(tally.describe());
    for (const { type } of questions) {
      const [exact, later] = [tally.countOf(`${type} exact`), tally.countOf(`${type} later`)];
      assert.ok(
        later <= (exact + later) * LATER_SHARE_MAX,
        `${type}: ${later} later, ${exact} exact`,
      );
    }
  },
);
