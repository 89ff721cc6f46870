/** How long connections last and what they may hold, over real sockets: the same rules in both lanes. */

import assert from 'node:assert/strict';
import type { Server, Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type RawClient } from '../../tools/harness/raw-client.ts';
import { formatQuestion } from '../../tools/harness/service.ts';
import { listenLocally } from '../http/in-process.ts';
import { ALSO_LONG, shareOut } from '../scale.ts';
import { type BothLanes, openBothLanes } from './both-lanes.ts';

type LaneName = 'fast' | 'plain';
const LANES: readonly LaneName[] = shareOut(['fast', 'plain'], 1);

interface Place {
  readonly port: number;
  readonly server: Server;
  readonly key: string;
  readonly lanes: BothLanes;
}

async function open(
  context: TestContext,
  name: LaneName,
  settings: NonNullable<Parameters<typeof openBothLanes>[1]>['settings'] = {},
): Promise<Place> {
  const lanes = await openBothLanes(context, { settings });
  const { server } = lanes[name];
  return { lanes, server, port: await listenLocally(server), key: lanes.keySets[0].free };
}

async function askOn(client: RawClient, key: string): Promise<void> {
  client.send(formatQuestion(key));
  assert.equal((await client.response()).status, 200);
}

const TIMEOUTS = { idleTimeout: 1000, headerTimeout: 1000, requestTimeout: 2000 };
for (const name of LANES) {
  test(`connections over the limit are closed at once (${name} lane)`, ALSO_LONG, async (t) => {
    const { port, key, lanes } = await open(t, name, { connectionsMax: 5 });
    const clients: RawClient[] = [];
    for (let count = 0; count < 5; count++) clients.push(await connect(port));
    for (const client of clients) await askOn(client, key);
    for (let count = 0; count < 3; count++) {
      const refused = await connect(port);
      await refused.closed;
      assert.equal(refused.left, '');
    }
    const metrics = await lanes[name].registry.metrics();
    assert.match(metrics, /^perpinfo_connections 5$/m);
    assert.match(metrics, /^perpinfo_connections_refused_total 3$/m);
    assert.deepEqual(
      lanes[name].logged.map(({ msg, refused, limit }) => ({ msg, refused, limit })),
      [{ msg: 'connections over the limit were closed', refused: 1, limit: 5 }],
    );
    for (const client of clients) await askOn(client, key);
    clients[0].close();
    await clients[0].closed;
    await sleep(50);
    const next = await connect(port);
    await askOn(next, key);
    for (const client of [...clients, next]) client.close();
  });

  test(
    `who sends ahead and does not read is held back or cut off (${name} lane)`,
    ALSO_LONG,
    async (t) => {
      const place = await open(t, name);
      await checkUnreadBounded(place);
    },
  );

  test(`who takes long to read an answer is not idle (${name} lane)`, ALSO_LONG, async (t) => {
    const settings = { ...TIMEOUTS, requestTimeout: 60_000, bodyBytesMax: 65_536 };
    const place = await open(t, name, settings);
    await checkSlowReader(place);
  });
}

/** What a server may keep for a client that does not read, beside what the system keeps. */
const UNREAD_BYTES_MAX = 8 << 20;
const STALLED_MS = 1000;

async function checkUnreadBounded({ port, server, key }: Place): Promise<void> {
  const accepted: Socket[] = [];
  server.on('connection', (socket: Socket) => accepted.push(socket));
  const other = await connect(port);
  await askOn(other, key);
  const client = await connect(port);
  client.socket.pause();
  const question = formatQuestion(key, { body: '{"type":"allPerpMetas"}' });
  const few = Buffer.concat(Array.from({ length: 10 }, () => question));
  let unreadMax = 0;
  let movedMs = performance.now();
  let read = 0;
  // Until it is closed, or nothing is read of what it sends.
  while (!client.socket.destroyed && performance.now() - movedMs < STALLED_MS) {
    if (client.socket.writableLength < 1 << 16) client.send(few);
    await askOn(other, key);
    const socket = accepted.at(-1);
    unreadMax = Math.max(unreadMax, socket?.writableLength ?? 0);
    if (socket === undefined || socket.destroyed || socket.bytesRead === read) continue;
    read = socket.bytesRead;
    movedMs = performance.now();
  }
  assert.ok(unreadMax < UNREAD_BYTES_MAX, `${unreadMax} bytes are kept`);
  await askOn(other, key);
  other.close();
  client.close();
}

/** More than the system keeps for a client that does not read, some tens of MiB where buffers may grow. */
const UNREAD_BYTES_MIN = 48 << 20;
/** Longer than a connection may be idle, but not so long that nobody believes in the client. */
const PAUSE_MS = 2800;

/** A client that reads nothing for a while, and then all of it. */
async function checkSlowReader({ port, key, lanes }: Place): Promise<void> {
  const users = Array.from({ length: 1000 }, () => lanes.users[0]);
  const body = JSON.stringify({ type: 'batchClearinghouseStates', users });
  // On a connection of its own: on a busy machine, reading it may take longer than one may be idle.
  const other = await connect(port);
  other.send(formatQuestion(key, { body }));
  const { body: answer } = await other.response();
  other.close();
  const client = await connect(port);
  const count = Math.ceil(UNREAD_BYTES_MIN / answer.length);
  client.socket.pause();
  for (let asked = 0; asked < count; asked++) {
    client.send(formatQuestion(key, { body }));
    await sleep(20);
  }
  await sleep(PAUSE_MS);
  client.socket.resume();
  for (let asked = 0; asked < count; asked++) {
    assert.equal((await client.response()).body, answer);
  }
  client.close();
}
