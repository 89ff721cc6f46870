/** Snapshots on a simulated disk whose power goes: what was saved is there, and whole. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHAIN_START } from '../../src/ledger/hash-chain.ts';
import { SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import { createState } from '../../src/state/state.ts';
import { DiskFaults } from '../../tools/fault-simulator/system/disk-faults.ts';
import { Kernel } from '../../tools/fault-simulator/system/kernel.ts';
import {
  SIMULATED_ROOT,
  SimulatedFiles,
} from '../../tools/fault-simulator/system/simulated-files.ts';
import { onSystem } from '../../tools/fault-simulator/system/virtual-system.ts';

/** What a power cut takes is left to chance. */
const CUTS = 20;
const DATA = `${SIMULATED_ROOT}/data`;
/** Longer than any of the work takes. */
const WORK_MS_MAX = 1_000;

/** Does the work on a new disk, then cuts its power, and returns what the check finds. */
async function cutPowerAfter<T>(
  seed: string,
  work: () => Promise<void>,
  check: (files: SimulatedFiles) => T,
): Promise<T> {
  const kernel = new Kernel(seed);
  const files = new SimulatedFiles(kernel, new DiskFaults(kernel.random));
  return onSystem({ kernel, files }, async () => {
    const working = work();
    await kernel.run(WORK_MS_MAX);
    await working;
    files.cutPower();
    return check(files);
  });
}

async function* streamBytes(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}

const snapshots = new SnapshotFolder(DATA);

test('a saved snapshot survives a power cut, in a folder that is new', async () => {
  const save = () => snapshots.save(createState(), CHAIN_START.hash);
  for (let cut = 0; cut < CUTS; cut++) {
    const left = await cutPowerAfter(`saved/${cut}`, save, () => snapshots.heights());
    assert.deepEqual(left, [0]);
  }
});

test('a received snapshot survives a power cut whole', async () => {
  const bytes = Buffer.from('the bytes of a snapshot');
  const receive = () => snapshots.receive(5, streamBytes(bytes));
  for (let cut = 0; cut < CUTS; cut++) {
    const left = await cutPowerAfter(`received/${cut}`, receive, (files) =>
      files.require(snapshots.pathOf(5)).bytes.toString(),
    );
    assert.equal(left, bytes.toString());
  }
});
