/** What if marks moved: what the page computes is what the ledger answers when they really move. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseBlock } from '../../../src/events/event.ts';
import { parseAddress } from '../../../src/exact/address.ts';
import { answerQuestion } from '../../../src/info/read-question.ts';
import { findAccount } from '../../../src/state/accounts.ts';
import { type AccountFigures, accountFigures } from '../../../src/state/figures/figures.ts';
import { applyBlock } from '../../../src/state/fold.ts';
import type { State } from '../../../src/state/state.ts';
import { runs, SEED_NOTE } from '../../../tools/harness/seed.ts';
import type { WireEvent } from '../../../tools/naive-twin/naive-block.ts';
import { holdingsOf, keyOf, totalsOf } from '../../../web/src/figures/all-dexes.ts';
import type { States } from '../../../web/src/figures/answers.ts';
import { headlineOf } from '../../../web/src/figures/headline.ts';
import { readTerms } from '../../../web/src/figures/margin-terms.ts';
import {
  computeWhatIf,
  type Move,
  type PositionOutcome,
  readPercent,
} from '../../../web/src/figures/what-if.ts';
import { stateOf, TIME } from '../../info/states.ts';
import { ALSO_FULL, scale } from '../../scale.ts';
import {
  type AccountChoices,
  accountEvents,
  marketEvent,
  type RandomMarket,
  randomAccount,
  randomMarket,
} from '../../twin/random-accounts.ts';

const USER = `0x${'ab'.repeat(20)}`;
const DEX = 'xyz';
const RUNS = scale(200, 600, 3_000);

const askStates = (state: State): States =>
  JSON.parse(answerQuestion(state, { type: 'allDexsClearinghouseState', user: USER }));

const askTerms = (state: State) =>
  readTerms(JSON.parse(answerQuestion(state, { type: 'allPerpMetas' })));

/** The state, really moved: a block with the marks that were hypothetical. */
function applyMarks(state: State, prices: Readonly<Record<string, string>>): void {
  const block = {
    height: state.height + 1,
    time: TIME + 9_000,
    events: [{ type: 'marks', prices }],
  };
  applyBlock(state, parseBlock(JSON.stringify(block)));
}

function figuresOn(state: State, dexIndex: number): AccountFigures {
  const address = parseAddress(USER) ?? assert.fail();
  return accountFigures(state, findAccount(state, state.addresses.find(address), dexIndex));
}

/** Whether each position would be liquidated, by the ledger's own figures. */
function liquidatedOn(state: State, dexIndex: number): Map<string, boolean> {
  const account = figuresOn(state, dexIndex);
  const { crossSummary, collateral, crossMaintenanceMargin } = account;
  const equity = BigInt(crossSummary.accountValue) + BigInt(collateral);
  const isCrossLost = equity < BigInt(crossMaintenanceMargin);
  return new Map(
    account.positions.map(({ market, isIsolated, marginUsed, maintenanceMargin }) => [
      market.coin,
      isIsolated ? BigInt(marginUsed) < BigInt(maintenanceMargin) : isCrossLost,
    ]),
  );
}

/** Events of the first dex, as they would be on another one. */
function moveToDex(event: WireEvent): object {
  const coinOn = (coin: string) => `${DEX}:${coin}`;
  const moved: Record<string, unknown> = { ...event };
  if ('dex' in event) moved['dex'] = DEX;
  if ('coin' in event) moved['coin'] = coinOn(event.coin);
  if ('positions' in event) {
    moved['positions'] = event.positions.map((held) => ({ ...held, coin: coinOn(held.coin) }));
  }
  return moved;
}

interface Accounts {
  readonly markets: readonly RandomMarket[];
  readonly first: AccountChoices;
  readonly second: AccountChoices;
}

/** Two dexes with the same markets, and an account on each. */
function createAccounts({ markets, first, second }: Accounts): State {
  const listed = markets.map(marketEvent);
  return stateOf(
    [{ type: 'perpDex', dex: DEX, fullName: 'Metals', deployer: USER }],
    [...listed, ...listed.map(moveToDex)],
    [
      ...accountEvents(first, markets, USER),
      ...accountEvents(second, markets, USER).map(moveToDex),
    ],
  );
}

const accounts = fc.record({
  markets: fc.array(randomMarket, { minLength: 1, maxLength: 5 }),
  first: randomAccount,
  second: randomAccount,
});
const percent = fc
  .oneof(fc.integer({ min: -9_000, max: 20_000 }), fc.constantFrom(-9_000, -2_000, 1, 20_000))
  .map((hundredths) => (hundredths / 100).toFixed(2));
