/** An upstream whose lists change, or have odd elements, while it is followed. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Address, formatAddress } from '../../../src/exact/address.ts';
import { answerQuestion } from '../../../src/info/read-question.ts';
import { RequestError } from '../../../src/info/request-error.ts';
import { createSimulator } from '../../../src/simulator/simulator.ts';
import { findAccount } from '../../../src/state/accounts.ts';
import { createState, type StateView } from '../../../src/state/state.ts';
import { COLLATERAL } from '../../../src/state/tables/columns.ts';
import { accountOf, FollowedExchange, findTraders, followStanding } from './followed-exchange.ts';
import { append, market } from './ledgers.ts';

type Row = Record<string, unknown>;
interface Meta {
  universe: unknown[];
  marginTables: unknown[];
  collateralToken: unknown;
}

const MARKETS_MS = 61_000;

function ask(state: StateView, type: string, fields: Row = {}) {
  return JSON.parse(answerQuestion(state, { type, ...fields }));
}

function codeOf(state: StateView, type: string, fields: Row = {}): string | undefined {
  try {
    ask(state, type, fields);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof RequestError, String(error));
    return error.code;
  }
}

/** From now on the upstream lists other markets. */
function spoilMetas(exchange: FollowedExchange, change: (metas: Meta[]) => unknown[]): void {
  exchange.fault = ({ type }, truth) =>
    type === 'allPerpMetas' ? change(structuredClone(truth)) : undefined;
}

/** What the upstream answers now. */
function listedMetas(exchange: FollowedExchange): Meta[] {
  return answerOf(exchange, 'allPerpMetas');
}

function answerOf(exchange: FollowedExchange, type: string) {
  const truth = exchange.answer({ type });
  return exchange.fault({ type }, truth) ?? truth;
}

interface Positioned {
  readonly assetPositions: readonly { readonly position: { readonly coin: string } }[];
}

function coinsOf({ assetPositions }: Positioned): string[] {
  return assetPositions.map(({ position }) => position.coin);
}

/** Without the time, and in one order: the upstream's lists change, its accounts do not. */
function figuresOf(answer: Positioned) {
  const assetPositions = answer.assetPositions.toSorted((first, second) =>
    first.position.coin < second.position.coin ? -1 : 1,
  );
  return { ...answer, assetPositions, time: 0 };
}

/** Reads the accounts: the ledger has the upstream's figures, in the order of the upstream's list. */
async function assertExact(exchange: FollowedExchange, users: readonly Address[]): Promise<void> {
  const { ledger } = exchange;
  const listed = ask(ledger, 'meta').universe.map(({ name }: Row) => name);
  for (const address of users) {
    const { outcome } = await exchange.readItem(accountOf(address), 0);
    assert.equal(outcome, 'recorded', exchange.log.join('\n'));
    const question = { type: 'clearinghouseState', user: formatAddress(address) };
    const ours = ask(ledger, question.type, question);
    assert.ok(ours.assetPositions.length >= 2);
    assert.deepEqual(figuresOf(ours), figuresOf(exchange.exactAnswer(question)));
    const coins = coinsOf(ours);
    assert.deepEqual(
      coins,
      listed.filter((name: string) => coins.includes(name)),
    );
  }
}

/** Each context stands at the place of its market. */
function assertAligned(exchange: FollowedExchange): void {
  const [{ universe }, contexts] = ask(exchange.ledger, 'metaAndAssetCtxs');
  assert.equal(contexts.length, universe.length);
  const [truth, truthContexts] = ask(exchange.truth, 'metaAndAssetCtxs');
  const marks = new Map<unknown, unknown>(
    truth.universe.map(({ name }: Row, place: number) => [name, truthContexts[place].markPx]),
  );
  const named = universe.filter(({ name }: Row) => marks.has(name));
  assert.ok(named.length >= 2);
  for (const [place, { name }] of universe.entries()) {
    const mark = marks.get(name);
    if (mark !== undefined) assert.equal(contexts[place].markPx, mark, name);
  }
}

/** The coins whose trades are subscribed to. */
function tradedCoins({ subscriptions }: FollowedExchange): string[] {
  return subscriptions.flatMap(({ type, coin }) => (type === 'trades' ? (coin ?? []) : []));
}

