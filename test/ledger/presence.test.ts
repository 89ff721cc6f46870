import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, renameSync } from 'node:fs';
import { createServer } from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Presence } from '../../src/ledger/embedded/presence.ts';
import { createPlaces } from '../cli/program.ts';
import type { Cleanup } from '../service/running.ts';

const place = createPlaces();
/** More than a tick of the file system's clock. */
const TICK_MS = 20;
/** The socket of a process in another namespace; 1 is no namespace's number. */
const OTHER = '1-1';

/** A process in another container that has created its socket; returns what makes it visible. */
async function prepareOther(context: Cleanup, folder: string): Promise<() => void> {
  const users = path.join(folder, 'users');
  mkdirSync(users, { recursive: true });
  const draft = path.join(users, `${OTHER}.draft`);
  const server = createServer((socket) => socket.destroy()).listen(draft);
  await once(server, 'listening');
  context.after(() => void server.close());
  return () => renameSync(draft, path.join(users, OTHER));
}

test('a process that becomes visible later is later, also if it created its socket first', async (context) => {
  const folder = place();
  const appear = await prepareOther(context, folder);
  await sleep(TICK_MS);
  const presence = await Presence.enter(folder);
  context.after(() => presence.leave());
  assert.equal(await presence.hasEarlierElsewhere(), false);
  await sleep(TICK_MS);
  appear();
  assert.equal(await presence.hasEarlier(), false);
  assert.equal(await presence.hasEarlierElsewhere(), false);
});

test('a process that was visible before is earlier', async (context) => {
  const folder = place();
  const appear = await prepareOther(context, folder);
  appear();
  await sleep(TICK_MS);
  const presence = await Presence.enter(folder);
  context.after(() => presence.leave());
  assert.equal(await presence.hasEarlier(), true);
  assert.equal(await presence.hasEarlierElsewhere(), true);
});
