import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Presence } from '../../src/ledger/embedded/presence.ts';
import { withShortPath } from '../../src/ledger/embedded/socket-path.ts';
import { createPlaces } from '../../tools/harness/program.ts';
import type { Cleanup } from '../../tools/harness/running.ts';

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

test('the socket that an ended process of another namespace has left is removed', async (context) => {
  const folder = place();
  const users = path.join(folder, 'users');
  mkdirSync(users, { recursive: true });
  const server = createServer().listen(path.join(users, 'draft'));
  await once(server, 'listening');
  renameSync(path.join(users, 'draft'), path.join(users, OTHER));
  server.close();
  await once(server, 'close');
  await sleep(TICK_MS);
  const presence = await Presence.enter(folder);
  context.after(() => presence.leave());
  assert.equal(existsSync(path.join(users, OTHER)), true);
  assert.equal(await presence.hasEarlierElsewhere(), false);
  assert.equal(existsSync(path.join(users, OTHER)), false);
});

test('a process that cannot announce itself is later than all others, and is not seen', async (context) => {
  const folder = place();
  const first = await Presence.enter(folder);
  const [name] = readdirSync(path.join(folder, 'users'));
  first.leave();
  const appear = await prepareOther(context, folder);
  // In the way of its socket.
  mkdirSync(path.join(folder, 'users', `${name}.draft`));
  const presence = await Presence.enter(folder);
  assert.equal(presence.isAnnounced, false);
  assert.equal(await presence.hasEarlier(), false);
  appear();
  assert.equal(await presence.hasEarlier(), true);
  assert.equal(await presence.hasEarlierElsewhere(), true);
  presence.leave();
});

test('a folder that cannot hold sockets is entered, and nobody is seen there', async () => {
  const folder = place();
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'users'), '');
  const presence = await Presence.enter(folder);
  assert.equal(presence.isAnnounced, false);
  assert.equal(await presence.hasEarlier(), false);
  presence.leave();
});

test('whoever connects to the socket of a process finds it alive, and gets nothing', async (context) => {
  const folder = place();
  const presence = await Presence.enter(folder);
  context.after(() => presence.leave());
  const [name] = readdirSync(path.join(folder, 'users'));
  const received: Buffer[] = [];
  const socket = await withShortPath(path.join(folder, 'users'), async (short) => {
    const connecting = connect(`${short}/${name}`);
    await once(connecting, 'connect');
    return connecting;
  });
  socket.on('data', (bytes) => received.push(bytes));
  await once(socket, 'close');
  assert.deepEqual(received, []);
});

test('systems without paths of descriptors get the whole path', async (context) => {
  const { platform } = process;
  context.after(() => Object.defineProperty(process, 'platform', { value: platform }));
  Object.defineProperty(process, 'platform', { value: 'darwin' });
  assert.equal(await withShortPath('/some/folder', async (short) => short), '/some/folder');
});