const coinChoice = fc.option(fc.nat(), { freq: 2 });

/** Amounts of the ledger are safe integers: a mark beyond cannot be in a block. */
const isWritable = (mark: string) => Number(mark.replace('.', '')) < Number.MAX_SAFE_INTEGER / 1e6;

interface Outcome {
  readonly outcomes: ReadonlyMap<string, PositionOutcome>;
  readonly truth: ReadonlyMap<string, boolean>;
}

/** Supposes a move, applies it, and compares everything but the outcomes. */
function moveReally(state: State, choice: number | null, percentText: string): Outcome {
  const states = askStates(state);
  const holdings = holdingsOf(states);
  const coins = holdings.map(({ position }) => position.coin);
  const coin = choice === null ? undefined : coins[choice % coins.length];
  const move: Move = { coin, percent: percentText };
  const hypothetical = computeWhatIf(states, move, askTerms(state));
  const markAt = (key: string) => hypothetical.positions.get(key)?.mark ?? assert.fail(key);
  const prices = holdings.map((holding) => [holding.position.coin, markAt(keyOf(holding))]);
  fc.pre(coins.length > 0 && prices.every(([, mark]) => isWritable(mark)));
  applyMarks(state, Object.fromEntries(prices));
  const moved = askStates(state);
  assert.equal(hypothetical.accountValue, totalsOf(moved).accountValue);
  assert.equal(hypothetical.unrealizedPnl, headlineOf(moved).unrealizedPnl);
  for (const holding of holdingsOf(moved)) {
    const { unrealizedPnl } = hypothetical.positions.get(keyOf(holding)) ?? {};
    assert.equal(unrealizedPnl, holding.position.unrealizedPnl, keyOf(holding));
  }
  const outcomes = new Map(
    holdings.map((holding) => {
      const { outcome } = hypothetical.positions.get(keyOf(holding)) ?? assert.fail();
      return [holding.position.coin, outcome];
    }),
  );
  return { outcomes, truth: new Map([0, 1].flatMap((index) => [...liquidatedOn(state, index)])) };
}

test(`what is supposed is what the ledger answers when marks move ${SEED_NOTE}`, ALSO_FULL, () => {
  const seen = { liquidated: 0, stays: 0 };
  const property = fc.property(accounts, coinChoice, percent, (drawn, choice, percentText) => {
    const bare = (choices: AccountChoices) => ({ ...choices, collateral: null });
    const { markets, first, second } = drawn;
    const state = createAccounts({ markets, first: bare(first), second: bare(second) });
    const { outcomes, truth } = moveReally(state, choice, percentText);
    for (const [coin, outcome] of outcomes) {
      assert.equal(outcome, truth.get(coin) ? 'liquidated' : 'stays', coin);
      seen[outcome as keyof typeof seen]++;
    }
  });
  fc.assert(property, runs(RUNS));
  assert.ok(seen.liquidated > RUNS / 10 && seen.stays > RUNS / 10, JSON.stringify(seen));
});

/** Whether liquidation prices of a dex would be others without what backs the account. */
function isCollateralSeen(drawn: Accounts, state: State, dexIndex: number): boolean {
  const bare = (choices: AccountChoices) => ({ ...choices, collateral: null });
  const { markets, first, second } = drawn;
  const other = createAccounts({ markets, first: bare(first), second: bare(second) });
  const pricesOf = (some: State) => {
    const [, { assetPositions }] = askStates(some)[dexIndex];
    return assetPositions.map(({ position }) => position.liquidationPx).join();
  };
  return pricesOf(state) !== pricesOf(other);
}

test(
  `with collateral that no answer tells, nothing is claimed that is not so ${SEED_NOTE}`,
  ALSO_FULL,
  () => {
    let backed = 0;
    const property = fc.property(accounts, coinChoice, percent, (drawn, choice, percentText) => {
      // Cash that does not depend on the collateral.
      const cash = () => 1_000_000n;
      const fixed = {
        markets: drawn.markets,
        first: { ...drawn.first, cash },
        second: { ...drawn.second, cash },
      };
      const state = createAccounts(fixed);
      const areSeen = [0, 1].map((dexIndex) => isCollateralSeen(fixed, state, dexIndex));
      const { outcomes, truth } = moveReally(state, choice, percentText);
      for (const [coin, outcome] of outcomes) {
        assert.notEqual(outcome, 'unknown', coin);
        if (outcome === 'stays') assert.equal(truth.get(coin), false, coin);
        if (outcome === 'liquidated' && areSeen[coin.startsWith(DEX) ? 1 : 0]) {
          assert.equal(truth.get(coin), true, coin);
        }
        if (outcome === 'backed') backed++;
      }
    });
    fc.assert(property, runs(RUNS));
    assert.ok(backed > RUNS / 20, `${backed}`);
  },
);

