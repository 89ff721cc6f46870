/**
 * Every way in which a block can be wrong: it is refused with exactly the message of its row, and
 * the state stays as it was, although good events came before the bad one.
 */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { splitBlock } from '../../src/events/block-pieces.ts';
import { EVENT_TYPES, type EventType, parseBlock } from '../../src/events/event.ts';
import { BlockError } from '../../src/events/refusal.ts';
import { applyBlock, applyInPieces } from '../../src/state/fold.ts';
import { digestBytes } from '../../src/state/snapshot/digest.ts';
import { createState, type State } from '../../src/state/state.ts';
import {
  ACCOUNT_REFUSED,
  ACCOUNT_TIME_REFUSED,
  COLLATERAL_REFUSED,
  ORDER_MARGIN_REFUSED,
  PARTIAL_REFUSED,
  TRANSFER_REFUSED,
} from './refusals-accounts.ts';
import { LINES_REFUSED } from './refusals-blocks.ts';
import { MARKET_REFUSED, MARKS_REFUSED, PERP_DEX_REFUSED } from './refusals-markets.ts';
import {
  FILL_REFUSED,
  FUNDING_REFUSED,
  ISOLATED_MARGIN_REFUSED,
  LEVERAGE_REFUSED,
} from './refusals-positions.ts';
import {
  type Fields,
  GOOD_EVENTS,
  NEXT_HEIGHT,
  nextLine,
  PREPARED_BLOCKS,
  type Refused,
  SAMPLES,
} from './refusals-prepared.ts';
import {
  DELEGATE_REFUSED,
  DELEGATION_REFUSED,
  DELEGATION_REWARD_REFUSED,
  DELEGATIONS_REFUSED,
  DEPLOY_AUCTION_END_REFUSED,
  DEPLOY_AUCTION_REFUSED,
  NO_DEPLOY_AUCTION_REFUSED,
  UNDELEGATE_REFUSED,
} from './refusals-staking.ts';
import { ACCOUNT_MODE_REFUSED, DEXES_REFUSED, UNIVERSE_REFUSED } from './refusals-universes.ts';
import { hashSnapshot } from './snapshot-hash.ts';

const REFUSED: { readonly [T in EventType]: readonly Refused[] } = {
  perpDex: PERP_DEX_REFUSED,
  market: MARKET_REFUSED,
  marks: MARKS_REFUSED,
  dexes: DEXES_REFUSED,
  universe: UNIVERSE_REFUSED,
  account: ACCOUNT_REFUSED,
  accountTime: ACCOUNT_TIME_REFUSED,
  accountMode: ACCOUNT_MODE_REFUSED,
  transfer: TRANSFER_REFUSED,
  orderMargin: ORDER_MARGIN_REFUSED,
  collateral: COLLATERAL_REFUSED,
  leverage: LEVERAGE_REFUSED,
  fill: FILL_REFUSED,
  isolatedMargin: ISOLATED_MARGIN_REFUSED,
  funding: FUNDING_REFUSED,
  delegate: DELEGATE_REFUSED,
  undelegate: UNDELEGATE_REFUSED,
  delegationReward: DELEGATION_REWARD_REFUSED,
  delegation: DELEGATION_REFUSED,
  delegations: DELEGATIONS_REFUSED,
  partial: PARTIAL_REFUSED,
  deployAuction: DEPLOY_AUCTION_REFUSED,
  deployAuctionEnd: DEPLOY_AUCTION_END_REFUSED,
  noDeployAuction: NO_DEPLOY_AUCTION_REFUSED,
};

const ADDRESS = '0x and 40 hexadecimal digits';
const DECIMAL = 'a decimal as text';
const LEVERAGE = 'a whole number from 1 to 1000';
const SECONDS = 'to 8640000000000';
const TIME = 'a whole number from 0 to 8640000000000000';

