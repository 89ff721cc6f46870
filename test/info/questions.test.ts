/** Every invalid question, and complete answers as text. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerQuestion, parseQuestion } from '../../src/info/read-question.ts';
import { REQUEST_ERRORS, type RequestErrorCode } from '../../src/info/request-error.ts';
import { createState, type State } from '../../src/state/state.ts';
import { assertRefused, type Refused, stateOf, TIME } from './states.ts';
import { TYPES } from './types.ts';

const USER = '0xabcdef0000000000000000000000000000000001';
const STRANGER = '0xabcdef0000000000000000000000000000000002';
const FIRST_VALIDATOR = '0x00000000000000000000000000000000000000a1';
const SECOND_VALIDATOR = '0x00000000000000000000000000000000000000a2';
const THIRD_VALIDATOR = '0x00000000000000000000000000000000000000a3';

const DEX = { type: 'perpDex', dex: 'xyz', fullName: 'Metals', deployer: STRANGER };

interface WrongQuestion extends Refused {
  readonly about: string;
  readonly question: unknown;
}

const ADDRESS = '0x and 40 hexadecimal digits';
const NO_ARCHIVE =
  'there is no archive to ask about the past, or it holds nothing yet; serve --archive keeps one';

/** A body that is no question at all. */
function wrongBody(question: unknown, shown: string): WrongQuestion {
  return {
    about: `a body that is ${shown}`,
    question,
    code: 'invalid_field',
    field: 'body',
    message: `body: got ${shown}, expected an object with a type`,
  };
}

function wrongType(code: RequestErrorCode, type: unknown, shown: string): WrongQuestion {
  return {
    about: `the type ${shown}`,
    question: { type, user: USER },
    code,
    field: 'type',
    message: `type: got ${shown}, expected one of ${TYPES}`,
  };
}

function isBareHex(user: unknown): boolean {
  return typeof user === 'string' && /^[0-9a-f]{40}$/i.test(user);
}

function wrongUser(user: unknown, shown: string): WrongQuestion {
  return {
    about: `the user ${shown}`,
    question: { type: 'delegations', user },
    code: 'invalid_address',
    field: 'user',
    message: `user: got ${shown}, expected ${ADDRESS}${isBareHex(user) ? ': 0x is missing' : ''}`,
  };
}

function wrongDex(dex: unknown, shown: string): WrongQuestion {
  const isName = typeof dex === 'string';
  const expected = isName ? 'one of "", "xyz"' : 'the name of a perp dex as text';
  return {
    about: `the dex ${shown}`,
    question: { type: 'clearinghouseState', user: USER, dex },
    code: isName ? 'unknown_dex' : 'invalid_field',
    field: 'dex',
    message: `dex: got ${shown}, expected ${expected}`,
  };
}

function missingUser(type: string, source = `{"type":"${type}"}`): WrongQuestion {
  return {
    about: `no user in ${source}`,
    question: JSON.parse(source),
    code: 'missing_field',
    field: 'user',
    message: `user: got nothing, expected an address: ${ADDRESS}, either case`,
  };
}

