/** What a follower has spent is not spent again by the one that is started after it. */

import assert from 'node:assert/strict';
import { chmodSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { SpentFile } from '../../../src/upstream/client/limits/spent-file.ts';
import { UpstreamBudget } from '../../../src/upstream/client/limits/upstream-budget.ts';
import { makeTemporaryFolder } from '../../../tools/harness/temporary-folder.ts';
import { ManualClock } from '../manual-clock.ts';

const ORIGIN = 'https://host';

function createBudget(folder: string, origin = ORIGIN, clock = new ManualClock()): UpstreamBudget {
  const spent = new SpentFile(folder, origin, assert.fail);
  return new UpstreamBudget({ limit: 100, forwardShare: 0, inFlightMax: 50, clock, spent });
}

/** Sends as many requests as the budget grants at once. */
function spendAll(budget: UpstreamBudget): number {
  let granted = 0;
  for (let index = 0; index < 100; index++) {
    const request = { priority: 'upkeep', weight: 10, granted: () => granted++ } as const;
    budget.request({ ...request, failed: () => undefined });
  }
  return granted;
}

test('a follower that is killed leaves a spent budget to the next one', async (t) => {
  const folder = await makeTemporaryFolder(t);
  assert.equal(spendAll(createBudget(folder)), 10);
  const clock = new ManualClock();
  const next = createBudget(folder, ORIGIN, clock);
  assert.equal(next.left, 0);
  assert.equal(spendAll(next), 0);
  clock.advance(70_000);
  assert.equal(next.left, 0, 'what waited was sent');
});

test('a third one in the same second counts what both before it have spent', async (t) => {
  const folder = await makeTemporaryFolder(t);
  const first = new SpentFile(folder, ORIGIN, assert.fail);
  first.note(30, false);
  const second = new SpentFile(folder, ORIGIN, assert.fail);
  second.load();
  second.note(20, true);
  const slots = new SpentFile(folder, ORIGIN, assert.fail).load();
  const sum = (part: 'own' | 'forwarded') => slots.reduce((all, slot) => all + slot[part], 0);
  assert.deepEqual([sum('own'), sum('forwarded')], [30, 20]);
});

test('another upstream has a budget of its own', async (t) => {
  const folder = await makeTemporaryFolder(t);
  spendAll(createBudget(folder));
  assert.equal(createBudget(folder, 'https://other').left, 100);
});

test('a file that cannot be read or written is said once, and stops nothing', async (t) => {
  const folder = await makeTemporaryFolder(t);
  spendAll(createBudget(folder));
  const [name] = readdirSync(folder);
  writeFileSync(path.join(folder, name), 'damaged');
  chmodSync(folder, 0o700);
  assert.equal(createBudget(folder).left, 100);
  const warnings: string[] = [];
  const noFolder = path.join(folder, name);
  const spent = new SpentFile(noFolder, ORIGIN, (message) => warnings.push(message));
  assert.deepEqual(spent.load(), []);
  for (let index = 0; index < 3; index++) spent.note(1, false);
  assert.equal(warnings.length, 1);
});

test('a folder that is not there yet is made', async (t) => {
  const folder = path.join(await makeTemporaryFolder(t), 'new', 'follower');
  spendAll(createBudget(folder));
  assert.equal(createBudget(folder).left, 0);
});
