/** Random accounts, far beyond what a simulated exchange has, read backwards. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseBlock } from '../../../src/events/event.ts';
import { type Address, parseAddress } from '../../../src/exact/address.ts';
import { Random } from '../../../src/simulator/random.ts';
import { findAccount } from '../../../src/state/accounts.ts';
import { applyBlock } from '../../../src/state/fold.ts';
import { createState, type State } from '../../../src/state/state.ts';
import { COLLATERAL } from '../../../src/state/tables/columns.ts';
import { readAccountAnswer } from '../../../src/upstream/dialect/account-answer.ts';
import { checkAccount } from '../../../src/upstream/dialect/account-check.ts';
import { describeAccountChanges } from '../../../src/upstream/dialect/account-events.ts';
import { DialectError } from '../../../src/upstream/dialect/dialect.ts';
import { directoryOfLedger } from '../../../src/upstream/dialect/market-directory.ts';
import { runs, SEED, SEED_NOTE } from '../../../tools/harness/seed.ts';
import { ALSO_FULL, scale } from '../../scale.ts';
import {
  type AccountChoices,
  accountEvents,
  marketEvent,
  type RandomMarket,
  randomAccount,
  randomMarket,
} from '../../twin/random-accounts.ts';
import { Tally } from '../../twin/tally.ts';
import { type AnsweredAccount, askAccount, renderAsUpstream } from '../follower/as-upstream.ts';

const TIME = 1_758_556_800_000;
const SAFE_DOLLARS = Number.MAX_SAFE_INTEGER / 1e6;

function append(state: State, events: readonly unknown[]): State {
  const block = { height: state.height + 1, time: TIME, events };
  applyBlock(state, parseBlock(JSON.stringify(block)));
  return state;
}

function userAt(index: number): string {
  return `0x${(index + 1).toString(16).padStart(40, '0')}`;
}

function addressAt(index: number): Address {
  return parseAddress(userAt(index)) ?? assert.fail();
}

/** An amount that is derived, and so may be larger than what a ledger stores. */
function isBeyondStorable({ crossMarginSummary, assetPositions }: AnsweredAccount): boolean {
  const amounts = [
    crossMarginSummary.accountValue,
    ...assetPositions.map(({ position }) => position.positionValue),
  ];
  return amounts.some((amount) => Math.abs(Number(amount)) >= SAFE_DOLLARS);
}

function readBatch(
  tally: Tally,
  markets: readonly RandomMarket[],
  accounts: readonly AccountChoices[],
): void {
  const random = new Random(`extremes/${SEED}`);
  const listed = markets.map(marketEvent);
  const truth = append(createState(), [
    ...listed,
    ...accounts.flatMap((choices, index) => accountEvents(choices, markets, userAt(index))),
  ]);
  const directory = directoryOfLedger(truth);
  const follower = append(createState(), listed);
  for (const index of accounts.keys()) {
    const answer = askAccount(truth, userAt(index), '');
    const row = findAccount(truth, truth.addresses.find(addressAt(index)), 0);
    const context = { dex: '', directory, collateral: truth.accounts.get(row, COLLATERAL) };
    const reading = readAccountAnswer(renderAsUpstream(answer, random), context);
    if (reading instanceof DialectError) throw reading;
    assert.deepEqual(checkAccount(reading, directory), []);
    append(follower, describeAccountChanges(follower, addressAt(index), reading.rows));
    assert.deepEqual(askAccount(follower, userAt(index), ''), answer);
    tally.count(isBeyondStorable(answer) ? 'read, with derived amounts beyond storage' : 'read');
  }
}

test(`random accounts are read backwards exactly ${SEED_NOTE}`, ALSO_FULL, (context) => {
  const tally = new Tally();
  const markets = fc.array(randomMarket, { minLength: 1, maxLength: 8, size: 'max' });
  const accounts = fc.array(randomAccount, { minLength: 1, maxLength: 100, size: 'max' });
  fc.assert(
    fc.property(markets, accounts, (drawnMarkets, drawnAccounts) =>
      readBatch(tally, drawnMarkets, drawnAccounts),
    ),
    runs(scale(30, 300)),
  );
  context.diagnostic(tally.describe());
  tally.assertAll(['read', 'read, with derived amounts beyond storage']);
});
