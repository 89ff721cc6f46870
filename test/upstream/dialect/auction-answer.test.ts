/** The auction, whose floor and time the upstream does not tell. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerQuestion } from '../../../src/info/read-question.ts';
import { createSimulator } from '../../../src/simulator/simulator.ts';
import type { Auction } from '../../../src/state/auction.ts';
import { createState } from '../../../src/state/state.ts';
import {
  describeAuctionChanges,
  readAuctionAnswer,
} from '../../../src/upstream/dialect/auction-answer.ts';
import { append, mustRead, mustRefuse } from '../follower/ledgers.ts';

const START = 1_765_623_600;
const TIME = (START + 55_800) * 1000;
const ANSWER = {
  startTimeSeconds: START,
  durationSeconds: 111_600,
  startGas: '1500.0',
  currentGas: '1000.0',
  endGas: null,
};
const STARTED = {
  type: 'deployAuction',
  startTimeSeconds: START,
  durationSeconds: 111_600,
  startGas: '1500.0',
  floorGas: '500.0',
};
const ENDED = { ...ANSWER, currentGas: null, endGas: '812.5' };
const END = { type: 'deployAuctionEnd', endGas: '812.5' };

function auctionOf(answer: unknown): Auction {
  return mustRead(readAuctionAnswer(answer, TIME)) ?? assert.fail('no auction');
}

test('a running auction whose price stands where a floor of 500 puts it is recorded', () => {
  assert.deepEqual(describeAuctionChanges(undefined, auctionOf(ANSWER)), [STARTED]);
});

test('an auction that has ended is recorded with its start', () => {
  assert.deepEqual(describeAuctionChanges(undefined, auctionOf(ENDED)), [STARTED, END]);
});

test('the end of a recorded auction is recorded alone', () => {
  assert.deepEqual(describeAuctionChanges(auctionOf(ANSWER), auctionOf(ENDED)), [END]);
});

test('another end than the recorded one needs the start again', () => {
  const recorded = auctionOf({ ...ENDED, endGas: '900.0' });
  assert.deepEqual(describeAuctionChanges(recorded, auctionOf(ENDED)), [STARTED, END]);
});

test('an auction that was recorded as ended, but runs, is recorded again', () => {
  assert.deepEqual(describeAuctionChanges(auctionOf(ENDED), auctionOf(ANSWER)), [STARTED]);
});

test('an auction that has not changed is not recorded again', () => {
  assert.deepEqual(describeAuctionChanges(auctionOf(ANSWER), auctionOf(ANSWER)), []);
  assert.deepEqual(describeAuctionChanges(auctionOf(ENDED), auctionOf(ENDED)), []);
});

test('an auction that starts at the floor stays there', () => {
  const answer = { ...ANSWER, startGas: '500.0', currentGas: '500.0' };
  assert.deepEqual(describeAuctionChanges(undefined, auctionOf(answer)), [
    { ...STARTED, startGas: '500.0' },
  ]);
});

test('a price that a floor of 500 does not explain is refused', () => {
  const message =
    'currentGas: got 750.0, expected 999.46236559 to 1000.5376344, with a floor of 500.0';
  const refused = readAuctionAnswer({ ...ANSWER, currentGas: '750.0' }, TIME);
  mustRefuse(refused, 'figure', message);
});

test('there is no auction before the first one', () => {
  assert.equal(readAuctionAnswer(null, TIME), null);
  assert.deepEqual(describeAuctionChanges(undefined, null), [{ type: 'noDeployAuction' }]);
  assert.deepEqual(describeAuctionChanges(null, null), []);
});

test('null fields are refused', () => {
  mustRefuse(
    readAuctionAnswer({ ...ANSWER, startGas: null }, TIME),
    'shape',
    'startGas: got null, expected a decimal as text',
  );
  mustRefuse(
    readAuctionAnswer({ ...ANSWER, currentGas: null }, TIME),
    'shape',
    'currentGas: got null, expected a decimal as text',
  );
});

test("another perpinfo's auctions are followed at every block", () => {
  const exchange = createSimulator({ seed: 'auction', accounts: 5, auctionDurationSeconds: 600 });
  const ledger = createState();
  const ask = { type: 'perpDeployAuctionStatus' };
  for (let block = 0; block < 200; block++) {
    exchange.next();
    const { time } = exchange.state;
    const answer = answerQuestion(exchange.state, ask);
    const auction = mustRead(readAuctionAnswer(JSON.parse(answer), time));
    append(ledger, describeAuctionChanges(ledger.auction, auction), time);
    assert.equal(answerQuestion(ledger, ask), answer);
  }
});