/** What is expected of each field of each kind of event, whatever its value. */
const FORMS: { readonly [T in EventType]: Readonly<Record<string, string>> } = {
  perpDex: { dex: '1 to 6 of a-z and 0-9', fullName: '1 to 100 characters', deployer: ADDRESS },
  market: {
    dex: 'text',
    coin: 'NAME or dex:NAME, NAME 1 to 20 of A-Z, a-z and 0-9',
    szDecimals: 'a whole number from 0 to 6',
    marginTiers: 'an array',
    onlyIsolated: 'true or false',
    markPx: DECIMAL,
  },
  marks: { prices: 'an object of coins and prices' },
  dexes: { list: 'an array' },
  universe: { dex: 'text', meta: 'an object with an array named universe' },
  account: { user: ADDRESS, dex: 'text', rawUsd: DECIMAL, positions: 'an array' },
  accountTime: { user: ADDRESS, dex: 'text', time: TIME },
  accountMode: { user: ADDRESS, mode: '1 to 40 of A-Z, a-z and 0-9' },
  transfer: { user: ADDRESS, dex: 'text', amount: DECIMAL },
  orderMargin: { user: ADDRESS, dex: 'text', amount: DECIMAL },
  collateral: { user: ADDRESS, dex: 'text', amount: DECIMAL },
  leverage: { user: ADDRESS, coin: 'text', mode: 'cross or isolated', value: LEVERAGE },
  fill: { user: ADDRESS, coin: 'text', side: 'B or A', sz: DECIMAL, px: DECIMAL, fee: DECIMAL },
  isolatedMargin: { user: ADDRESS, coin: 'text', amount: DECIMAL },
  funding: { coin: 'text', payments: 'an array' },
  delegate: { user: ADDRESS, validator: ADDRESS, amount: DECIMAL },
  undelegate: { user: ADDRESS, validator: ADDRESS, amount: DECIMAL },
  delegationReward: { user: ADDRESS, validator: ADDRESS, amount: DECIMAL },
  delegation: {
    user: ADDRESS,
    validator: ADDRESS,
    amount: DECIMAL,
    lockedUntilTimestamp: TIME,
  },
  delegations: { user: ADDRESS, delegations: 'an array' },
  partial: {},
  deployAuction: {
    startTimeSeconds: `a whole number from 0 ${SECONDS}`,
    durationSeconds: `a whole number from 1 ${SECONDS}`,
    startGas: DECIMAL,
    floorGas: DECIMAL,
  },
  deployAuctionEnd: { endGas: DECIMAL },
  noDeployAuction: {},
};

/** Values that are wrong for every field, unless it is of the form named, and how a message shows them. */
const WRONG_VALUES: readonly { value: unknown; shown: string; unless?: string }[] = [
  { value: undefined, shown: 'nothing' },
  { value: null, shown: 'null' },
  { value: 7.5, shown: '7.5' },
  { value: true, shown: 'true', unless: 'true or false' },
  { value: [], shown: 'an array of 0', unless: 'an array' },
  { value: {}, shown: 'an object', unless: 'an object of coins and prices' },
];

function prepareState(): State {
  const state = createState();
  for (const block of PREPARED_BLOCKS) applyBlock(state, parseBlock(JSON.stringify(block)));
  return state;
}

/** A hash of the digest and of the rows that the digest leaves out. */
function hashState(state: State): string {
  const hash = createHash('sha256');
  for (const bytes of digestBytes(state)) hash.update(bytes);
  return hash.update(hashSnapshot(state)).digest('hex');
}

let state = prepareState();
const hashBefore = hashState(state);

function assertRefused(line: string, message: string): void {
  let thrown: unknown;
  try {
    applyBlock(state, parseBlock(line));
  } catch (error) {
    thrown = error;
  }
  assert.ok(thrown instanceof BlockError, `expected a BlockError, got ${thrown}`);
  assert.equal(thrown.message, message);
  assert.equal(hashState(state), hashBefore, 'the state has changed');
  assertRefusedInPieces(line);
}

/** As a replica does: whole, if the line cannot be cut. */
function applyLongLine(line: string): void {
  const cut = splitBlock(Buffer.from(line));
  if (cut === undefined) applyBlock(state, parseBlock(line));
  else Array.from(applyInPieces(state, cut, cut.pieces));
}

