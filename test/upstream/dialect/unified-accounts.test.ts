/** Accounts that a spot balance backs: what is recorded of them, and what it costs the upstream. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Address, formatAddress } from '../../../src/exact/address.ts';
import { formatUnits } from '../../../src/exact/decimal.ts';
import { answerQuestion } from '../../../src/info/read-question.ts';
import { findAccount } from '../../../src/state/accounts.ts';
import { accountFigures } from '../../../src/state/figures/figures.ts';
import { UpstreamError } from '../../../src/upstream/client/upstream-error.ts';
import { recordedCollateral } from '../../../src/upstream/dialect/account-events.ts';
import type { AnsweredAccount } from '../follower/as-upstream.ts';
import {
  accountOf,
  type Fault,
  type FollowedExchange,
  findTraders,
  followStanding,
} from '../follower/followed-exchange.ts';

/** In millionths: 3001309.10401. */
const COLLATERAL = 3_001_309_104_010;
const FORWARD_KEEP_MS = 1_000;
/** An amount with digits that only the nearest double has. */
const NOISY = /"-?\d+\.\d{7,}"/;

function back(exchange: FollowedExchange, user: Address, units: number): void {
  const amount = formatUnits(units, 6);
  exchange.change([{ type: 'collateral', user: formatAddress(user), dex: '', amount }]);
}

/** An account with these positions only, at a leverage of 5: signed sizes by coin. */
function hold(
  exchange: FollowedExchange,
  user: Address,
  sizes: Record<string, string>,
  rawUsd = '50000.0',
): void {
  const positions = Object.entries(sizes).map(([coin, szi]) => ({
    ...{ coin, szi, entryNtl: '1000.0', leverage: { type: 'cross', value: 5 } },
    cumFunding: { allTime: '1.0', sinceOpen: '1.0', sinceChange: '1.0' },
  }));
  const account = { type: 'account', user: formatAddress(user), dex: '', rawUsd };
  const orderMargin = { ...account, type: 'orderMargin', rawUsd: undefined, amount: '0.0' };
  exchange.change([{ ...account, positions }, JSON.parse(JSON.stringify({ ...orderMargin }))]);
}

function recorded(exchange: FollowedExchange, user: Address): number {
  return recordedCollateral(exchange.ledger, user, '');
}

/** How often each question about the user was asked. */
function costOf(exchange: FollowedExchange, user: Address): Record<string, number> {
  const types = ['clearinghouseState', 'userAbstraction', 'spotClearinghouseState'];
  const name = formatAddress(user);
  return Object.fromEntries(types.map((type) => [type, exchange.countAsked(type, name)]));
}

function countReads(exchange: FollowedExchange, user: Address): number {
  return exchange.countAsked('clearinghouseState', formatAddress(user));
}

function spotOf(exchange: FollowedExchange, user: Address, collateral = COLLATERAL) {
  const { truth } = exchange;
  const figures = accountFigures(truth, findAccount(truth, truth.addresses.find(user), 0));
  const value = Number(figures.crossSummary.accountValue);
  const total = formatUnits(collateral + value, 6);
  const balance = { coin: 'USDC', token: 0, total, hold: formatUnits(value, 6), entryNtl: '0.0' };
  const available = collateral + value - Number(figures.crossMaintenanceMargin);
  // Other orders are held as well: only what is available after maintenance says the collateral.
  const isHeldElsewhere = { ...balance, hold: '123456789.1234' };
  return {
    plain: { balances: [balance] },
    whole: {
      balances: [isHeldElsewhere],
      tokenToAvailableAfterMaintenance: [[0, formatUnits(available, 6)]],
    },
  };
}

function contradictPrices(answer: AnsweredAccount): AnsweredAccount {
  for (const { position } of answer.assetPositions) position.liquidationPx = '1.0';
  return answer;
}

