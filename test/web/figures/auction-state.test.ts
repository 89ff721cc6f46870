/** What the page says of an auction. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Auction } from '../../../web/src/figures/answers.ts';
import {
  describeEnd,
  describeSchedule,
  isIdle,
  noteObservation,
  stateOfAuction,
  summarizeIdle,
} from '../../../web/src/figures/auction-state.ts';
import { formatTime } from '../../../web/src/figures/text.ts';

const START_MS = 1_765_623_600_000;
const RUNNING: Auction = {
  startTimeSeconds: START_MS / 1000,
  durationSeconds: 600,
  startGas: '1000.0',
  currentGas: '760.0',
  endGas: null,
};
const ENDED: Auction = { ...RUNNING, currentGas: '1750.51230001', endGas: '1750.51230001' };
const at = (seconds: number) => START_MS + seconds * 1000;

test('an auction that nobody can pay in is idle', () => {
  const states = [
    [null, 0, 'none', true],
    [RUNNING, -1, 'scheduled', false],
    [RUNNING, 0, 'running', false],
    [RUNNING, 599, 'running', false],
    [RUNNING, 600, 'atFloor', false],
    [ENDED, 10, 'ended', true],
  ] as const;
  for (const [auction, seconds, state, isIdleThen] of states) {
    assert.equal(stateOfAuction(auction, at(seconds)), state);
    assert.equal(isIdle(state), isIdleThen);
  }
});

test('the end is between the last answer before it and the first one after it', () => {
  const running = noteObservation(undefined, RUNNING, at(100));
  const later = noteObservation(running, RUNNING, at(120));
  const ended = noteObservation(later, ENDED, at(123));
  const last = noteObservation(ended, ENDED, at(500));
  const between = `between ${formatTime(at(120))} and ${formatTime(at(123))}`;
  assert.equal(describeEnd(ENDED, last), between);
  const close = noteObservation(noteObservation(undefined, RUNNING, at(9.2)), ENDED, at(9.4));
  assert.equal(describeEnd(ENDED, close), `at ${formatTime(at(9))}`);
});

test('in the past an end is not said to be later than the moment that is shown', () => {
  // The page still shows the present while it asks for the past.
  const present = noteObservation(undefined, ENDED, at(422));
  const past = noteObservation(present, ENDED, at(418));
  const between = `between ${formatTime(START_MS)} and ${formatTime(at(418))}`;
  assert.equal(describeEnd(ENDED, past), between);
});

test('of an end that was not seen, no more is said than follows from the answer', () => {
  const unseen = noteObservation(undefined, ENDED, at(700));
  assert.equal(
    describeEnd(ENDED, unseen),
    `between ${formatTime(START_MS)} and ${formatTime(at(700))}`,
  );
  // An earlier auction says nothing about this one.
  const earlier = { ...RUNNING, startTimeSeconds: RUNNING.startTimeSeconds - 1000 };
  const other = noteObservation(noteObservation(undefined, earlier, at(-900)), ENDED, at(700));
  assert.deepEqual(other, unseen);
});

test('the schedule is that of the answer, and a folded panel tells the price with all digits', () => {
  assert.equal(
    describeSchedule(ENDED),
    `It started at ${formatTime(START_MS)}; its price would have been at the floor after ` +
      `10 min 00 s, at ${formatTime(at(600))}.`,
  );
  assert.equal(summarizeIdle(ENDED), 'Ended at 1,750.51230001 gas');
  assert.equal(summarizeIdle(null), 'No auction');
});
