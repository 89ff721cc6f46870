/**
 * Processes open a ledger while another writes it. LMDB's own way of opening can undo what was committed
 * a moment before: what was acknowledged must stay.
 */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { CHAIN_START } from '../../src/ledger/hash-chain.ts';
import type { ChainPoint, LedgerWriter } from '../../src/ledger/ledger.ts';
import { Random } from '../../src/simulator/random.ts';
import { SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import { makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';
import { ALSO_FULL, scale } from '../scale.ts';
import { chainOfLength, collectBlocks, describeBlocks } from './chains.ts';
import { type OtherProcess, startOther } from './other-process.ts';

/** Without the environment lock, one in a few hundred undoes a block. */
const OPENINGS = scale(400, 3000, 15_000);
const PROCESSES = 2;
const KILLS = scale(6, 25, 100);
/** A process that opens the ledger does so for the first time after about half of this. */
const LIFE_MS_MAX = 600;

/** Appends a block at a time until the work is done; returns how many. */
async function appendUntil(writer: LedgerWriter, work: Promise<void>): Promise<number> {
  let isDone = false;
  const watched = work.finally(() => {
    isDone = true;
  });
  let head: ChainPoint = CHAIN_START;
  while (!isDone) {
    const [block] = chainOfLength(1, head);
    await writer.append([block]);
    head = block;
  }
  await watched;
  return head.height;
}

async function checkComplete(writer: LedgerWriter, count: number): Promise<void> {
  const blocks = await collectBlocks(writer.read(0));
  assert.deepEqual(describeBlocks(blocks), describeBlocks(chainOfLength(count)));
  await writer.close();
}

/** Reads the heights that it prints: they never go back. */
async function countOpenings(other: OtherProcess, count: number): Promise<void> {
  for (let last = 0, opened = 0; opened < count; opened++) {
    const line = await other.nextLine();
    assert.ok(Number(line) >= last, `${line} after ${last}`);
    last = Number(line);
  }
}

async function openBeside(context: TestContext, folder: string): Promise<void> {
  const starts = Array.from({ length: PROCESSES }, () => startOther(context, 'reopen', folder));
  const others = await Promise.all(starts);
  await Promise.all(others.map((other) => countOpenings(other, OPENINGS / PROCESSES)));
  await Promise.all(others.map((other) => other.kill('SIGKILL')));
}

/** Kills processes at any moment: before, while and after they open the ledger. */
async function killBeside(context: TestContext, folder: string): Promise<void> {
  const random = new Random(`kills ${SEED}`);
  for (let kill = 0; kill < KILLS; kill++) {
    const other = await startOther(context, 'reopen', folder);
    await sleep(random.between(0, LIFE_MS_MAX));
    await other.kill('SIGKILL');
  }
}

test('a process that opens a ledger undoes nothing that is written to it', ALSO_FULL, async (t) => {
  const folder = await makeTemporaryFolder(t);
  const writer = await openEmbeddedLedgerWriter(folder);
  await checkComplete(writer, await appendUntil(writer, openBeside(t, folder)));
});

test(`a process killed while opening stops no other one ${SEED_NOTE}`, ALSO_FULL, async (t) => {
  const folder = await makeTemporaryFolder(t);
  const writer = await openEmbeddedLedgerWriter(folder);
  await checkComplete(writer, await appendUntil(writer, killBeside(t, folder)));
});
