/** What the archive answers about a height is what was answered at it, byte for byte. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatAddress } from '../../src/exact/address.ts';
import { createSimulator } from '../../src/feed/simulator/simulator.ts';
import { createState } from '../../src/state/state.ts';
import { createPlaces } from '../cli/program.ts';
import { appendAll, NO_SNAPSHOTS } from '../replica/data-directory.ts';
import { ALSO_FULL, scale } from '../scale.ts';
import { runs, SEED, SEED_NOTE } from '../seed.ts';
import { blockAfter, FIRST_BLOCK, randomBlock, USERS } from '../twin/random-events.ts';
import { tryApply } from '../twin/try-apply.ts';
import { archiveOnce, withArchive } from './archived.ts';
import { listBodies, Witness } from './witness.ts';

const place = createPlaces();
const STRANGER = `0x${'f'.repeat(40)}`;

const SIMULATED_BLOCKS = scale(500, 500, 6_000);
const ACCOUNTS = 60;
const SEQUENCES = scale(4, 4, 60);
const BLOCKS_MAX = 120;
const QUESTIONS_PER_BLOCK = 20;

test(`an exchange's accounts at any height ${SEED_NOTE}`, ALSO_FULL, async (context) => {
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
  const data = place();
  await appendAll(data, lines, NO_SNAPSHOTS);
  await archiveOnce(data);
  const compared = await withArchive(data, (history) => witness.compare(history));
  assert.equal(compared, witness.count);
  context.diagnostic(`${compared} answers compared`);
});

test(`random events, partial ledgers included ${SEED_NOTE}`, ALSO_FULL, async (context) => {
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
    const data = place();
    await appendAll(data, lines, NO_SNAPSHOTS);
    await archiveOnce(data);
    compared += await withArchive(data, (history) => witness.compare(history));
  });
  await fc.assert(property, runs(SEQUENCES));
  context.diagnostic(`${compared} answers compared`);
});
