/**
 * Fields of the wrong form, and what a refused block leaves behind: nothing, although good events came
 * before the bad one. The refusals of each event for its values are in test/cases/refused-blocks.txt.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EVENT_TYPES, type EventType, parseBlock } from '../../src/events/event.ts';
import { BlockError } from '../../src/events/refusal.ts';
import { applyBlock } from '../../src/state/fold.ts';
import type { State } from '../../src/state/state.ts';
import { CaseFile } from '../cases/case-file.ts';
import { hashState } from '../cases/refused-block.ts';
import { findRefusal, foldLedger, nextLine, runItem } from '../cases/run-item.ts';

const FILE = new CaseFile('refused-blocks');
const [{ ledger }] = FILE.cases;
const REFUSED = FILE.cases.filter((each) => each.ledger === ledger);

type Fields = Readonly<Record<string, unknown>>;

function sampleOf(type: EventType): Fields {
  return JSON.parse(ledger.samples.get(type) ?? assert.fail(`no sample of ${type}`));
}

function lineWith(...events: readonly object[]): string {
  return nextLine(
    ledger,
    events.map((event) => JSON.stringify(event)),
  );
}

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
  return foldLedger(FILE, ledger);
}

const state = prepareState();
const hashBefore = hashState(state);

function assertEventRefused(type: EventType, change: Fields, reason: string): void {
  const place = `block ${ledger.blocks.length + 1}, event ${ledger.before.length} (${type})`;
  const line = lineWith({ type, ...sampleOf(type), ...change });
  assert.equal(findRefusal(state, line), `${place}: ${reason}`);
}

for (const type of EVENT_TYPES) {
  test(`the sample of ${type} that the refusals spoil is good`, () => {
    applyBlock(prepareState(), parseBlock(lineWith({ type, ...sampleOf(type) })));
  });

  test(`${type} has the fields that are tried`, () => {
    assert.deepEqual(Object.keys(FORMS[type]), Object.keys(sampleOf(type)));
  });

  for (const [field, form] of Object.entries(FORMS[type])) {
    test(`${type} is refused unless its ${field} is ${form}`, () => {
      for (const { value, shown, unless } of WRONG_VALUES) {
        if (form === unless) continue;
        assertEventRefused(type, { [field]: value }, `${field}: got ${shown}, expected ${form}`);
      }
    });
  }
}

test('a block that is tried again and again leaves nothing behind, not even in the indexes', () => {
  const end = { type: 'deployAuctionEnd', ...sampleOf('deployAuctionEnd') };
  const block = parseBlock(lineWith(end, end));
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
  const index = ledger.before.length + events.length;
  assert.equal(
    findRefusal(state, lineWith(...events, { type: 'order' })),
    `block 4, event ${index}: type: got "order", expected a type of event listed in docs/reference/events.md`,
  );
});

test('after all the refusals a good block gives the state that it gives without them', () => {
  const samples = EVENT_TYPES.map((type) => ({ type, ...sampleOf(type) }));
  const [refused, untouched] = [prepareState(), prepareState()];
  for (const { items } of REFUSED) {
    for (const item of items) runItem(FILE, refused, ledger, item);
  }
  for (const each of [refused, untouched]) applyBlock(each, parseBlock(lineWith(...samples)));
  assert.notEqual(hashState(refused), hashBefore);
  assert.equal(hashState(refused), hashState(untouched));
});

test('the cases refuse every kind of event, and none is there twice', () => {
  const items = REFUSED.flatMap((each) => each.items);
  for (const type of EVENT_TYPES) {
    const ofType = items.filter(({ text }) => text.startsWith(`${type} `));
    assert.ok(ofType.length >= 5, type);
  }
  const distinct = new Set(items.map(({ keyword, text }) => `${keyword} ${text}`));
  assert.equal(distinct.size, items.length);
  assert.ok(distinct.size >= 300, `${distinct.size} cases`);
});
