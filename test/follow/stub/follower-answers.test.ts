/** The check of a follower's answers itself: it accepts what is true, and nothing else. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parseBlock } from '../../../src/events/event.ts';
import { answerQuestion } from '../../../src/info/read-question.ts';
import { createSimulator } from '../../../src/simulator/simulator.ts';
import { applyBlock } from '../../../src/state/fold.ts';
import { createState, type StateView } from '../../../src/state/state.ts';
import { makeTemporaryFolder } from '../../../tools/harness/temporary-folder.ts';
import type { Json, Question } from '../../../tools/stub-exchange/dialect-answers.ts';
import { timeOfLine } from '../../../tools/stub-exchange/exchange.ts';
import {
  checkFollowerAnswer,
  type FollowerAnswer,
} from '../../../tools/stub-exchange/follower-answers.ts';
import { Truth } from '../../../tools/stub-exchange/truth.ts';

const BLOCKS = 60;
const START_MS = 1_758_556_800_000;

function simulate(): string[] {
  const simulator = createSimulator({ seed: 'told', accounts: 30, startTimeMs: START_MS });
  return Array.from({ length: BLOCKS }, (_, index) => simulator.next(START_MS + index * 500));
}

const lines = simulate();

function stateAt(time: number): StateView {
  const state = createState();
  for (const line of lines) {
    if (timeOfLine(line) <= time) applyBlock(state, parseBlock(line));
  }
  return state;
}

async function readTruth(context: { after(clean: () => Promise<void>): void }): Promise<Truth> {
  const file = path.join(await makeTemporaryFolder(context), 'truth.ndjson');
  writeFileSync(file, lines.map((line) => `${line}\n`).join(''));
  return new Truth(file);
}

function tell(state: StateView, question: Question, accountTime = state.time): FollowerAnswer {
  const headers = { 'account-time': `${accountTime}`, 'ledger-time': `${state.time}` };
  return { question, status: 200, headers, body: answerQuestion(state, question) };
}

const TIMES = [20, 35, BLOCKS - 1].map((index) => timeOfLine(lines[index]));

test('every account, list and auction of the truth is accepted at its time', async (context) => {
  const truth = await readTruth(context);
  for (const time of TIMES) {
    const state = stateAt(time);
    checkFollowerAnswer(truth, tell(state, { type: 'perpDeployAuctionStatus' }));
    for (const user of truth.users) {
      checkFollowerAnswer(truth, tell(state, { type: 'delegations', user }));
      for (const dex of truth.dexes) {
        checkFollowerAnswer(truth, tell(state, { type: 'clearinghouseState', user, dex }));
      }
    }
  }
});

/** Every leaf of an answer that is text, as a function that changes it by its last digit. */
function listChanges(answer: Json, change: (holder: Json, key: string) => void): (() => void)[] {
  return Object.entries(answer).flatMap(([key, value]) => {
    if (typeof value === 'object' && value !== null) return listChanges(value, change);
    return typeof value === 'string' && /\d$/.test(value) ? [() => change(answer, key)] : [];
  });
}

test('an account with any other last digit is not accepted', async (context) => {
  const truth = await readTruth(context);
  const state = stateAt(TIMES[1]);
  let changeCount = 0;
  for (const user of truth.users.slice(0, 6)) {
    const told = tell(state, { type: 'clearinghouseState', user, dex: '' });
    const { length } = listChanges(JSON.parse(told.body), () => undefined);
    for (let index = 0; index < length; index++) {
      const answer = JSON.parse(told.body);
      const turn = (holder: Json, key: string) => {
        holder[key] = holder[key].replace(/\d$/, (digit: string) =>
          String((Number(digit) + 5) % 10),
        );
      };
      listChanges(answer, turn)[index]();
      assert.throws(() => checkFollowerAnswer(truth, { ...told, body: JSON.stringify(answer) }));
      changeCount++;
    }
  }
  assert.ok(changeCount > 100, `${changeCount} changes`);
});

test('rows of another time than Account-Time are not accepted', async (context) => {
  const truth = await readTruth(context);
  const [early, , late] = TIMES.map(stateAt);
  const isTrue = (told: FollowerAnswer) => {
    try {
      checkFollowerAnswer(truth, told);
      return true;
    } catch {
      return false;
    }
  };
  const questions = truth.users.map((user) => ({ type: 'clearinghouseState', user, dex: '' }));
  const changed = questions.filter(
    (question) =>
      JSON.stringify(truth.accountAt(question.user, '', early.time), bigText) !==
      JSON.stringify(truth.accountAt(question.user, '', late.time), bigText),
  );
  assert.ok(changed.length > 5);
  const accepted = changed.filter((question) => isTrue(tell(late, question, early.time)));
  assert.deepEqual(accepted, []);
});

function bigText(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value;
}