const WRONG_QUESTIONS: readonly WrongQuestion[] = [
  wrongBody(null, 'null'),
  wrongBody(undefined, 'nothing'),
  wrongBody(true, 'true'),
  wrongBody(5, '5'),
  wrongBody('delegations', '"delegations"'),
  wrongBody([], 'an array of 0'),
  wrongBody([{ type: 'delegations' }], 'an array of 1'),
  wrongType('missing_field', undefined, 'nothing'),
  wrongType('invalid_field', null, 'null'),
  wrongType('invalid_field', 5, '5'),
  wrongType('invalid_field', false, 'false'),
  wrongType('invalid_field', ['delegations'], 'an array of 1'),
  wrongType('invalid_field', {}, 'an object'),
  wrongType('unknown_type', '', '""'),
  wrongType('unknown_type', 'openOrders', '"openOrders"'),
  wrongType('unknown_type', 'Delegations', '"Delegations"'),
  wrongType('unknown_type', ' delegations', '" delegations"'),
  wrongType('unknown_type', 'constructor', '"constructor"'),
  wrongType('unknown_type', '__proto__', '"__proto__"'),
  wrongType('unknown_type', 'toString', '"toString"'),
  wrongType('unknown_type', 't'.repeat(60_000), `"${'t'.repeat(60)}"… (60000 characters)`),
  missingUser('clearinghouseState'),
  missingUser('delegations'),
  missingUser('delegations', `{"type":"delegations","__proto__":{"user":"${USER}"}}`),
  missingUser('delegations', `{"type":"delegations","User":"${USER}"}`),
  wrongUser(null, 'null'),
  wrongUser(5, '5'),
  wrongUser([USER], 'an array of 1'),
  wrongUser({}, 'an object'),
  wrongUser('', '""'),
  wrongUser('alice', '"alice"'),
  wrongUser(USER.slice(0, -1), '"0xabcdef000000000000000000000000000000000"'),
  wrongUser(`${USER}0`, '"0xabcdef00000000000000000000000000000000010"'),
  wrongUser(USER.slice(2), '"abcdef0000000000000000000000000000000001"'),
  wrongUser(USER.replace('f', 'g'), '"0xabcdeg0000000000000000000000000000000001"'),
  wrongUser(USER.replace('0x', '0X'), '"0Xabcdef0000000000000000000000000000000001"'),
  wrongUser(` ${USER}`, '" 0xabcdef0000000000000000000000000000000001"'),
  wrongUser(`${USER} `, '"0xabcdef0000000000000000000000000000000001 "'),
  wrongUser(`${USER.slice(0, -1)} `, '"0xabcdef000000000000000000000000000000000 "'),
  wrongDex(null, 'null'),
  wrongDex(5, '5'),
  wrongDex(false, 'false'),
  wrongDex(['xyz'], 'an array of 1'),
  wrongDex('abc', '"abc"'),
  wrongDex('XYZ', '"XYZ"'),
  wrongDex(' ', '" "'),
  wrongDex('__proto__', '"__proto__"'),
  wrongDex('constructor', '"constructor"'),
  {
    about: 'a moment, where there is no archive',
    question: { type: 'delegations', user: USER, atHeight: 5 },
    code: 'unknown_height',
    field: undefined,
    message: NO_ARCHIVE,
  },
  {
    about: 'a time range, where there is no archive',
    question: { type: 'accountHistory', user: USER },
    code: 'unknown_height',
    field: undefined,
    message: NO_ARCHIVE,
  },
  {
    about: 'no user beside a moment',
    question: { type: 'delegations', atHeight: 5 },
    code: 'missing_field',
    field: 'user',
    message: `user: got nothing, expected an address: ${ADDRESS}, either case`,
  },
  {
    about: 'a moment that is none',
    question: { type: 'delegations', user: USER, atHeight: 0 },
    code: 'invalid_field',
    field: 'atHeight',
    message: 'atHeight: got 0, expected a whole number from 1 to 9007199254740991',
  },
  {
    about: 'a time range to a moment that is none',
    question: { type: 'accountHistory', user: USER, atTime: -1 },
    code: 'invalid_field',
    field: 'atTime',
    message: 'atTime: got -1, expected a whole number from 0 to 9007199254740991',
  },
  {
    about: 'a format that is none',
    question: { type: 'accountHistory', user: USER, format: 'xml' },
    code: 'invalid_field',
    field: 'format',
    message: 'format: got "xml", expected "json" or "csv"',
  },
  {
    about: 'CSV of what has no rows',
    question: { type: 'portfolio', user: USER, format: 'csv' },
    code: 'invalid_field',
    field: 'format',
    message: 'format: got "csv", expected "json", the only format of portfolio',
  },
];

const stateWithDex = stateOf([DEX]);

for (const { about, question, ...refused } of WRONG_QUESTIONS) {
  test(`a question is refused for ${about.slice(0, 100)}`, () => {
    assertRefused(() => answerQuestion(stateWithDex, question), refused);
  });
}

test('an unknown dex is answered with the names of at most twenty', () => {
  const dexes = Array.from({ length: 25 }, (_, index) => ({ ...DEX, dex: `d${index}` }));
  const names = ['', ...dexes.map(({ dex }) => dex)].slice(0, 20).map((name) => `"${name}"`);
  const question = { type: 'clearinghouseState', user: USER, dex: 'xyz' };
  assert.throws(() => answerQuestion(stateOf(dexes), question), {
    message: `dex: got "xyz", expected one of ${names.join(', ')} and 6 more`,
  });
  for (const [count, more] of [
    [19, ''],
    [20, ' and 1 more'],
  ] as const) {
    assert.throws(() => answerQuestion(stateOf(dexes.slice(0, count)), question), {
      message: `dex: got "xyz", expected one of ${names.join(', ')}${more}`,
    });
  }
});