test('a collateral on which two prices agree is recorded without a question about it', async (t) => {
  const exchange = await followStanding(t);
  const [user] = findTraders(exchange.truth);
  hold(exchange, user, { BTC: '-2.0', ETH: '-30.0' });
  back(exchange, user, COLLATERAL);
  assert.equal((await exchange.readItem(accountOf(user))).outcome, 'recorded');
  assert.equal(recorded(exchange, user), COLLATERAL);
  assert.deepEqual(costOf(exchange, user), {
    ...{ clearinghouseState: 2, userAbstraction: 0, spotClearinghouseState: 0 },
  });
});

test('an account of several millions that is asked for 20 times costs at most 3 reads', async (t) => {
  const exchange = await followStanding(t);
  const [user] = findTraders(exchange.truth);
  hold(exchange, user, { BTC: '-200.0', ETH: '-3000.0' }, '37682376.572935');
  back(exchange, user, 8_272_576_572_935);
  const told: string[] = [];
  exchange.fault = ({ type }, printed) => {
    if (type === 'clearinghouseState') told.push(amountsOf(printed));
    return undefined;
  };
  for (let count = 0; count < 20; count++) {
    assert.equal((await exchange.readItem(accountOf(user), 10_000)).outcome, 'recorded');
  }
  assert.ok(countReads(exchange, user) <= 3);
  for (const amounts of told) assert.match(amounts, NOISY);
});

test('pushed states of an account of several millions are recorded without a read', async (t) => {
  const exchange = await followStanding(t, { settings: { usersMax: 1 } });
  const [user] = findTraders(exchange.truth);
  hold(exchange, user, { BTC: '-200.0', ETH: '-3000.0' });
  assert.equal((await exchange.readItem(accountOf(user))).outcome, 'recorded');
  const reads = countReads(exchange, user);
  exchange.simulator.next(exchange.now);
  hold(exchange, user, { BTC: '-201.0', ETH: '-3000.0' }, '98272576.572935');
  const question = { type: 'clearinghouseState', user: formatAddress(user), dex: '' };
  const state = exchange.answer(question);
  assert.match(amountsOf(state), NOISY);
  const data = { user: question.user, dex: '', clearinghouseState: state };
  exchange.handler?.message('clearinghouseState', data);
  await exchange.advance(1_000);
  assert.equal(countReads(exchange, user), reads);
  const held = JSON.parse(answerQuestion(exchange.ledger, question));
  assert.equal(held.time, state.time);
  assert.equal(held.crossMarginSummary.totalRawUsd, '98272576.572935');
});

/** Without the ratios, which have many digits in any case. */
function amountsOf({ marginSummary, crossMarginSummary }: AnsweredAccount): string {
  return JSON.stringify({ marginSummary, crossMarginSummary });
}

test('an account that does not check costs at most 3 reads for 20 questions', async (t) => {
  const exchange = await followStanding(t, { settings: { sharedMs: 30 * FORWARD_KEEP_MS } });
  const [user] = findTraders(exchange.truth);
  exchange.fault = onAccount(contradictPrices);
  for (let count = 0; count < 20; count++) {
    assert.equal((await exchange.readItem(accountOf(user))).outcome, 'upstream');
  }
  assert.ok(countReads(exchange, user) <= 3, JSON.stringify(costOf(exchange, user)));
});

test('an answer that is not recorded is shared for the time of the setting, and not for longer', async (t) => {
  const exchange = await followStanding(t, { settings: { sharedMs: FORWARD_KEEP_MS } });
  const [user] = findTraders(exchange.truth);
  exchange.fault = onAccount(contradictPrices);
  await exchange.readItem(accountOf(user));
  const first = countReads(exchange, user);
  await exchange.advance(FORWARD_KEEP_MS - 200);
  await exchange.readItem(accountOf(user));
  assert.equal(countReads(exchange, user), first);
  await exchange.readItem(accountOf(user), 500);
  assert.equal(countReads(exchange, user), first + 1, 'its client wants a younger one');
  await exchange.advance(FORWARD_KEEP_MS);
  await exchange.readItem(accountOf(user));
  assert.equal(countReads(exchange, user), first + 2);
});

