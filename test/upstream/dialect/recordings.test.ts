/** Recorded answers of an exchange's own server: followed, asked, equal. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parseBlock } from '../../../src/events/event.ts';
import { isJsonObject } from '../../../src/events/fields.ts';
import { type Address, parseAddress } from '../../../src/exact/address.ts';
import { answerQuestion } from '../../../src/info/read-question.ts';
import { findAccount } from '../../../src/state/accounts.ts';
import { applyBlock } from '../../../src/state/fold.ts';
import { createState, type State } from '../../../src/state/state.ts';
import { COLLATERAL } from '../../../src/state/tables/columns.ts';
import { readAccountAnswer, withCollateral } from '../../../src/upstream/dialect/account-answer.ts';
import {
  checkAccount,
  isCollateralSuspected,
} from '../../../src/upstream/dialect/account-check.ts';
import {
  describeAccountChanges,
  findDifferences,
} from '../../../src/upstream/dialect/account-events.ts';
import {
  describeAuctionChanges,
  readAuctionAnswer,
} from '../../../src/upstream/dialect/auction-answer.ts';
import { findCollateral } from '../../../src/upstream/dialect/collateral.ts';
import { readDelegationsAnswer } from '../../../src/upstream/dialect/delegations-answer.ts';
import { DialectError } from '../../../src/upstream/dialect/dialect.ts';
import { directoryOfLedger } from '../../../src/upstream/dialect/market-directory.ts';
import { isSameRatio } from '../../../src/upstream/dialect/same-ratio.ts';
import { PROJECT, VECTORS } from '../../../tools/harness/paths.ts';

interface Recording {
  name: string;
  block: { time: number; events: { type: string }[] };
  query: { type: string; user: string; dex?: string };
  expected: Record<string, unknown>;
}

function load(name: string): Recording {
  return JSON.parse(readFileSync(path.join(VECTORS, `${name}.json`), 'utf8'));
}

const RECORDINGS = readdirSync(VECTORS).map((file) => load(path.basename(file, '.json')));
const ACCOUNTS = RECORDINGS.filter(({ query }) => query.type === 'clearinghouseState');
/** The parts of a whole answer. */
const PARTS = [
  'marginSummary',
  'crossMarginSummary',
  'crossMaintenanceMarginUsed',
  'withdrawable',
  'assetPositions',
  'time',
];
const WHOLE = ACCOUNTS.filter(({ expected }) => PARTS.every((part) => part in expected));

function fold(time: number, events: readonly unknown[], state = createState()): State {
  const block = { height: state.height + 1, time, events };
  applyBlock(state, parseBlock(JSON.stringify(block)));
  return state;
}

function addressOf({ query }: Recording): Address {
  return parseAddress(query.user) ?? assert.fail(query.user);
}

/** The recorded figures; those that were not recorded are ours. */
function complete(recorded: unknown, ours: unknown): unknown {
  if (Array.isArray(recorded) && Array.isArray(ours)) {
    return recorded.map((item, index) => complete(item, ours[index]));
  }
  if (!isJsonObject(recorded) || !isJsonObject(ours)) return recorded;
  const keys = new Set([...Object.keys(ours), ...Object.keys(recorded)]);
  // A cross position was recorded without rawUsd because the exchange's server has none there.
  if (recorded['type'] === 'cross') keys.delete('rawUsd');
  const entries = [...keys].map((key) => [
    key,
    key in recorded ? complete(recorded[key], ours[key]) : ours[key],
  ]);
  return Object.fromEntries(entries);
}

/** Follows a recorded answer: from a ledger that has only the markets, through the rows, to ours. */
function follow(recording: Recording, answer: unknown): { ours: unknown; surprises: string[] } {
  const { block, query } = recording;
  const truth = fold(block.time, block.events);
  const address = addressOf(recording);
  const account = findAccount(truth, truth.addresses.find(address), 0);
  const collateral = truth.accounts.get(account, COLLATERAL);
  const directory = directoryOfLedger(truth);
  const reading = readAccountAnswer(answer, { dex: '', directory, collateral });
  if (reading instanceof DialectError) assert.fail(reading.message);
  assert.deepEqual(checkAccount(reading, directory), []);

  const markets = block.events.filter(({ type }) => type === 'market');
  const ledger = fold(block.time, [{ type: 'partial' }, ...markets]);
  fold(block.time, describeAccountChanges(ledger, address, reading.rows), ledger);
  return {
    ours: JSON.parse(answerQuestion(ledger, query)),
    surprises: findDifferences(truth, address, reading.rows),
  };
}