test('the wrong questions show every code that says a question is wrong', () => {
  const shown = new Set(WRONG_QUESTIONS.map(({ code }) => code));
  const codes = Object.entries(REQUEST_ERRORS).filter(([, { status }]) => status === 422);
  assert.deepEqual([...shown].sort(), codes.map(([code]) => code).sort());
});

function account(state: State, user: string, dex = ''): string {
  return answerQuestion(state, { type: 'clearinghouseState', user, dex });
}

function delegations(state: State, user: string): string {
  return answerQuestion(state, { type: 'delegations', user });
}

function auction(state: State): string {
  return answerQuestion(state, { type: 'perpDeployAuctionStatus' });
}

test('an empty ledger has time 0, and nothing for anyone', () => {
  const state = createState();
  assert.equal(state.height, 0);
  assert.equal(
    account(state, USER),
    '{"marginSummary":{"accountValue":"0.0","totalNtlPos":"0.0"' +
      ',"totalRawUsd":"0.0","totalMarginUsed":"0.0"}' +
      ',"crossMarginSummary":{"accountValue":"0.0","totalNtlPos":"0.0"' +
      ',"totalRawUsd":"0.0","totalMarginUsed":"0.0"}' +
      ',"crossMaintenanceMarginUsed":"0.0","withdrawable":"0.0"' +
      ',"assetPositions":[],"time":0}',
  );
  assert.equal(delegations(state, USER), '[]');
  assert.equal(auction(state), 'null');
});

function market(coin: string, szDecimals: number, markPx: string) {
  return {
    type: 'market',
    dex: coin.includes(':') ? coin.slice(0, coin.indexOf(':')) : '',
    coin,
    szDecimals,
    marginTiers: [{ lowerBound: '0.0', maxLeverage: 10 }],
    onlyIsolated: false,
    markPx,
  };
}

function transfer(dex: string, amount: string) {
  return { type: 'transfer', user: USER, dex, amount };
}

function fill(coin: string, side: 'B' | 'A', sz: string, px: string) {
  return { type: 'fill', user: USER, coin, side, sz, px, fee: '0.0' };
}

/**
 * Three markets of the first dex and one of another; the user holds two and one, and held a third. Sizes
 * and transfers end in `zeros`, so that all amounts but prices are larger.
 */
function heldState(zeros = ''): State {
  return stateOf(
    [DEX, market('BTC', 2, '100.0'), market('ETH', 2, '50.0'), market('SOL', 1, '10.0')],
    [market('xyz:GOLD', 1, '20.0'), transfer('', `1000${zeros}.0`), transfer('xyz', '500.0')],
    [
      fill('SOL', 'B', `1${zeros}.0`, '10.0'),
      fill('ETH', 'B', `4${zeros}.0`, '50.0'),
      fill('BTC', 'A', `2${zeros}.0`, '100'),
    ],
    [fill('SOL', 'A', `1${zeros}.0`, '10.0'), fill('xyz:GOLD', 'B', '10.0', '19.0')],
    [{ type: 'marks', prices: { BTC: '110.0' } }],
  );
}

const HELD = heldState();

/** The answer about it on the first dex. */
function heldText(zeros = ''): string {
  return (
    `{"marginSummary":{"accountValue":"980${zeros}.0","totalNtlPos":"420${zeros}.0"` +
    `,"totalRawUsd":"1000${zeros}.0","totalMarginUsed":"42${zeros}.0"}` +
    `,"crossMarginSummary":{"accountValue":"980${zeros}.0","totalNtlPos":"420${zeros}.0"` +
    `,"totalRawUsd":"1000${zeros}.0","totalMarginUsed":"42${zeros}.0"}` +
    `,"crossMaintenanceMarginUsed":"21${zeros}.0","withdrawable":"938${zeros}.0"` +
    `,"assetPositions":[{"type":"oneWay","position":{"coin":"BTC","szi":"-2${zeros}.0"` +
    `,"leverage":{"type":"cross","value":10,"rawUsd":"242${zeros}.0"},"entryPx":"100.0"` +
    `,"positionValue":"220${zeros}.0","unrealizedPnl":"-20${zeros}.0","returnOnEquity":"-1.0"` +
    `,"liquidationPx":"566.6666666667","marginUsed":"22${zeros}.0","maxLeverage":10` +
    ',"cumFunding":{"allTime":"0.0","sinceOpen":"0.0","sinceChange":"0.0"}}}' +
    `,{"type":"oneWay","position":{"coin":"ETH","szi":"4${zeros}.0"` +
    `,"leverage":{"type":"cross","value":10,"rawUsd":"-180${zeros}.0"},"entryPx":"50.0"` +
    `,"positionValue":"200${zeros}.0","unrealizedPnl":"0.0","returnOnEquity":"0.0"` +
    `,"liquidationPx":null,"marginUsed":"20${zeros}.0","maxLeverage":10` +
    ',"cumFunding":{"allTime":"0.0","sinceOpen":"0.0","sinceChange":"0.0"}}}]' +
    ',"time":1758556804000}'
  );
}

