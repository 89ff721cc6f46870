/** What a client asks of its connection: an interval of its own, and compressed states. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { after, test } from 'node:test';
import { type PerMessageDeflateOptions, WebSocket } from 'ws';
import { readConnectionOptions } from '../../src/http/push/connection-options.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { appendAll, NO_SNAPSHOTS } from '../../tools/harness/data-directory.ts';
import { createPlaces } from '../../tools/harness/program.ts';
import { connectRefused, PushClient, type PushedState } from '../../tools/harness/push-client.ts';
import { createKey, makeLedger, startService } from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';

const lines = simulateLines(60, 'push terms');
/** The others follow while clients are connected. */
const APPENDED = 40;
const place = createPlaces();
const data = await makeLedger(place('ledger'), lines.slice(0, APPENDED));
const { secret: key } = await createKey(data);
const flags = ['--max-age', '0', '--push-interval', '0'];
const service = await startService({ after }, { data, flags });
await service.untilCaughtUp(APPENDED);

/** Whoever trades the most has a long answer. */
function findTrader(): string {
  const counts = new Map<string, number>();
  for (const line of lines) {
    for (const { type, user } of JSON.parse(line).events) {
      if (type === 'fill') counts.set(user, (counts.get(user) ?? 0) + 1);
    }
  }
  return [...counts].reduce((most, next) => (next[1] > most[1] ? next : most))[0];
}

const SUBSCRIPTION = { type: 'clearinghouseState', user: findTrader(), dex: '' };

function addressOf(query: string): string {
  return `ws://127.0.0.1:${service.port}/${key}/ws${query}`;
}

async function connect(
  query: string,
  perMessageDeflate: boolean | PerMessageDeflateOptions = true,
): Promise<PushClient> {
  const socket = new WebSocket(addressOf(query), { perMessageDeflate });
  const client = new PushClient(socket);
  after(() => client.close());
  await once(socket, 'open');
  return client;
}

/** Bytes that the client's TCP socket has read. */
function bytesRead({ socket }: PushClient): number {
  return (socket as unknown as { readonly _socket: Socket })._socket.bytesRead;
}

/** All states up to the newest height. */
async function untilHeight(client: PushClient, height: number): Promise<Map<number, PushedState>> {
  const states = new Map<number, PushedState>();
  for (;;) {
    const state = await client.nextState();
    states.set(state.height, state);
    if (state.height === height) return states;
  }
}

test('compressed states are the same as others, in fewer bytes', async () => {
  const clients = [
    await connect('?compress=true'),
    await connect(''),
    await connect('?compress=true', false),
  ];
  for (const client of clients) {
    client.subscribe(SUBSCRIPTION);
    await client.next('subscriptionResponse');
  }
  await appendAll(data, lines.slice(APPENDED), NO_SNAPSHOTS);
  const [compressed, plain, notOffered] = await Promise.all(
    clients.map((client) => untilHeight(client, lines.length)),
  );
  const newest = plain.get(lines.length);
  assert.deepEqual(compressed.get(lines.length), newest);
  assert.deepEqual(notOffered.get(lines.length), newest);
  const [compressedBytes, plainBytes] = clients.map(bytesRead);
  const each = compressedBytes / compressed.size / (plainBytes / plain.size);
  assert.ok(each < 0.7, `${each} of the bytes`);
  assert.deepEqual(
    clients.map(({ socket }) => socket.extensions),
    ['permessage-deflate', '', ''],
  );
});

test('a client that inflates with a small window is sent what it can inflate', async () => {
  for (const [serverMaxWindowBits, extensions] of [
    [12, 'permessage-deflate'],
    [11, ''],
  ] as const) {
    const client = await connect('?compress=true', { serverMaxWindowBits });
    assert.equal(client.socket.extensions, extensions);
    // Every market, as one message of more than 4 KiB.
    client.subscribe({ type: 'webData2', user: SUBSCRIPTION.user });
    await client.next('subscriptionResponse');
    const { length } = JSON.stringify(await client.next('webData2'));
    assert.ok(length > 6 << 10, `${length} characters`);
  }
});

test('terms that make no sense are refused, with their field and value', async () => {
  for (const [query, field, value] of [
    ['?interval=100', 'interval', '100'],
    ['?interval=-250', 'interval', '-250'],
    ['?interval=', 'interval', ''],
    ['?interval=1e3', 'interval', '1e3'],
    ['?interval=60250', 'interval', '60250'],
    ['?compress=yes', 'compress', 'yes'],
  ]) {
    const { status, error, message } = await connectRefused(addressOf(query));
    assert.deepEqual([status, error], [422, 'invalid_field'], query);
    assert.ok(message.startsWith(`${field}: got "${value}", expected `), message);
  }
  for (const [field, value] of [
    ['interval', '500'],
    ['compress', 'true'],
  ]) {
    const refused = await connectRefused(addressOf(`?${field}=${value}&${field}=abc`));
    assert.deepEqual(
      [refused.status, refused.message],
      [422, `${field}: got 2 values in the query, expected one`],
    );
  }
  assert.ok(
    !(readConnectionOptions('interval=60000&compress=false&more=1') instanceof RequestError),
  );
});