/** In pieces the block is refused too, without a message. */
function assertRefusedInPieces(line: string): void {
  assert.throws(
    () => applyLongLine(line),
    (error) => /^(BlockError|Refusal|SyntaxError)$/.test((error as Error).name),
  );
  assert.equal(hashState(state), hashBefore, 'the state has changed');
}

function assertEventRefused(type: EventType, change: Fields, reason: string): void {
  const place = `block ${NEXT_HEIGHT}, event ${GOOD_EVENTS.length} (${type})`;
  assertRefused(nextLine({ type, ...SAMPLES[type], ...change }), `${place}: ${reason}`);
}

for (const type of EVENT_TYPES) {
  test(`the sample of ${type} that the refusals spoil is good`, () => {
    applyBlock(prepareState(), parseBlock(nextLine({ type, ...SAMPLES[type] })));
  });

  test(`${type} has the fields that are tried`, () => {
    assert.deepEqual(Object.keys(FORMS[type]), Object.keys(SAMPLES[type]));
  });

  for (const [field, form] of Object.entries(FORMS[type])) {
    test(`${type} is refused unless its ${field} is ${form}`, () => {
      for (const { value, shown, unless } of WRONG_VALUES) {
        if (form === unless) continue;
        assertEventRefused(type, { [field]: value }, `${field}: got ${shown}, expected ${form}`);
      }
    });
  }

  for (const [change, reason] of REFUSED[type]) {
    test(`${type} is refused with ${reason}`, () => {
      assertEventRefused(type, change, reason);
    });
  }
}

for (const [about, line, message] of LINES_REFUSED) {
  test(`a block is refused: ${about}`, () => {
    assertRefused(line, message);
  });
}

test('an auction that never began cannot end', () => {
  const line = '{"height":1,"time":0,"events":[{"type":"deployAuctionEnd","endGas":"1.0"}]}';
  assert.throws(() => applyBlock(createState(), parseBlock(line)), {
    name: 'BlockError',
    message:
      'block 1, event 0 (deployAuctionEnd): endGas: got "1.0", expected a running auction; start one with deployAuction',
  });
});

test('a block that is tried again and again leaves nothing behind, not even in the indexes', () => {
  const end = { type: 'deployAuctionEnd', ...SAMPLES.deployAuctionEnd };
  const block = parseBlock(nextLine(end, end));
  for (let attempt = 0; attempt < 1000; attempt++) {
    assert.throws(() => applyBlock(state, block), BlockError);
  }
  assert.equal(hashState(state), hashBefore);
});

test('a block that makes every table grow is undone too', () => {
  const newcomers = Array.from({ length: 1000 }, (_, index) => `0x${`${index}`.padStart(40, '9')}`);
  const events = newcomers.flatMap((user) => [
    { type: 'fill', user, coin: 'BTC', side: 'B', sz: '0.1', px: '60000.0', fee: '0.0' },
    { type: 'delegate', user, validator: newcomers[0], amount: '1.0' },
  ]);
  const index = GOOD_EVENTS.length + events.length;
  assertRefused(
    nextLine(...events, { type: 'order' }),
    `block 4, event ${index}: type: got "order", expected a type of event listed in docs/reference/events.md`,
  );
});

test('after all the refusals a good block gives the state that it gives without them', () => {
  const samples = EVENT_TYPES.map((type) => ({ type, ...SAMPLES[type] }));
  const [refused, untouched] = [state, prepareState()];
  state = prepareState();
  for (const each of [refused, untouched]) applyBlock(each, parseBlock(nextLine(...samples)));
  assert.notEqual(hashState(refused), hashBefore);
  assert.equal(hashState(refused), hashState(untouched));
});

test('the tables refuse every kind of event, and no row is there twice', () => {
  const rows = EVENT_TYPES.flatMap((type) => {
    assert.ok(REFUSED[type].length >= 5, type);
    return REFUSED[type].map(([change]) => `${type} ${JSON.stringify(change)}`);
  });
  const lines = LINES_REFUSED.map(([, line]) => line);
  const distinct = new Set([...rows, ...lines]);
  assert.equal(distinct.size, rows.length + lines.length);
  assert.ok(distinct.size >= 300, `${distinct.size} rows`);
});