test('what clients get is what the upstream has said last: delisted, listed, reordered, other tables', async (t) => {
  const exchange = await followStanding(t);
  const { ledger } = exchange;
  exchange.handler?.opened();
  const users = findTraders(exchange.truth)
    .filter((address) => !isBacked(exchange, address))
    .slice(0, 2);
  assert.equal(users.length, 2);
  await assertExact(exchange, users);
  exchange.confirm();
  const [{ universe: firstUniverse }] = listedMetas(exchange);
  const [{ name: delisted }] = firstUniverse as { name: string }[];
  assert.ok(tradedCoins(exchange).includes(delisted));
  assert.deepEqual(ask(ledger, 'allPerpMetas'), listedMetas(exchange));
  const indexes = ledger.markets.markets.map(({ coin }) => coin);
  const changes: ((meta: Meta) => void)[] = [
    ({ universe }) =>
      Object.assign(universe[0] as Row, { isDelisted: true, growthMode: 'enabled' }),
    ({ universe }) =>
      universe.push({ szDecimals: 2, name: 'BRANDNEW', maxLeverage: 3, marginTableId: 3 }),
    ({ universe }) => universe.reverse(),
    (meta) => {
      const tiers = [{ lowerBound: '0.0', maxLeverage: 7 }];
      Object.assign(meta.universe[1] as Row, { marginTableId: 77 });
      meta.marginTables.push([77, { description: 'new', marginTiers: tiers }]);
    },
    (meta) => Object.assign(meta, { collateralToken: 268, more: { deep: [null] } }),
  ];
  for (const [count] of changes.entries()) {
    spoilMetas(exchange, (metas) => {
      for (const change of changes.slice(0, count + 1)) change(metas[0]);
      return metas;
    });
    await exchange.advance(MARKETS_MS);
    assert.deepEqual(ask(ledger, 'allPerpMetas'), listedMetas(exchange), `change ${count}`);
    assert.deepEqual(ask(ledger, 'meta'), listedMetas(exchange)[0]);
    await assertExact(exchange, users);
    assertAligned(exchange);
    assert.ok(!tradedCoins(exchange).includes(delisted), `change ${count}`);
    assert.ok(tradedCoins(exchange).length >= firstUniverse.length - 1);
  }
  assert.deepEqual(ask(ledger, 'marginTable', { id: 77 }).description, 'new');
  const coins = ledger.markets.markets.map(({ coin }) => coin);
  assert.deepEqual(coins.slice(0, indexes.length), indexes, 'our own indexes do not move');
  const before = ledger.universes;
  await exchange.advance(MARKETS_MS);
  assert.equal(ledger.universes, before, 'a list that stays the same is not written again');
});

test('odd elements keep their places and are named, the rest works', async (t) => {
  const exchange = new FollowedExchange();
  t.after(() => exchange.stop());
  const odd = [null, 7, [], {}, { name: 7 }, { name: 'ODD', szDecimals: '2' }];
  exchange.fault = ({ type }, truth) => {
    if (type === 'perpDexs') return [truth[0], null, 7, { name: 7 }, ...truth.slice(1)];
    if (type !== 'allPerpMetas') return undefined;
    const [first, ...others] = structuredClone(truth) as Meta[];
    first.universe.unshift(...odd);
    first.marginTables.push(null, 3, [99], [98, { marginTiers: 'none' }]);
    return [first, null, 7, [], ...others.slice(0, -1), 'none'];
  };
  await exchange.start();
  const { ledger } = exchange;
  const [user] = findTraders(exchange.truth);
  const want = await exchange.readItem(accountOf(user));
  assert.equal(want.outcome, 'recorded');
  assert.deepEqual(ask(ledger, 'meta').universe.slice(0, odd.length), odd);
  assert.deepEqual(ask(ledger, 'perpDexs').slice(0, 4), [null, null, 7, { name: 7 }]);
  const contexts = ask(ledger, 'metaAndAssetCtxs')[1];
  assert.equal(contexts.length, ask(ledger, 'meta').universe.length);
  assert.equal(contexts[0].markPx, null);
  assert.notEqual(contexts[odd.length].markPx, null);
  const { skipped } = exchange.feed.status();
  assert.ok(skipped !== undefined && skipped.count >= 12, JSON.stringify(skipped));
  assert.ok(skipped.first.some((line) => line.startsWith('perpDexs[2] is not listed here')));
  const logged = exchange.log.filter((line) => line.startsWith('universe[1] of dex ""'));
  await exchange.advance(2 * MARKETS_MS);
  assert.equal(logged.length, 1);
});

test('before the first lists are read, questions about markets are refused as not ready', () => {
  const ledger = append(createState(), [{ type: 'partial' }]);
  for (const type of ['meta', 'metaAndAssetCtxs', 'allPerpMetas', 'allMids', 'perpDexs']) {
    assert.equal(codeOf(ledger, type), 'not_ready', type);
  }
  assert.equal(codeOf(ledger, 'marginTable', { id: 3 }), 'not_ready');
  assert.equal(codeOf(ledger, 'meta', { dex: 'xyz' }), 'not_ready');
});

