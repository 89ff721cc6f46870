/** A block that is applied in pieces: readers see the state before it until it is complete. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { before, test } from 'node:test';
import { type Block, type Event, parseBlock } from '../../src/events/event.ts';
import { formatAddress } from '../../src/exact/address.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { stateDigest } from '../../src/replica/replica.ts';
import { applyBlock, applyInPieces } from '../../src/state/fold.ts';
import { createState, type State, type StateView } from '../../src/state/state.ts';
import { SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import { simulateLines } from '../replica/exchange.ts';
import { hashSnapshot } from './snapshot-hash.ts';

const BLOCKS = 35;
const DEXES = ['', 'uni', 'late'];

/** Begins and ends an auction, adds a dex and a market, changes one, and makes the ledger partial. */
const LATE_EVENTS = [
  { type: 'perpDex', dex: 'late', fullName: 'Late', deployer: `0x${'1a'.repeat(20)}` },
  {
    type: 'market',
    dex: 'late',
    coin: 'late:TEA',
    szDecimals: 2,
    marginTiers: [{ lowerBound: '0.0', maxLeverage: 5 }],
    onlyIsolated: true,
    markPx: '12.5',
  },
  { type: 'transfer', user: `0x${'2b'.repeat(20)}`, dex: 'late', amount: '5.0' },
  {
    type: 'delegate',
    user: `0x${'2b'.repeat(20)}`,
    validator: `0x${'3c'.repeat(20)}`,
    amount: '1.5',
  },
  {
    type: 'deployAuction',
    startTimeSeconds: 1,
    durationSeconds: 900,
    startGas: '9.0',
    floorGas: '1.0',
  },
  { type: 'deployAuctionEnd', endGas: '3.0' },
  { type: 'noDeployAuction' },
  {
    type: 'delegations',
    user: `0x${'2b'.repeat(20)}`,
    delegations: [
      { validator: `0x${'4d'.repeat(20)}`, amount: '2.5', lockedUntilTimestamp: 5 },
      { validator: `0x${'3c'.repeat(20)}`, amount: '0.5', lockedUntilTimestamp: 7 },
    ],
  },
  { type: 'accountTime', user: `0x${'2b'.repeat(20)}`, dex: 'late', time: 9 },
  { type: 'partial' },
  {
    type: 'market',
    dex: 'late',
    coin: 'late:TEA',
    szDecimals: 2,
    marginTiers: [{ lowerBound: '0.0', maxLeverage: 3 }],
    onlyIsolated: false,
    markPx: '13.5',
  },
];

let blocks: Block[];
/** Every user that the blocks name. */
let users: string[];

before(() => {
  blocks = simulateLines(`pieces ${SEED}`, BLOCKS).map((line) => parseBlock(line.trim()));
  const { height, time } = blocks[BLOCKS - 1];
  const late = JSON.stringify({ height: height + 1, time, events: LATE_EVENTS });
  blocks.push(parseBlock(late));
  const { addresses } = foldAll(blocks);
  users = Array.from({ length: addresses.table.rowCount - 1 }, (_, index) =>
    formatAddress(addresses.addressOf(index + 1)),
  );
});

function foldAll(all: readonly Block[]): State {
  const state = createState();
  for (const block of all) applyBlock(state, block);
  return state;
}

function ask(state: StateView, question: object): string {
  try {
    return answerQuestion(state, question);
  } catch (error) {
    return (error as Error).message;
  }
}

/** Everything that readers can ask, also about users that do not exist yet. */
function look(state: StateView): string {
  const questions = [
    ...users.flatMap((user) => [
      ...DEXES.map((dex) => ({ type: 'clearinghouseState', user, dex })),
      { type: 'delegations', user },
    ]),
    ...DEXES.map((dex) => ({ type: 'metaAndAssetCtxs', dex })),
    { type: 'perpDexs' },
    { type: 'perpDeployAuctionStatus' },
  ];
  const hash = createHash('sha256');
  for (const question of questions) hash.update(ask(state, question));
  return `${state.height} ${state.time} ${stateDigest(state)} ${hash.digest('hex')}`;
}

/** Cuts into pieces of one event each. */
function* singly(events: readonly Event[]): Generator<readonly Event[]> {
  for (const event of events) yield [event];
}

test(`between any two events readers see the state before the block ${SEED_NOTE}`, () => {
  const state = createState();
  const whole = createState();
  for (const block of blocks) {
    const lookBefore = look(state);
    let yields = 0;
    for (const _ of applyInPieces(state, block, singly(block.events))) {
      yields++;
      assert.equal(look(state), lookBefore, `block ${block.height}, after event ${yields}`);
    }
    assert.equal(yields, block.events.length);
    applyBlock(whole, block);
    assert.equal(look(state), look(whole), `block ${block.height}`);
    assert.equal(hashSnapshot(state), hashSnapshot(whole), `block ${block.height}`);
  }
});

test(`a block that is given up, or refused, leaves everything as it was ${SEED_NOTE}`, () => {
  const state = createState();
  for (const block of blocks) {
    const [lookBefore, bytesBefore] = [look(state), hashSnapshot(state)];
    for (let count = 0; count <= block.events.length; count++) {
      const steps = applyInPieces(state, block, singly(block.events));
      for (let step = 0; step < count; step++) steps.next();
      steps.return();
      assert.equal(
        hashSnapshot(state),
        bytesBefore,
        `block ${block.height}, given up after ${count}`,
      );
    }
    const refused = [
      ...block.events,
      { type: 'deployAuctionEnd', fields: { endGas: 1n } } as const,
    ];
    const ends = [...refused, refused[refused.length - 1]];
    assert.throws(() => [...applyInPieces(state, block, singly(ends))], { name: 'Refusal' });
    assert.equal(hashSnapshot(state), bytesBefore, `block ${block.height}, refused`);
    assert.equal(look(state), lookBefore, `block ${block.height}, refused`);
    applyBlock(state, block);
  }
  assert.equal(hashSnapshot(state), hashSnapshot(foldAll(blocks)));
});

test('a block that does not come next is refused before anything is done', () => {
  const state = foldAll(blocks);
  const { height, time } = state;
  const apply = (head: { height: number; time: number }) => () => [
    ...applyInPieces(state, head, []),
  ];
  assert.throws(apply({ height, time }), { name: 'BlockError' });
  assert.throws(apply({ height: height + 1, time: time - 1 }), { name: 'BlockError' });
});
