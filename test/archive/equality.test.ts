/** What the archive answers about a height is what was answered at it, byte for byte. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { ArchivedHistory } from '../../src/archive/reading/archived-history.ts';
import { type Address, formatAddress } from '../../src/exact/address.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { Random } from '../../src/simulator/random.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { createState } from '../../src/state/state.ts';
import { runs, SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import {
  blockAfter,
  FIRST_BLOCK,
  randomBlock,
  USERS,
} from '../../tools/naive-twin/random-events.ts';
import { ALSO_LONG, scale } from '../scale.ts';
import { tryApply } from '../twin/try-apply.ts';
import { makeArchive, withArchive } from './archived.ts';
import { listBodies, Witness } from './witness.ts';

const STRANGER = `0x${'f'.repeat(40)}`;

const SIMULATED_BLOCKS = scale(250, 500, 6_000);
const ACCOUNTS = 60;
const SEQUENCES = scale(2, 4, 60);
const BLOCKS_MAX = 120;
const QUESTIONS_PER_BLOCK = 20;

test(`an exchange's accounts at any height ${SEED_NOTE}`, ALSO_LONG, async (context) => {
  const simulator = createSimulator({ seed: `archive ${SEED}`, accounts: ACCOUNTS });
  const lines = Array.from({ length: SIMULATED_BLOCKS }, () => simulator.next());
  const { addresses, markets } = simulator.state;
  const users = Array.from({ length: ACCOUNTS }, (_, index) =>
    formatAddress(addresses.addressOf(index + 1)),
  );
  const bodies = listBodies({
    user: [...users, STRANGER],
    users: [users, [STRANGER, 'no address']],
    dex: [...markets.dexes.map(({ name }) => name), 'none'],
    id: [3, 1001],
  });
  const witness = new Witness(`archive ${SEED}`, bodies, QUESTIONS_PER_BLOCK);
  witness.lookAtAll(lines);
  const data = await makeArchive(lines);
  const compared = await withArchive(data, (history) => witness.compare(history));
  assert.equal(compared, witness.count);
  context.diagnostic(`${compared} answers compared`);
});

/** So many blocks of so few users that each account has many packs of versions. */
const BUSY_BLOCKS = 600;
const BUSY_ACCOUNTS = 6;
const STEPS_MAX = [1, 4, 30, 150, 400];

test(`steps through an archive lead to what is there ${SEED_NOTE}`, ALSO_LONG, async () => {
  const simulator = createSimulator({ seed: `steps ${SEED}`, accounts: BUSY_ACCOUNTS });
  const lines = Array.from({ length: BUSY_BLOCKS }, () => simulator.next());
  const data = await makeArchive(lines);
  await withArchive(data, (history) => {
    for (let row = 1; row <= BUSY_ACCOUNTS; row++) {
      const user = simulator.state.addresses.addressOf(row);
      for (const stepMax of STEPS_MAX) compareSteps(history, user, stepMax);
    }
  });
});

/** Goes through the archive with an account, and looks it up anew at each height. */
function compareSteps(history: ArchivedHistory, user: Address, stepMax: number): void {
  const random = new Random(`steps ${SEED} ${stepMax}`);
  const subject = { kind: 'account', user, dexIndex: 0 } as const;
  const question = { type: 'clearinghouseState', user: formatAddress(user) };
  const moving = history.at(1);
  moving.load(subject);
  for (let height = 1; height <= BUSY_BLOCKS; height += 1 + random.below(stepMax)) {
    moving.moveTo(height);
    const found = history.at(height);
    found.load(subject);
    const [moved, expected] = [moving, found].map((past) => ({
      answer: answerQuestion(past.state, question),
      sums: past.sumsOf(user, 0),
    }));
    assert.deepEqual(moved, expected, `at ${height}, steps of up to ${stepMax}`);
    found.release();
  }
  moving.release();
}

test(`random events, partial ledgers included ${SEED_NOTE}`, ALSO_LONG, async (context) => {
  let compared = 0;
  const bodies = listBodies({
    user: [...USERS, STRANGER],
    users: [[...USERS], [STRANGER, 'no address']],
    dex: ['', 'xyz', 'abc'],
    id: [3, 20, 1001],
  });
  const sequences = fc.array(randomBlock, { maxLength: BLOCKS_MAX, size: 'max' });
  const property = fc.asyncProperty(sequences, async (sequence) => {
    const witness = new Witness(`random ${SEED}`, bodies, QUESTIONS_PER_BLOCK);
    const state = createState();
    const lines = [JSON.stringify(FIRST_BLOCK)];
    tryApply(state, lines[0]);
    for (const steps of sequence) {
      const line = JSON.stringify(blockAfter(state, steps));
      if (!tryApply(state, line)) continue;
      lines.push(line);
      witness.look(state);
    }
    const data = await makeArchive(lines);
    compared += await withArchive(data, (history) => witness.compare(history));
  });
  await fc.assert(property, runs(SEQUENCES));
  context.diagnostic(`${compared} answers compared`);
});