test('an answer that is not recorded is shared for longer where the budget is short', async (t) => {
  const exchange = await followStanding(t, { budgetLeft: 100 });
  const [user] = findTraders(exchange.truth);
  exchange.fault = onAccount(contradictPrices);
  await exchange.readItem(accountOf(user));
  const first = countReads(exchange, user);
  await exchange.advance(12_000);
  await exchange.readItem(accountOf(user));
  assert.equal(countReads(exchange, user), first);
});

function onAccount(wrong: (answer: AnsweredAccount) => AnsweredAccount): Fault {
  return ({ type }, truth) => {
    if (type === 'userAbstraction') return 'default';
    return type === 'clearinghouseState' ? wrong(truth) : undefined;
  };
}

test('prices whose last digits are off still show the collateral to the millionth', async (t) => {
  const exchange = await followStanding(t);
  const [user] = findTraders(exchange.truth);
  hold(exchange, user, { BTC: '-0.02', ETH: '-0.3' });
  back(exchange, user, 1_234_567_891);
  exchange.fault = ({ type }, truth) => {
    if (type !== 'clearinghouseState') return undefined;
    for (const { position } of truth.assetPositions) {
      position.liquidationPx = (Number(position.liquidationPx) - 2e-8).toFixed(10);
    }
    return truth;
  };
  assert.equal((await exchange.readItem(accountOf(user))).outcome, 'recorded', exchange.log.join());
  assert.equal(recorded(exchange, user), 1_234_567_891);
});

test('prices of shorts show any collateral to the millionth, however they are rounded', async (t) => {
  const exchange = await followStanding(t);
  const [user] = findTraders(exchange.truth);
  hold(exchange, user, { ATOM: '-513.37', CRV: '-4000.0' });
  for (let units = 1_234_567_800; units < 1_234_567_900; units++) {
    back(exchange, user, units);
    await exchange.advance(1_000);
    assert.equal((await exchange.readItem(accountOf(user), 0)).outcome, 'recorded');
    assert.equal(recorded(exchange, user), units);
  }
});

for (const form of ['plain', 'whole'] as const) {
  test(`one price is confirmed by the spot balance, ${form}`, async (t) => {
    const exchange = await followStanding(t);
    const [user] = findTraders(exchange.truth);
    hold(exchange, user, { BTC: '-2.0' });
    back(exchange, user, COLLATERAL);
    exchange.fault = ({ type }) => {
      if (type === 'userAbstraction') return 'unifiedAccount';
      return type === 'spotClearinghouseState' ? spotOf(exchange, user)[form] : undefined;
    };
    assert.equal((await exchange.readItem(accountOf(user))).outcome, 'recorded');
    assert.equal(recorded(exchange, user), COLLATERAL);
    const { spotClearinghouseState: spotReads } = costOf(exchange, user);
    assert.equal((await exchange.readItem(accountOf(user), 0)).outcome, 'recorded');
    assert.equal(
      costOf(exchange, user)['spotClearinghouseState'],
      spotReads,
      'the recorded one fits',
    );
  });
}

test('where no price shows the collateral, the spot balance of the same marks is taken', async (t) => {
  const exchange = await followStanding(t);
  const [user] = findTraders(exchange.truth);
  hold(exchange, user, { BTC: '0.01', ETH: '0.1' });
  back(exchange, user, COLLATERAL);
  exchange.fault = ({ type }) => {
    if (type === 'userAbstraction') return 'unifiedAccount';
    return type === 'spotClearinghouseState' ? spotOf(exchange, user).whole : undefined;
  };
  assert.equal((await exchange.readItem(accountOf(user))).outcome, 'recorded');
  assert.equal(recorded(exchange, user), COLLATERAL);
});

