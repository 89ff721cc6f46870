/** Complete answers about dexes and markets, and every invalid question about them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerQuestion, parseQuestion } from '../../src/info/read-question.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { createState, type StateView } from '../../src/state/state.ts';
import { assertRefused, parseQueryText, type Refused, stateOf } from './states.ts';

const DEPLOYER = '0xABCDEF0000000000000000000000000000000001';
const USER = '0xabcdef0000000000000000000000000000000002';
const VALIDATORS = [1, 2, 3].map((digit) => `0x00000000000000000000000000000000000000a${digit}`);

interface Terms {
  readonly dex?: string;
  readonly onlyIsolated?: boolean;
  /** The maximum leverage of each tier, by its lower bound. */
  readonly tiers: Readonly<Record<string, number>>;
}

function market(coin: string, szDecimals: number, markPx: string, terms: Terms) {
  const { dex = '', onlyIsolated = false, tiers } = terms;
  const marginTiers = Object.entries(tiers).map(([lowerBound, maxLeverage]) => ({
    lowerBound,
    maxLeverage,
  }));
  return { type: 'market', dex, coin, szDecimals, marginTiers, onlyIsolated, markPx };
}

const BTC = market('BTC', 5, '97300', { tiers: { '0.0': 40, '150000000.0': 20 } });
const GOLD = market('abc:GOLD', 1, '2650.5', {
  dex: 'abc',
  tiers: { '0.0': 20, '5000.5': 10, '90071992.0': 5 },
});

/** Markets of two dexes, listed in turn; a third dex has none. */
const STATE = stateOf(
  [
    { type: 'perpDex', dex: 'abc', fullName: 'Alphabet "Commodities"', deployer: DEPLOYER },
    { type: 'perpDex', dex: 'xyz', fullName: 'Ünlisted\\', deployer: USER },
    BTC,
    market('ETH', 4, '3500.25', { tiers: { '0.0': 25 } }),
    GOLD,
    market('MOG', 0, '0.009348', { tiers: { '0.0': 3 }, onlyIsolated: true }),
    market('SOL', 2, '150.1234', { tiers: { '0.0': 25 } }),
    market('abc:OIL', 2, '71.0', { dex: 'abc', tiers: { '0.0': 20 } }),
  ],
  [{ type: 'marks', prices: { BTC: '97300.5', MOG: '0.01' } }],
);

function ask(type: string, fields: object = {}, state: StateView = STATE): string {
  return answerQuestion(state, { type, ...fields });
}

const FIRST_META =
  '{"universe":[{"szDecimals":5,"name":"BTC","maxLeverage":40,"marginTableId":1001}' +
  ',{"szDecimals":4,"name":"ETH","maxLeverage":25,"marginTableId":25}' +
  ',{"szDecimals":0,"name":"MOG","maxLeverage":3,"marginTableId":3,"onlyIsolated":true}' +
  ',{"szDecimals":2,"name":"SOL","maxLeverage":25,"marginTableId":25}]' +
  ',"marginTables":[[1001,{"description":"","marginTiers":[{"lowerBound":"0.0","maxLeverage":40}' +
  ',{"lowerBound":"150000000.0","maxLeverage":20}]}]' +
  ',[25,{"description":"","marginTiers":[{"lowerBound":"0.0","maxLeverage":25}]}]' +
  ',[3,{"description":"","marginTiers":[{"lowerBound":"0.0","maxLeverage":3}]}]]' +
  ',"collateralToken":0}';

const ABC_META =
  '{"universe":[{"szDecimals":1,"name":"abc:GOLD","maxLeverage":20,"marginTableId":1003}' +
  ',{"szDecimals":2,"name":"abc:OIL","maxLeverage":20,"marginTableId":20}]' +
  ',"marginTables":[[1003,{"description":"","marginTiers":[{"lowerBound":"0.0","maxLeverage":20}' +
  ',{"lowerBound":"5000.5","maxLeverage":10},{"lowerBound":"90071992.0","maxLeverage":5}]}]' +
  ',[20,{"description":"","marginTiers":[{"lowerBound":"0.0","maxLeverage":20}]}]]' +
  ',"collateralToken":0}';

const NO_META = '{"universe":[],"marginTables":[],"collateralToken":0}';