const RATIOS = new Set(['returnOnEquity', 'liquidationPx']);

function assertEqualAnswer(where: string, theirs: unknown, ours: unknown): void {
  const field = where.slice(where.lastIndexOf('.') + 1);
  if (RATIOS.has(field)) {
    assert.ok(isSameRatio(String(ours), String(theirs), 0), `${where}: ${ours}, ${theirs}`);
  } else if (Array.isArray(theirs) && Array.isArray(ours)) {
    assert.equal(ours.length, theirs.length, where);
    for (const [index, item] of theirs.entries()) {
      assertEqualAnswer(`${where}[${index}]`, item, ours[index]);
    }
  } else if (isJsonObject(theirs) && isJsonObject(ours)) {
    for (const [key, value] of Object.entries(theirs)) {
      assertEqualAnswer(`${where}.${key}`, value, ours[key]);
    }
  } else assert.equal(ours, theirs, where);
}

for (const recording of WHOLE) {
  test(`the whole answer recorded as ${recording.name} is followed, asked, equal`, () => {
    const { ours, surprises } = follow(recording, recording.expected);
    assertEqualAnswer(recording.name, recording.expected, ours);
    assert.deepEqual(surprises, []);
  });
}

for (const recording of ACCOUNTS) {
  test(`the figures recorded as ${recording.name} lead back to their rows`, () => {
    const truth = fold(recording.block.time, recording.block.events);
    const answer = complete(recording.expected, JSON.parse(answerQuestion(truth, recording.query)));
    const { ours, surprises } = follow(recording, answer);
    assertEqualAnswer(recording.name, answer, ours);
    assert.deepEqual(surprises, []);
  });
}

test('whole answers and parts of answers were recorded', () => {
  assert.deepEqual([WHOLE.length, ACCOUNTS.length], [5, 32]);
});

test('a unified account that is read without its collateral shows in liquidationPx alone', () => {
  const recording = load('account-32');
  const truth = fold(recording.block.time, recording.block.events);
  const directory = directoryOfLedger(truth);
  const answer = complete(recording.expected, JSON.parse(answerQuestion(truth, recording.query)));
  const reading = readAccountAnswer(answer, { dex: '', directory, collateral: 0 });
  if (reading instanceof DialectError) assert.fail(reading.message);
  const mismatches = checkAccount(reading, directory);
  assert.ok(isCollateralSuspected(mismatches));
  assert.deepEqual(
    mismatches.map(({ field, coin }) => `${field} of ${coin}`),
    ['BTC', 'HYPE', 'ZEC', 'LIT'].map((coin) => `liquidationPx of ${coin}`),
  );
});

test('the collateral of an account as the exchange printed it, in which three prices agree', () => {
  const { block } = load('account-02');
  const directory = directoryOfLedger(fold(block.time, block.events));
  const text = readFileSync(path.join(PROJECT, 'test/recorded/real-account-02.json'), 'utf8');
  const answer = JSON.parse(text).answers.clearinghouseState_a.data;
  const reading = readAccountAnswer(answer, { dex: '', directory });
  if (reading instanceof DialectError) assert.fail(reading.message);
  const collateral = findCollateral(reading, directory);
  assert.equal(collateral, 5_938_586_912_242);
  assert.deepEqual(checkAccount(withCollateral(reading, collateral), directory), []);
  const [first] = reading.rows.positions;
  const alone = { ...reading, rows: { ...reading.rows, positions: [first] } };
  assert.equal(findCollateral(alone, directory), undefined, 'one price proves nothing');
});

test('the recorded auction is followed, asked, equal', () => {
  const { block, query, expected } = load('auction-01');
  const auction = readAuctionAnswer(expected, block.time);
  if (auction === undefined || auction instanceof DialectError) assert.fail(String(auction));
  const ledger = fold(block.time, describeAuctionChanges(undefined, auction));
  assert.deepEqual(JSON.parse(answerQuestion(ledger, query)), expected);
  assert.deepEqual(describeAuctionChanges(ledger.auction, auction), []);
});

test('the recorded delegations are followed, asked, equal', () => {
  const recording = load('delegations-01');
  const { block, query, expected } = recording;
  const event = readDelegationsAnswer(expected, addressOf(recording));
  if (event instanceof DialectError) assert.fail(event.message);
  const ledger = fold(block.time, [{ type: 'partial' }, event]);
  assert.deepEqual(JSON.parse(answerQuestion(ledger, query)), expected);
});