test('an account shows its open positions in the order of the markets, not of their opening', () => {
  assert.equal(account(HELD, USER), heldText());
});

test('an account of a million times as much has the same prices and ratios', () => {
  assert.equal(account(heldState('000000'), USER), heldText('000000'));
});

test('an account on another dex is an account of its own', () => {
  assert.equal(
    account(HELD, USER, 'xyz'),
    '{"marginSummary":{"accountValue":"510.0","totalNtlPos":"200.0"' +
      ',"totalRawUsd":"310.0","totalMarginUsed":"20.0"}' +
      ',"crossMarginSummary":{"accountValue":"510.0","totalNtlPos":"200.0"' +
      ',"totalRawUsd":"310.0","totalMarginUsed":"20.0"}' +
      ',"crossMaintenanceMarginUsed":"10.0","withdrawable":"490.0"' +
      ',"assetPositions":[{"type":"oneWay","position":{"coin":"xyz:GOLD","szi":"10.0"' +
      ',"leverage":{"type":"cross","value":10,"rawUsd":"-180.0"},"entryPx":"19.0"' +
      ',"positionValue":"200.0","unrealizedPnl":"10.0","returnOnEquity":"0.5263157895"' +
      ',"liquidationPx":null,"marginUsed":"20.0","maxLeverage":10' +
      ',"cumFunding":{"allTime":"0.0","sinceOpen":"0.0","sinceChange":"0.0"}}}]' +
      ',"time":1758556804000}',
  );
});

test('a user that the ledger has never seen has an account of zeros on every dex', () => {
  for (const dex of ['', 'xyz']) {
    assert.equal(
      account(HELD, STRANGER, dex),
      '{"marginSummary":{"accountValue":"0.0","totalNtlPos":"0.0"' +
        ',"totalRawUsd":"0.0","totalMarginUsed":"0.0"}' +
        ',"crossMarginSummary":{"accountValue":"0.0","totalNtlPos":"0.0"' +
        ',"totalRawUsd":"0.0","totalMarginUsed":"0.0"}' +
        ',"crossMaintenanceMarginUsed":"0.0","withdrawable":"0.0"' +
        ',"assetPositions":[],"time":1758556804000}',
    );
  }
  assert.equal(delegations(HELD, STRANGER), '[]');
});

test('an absent dex is the first one, and fields that a type does not have are ignored', () => {
  const question = { type: 'clearinghouseState', user: USER };
  assert.equal(answerQuestion(HELD, question), account(HELD, USER));
  const extra = JSON.parse('{"__proto__":null,"constructor":1,"aggregate":[],"":{}}');
  assert.equal(answerQuestion(HELD, { ...question, ...extra }), account(HELD, USER));
  const status = { type: 'perpDeployAuctionStatus', user: 'nobody', dex: 5 };
  assert.equal(answerQuestion(HELD, status), 'null');
});

function delegation(validator: string, amount: string) {
  return { type: 'delegation', user: USER, validator, amount, lockedUntilTimestamp: TIME };
}

test('delegations are in order of creation, and one that came back is last', () => {
  const state = stateOf(
    [{ type: 'delegate', user: USER, validator: SECOND_VALIDATOR, amount: '5.0' }],
    [delegation(FIRST_VALIDATOR, '7.00000001'), delegation(THIRD_VALIDATOR, '1.5')],
    [delegation(FIRST_VALIDATOR, '0.0')],
    [delegation(FIRST_VALIDATOR, '20'), delegation(THIRD_VALIDATOR, '2.5')],
  );
  assert.equal(
    delegations(state, USER),
    `[{"validator":"${SECOND_VALIDATOR}","amount":"5.0","lockedUntilTimestamp":1758643200000}` +
      `,{"validator":"${THIRD_VALIDATOR}","amount":"2.5","lockedUntilTimestamp":1758556800000}` +
      `,{"validator":"${FIRST_VALIDATOR}","amount":"20.0","lockedUntilTimestamp":1758556800000}]`,
  );
});