test('meta lists the markets of one dex, each margin table once', () => {
  assert.equal(ask('meta'), FIRST_META);
  assert.equal(ask('meta', { dex: '' }), FIRST_META);
  assert.equal(ask('meta', { dex: 'abc' }), ABC_META);
  assert.equal(ask('meta', { dex: 'xyz' }), NO_META);
});

test('allPerpMetas lists the markets of every dex, in their order', () => {
  assert.equal(ask('allPerpMetas'), `[${FIRST_META},${ABC_META},${NO_META}]`);
});

function context(markPx: string): string {
  return (
    '{"funding":"0.0","openInterest":"0.0","prevDayPx":"0.0","dayNtlVlm":"0.0","premium":null' +
    `,"oraclePx":"0.0","markPx":"${markPx}","midPx":null,"impactPxs":null,"dayBaseVlm":"0.0"}`
  );
}

test('metaAndAssetCtxs has a mark price for each market of meta', () => {
  const prices = ['97300.5', '3500.25', '0.01', '150.1234'];
  assert.equal(ask('metaAndAssetCtxs'), `[${FIRST_META},[${prices.map(context).join(',')}]]`);
  assert.equal(
    ask('metaAndAssetCtxs', { dex: 'abc' }),
    `[${ABC_META},[${context('2650.5')},${context('71.0')}]]`,
  );
  assert.equal(ask('metaAndAssetCtxs', { dex: 'xyz' }), `[${NO_META},[]]`);
});

test('allMids gives the mark prices of one dex', () => {
  assert.equal(ask('allMids'), '{"BTC":"97300.5","ETH":"3500.25","MOG":"0.01","SOL":"150.1234"}');
  assert.equal(ask('allMids', { dex: 'abc' }), '{"abc:GOLD":"2650.5","abc:OIL":"71.0"}');
  assert.equal(ask('allMids', { dex: 'xyz' }), '{}');
});

const DEX_DETAILS =
  '"oracleUpdater":null,"feeRecipient":null,"assetToStreamingOiCap":[],"subDeployers":[]' +
  ',"deployerFeeScale":"0.0","lastDeployerFeeScaleChangeTime":"1970-01-01T00:00:00"' +
  ',"assetToFundingMultiplier":[],"assetToFundingInterestRate":[]';

test('perpDexs lists the dexes, the first as null', () => {
  assert.equal(
    ask('perpDexs'),
    '[null,{"name":"abc","fullName":"Alphabet \\"Commodities\\""' +
      `,"deployer":"${DEPLOYER.toLowerCase()}",${DEX_DETAILS}}` +
      `,{"name":"xyz","fullName":"Ünlisted\\\\","deployer":"${USER}",${DEX_DETAILS}}]`,
  );
});

test('an empty ledger has one dex, and no markets', () => {
  const state = createState();
  assert.equal(ask('meta', {}, state), NO_META);
  assert.equal(ask('metaAndAssetCtxs', {}, state), `[${NO_META},[]]`);
  assert.equal(ask('allPerpMetas', {}, state), `[${NO_META}]`);
  assert.equal(ask('allMids', {}, state), '{}');
  assert.equal(ask('perpDexs', {}, state), '[null]');
  assert.equal(ask('exchangeStatus', {}, state), '{"time":0,"specialStatuses":null}');
});

function marginTable(id: number, state: StateView = STATE): string {
  return ask('marginTable', { id }, state);
}

function oneTier(maxLeverage: number): string {
  return `{"description":"","marginTiers":[{"lowerBound":"0.0","maxLeverage":${maxLeverage}}]}`;
}

const BTC_TABLE =
  '{"description":"","marginTiers":[{"lowerBound":"0.0","maxLeverage":40}' +
  ',{"lowerBound":"150000000.0","maxLeverage":20}]}';
const GOLD_TABLE =
  '{"description":"","marginTiers":[{"lowerBound":"0.0","maxLeverage":20}' +
  ',{"lowerBound":"5000.5","maxLeverage":10},{"lowerBound":"90071992.0","maxLeverage":5}]}';

