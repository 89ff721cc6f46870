/** That a follower learns of writes to the ledger's file at once, and also where the system does not tell. */

import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { appendFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { WriteWatch } from '../../src/ledger/embedded/write-watch.ts';
import { makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';

const OFTEN_MS = 5;
const SELDOM_MS = 50;
const NEVER = new AbortController().signal;

function openWatch(context: TestContext, file: string): WriteWatch {
  const watch = new WriteWatch(file);
  // A watch does not keep the process alive.
  const alive = setInterval(() => undefined, 1000);
  context.after(() => {
    watch.close();
    clearInterval(alive);
  });
  return watch;
}

async function createFile(context: TestContext): Promise<string> {
  const file = path.join(await makeTemporaryFolder(context), 'data');
  writeFileSync(file, 'a');
  return file;
}

/** Time stands still, so only a write ends a wait. */
async function waitForWrite(watch: WriteWatch, file: string): Promise<void> {
  const waiting = watch.wait(NEVER);
  appendFileSync(file, 'b');
  await waiting;
}

/** Whether a wait is over after so much time. */
async function isOverAfter(context: TestContext, watch: WriteWatch, ms: number): Promise<boolean> {
  const end = new AbortController();
  let isOver = false;
  const waiting = watch.wait(end.signal).then(() => {
    isOver = true;
  });
  context.mock.timers.tick(ms);
  await nextTurn();
  const result = isOver;
  end.abort();
  await waiting;
  return result;
}

test('a write ends the wait', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const file = await createFile(context);
  await waitForWrite(openWatch(context, file), file);
});

test('a write between two waits ends the next one', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const file = await createFile(context);
  const watch = openWatch(context, file);
  await waitForWrite(watch, file);
  appendFileSync(file, 'c');
  // The system tells of it while nobody waits.
  for (let turn = 0; turn < 20; turn++) await nextTurn();
  await watch.wait(NEVER);
});

test('the pause becomes longer once the system tells of writes, and short again if it does not', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const file = await createFile(context);
  const watch = openWatch(context, file);
  assert.equal(await isOverAfter(context, watch, OFTEN_MS - 1), false);
  assert.equal(await isOverAfter(context, watch, OFTEN_MS), true);
  await waitForWrite(watch, file);
  // A write that brought nothing proves nothing.
  assert.equal(await isOverAfter(context, watch, OFTEN_MS), true);
  await waitForWrite(watch, file);
  watch.noteFound();
  assert.equal(await isOverAfter(context, watch, SELDOM_MS - 1), false);
  assert.equal(await isOverAfter(context, watch, SELDOM_MS), true);
  watch.noteFound();
  assert.equal(await isOverAfter(context, watch, OFTEN_MS), true);
});

test('a file that cannot be watched is looked at often', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const watch = openWatch(context, path.join(await makeTemporaryFolder(context), 'missing'));
  assert.equal(await isOverAfter(context, watch, OFTEN_MS), true);
});

test('waits leave nothing behind on their signal', async (context) => {
  const watch = openWatch(context, await createFile(context));
  const { signal } = new AbortController();
  for (let round = 0; round < 20; round++) await watch.wait(signal);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
});
