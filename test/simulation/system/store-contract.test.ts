/** The simulated database beneath the embedded ledger keeps the promises of LMDB, crash for crash. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { openLmdbLedgerStore } from '../../../src/ledger/embedded/lmdb-ledger-store.ts';
import { Kernel } from '../../../tools/fault-simulator/system/kernel.ts';
import {
  describeStore,
  STEPS,
  takeSteps,
} from '../../../tools/fault-simulator/system/store-steps.ts';
import { onSystem } from '../../../tools/fault-simulator/system/virtual-system.ts';
import { Machine } from '../../../tools/fault-simulator/world/machine.ts';
import { PROJECT } from '../../../tools/harness/paths.ts';
import { makeTemporaryFolder } from '../../../tools/harness/temporary-folder.ts';

const USER = path.join(PROJECT, 'build/tools/fault-simulator/system/store-user.js');

/** What a simulated process leaves behind that takes the steps and is killed. */
async function takeSimulated(count: number): Promise<unknown> {
  const kernel = new Kernel('contract');
  const machine = new Machine(kernel);
  const told: unknown[] = [];
  await onSystem({ kernel, files: machine.files }, async () => {
    const user = kernel.start('user', () => {
      void takeSteps(machine.ledger.open(), count).then((outcome) => told.push({ outcome }));
    });
    await kernel.run(1_000);
    kernel.kill(user);
    kernel.start('reader', () => told.push(describeStore(machine.ledger.open())));
    await kernel.run(2_000);
  });
  return JSON.parse(JSON.stringify(told));
}

/** The same with a real process on LMDB. */
async function takeReal(folder: string, count: number): Promise<unknown> {
  const { stdout, signal } = spawnSync(process.execPath, [USER, folder, `${count}`]);
  assert.equal(signal, 'SIGKILL');
  const store = await openLmdbLedgerStore(folder, { readOnly: false });
  assert.ok(store !== undefined);
  const left = describeStore(store);
  await store.close();
  return JSON.parse(JSON.stringify([JSON.parse(`${stdout}`), left]));
}

for (const [index, name] of Object.keys(STEPS).entries()) {
  test(`killed after ${name}, both have the same in them`, async (context) => {
    const folder = await makeTemporaryFolder(context);
    assert.deepEqual(await takeSimulated(index + 1), await takeReal(folder, index + 1));
  });
}