test('a margin table with one tier has its leverage for a number, others one after their market', () => {
  assert.equal(marginTable(3), oneTier(3));
  assert.equal(marginTable(20), oneTier(20));
  assert.equal(marginTable(25), oneTier(25));
  assert.equal(marginTable(1001), BTC_TABLE);
  assert.equal(marginTable(1003), GOLD_TABLE);
});

test('meta and marginTable agree on every table', () => {
  for (const { marginTables } of JSON.parse(ask('allPerpMetas'))) {
    for (const [id, table] of marginTables) assert.deepEqual(JSON.parse(marginTable(id)), table);
  }
});

test('the number of a margin table stays when the tiers of other markets change', () => {
  const flatBtc = { ...BTC, marginTiers: [{ lowerBound: '0.0', maxLeverage: 1000 }] };
  const before = stateOf([BTC, { ...GOLD, dex: '', coin: 'GOLD' }]);
  const after = stateOf([BTC, { ...GOLD, dex: '', coin: 'GOLD' }], [flatBtc]);
  assert.equal(marginTable(1001, before), BTC_TABLE);
  assert.equal(marginTable(1002, before), GOLD_TABLE);
  assert.equal(marginTable(1002, after), GOLD_TABLE);
  assert.equal(marginTable(1000, after), oneTier(1000));
  assertRefused(() => marginTable(1001, after), unknownTable(1001));
});

test('the clock is the time of the last block, and nothing is special', () => {
  assert.equal(ask('exchangeStatus'), '{"time":1758556801000,"specialStatuses":null}');
});

const SPOT_META =
  '{"universe":[],"tokens":[{"name":"USDC","szDecimals":6,"weiDecimals":6,"index":0' +
  ',"tokenId":"0x00000000000000000000000000000000","isCanonical":true,"evmContract":null' +
  ',"fullName":null,"deployerTradingFeeShare":"0.0"}]}';

test('of spot and outcome markets there are none, only the token that margin is held in', () => {
  for (const state of [STATE, createState()]) {
    assert.equal(ask('spotMeta', {}, state), SPOT_META);
    assert.equal(ask('spotMetaAndAssetCtxs', {}, state), `[${SPOT_META},[]]`);
    assert.equal(ask('spotClearinghouseState', { user: USER }, state), '{"balances":[]}');
    assert.equal(ask('outcomeMeta', {}, state), '{"outcomes":[],"questions":[]}');
  }
});

test('the mode of every account is the default', () => {
  for (const user of [USER, DEPLOYER]) {
    assert.equal(ask('userAbstraction', { user }), '"default"');
  }
});

function summary(delegated: string): string {
  return (
    `{"delegated":"${delegated}","undelegated":"0.0"` +
    ',"totalPendingWithdrawal":"0.0","nPendingWithdrawals":0}'
  );
}

function delegation(validator: string, amount: string) {
  return { type: 'delegation', user: USER, validator, amount, lockedUntilTimestamp: 0 };
}

test("a delegator's sum is exact at any size", () => {
  const [first, second, third] = VALIDATORS;
  const staked = stateOf(
    [delegation(first, '90071992547.40993'), delegation(second, '0.00000001')],
    [delegation(third, '90071992547.40993001')],
  );
  assert.equal(ask('delegatorSummary', { user: USER }, staked), summary('180143985094.81986002'));
  const upperCase = { user: `0x${USER.slice(2).toUpperCase()}` };
  assert.equal(ask('delegatorSummary', upperCase, staked), summary('180143985094.81986002'));
});

test('who has delegated nothing, or has taken all back, has a sum of zero', () => {
  const [first, second] = VALIDATORS;
  const left = stateOf(
    [delegation(first, '5.0'), delegation(second, '7.5')],
    [delegation(first, '0.0')],
  );
  assert.equal(ask('delegatorSummary', { user: USER }, left), summary('7.5'));
  assert.equal(ask('delegatorSummary', { user: DEPLOYER }, left), summary('0.0'));
  assert.equal(ask('delegatorSummary', { user: USER }, createState()), summary('0.0'));
});

