/** Random accounts, built from events: their answers equal the twin's, byte for byte. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseBlock } from '../../src/events/event.ts';
import { type Address, parseAddress } from '../../src/exact/address.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { findAccount } from '../../src/state/accounts.ts';
import { accountTotals } from '../../src/state/figures/account-totals.ts';
import { QuickFigures } from '../../src/state/figures/quick-figures.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState, type State } from '../../src/state/state.ts';
import { SEED_NOTE } from '../../tools/harness/seed.ts';
import { SAFE_MAX, type WireEvent } from '../../tools/naive-twin/naive-block.ts';
import { usdOf } from '../../tools/naive-twin/naive-book.ts';
import {
  type AccountFigures,
  figureAccount,
  writeFigures,
} from '../../tools/naive-twin/naive-figures.ts';
import { foldBlock } from '../../tools/naive-twin/naive-fold.ts';
import { createNaiveState, type NaiveState } from '../../tools/naive-twin/naive-state.ts';
import { isEqual, isLess, rational, ZERO } from '../../tools/naive-twin/rational.ts';
import { ALSO_LONG, scale } from '../scale.ts';
import { assertCovered } from './coverage.ts';
import {
  type AccountChoices,
  accountEvents,
  marketEvent,
  type RandomMarket,
  randomMarket,
  randomTieredAccount,
} from './random-accounts.ts';
import { Tally } from './tally.ts';

const BATCHES_MAX = 850;
const BATCHES = scale(8, 24, BATCHES_MAX);
const MARKETS_MAX = 8;
const ACCOUNTS_MAX = 300;
const COMPARED_MIN = scale(120, 400, 100_000);
const SAFE_USD = rational(SAFE_MAX, 1_000_000n);

function userAt(index: number): string {
  return `0x${index.toString(16).padStart(40, '0')}`;
}

function addressAt(user: string): Address {
  return parseAddress(user) ?? assert.fail(user);
}

const quick = new QuickFigures();

/** Both states after one block of these events. */
function foldBoth(events: WireEvent[]): { state: State; naive: NaiveState } {
  const block = { height: 1, time: 1_758_556_800_000, events };
  const state = createState();
  applyBlock(state, parseBlock(JSON.stringify(block)));
  const folded = foldBlock(createNaiveState(), block);
  assert.ok(folded.isAccepted);
  return { state, naive: folded.state };
}

function countPosition(
  tally: Tally,
  {
    tiers,
    hasOwnTiers,
    tierIndex,
    pv,
    isCross,
    szDecimals,
    liquidation,
  }: AccountFigures['positions'][number],
): void {
  tally.count(isCross ? 'cross position' : 'isolated position');
  tally.count(`${szDecimals} decimals of size`);
  tally.count(`${tiers.length} tiers`);
  tally.count(`tiers of the ${hasOwnTiers ? 'position' : 'market'}`);
  if (tierIndex > 0) tally.count('tier above the first');
  if (tierIndex > 0 && isEqual(pv, tiers[tierIndex].lowerBound)) tally.count('on a lower bound');
  if (isLess(SAFE_USD, pv)) tally.count('position value beyond the safe range');
  if (liquidation === undefined) {
    tally.count('no liquidation price');
    return;
  }
  tally.count('liquidation price');
  if (liquidation.tierIndex > 0) tally.count('liquidated above the first tier');
  if (liquidation.tierIndex !== tierIndex) tally.count('liquidated in another tier');
  if (isEqual(liquidation.value, tiers[liquidation.tierIndex].lowerBound)) {
    tally.count('liquidated on a lower bound');
  }
}

function countAccount(tally: Tally, figures: AccountFigures): void {
  tally.count('account');
  tally.count(`${figures.positions.length} positions`);
  tally.count(isLess(ZERO, figures.withdrawable) ? 'withdrawable' : 'nothing withdrawable');
  for (const position of figures.positions) countPosition(tally, position);
}

/** The totals of a series are those of the whole answer. */
function assertTotals(state: State, account: number, answer: string): void {
  const { marginSummary, withdrawable, assetPositions } = JSON.parse(answer);
  const gains: bigint[] = assetPositions.map(
    ({ position }: { position: { unrealizedPnl: string } }) => usdOf(position.unrealizedPnl),
  );
  const { accountValue, totalNtlPos, totalMarginUsed } = marginSummary;
  const totals = Object.values(accountTotals(state, account)).map(BigInt);
  assert.deepEqual(totals, [
    ...[accountValue, totalNtlPos, totalMarginUsed, withdrawable].map(usdOf),
    gains.reduce((sum, gain) => sum + gain, 0n),
  ]);
}

function compareBatch(
  tally: Tally,
  markets: readonly RandomMarket[],
  accounts: readonly AccountChoices[],
): void {
  const eventsByUser = accounts.map((choices, index) =>
    accountEvents(choices, markets, userAt(index)),
  );
  const { state, naive } = foldBoth([...markets.map(marketEvent), ...eventsByUser.flat()]);
  for (const [index, events] of eventsByUser.entries()) {
    const user = userAt(index);
    const figures = figureAccount(naive, user, '');
    const answer = answerQuestion(state, { type: 'clearinghouseState', user });
    if (answer !== writeFigures(figures, naive.time)) {
      assert.equal(answer, writeFigures(figures, naive.time), JSON.stringify(events));
    }
    countAccount(tally, figures);
    const account = findAccount(state, state.addresses.find(addressAt(user)), 0);
    assertTotals(state, account, answer);
    const isQuick = quick.compute(state, account);
    tally.count(isQuick ? 'in plain numbers' : 'with bigint where needed');
  }
}

const BRANCHES = [
  'cross position',
  'isolated position',
  ...[0, 1, 2, 3, 4, 5, 6].map((decimals) => `${decimals} decimals of size`),
  ...[1, 2, 3, 4, 5].map((count) => `${count} tiers`),
  ...[0, 1, 2, 3, 4, 5, 6].map((count) => `${count} positions`),
  'tiers of the position',
  'tiers of the market',
  'tier above the first',
  'on a lower bound',
  'position value beyond the safe range',
  'no liquidation price',
  'liquidation price',
  'liquidated above the first tier',
  'liquidated in another tier',
  'liquidated on a lower bound',
  'in plain numbers',
  'with bigint where needed',
  'withdrawable',
  'nothing withdrawable',
];

test(`the figures of random accounts are those of the twin ${SEED_NOTE}`, ALSO_LONG, (context) => {
  const tally = new Tally();
  const markets = fc.array(randomMarket, { minLength: 1, maxLength: MARKETS_MAX, size: 'max' });
  const accounts = fc.array(randomTieredAccount, {
    minLength: 1,
    maxLength: ACCOUNTS_MAX,
    size: 'max',
  });
  assertCovered(
    fc.property(markets, accounts, (drawnMarkets, drawnAccounts) =>
      compareBatch(tally, drawnMarkets, drawnAccounts),
    ),
    { tally, branches: BRANCHES, cases: BATCHES, casesMax: BATCHES_MAX },
  );
  context.diagnostic(tally.describe());
  assert.ok(tally.countOf('account') >= COMPARED_MIN);
});