const TIERS = [
  { lowerBound: '0.0', maxLeverage: 10 },
  { lowerBound: '1000.0', maxLeverage: 5 },
];
const MARKET = {
  ...{ type: 'market', dex: '', coin: 'BTC', szDecimals: 2, marginTiers: TIERS },
  ...{ onlyIsolated: false, markPx: '100.0' },
};
const NO_FUNDING = { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' };

/** A long position of 10 at a mark of 100, with a margin of its own. */
function createIsolated(rawUsd: string): State {
  const leverage = { type: 'isolated', value: 5, rawUsd };
  const held = { coin: 'BTC', szi: '10.0', entryNtl: '900.0', leverage, cumFunding: NO_FUNDING };
  const account = { type: 'account', user: USER, dex: '', rawUsd: '0.0', positions: [held] };
  return stateOf([MARKET, account]);
}

function whatIfOn(state: State, percentText: string) {
  const move = { coin: undefined, percent: percentText };
  return computeWhatIf(askStates(state), move, askTerms(state));
}

test('a position is liquidated below its maintenance margin, not at it', () => {
  // At 90: 900 - 855 = 45 of margin, and 900 / 20 = 45 of maintenance.
  const outcomeOf = (rawUsd: string) =>
    whatIfOn(createIsolated(rawUsd), '-10').positions.get(' BTC')?.outcome;
  assert.equal(outcomeOf('-855.0'), 'stays');
  assert.equal(outcomeOf('-855.000001'), 'liquidated');
});

test('the figures of a move, written out', () => {
  assert.deepEqual(whatIfOn(createIsolated('-500.0'), '12.5'), {
    accountValue: '625.0',
    change: '125.0',
    changeRatio: '25.0',
    unrealizedPnl: '225.0',
    positions: new Map([[' BTC', { mark: '112.5', unrealizedPnl: '225.0', outcome: 'stays' }]]),
  });
});

test('a mark is rounded as the market allows, and is never zero', () => {
  const state = createIsolated('-500.0');
  assert.equal(whatIfOn(state, '0.0049').positions.get(' BTC')?.mark, '100.0049');
  applyMarks(state, { BTC: '0.0001' });
  assert.equal(whatIfOn(state, '-90').positions.get(' BTC')?.mark, '0.0001');
});

test('without the margin tiers of the answer, or with others, nothing is said of liquidation', () => {
  const state = createIsolated('-500.0');
  const other = stateOf([{ ...MARKET, marginTiers: [{ lowerBound: '0.0', maxLeverage: 3 }] }]);
  const move = { coin: undefined, percent: '-50' };
  for (const terms of [new Map(), askTerms(other)]) {
    const { accountValue, positions } = computeWhatIf(askStates(state), move, terms);
    assert.equal(accountValue, '0.0');
    assert.equal(positions.get(' BTC')?.outcome, 'unknown');
  }
});

test('of positions with tiers of their own, which no answer has, nothing is said of liquidation', () => {
  const marginTiers = [{ lowerBound: '0.0', maxLeverage: 50 }];
  const held = { coin: 'BTC', szi: '10.0', entryNtl: '900.0', cumFunding: NO_FUNDING };
  for (const leverage of [
    { type: 'cross', value: 5 },
    { type: 'isolated', value: 5, rawUsd: '-500.0' },
  ]) {
    const positions = [{ ...held, leverage, marginTiers }];
    const account = { type: 'account', user: USER, dex: '', rawUsd: '-500.0', positions };
    const hypothetical = whatIfOn(stateOf([MARKET, account]), '-20');
    assert.equal(hypothetical.unrealizedPnl, '-100.0');
    assert.equal(hypothetical.positions.get(' BTC')?.outcome, 'unknown');
  }
});

test('per cent is read as it is typed, within its range', () => {
  const typed = ['-90', '200', ' +5 ', '\u22122.5', '0', '-90.01', '201', '1e1', '', '1,5', 'x'];
  assert.deepEqual(typed.map(readPercent), [
    ...['-90', '200', '5', '-2.5', '0'],
    ...[undefined, undefined, undefined, undefined, undefined, undefined],
  ]);
});