test('all of them weigh the same', () => {
  const types = ['meta', 'metaAndAssetCtxs', 'allPerpMetas', 'allMids', 'perpDexs'];
  const others = ['exchangeStatus', 'spotMeta', 'spotMetaAndAssetCtxs', 'outcomeMeta'];
  for (const type of [...types, ...others]) assert.equal(parseQuestion({ type }).weight, 20);
  assert.equal(parseQuestion({ type: 'marginTable', id: 3 }).weight, 20);
  for (const type of [
    'userAbstraction',
    'delegatorSummary',
    'spotClearinghouseState',
    'webData2',
  ]) {
    assert.equal(parseQuestion({ type, user: USER }).weight, 20);
  }
});

function unknownTable(id: number): Refused {
  const message = `id: got ${id}, expected the marginTableId of a market, as listed by meta`;
  return { code: 'invalid_field', field: 'id', message };
}

test('a margin table that no market has is refused', () => {
  for (const id of [1, 26, 40, 1000, 1002, 1004, 1007, Number.MAX_SAFE_INTEGER]) {
    assertRefused(() => marginTable(id), unknownTable(id));
  }
  const question = parseQuestion({ type: 'marginTable', id: 26 });
  assertRefused(() => question.validate(STATE), unknownTable(26));
});

test('the number of a margin table must be a whole number above 0', () => {
  const wrong: [unknown, string][] = [
    [null, 'null'],
    ['3', '"3"'],
    [0, '0'],
    [-1, '-1'],
    [1.5, '1.5'],
    [2 ** 53, '9007199254740992'],
    [Number.POSITIVE_INFINITY, 'Infinity'],
    [true, 'true'],
    [[3], 'an array of 1'],
    [{}, 'an object'],
  ];
  for (const [id, shown] of wrong) {
    assertRefused(() => ask('marginTable', { id }), {
      code: 'invalid_field',
      field: 'id',
      message: `id: got ${shown}, expected a whole number from 1 to 9007199254740991`,
    });
  }
  assertRefused(() => ask('marginTable'), {
    code: 'missing_field',
    field: 'id',
    message: 'id: got nothing, expected the id of a margin table, as listed by meta',
  });
});

for (const type of ['meta', 'metaAndAssetCtxs', 'allMids']) {
  test(`${type} is refused for a dex that is not there, or none`, () => {
    const unknown: Refused = {
      code: 'unknown_dex',
      field: 'dex',
      message: 'dex: got "ABC", expected one of "", "abc", "xyz"',
    };
    assertRefused(() => ask(type, { dex: 'ABC' }), unknown);
    assertRefused(() => parseQuestion({ type, dex: 'ABC' }).validate(STATE), unknown);
    for (const [dex, shown] of [
      [null, 'null'],
      [0, '0'],
      [['abc'], 'an array of 1'],
    ]) {
      assertRefused(() => ask(type, { dex }), {
        code: 'invalid_field',
        field: 'dex',
        message: `dex: got ${shown}, expected the name of a perp dex as text`,
      });
    }
  });
}

for (const type of ['userAbstraction', 'delegatorSummary']) {
  test(`${type} is refused without an address`, () => {
    assertRefused(() => ask(type), {
      code: 'missing_field',
      field: 'user',
      message: 'user: got nothing, expected an address: 0x and 40 hexadecimal digits, either case',
    });
    for (const [user, shown] of [
      ['0x12', '"0x12"'],
      [12, '12'],
      [null, 'null'],
    ]) {
      assertRefused(() => ask(type, { user }), {
        code: 'invalid_address',
        field: 'user',
        message: `user: got ${shown}, expected 0x and 40 hexadecimal digits`,
      });
    }
  });
}

function answerQuery(query: string): string {
  return parseQueryText(query).answer(STATE);
}

test('a query asks the same as a body, and what it has besides is ignored', () => {
  assert.equal(answerQuery('type=meta'), FIRST_META);
  assert.equal(answerQuery('dex=abc&type=meta'), ABC_META);
  assert.equal(answerQuery('type=meta&dex='), FIRST_META);
  assert.equal(answerQuery('type=meta&Dex=xyz&user=&user=1&__proto__=2&=3'), FIRST_META);
  assert.equal(answerQuery('type=allMids&dex=%61bc'), ask('allMids', { dex: 'abc' }));
  assert.equal(answerQuery(`type=userAbstraction&user=${DEPLOYER}`), '"default"');
  assert.equal(answerQuery('type=exchangeStatus&dex=none'), ask('exchangeStatus'));
  assert.equal(answerQuery('type=marginTable&id=1001'), BTC_TABLE);
  assert.equal(answerQuery('type=marginTable&id=000003'), oneTier(3));
});