test('delegations and their sum have changed with the last of them, and never for a stranger', () => {
  const state = stateOf(
    [delegation(FIRST_VALIDATOR, '7.0')],
    [delegation(THIRD_VALIDATOR, '1.5')],
    [],
  );
  for (const type of ['delegations', 'delegatorSummary']) {
    const changedAt = (user: string) => parseQuestion({ type, user }).changedAt(state);
    assert.deepEqual([changedAt(USER), changedAt(STRANGER)], [2, 0]);
  }
});

test('addresses in either case are the same, and answered in lower case', () => {
  const upperCase = (address: string) => `0x${address.slice(2).toUpperCase()}`;
  const stake = { ...delegation(upperCase(FIRST_VALIDATOR), '7.0'), user: upperCase(USER) };
  const state = stateOf([stake, { ...transfer('', '12.5'), user: upperCase(USER) }]);
  assert.equal(
    delegations(state, USER),
    `[{"validator":"${FIRST_VALIDATOR}","amount":"7.0","lockedUntilTimestamp":1758556800000}]`,
  );
  assert.equal(delegations(state, upperCase(USER)), delegations(state, USER));
  assert.equal(account(state, upperCase(USER)), account(state, USER));
  assert.equal(JSON.parse(account(state, USER)).withdrawable, '12.5');
});

/** An auction that has run for so many seconds at the time of the first block. */
function auctionAfter(seconds: number, durationSeconds = 100) {
  const startTimeSeconds = TIME / 1000 - seconds;
  const gas = { startGas: '500.0', floorGas: '100.0' };
  return { type: 'deployAuction', startTimeSeconds, durationSeconds, ...gas };
}

test('an auction that runs falls from its start to its floor', () => {
  assert.equal(
    auction(stateOf([auctionAfter(25)])),
    '{"startTimeSeconds":1758556775,"durationSeconds":100,"startGas":"500.0","currentGas":"400.0","endGas":null}',
  );
  assert.equal(
    auction(stateOf([auctionAfter(1, 3)])),
    '{"startTimeSeconds":1758556799,"durationSeconds":3,"startGas":"500.0","currentGas":"366.66666666","endGas":null}',
  );
});

test('an auction stays at its start until it begins, and at its floor once it has run out', () => {
  assert.equal(
    auction(stateOf([auctionAfter(-25)])),
    '{"startTimeSeconds":1758556825,"durationSeconds":100,"startGas":"500.0","currentGas":"500.0","endGas":null}',
  );
  assert.equal(
    auction(stateOf([auctionAfter(500)])),
    '{"startTimeSeconds":1758556300,"durationSeconds":100,"startGas":"500.0","currentGas":"100.0","endGas":null}',
  );
});

test('an auction that has ended shows the gas that it ended at, until the next one starts', () => {
  const end = { type: 'deployAuctionEnd', endGas: '387.25' };
  assert.equal(
    auction(stateOf([auctionAfter(25)], [end], [])),
    '{"startTimeSeconds":1758556775,"durationSeconds":100,"startGas":"500.0","currentGas":"387.25","endGas":"387.25"}',
  );
  assert.equal(
    auction(stateOf([auctionAfter(25), end, auctionAfter(0)])),
    '{"startTimeSeconds":1758556800,"durationSeconds":100,"startGas":"500.0","currentGas":"500.0","endGas":null}',
  );
});

test('the answer about an auction changes with every block while it runs, then with the next one', () => {
  const end = { type: 'deployAuctionEnd', endGas: '387.25' };
  const changedAt = (...blocks: readonly (readonly unknown[])[]) =>
    parseQuestion({ type: 'perpDeployAuctionStatus' }).changedAt(stateOf(...blocks));
  assert.equal(changedAt([], []), 0);
  assert.equal(changedAt([auctionAfter(25)], [], []), 3);
  assert.equal(changedAt([auctionAfter(25)], [end], []), 2);
  assert.equal(changedAt([auctionAfter(25)], [{ type: 'noDeployAuction' }], []), 2);
});
