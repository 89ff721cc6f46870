/** Random blocks into the fold and its twin: both accept the same blocks and give the same answers. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseBlock } from '../../src/events/event.ts';
import { type Address, parseAddress } from '../../src/exact/address.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { accountTime, delegationsTime } from '../../src/state/partial-ledger.ts';
import { digestBytes } from '../../src/state/snapshot/digest.ts';
import { createState, type State } from '../../src/state/state.ts';
import { runs, SEED_NOTE } from '../../tools/harness/seed.ts';
import { answerNaively, type Question } from '../../tools/naive-twin/naive-answers.ts';
import { WIRE_TYPES, type WireBlock } from '../../tools/naive-twin/naive-block.ts';
import { type Folded, foldBlock } from '../../tools/naive-twin/naive-fold.ts';
import { createNaiveState, keyOf, type NaiveState } from '../../tools/naive-twin/naive-state.ts';
import {
  type BlockSteps,
  blockAfter,
  FIRST_BLOCK,
  randomBlock,
  USERS,
} from '../../tools/naive-twin/random-events.ts';
import { ALSO_LONG, scale } from '../scale.ts';
import { assertCovered } from './coverage.ts';
import { Tally } from './tally.ts';
import { tryApply } from './try-apply.ts';

const SEQUENCES_MAX = 1200;
const SEQUENCES = scale(8, 24, 400);
const SEQUENCES_DIGESTED = scale(5, 20, 100);
const BLOCKS_MAX = 150;
/** A user that no event names. */
const STRANGER = `0x${'f'.repeat(40)}`;

const REFUSALS: readonly string[] = ['not_ready', 'unknown_dex', 'unknown_type'];

function questionsAt({ dexes }: NaiveState): Question[] {
  const users = [...USERS, STRANGER];
  return [
    ...users.flatMap((user) =>
      [...dexes].map((dex): Question => ({ type: 'clearinghouseState', user, dex })),
    ),
    ...users.map((user): Question => ({ type: 'delegations', user })),
    ...users.map((user): Question => ({ type: 'userAbstraction', user })),
    { type: 'perpDeployAuctionStatus' },
  ];
}

/** Undefined if a partial ledger refuses to answer, or the dex is not listed. */
function ask(state: State, question: Question): string | undefined {
  try {
    return answerQuestion(state, question);
  } catch (error) {
    if (error instanceof RequestError && REFUSALS.includes(error.code)) return undefined;
    throw error;
  }
}

function compareAnswers(state: State, naive: NaiveState, line: string, tally: Tally): void {
  for (const question of questionsAt(naive)) {
    const answer = ask(state, question);
    const expected = answerNaively(naive, question);
    assert.equal(answer, expected, `${JSON.stringify(question)} after ${line}`);
    if (naive.isPartial) tally.count(`${question.type} ${answer ? 'known' : 'unknown'}, partial`);
  }
}

/** When each account and list of delegations was last read. */
function compareTimes(state: State, naive: NaiveState, line: string): void {
  for (const user of [...USERS, STRANGER]) {
    const address = addressOf(user);
    for (const [dexIndex, dex] of [...naive.dexes].entries()) {
      const expected = naive.accounts.get(keyOf(user, dex))?.time ?? 0;
      assert.equal(accountTime(state, address, dexIndex), expected, `${user} after ${line}`);
    }
    const expected = naive.delegationTimes.get(user) ?? 0;
    assert.equal(delegationsTime(state, address), expected, `${user} after ${line}`);
  }
}

function addressOf(user: string): Address {
  const address = parseAddress(user);
  assert.ok(address !== undefined, user);
  return address;
}

/** The type of an event that may be damaged, its type included. */
function typeOf(event: unknown): string {
  return WIRE_TYPES.find((type) => type === Object(event).type) ?? 'unknown event';
}

function countBlock(tally: Tally, { events }: WireBlock, folded: Folded): void {
  if (folded.isAccepted) {
    for (const { type } of events) tally.count(`${type} accepted`);
    for (const branch of folded.fillBranches) tally.count(`fill: ${branch}`);
    for (const { position } of folded.state.holdings.values()) {
      if (position?.entryNtl === 0n) tally.count('a position without entry notional');
    }
    return;
  }
  const { refusedEvent, reason } = folded;
  const blamed = refusedEvent === undefined ? 'block' : typeOf(refusedEvent);
  tally.count(`${blamed} refused`);
  if (reason === 'not storable') tally.count(`${blamed} refused, beyond what is stored`);
}

function compareSequence(tally: Tally, sequence: readonly BlockSteps[]): void {
  const state = createState();
  let naive = createNaiveState();
  const compareBlock = (block: WireBlock) => {
    const line = JSON.stringify(block);
    const folded = foldBlock(naive, JSON.parse(line));
    assert.equal(tryApply(state, line), folded.isAccepted, line);
    if (folded.isAccepted) naive = folded.state;
    compareAnswers(state, naive, line, tally);
    compareTimes(state, naive, line);
    countBlock(tally, block, folded);
  };
  compareBlock(FIRST_BLOCK);
  for (const steps of sequence) compareBlock(blockAfter(naive, steps));
}

const FILL_BRANCHES = [
  ...['open', 'grow', 'shrink', 'close', 'flip'].flatMap((branch) => [
    `fill: cross ${branch}`,
    `fill: isolated ${branch}`,
  ]),
  'fill: isolated shrink under water',
  ...['grow', 'shrink', 'close', 'flip'].map((branch) => `fill: ${branch} with own tiers`),
];

const BRANCHES = [
  ...WIRE_TYPES.flatMap((type) => [`${type} accepted`, `${type} refused`]),
  ...FILL_BRANCHES,
  'a position without entry notional',
  ...['clearinghouseState', 'delegations', 'userAbstraction', 'perpDeployAuctionStatus'].flatMap(
    (type) => [`${type} known, partial`, `${type} unknown, partial`],
  ),
  'block refused',
  'unknown event refused',
  ...['transfer', 'fill', 'isolatedMargin', 'funding', 'delegate', 'delegationReward'].map(
    (type) => `${type} refused, beyond what is stored`,
  ),
];

test(
  `random blocks are accepted and answered as by the twin ${SEED_NOTE}`,
  ALSO_LONG,
  (context) => {
    const tally = new Tally();
    const sequences = fc.array(randomBlock, { maxLength: BLOCKS_MAX, size: 'max' });
    assertCovered(
      fc.property(sequences, (sequence) => compareSequence(tally, sequence)),
      { tally, branches: BRANCHES, cases: SEQUENCES, casesMax: SEQUENCES_MAX },
    );
    context.diagnostic(tally.describe());
  },
);

function digest(state: State): string {
  const hash = createHash('sha256');
  for (const bytes of digestBytes(state)) hash.update(bytes);
  return hash.digest('hex');
}

test(`a refused block leaves the digest of the state as it was ${SEED_NOTE}`, ALSO_LONG, () => {
  const sequences = fc.array(randomBlock, { maxLength: BLOCKS_MAX, size: 'max' });
  let refusedCount = 0;
  fc.assert(
    fc.property(sequences, (sequence) => {
      const state = createState();
      applyBlock(state, parseBlock(JSON.stringify(FIRST_BLOCK)));
      for (const steps of sequence) {
        const before = digest(state);
        const isAccepted = tryApply(state, JSON.stringify(blockAfter(state, steps)));
        assert.equal(digest(state) === before, !isAccepted);
        if (!isAccepted) refusedCount += 1;
      }
    }),
    runs(SEQUENCES_DIGESTED),
  );
  assert.ok(refusedCount > 0);
});