function wrongId(shown: string): Refused {
  const message = `id: got ${shown}, expected a whole number from 1 to 9007199254740991`;
  return { code: 'invalid_field', field: 'id', message };
}

function twice(field: string, count = 2): Refused {
  const message = `${field}: got ${count} values in the query, expected one`;
  return { code: 'invalid_field', field, message };
}

test('a query is refused for what a body would be refused for', () => {
  const ids = { '': '""', '1.5': '"1.5"', '-3': '"-3"', '0': '0', '1e3': '"1e3"', '0x3': '"0x3"' };
  for (const [id, shown] of Object.entries(ids)) {
    assertRefused(() => answerQuery(`type=marginTable&id=${id}`), wrongId(shown));
  }
  const tooLong = '1'.repeat(17);
  assertRefused(() => answerQuery(`type=marginTable&id=${tooLong}`), wrongId(`"${tooLong}"`));
  assertRefused(() => answerQuery('type=marginTable&id=26'), unknownTable(26));
  assertRefused(() => answerQuery('type=meta&dex=ABC'), {
    code: 'unknown_dex',
    field: 'dex',
    message: 'dex: got "ABC", expected one of "", "abc", "xyz"',
  });
  assertRefused(() => answerQuery('type=delegatorSummary&user='), {
    code: 'invalid_address',
    field: 'user',
    message: 'user: got "", expected 0x and 40 hexadecimal digits',
  });
});

test('a query that gives a parameter twice is refused', () => {
  assertRefused(() => answerQuery('type=meta&type=meta'), twice('type'));
  assertRefused(() => answerQuery('type=meta&dex=&dex=abc'), twice('dex'));
  assertRefused(() => answerQuery('type=marginTable&id=3&id=3&id=3'), twice('id', 3));
  assertRefused(() => answerQuery('type=meta&atHeight=3&atHeight=3'), twice('atHeight'));
  assertRefused(() => answerQuery(`type=userAbstraction&user=${USER}&user=${USER}`), twice('user'));
});

test('what the ledger does not hold never changes, and dexes change when one is added', () => {
  const changedAt = (type: string) => parseQuestion({ type, user: USER }).changedAt(STATE);
  for (const type of [
    ...['spotMeta', 'spotMetaAndAssetCtxs', 'spotClearinghouseState', 'outcomeMeta'],
    ...['exchangeStatus', 'userAbstraction'],
  ]) {
    assert.equal(changedAt(type), 0, type);
  }
  assert.equal(changedAt('perpDexs'), 1);
});

test('an answer about markets has changed when its terms or marks have', () => {
  const state = stateOf(
    [{ type: 'perpDex', dex: 'abc', fullName: 'Alphabet', deployer: USER }, BTC, GOLD],
    [{ type: 'marks', prices: { BTC: '97300.5' } }],
    [{ ...GOLD, marginTiers: [{ lowerBound: '0.0', maxLeverage: 5 }] }],
    [{ type: 'transfer', user: USER, dex: '', amount: '5.0' }],
    [],
  );
  const changedAt = (type: string, fields: object = {}, of = state) =>
    parseQuestion({ type, ...fields }).changedAt(of);
  const onBoth = (type: string) => [changedAt(type), changedAt(type, { dex: 'abc' })];
  assert.deepEqual(onBoth('meta'), [1, 3]);
  assert.deepEqual(onBoth('metaAndAssetCtxs'), [2, 3]);
  assert.deepEqual(onBoth('allMids'), [2, 3]);
  assert.equal(changedAt('allPerpMetas'), 3);
  assert.deepEqual(
    [1001, 5].map((id) => changedAt('marginTable', { id })),
    [1, 3],
  );
  assert.deepEqual(
    [changedAt('webData2', { user: USER }), changedAt('webData2', { user: DEPLOYER })],
    [4, 2],
  );
  for (const [type, fields] of [
    ...['meta', 'metaAndAssetCtxs', 'allMids'].map((each) => [each, { dex: 'no' }] as const),
    ['marginTable', { id: 7 }],
  ] as const) {
    assert.throws(() => changedAt(type, fields), RequestError);
  }
});