test('where the marks move between all answers, no collateral is guessed', async (t) => {
  const exchange = await followStanding(t);
  const [user] = findTraders(exchange.truth);
  hold(exchange, user, { BTC: '0.01', ETH: '0.1' });
  back(exchange, user, COLLATERAL);
  let price = 90_000;
  exchange.fault = ({ type }) => {
    if (type === 'userAbstraction') return 'unifiedAccount';
    if (type !== 'spotClearinghouseState') return undefined;
    const spot = spotOf(exchange, user).plain;
    price += 10;
    exchange.change([{ type: 'marks', prices: { BTC: `${price}.0` } }]);
    return spot;
  };
  assert.equal((await exchange.readItem(accountOf(user))).outcome, 'upstream');
  assert.equal(recorded(exchange, user), 0);
  assert.ok(exchange.feed.status().counters.mismatches['collateral'] > 0);
});

for (const mode of ['portfolioMargin', 'dexAbstraction']) {
  test(`an account in the mode ${mode} is passed on, and never recorded with a guess`, async (t) => {
    const exchange = await followStanding(t);
    const [user] = findTraders(exchange.truth);
    exchange.fault = ({ type }, truth) => {
      if (type === 'userAbstraction') return mode;
      return type === 'clearinghouseState' ? contradictPrices(truth) : undefined;
    };
    assert.equal((await exchange.readItem(accountOf(user))).outcome, 'upstream');
    await exchange.advance(1_000);
    const { addresses, modes } = exchange.ledger;
    assert.equal(modes.find(addresses.find(user)), mode, 'the mode itself is recorded');
    assert.deepEqual(costOf(exchange, user), {
      ...{ clearinghouseState: 1, userAbstraction: 1, spotClearinghouseState: 0 },
    });
    assert.ok(exchange.feed.status().counters.mismatches['userAbstraction'] > 0);
  });
}

const ODD_SPOTS: readonly [string, unknown][] = [
  [
    'a balance below what is held',
    { balances: [{ token: 0, total: '-1.0', hold: '543038.7473040001' }] },
  ],
  ['another shape', { balances: 5 }],
  ['nothing', null],
];

for (const [name, spot] of ODD_SPOTS) {
  test(`a spot answer with ${name} makes no account fail`, async (t) => {
    const exchange = await followStanding(t);
    const [user] = findTraders(exchange.truth);
    exchange.fault = ({ type }, truth) => {
      if (type === 'userAbstraction') return 'unifiedAccount';
      if (type === 'spotClearinghouseState') return spot;
      return type === 'clearinghouseState' ? contradictPrices(truth) : undefined;
    };
    assert.equal((await exchange.readItem(accountOf(user))).outcome, 'upstream');
  });
}

test('an account is passed on, and stays recorded, while its mode or spot balance cannot be asked for', async (t) => {
  const exchange = await followStanding(t);
  const [user] = findTraders(exchange.truth);
  hold(exchange, user, { BTC: '-2.0' });
  assert.equal((await exchange.readItem(accountOf(user))).outcome, 'recorded');
  for (const missing of ['userAbstraction', 'spotClearinghouseState']) {
    back(exchange, user, COLLATERAL);
    exchange.fault = ({ type }) => {
      if (type === missing) throw new UpstreamError('server', 'status 500');
      return type === 'userAbstraction' ? 'unifiedAccount' : undefined;
    };
    await exchange.advance(2_000);
    assert.equal((await exchange.readItem(accountOf(user), 0)).outcome, 'upstream', missing);
    assert.equal((await exchange.readItem(accountOf(user))).outcome, 'recorded', missing);
    assert.equal(recorded(exchange, user), 0, missing);
  }
  exchange.fault = ({ type }) => {
    if (type === 'userAbstraction') return 'unifiedAccount';
    return type === 'spotClearinghouseState' ? spotOf(exchange, user).plain : undefined;
  };
  await exchange.advance(65_000);
  assert.equal((await exchange.readItem(accountOf(user), 0)).outcome, 'recorded');
  assert.equal(recorded(exchange, user), COLLATERAL);
});
