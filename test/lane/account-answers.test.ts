/** Answers from the ring, beside those that are computed for each question: also once it comes around. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBlock } from '../../src/events/event.ts';
import { RowAnswerCache } from '../../src/http/answering/row-answer-cache.ts';
import { writeAccount } from '../../src/info/answers/account-answer.ts';
import { AnswerWriter } from '../../src/info/writing/answer-writer.ts';
import { Random } from '../../src/simulator/random.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState, type StateView } from '../../src/state/state.ts';
import { SEED, SEED_NOTE } from '../../tools/harness/seed.ts';

/** More than the ring has slots for; those asked for at one height are more than it has room for. */
const ACCOUNTS = 10_000;
const BLOCKS = 3;
const QUESTIONS_A_BLOCK = 12_000;
/** Asked often enough to be found again. */
const FAVOURITES = 50;

const computed = new AnswerWriter();

function answerOf(state: StateView, account: number): string {
  computed.clear();
  writeAccount(computed, state, account);
  return computed.toString();
}

test(`answers from the ring are the ones that would be computed ${SEED_NOTE}`, () => {
  const simulator = createSimulator({ seed: 'ring', accounts: ACCOUNTS, positionsPerAccount: 2 });
  const state = createState();
  while (!simulator.isSetUp) applyBlock(state, parseBlock(simulator.next()));
  const random = new Random(`ring ${SEED}`);
  const answers = new RowAnswerCache({ find: () => 0, changedAt: () => 0, write: writeAccount });
  const head = new AnswerWriter();
  for (let block = 0; block < BLOCKS; block++) {
    for (let asked = 0; asked < QUESTIONS_A_BLOCK; asked++) {
      const account = random.below(random.chance(0.5) ? FAVOURITES : state.accounts.rowCount);
      head.clear();
      head.text('head '.repeat(10 + random.below(60)));
      const answer = answerOf(state, account);
      assert.equal(answers.find(state, account).length, answer.length);
      assert.equal(answers.textAfter(head), head.toString() + answer);
    }
    applyBlock(state, parseBlock(simulator.next()));
  }
});
