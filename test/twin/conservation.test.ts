/**
 * The conservation law: whatever the blocks, an account's value changes only as a naive book says
 * (naive-book.ts).
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseBlock } from '../../src/events/event.ts';
import { BlockError } from '../../src/events/refusal.ts';
import { parseAddress } from '../../src/exact/address.ts';
import { listedDexes } from '../../src/info/fields/dex-field.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { isAccountKnown } from '../../src/state/partial-ledger.ts';
import { createState, type State } from '../../src/state/state.ts';
import { SEED_NOTE } from '../../tools/harness/seed.ts';
import type { WireBlock } from '../../tools/naive-twin/naive-block.ts';
import { Book } from '../../tools/naive-twin/naive-book.ts';
import { writeDecimal } from '../../tools/naive-twin/naive-decimal.ts';
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

const SEQUENCES_MAX = 400;
const SEQUENCES = scale(12, 40, SEQUENCES_MAX);
const BLOCKS_MAX = 150;

function applyWhereAccepted(state: State, book: Book, block: WireBlock, tally: Tally): void {
  try {
    applyBlock(state, parseBlock(JSON.stringify(block)));
  } catch (error) {
    if (error instanceof BlockError) return;
    throw error;
  }
  for (const event of block.events) {
    book.record(event);
    tally.count(event.type);
  }
}

/** No answer for a dex that is not listed, nor on a partial ledger for an account that no event has named. */
function isHeld(state: State, user: string, dexIndex: number): boolean {
  if (!listedDexes(state).includes(dexIndex)) return false;
  const address = parseAddress(user);
  return !state.isPartial || (address !== undefined && isAccountKnown(state, address, dexIndex));
}

function compareValues(state: State, book: Book, block: WireBlock): void {
  for (const user of USERS) {
    for (const [dexIndex, dex] of [...book.dexes].entries()) {
      if (!isHeld(state, user, dexIndex)) continue;
      const answer = JSON.parse(answerQuestion(state, { type: 'clearinghouseState', user, dex }));
      const expected = writeDecimal(book.valueOf(user, dex), 6);
      const where = `${user} on "${dex}" after ${JSON.stringify(block)}`;
      assert.equal(answer.marginSummary.accountValue, expected, where);
    }
  }
}

function checkSequence(tally: Tally, sequence: readonly BlockSteps[]): void {
  const state = createState();
  const book = new Book();
  applyWhereAccepted(state, book, FIRST_BLOCK, tally);
  for (const steps of sequence) {
    const block = blockAfter(state, steps);
    applyWhereAccepted(state, book, block, tally);
    compareValues(state, book, block);
  }
}

const TYPES = ['fill', 'funding', 'isolatedMargin', 'leverage', 'market', 'marks', 'transfer'];

test(
  `an account's value changes only as the conservation law allows ${SEED_NOTE}`,
  ALSO_LONG,
  (context) => {
    const tally = new Tally();
    const sequences = fc.array(randomBlock, { maxLength: BLOCKS_MAX, size: 'max' });
    assertCovered(
      fc.property(sequences, (sequence) => checkSequence(tally, sequence)),
      { tally, branches: TYPES, cases: SEQUENCES, casesMax: SEQUENCES_MAX },
    );
    context.diagnostic(tally.describe());
  },
);