test('a market of the ledger that the upstream does not have is not listed, and its positions come last', async (t) => {
  const foreign = append(createState(), [{ type: 'partial' }, market('FOREIGN')]);
  const exchange = new FollowedExchange({ ledger: foreign });
  t.after(() => exchange.stop());
  await exchange.start();
  await exchange.advance(5_000);
  const { ledger } = exchange;
  assert.deepEqual(ask(ledger, 'meta'), listedMetas(exchange)[0]);
  const user = `0x${'a1'.repeat(20)}`;
  const listed = (listedMetas(exchange)[0].universe[0] as { name: string }).name;
  const position = (coin: string) => ({
    coin,
    szi: '1',
    entryNtl: '10.0',
    leverage: { type: 'cross', value: 3 },
    cumFunding: { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' },
  });
  await exchange.until(() => ledger.markets.findMarket(listed) !== undefined, 120_000);
  const positions = ['FOREIGN', listed].map(position);
  append(ledger, [{ type: 'account', user, dex: '', rawUsd: '9.0', positions }], ledger.time);
  const { assetPositions } = ask(ledger, 'clearinghouseState', { user });
  const coins = assetPositions.map((each: { position: Row }) => each.position['coin']);
  assert.deepEqual(coins, [listed, 'FOREIGN']);
});

test('two upstreams with different markets are followed one after the other on one ledger', async (t) => {
  const first = new FollowedExchange();
  await first.start();
  const [dex] = ask(first.ledger, 'perpDexs').slice(1);
  await first.stop();
  const { ledger, lines, clock } = first;
  const second = new FollowedExchange({ ledger, lines, clock, simulator: otherExchange(first) });
  t.after(() => second.stop());
  second.fault = ({ type }, truth) => {
    if (type === 'perpDexs') return [null, ...truth.slice(2), null];
    if (type !== 'allPerpMetas') return undefined;
    const metas = structuredClone(truth) as Meta[];
    metas[0].universe.reverse();
    return [metas[0], ...metas.slice(2), null];
  };
  await second.start();
  await second.advance(5_000);
  assert.deepEqual(ask(ledger, 'perpDexs'), answerOf(second, 'perpDexs'));
  assert.deepEqual(ask(ledger, 'meta'), listedMetas(second)[0]);
  second.hasBlocks = false;
  const users = findTraders(second.truth).filter((address) => !isBacked(second, address));
  assert.ok(users.length >= 2);
  await assertExact(second, users.slice(0, 2));
  await second.advance(MARKETS_MS);
  assertAligned(second);
  assert.equal(codeOf(ledger, 'meta', { dex: dex.name }), 'unknown_dex');
  const user = `0x${'a1'.repeat(20)}`;
  assert.equal(codeOf(ledger, 'clearinghouseState', { user, dex: dex.name }), 'unknown_dex');
});

test('accounts on a dex that the upstream does not have are neither read nor subscribed to', async (t) => {
  const first = new FollowedExchange();
  await first.start();
  const [{ name: dex }] = ask(first.ledger, 'perpDexs').slice(1);
  const [user] = findTraders(first.truth);
  for (const each of ['', dex]) {
    assert.equal((await first.readItem(accountOf(user, each))).outcome, 'recorded');
  }
  await first.stop();
  const { ledger, lines, clock } = first;
  const simulator = otherExchange(first);
  const settings = { usersMax: 5, sweepMs: 5_000 };
  const second = new FollowedExchange({ ledger, lines, clock, simulator, settings });
  t.after(() => second.stop());
  second.fault = ({ type }, truth) => {
    if (type === 'perpDexs') return [null];
    return type === 'allPerpMetas' ? truth.slice(0, 1) : undefined;
  };
  const subscribed = new Set<unknown>();
  const noteSubscribed = () => {
    for (const one of second.subscriptions) {
      if (one.type === 'clearinghouseState') subscribed.add(one['dex'] ?? '');
    }
  };
  second.handler?.opened();
  await second.start();
  const countForeign = () => second.asked.filter(({ question }) => question['dex'] === dex).length;
  const before = countForeign();
  for (let count = 0; count < 30; count++) {
    second.feed.noteInterest([{ item: accountOf(user, dex), count: 1, keyId: 'a' }]);
    await second.advance(1_000);
    noteSubscribed();
  }
  assert.deepEqual([...subscribed], ['']);
  assert.equal(countForeign() - before, 0);
  assert.equal(second.feed.status().followed, 1);
});

/** Whether a spot balance stands behind the account: this exchange answers no spot balances. */
function isBacked({ truth }: FollowedExchange, address: Address): boolean {
  const account = findAccount(truth, truth.addresses.find(address), 0);
  return truth.accounts.get(account, COLLATERAL) !== 0;
}

/** As far as the first one, with the markets of another seed. */
function otherExchange({ simulator }: FollowedExchange) {
  const other = createSimulator({ seed: 'another exchange', accounts: 20 });
  while (other.state.time < simulator.state.time) other.next();
  return other;
}
