/** Requests that do not come whole: what they take in memory, each and all together, in both lanes. */

import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  UnfinishedBytes,
  type UnfinishedRequest,
} from '../../src/http/transport/connections/unfinished-bytes.ts';
import { connect, type RawClient } from '../../tools/harness/raw-client.ts';
import { formatQuestion, QUESTION } from '../../tools/harness/service.ts';
import { listenLocally } from '../http/in-process.ts';
import { type BothLanes, openBothLanes } from './both-lanes.ts';

const MIB = 1 << 20;

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** Bytes of all buffers that are in use. */
function measureBuffers(): number {
  // The second time waits until the first has freed everything.
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

/** The sizes that were noted, of requests that still have a buffer. */
const noted = new Map<UnfinishedRequest, number>();
const { note } = UnfinishedBytes.prototype;
UnfinishedBytes.prototype.note = function (request, bufferBytes) {
  if (bufferBytes > 0) noted.set(request, bufferBytes);
  else noted.delete(request);
  note.call(this, request, bufferBytes);
};

function sumNoted(): number {
  return [...noted.values()].reduce((sum, bytes) => sum + bytes, 0);
}

interface Place {
  readonly lanes: BothLanes;
  readonly port: number;
  readonly key: string;
  /** Waits until the service has read so many bytes of all its clients. */
  untilRead(bytes: number): Promise<void>;
}

type LaneName = 'fast' | 'plain';
const LANES: readonly LaneName[] = ['fast', 'plain'];

async function open(t: TestContext, name: LaneName, bodyBytesMax = 65_536): Promise<Place> {
  const lanes = await openBothLanes(t, { settings: { bodyBytesMax } });
  const { server } = lanes[name];
  const accepted: Socket[] = [];
  server.on('connection', (socket: Socket) => accepted.push(socket));
  const countRead = () => accepted.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
  return {
    lanes,
    port: await listenLocally(server),
    key: lanes.keySets[0].free,
    untilRead: (bytes) => until(() => countRead() >= bytes),
  };
}

const WAIT_MS_MAX = 20_000;

async function until(isSo: () => boolean): Promise<void> {
  const lateMs = performance.now() + WAIT_MS_MAX;
  while (!isSo()) {
    assert.ok(performance.now() < lateMs, `still not so: ${isSo}`);
    await sleep(5);
  }
}

const CLIENTS = 99;
const PART_BYTES = 10_000;
const PARTS = 3;
const SENT_BYTES = CLIENTS * PARTS * PART_BYTES;
const HEAD_BYTES_MAX = 500;

const WAYS_TO_LEAVE: readonly ((client: RawClient) => void)[] = [
  ({ socket }) => socket.destroy(),
  ({ socket }) => socket.resetAndDestroy(),
  ({ socket }) => socket.end(),
];

for (const name of LANES) {
  test(`half a body takes little more than its bytes, and nothing when its client has left (${name} lane)`, async (t) => {
    const { port, key, lanes, untilRead } = await open(t, name);
    const clients = await Promise.all(Array.from({ length: CLIENTS }, () => connect(port)));
    const question = formatQuestion(key, { body: QUESTION.padEnd(2 * PARTS * PART_BYTES) });
    const before = measureBuffers();
    for (let part = 0; part < PARTS; part++) {
      const bytes = question.subarray(part * PART_BYTES, (part + 1) * PART_BYTES);
      for (const client of clients) client.send(bytes);
      await untilRead(CLIENTS * (part + 1) * PART_BYTES);
      await until(() => sumNoted() >= CLIENTS * ((part + 1) * PART_BYTES - HEAD_BYTES_MAX));
    }
    const share = (measureBuffers() - before) / SENT_BYTES;
    assert.ok(share > 0.9 && share < 1.25, `${share.toFixed(2)} bytes for each that was sent`);
    for (const [index, client] of clients.entries()) {
      WAYS_TO_LEAVE[index % WAYS_TO_LEAVE.length](client);
    }
    await Promise.all(clients.map(({ closed }) => closed));
    await until(() => noted.size === 0);
    const left = (measureBuffers() - before) / SENT_BYTES;
    assert.ok(left < 0.1, `${left.toFixed(2)} bytes for each that was sent`);
    const metrics = await lanes[name].registry.metrics();
    assert.doesNotMatch(metrics, /^perpinfo_fast_lane_exits_total\{/m);
  });
}

const LONG_CLIENTS = 10;
const LONG_BYTES = 8 * MIB;
const UNFINISHED_BYTES_MAX = 64 * MIB;
/** Their buffers have some room. */
const ANSWERED_MIN = 7;

for (const name of LANES) {
  test(`of too many half bodies the oldest are refused, and a short one never (${name} lane)`, async (t) => {
    const { port, key, untilRead } = await open(t, name, LONG_BYTES + 1);
    const short = formatQuestion(key);
    const long = formatQuestion(key, { body: QUESTION.padEnd(LONG_BYTES) });
    const oldest = await connect(port);
    oldest.send(short.subarray(0, -1));
    const clients: RawClient[] = [];
    for (let count = 1; count <= LONG_CLIENTS; count++) {
      const client = await connect(port);
      clients.push(client);
      client.send(long.subarray(0, -1));
      await untilRead(short.length - 1 + count * (long.length - 1));
      assert.ok(sumNoted() <= UNFINISHED_BYTES_MAX, `${sumNoted()} bytes`);
    }
    const statuses: number[] = [];
    for (const client of clients) {
      client.send(long.subarray(-1));
      const { status, headers, body } = await client.response();
      statuses.push(status);
      if (status === 200) continue;
      assert.deepEqual([headers.get('connection'), headers.get('retry-after')], ['close', '1']);
      assert.equal(JSON.parse(body).error, 'overloaded');
    }
    const refused = statuses.lastIndexOf(503) + 1;
    assert.deepEqual(statuses, [
      ...Array.from({ length: refused }, () => 503),
      ...Array.from({ length: LONG_CLIENTS - refused }, () => 200),
    ]);
    assert.ok(refused > 0 && LONG_CLIENTS - refused >= ANSWERED_MIN, `${refused} were refused`);
    oldest.send(short.subarray(-1));
    assert.equal((await oldest.response()).status, 200);
    for (const client of [oldest, ...clients]) client.close();
  });

  test(`what was sent behind a request that waits can be dropped, and the connection ends (${name} lane)`, async (t) => {
    const { port, key, lanes } = await open(t, name);
    noted.clear();
    const client = await connect(port);
    const waiting = formatQuestion(key, { headers: { 'Ledger-Min-Height': '1000' } });
    const next = formatQuestion(key, { body: QUESTION.padEnd(2 * PART_BYTES) });
    client.send(Buffer.concat([waiting, next]));
    await until(() => lanes.waits.isHolding && sumNoted() > 2 * PART_BYTES);
    for (const request of noted.keys()) request.refuseUnfinished();
    assert.equal(noted.size, 0);
    await lanes.waits.released();
    const { status, headers, body } = await client.response();
    assert.deepEqual([status, JSON.parse(body).error], [503, 'behind']);
    assert.equal(headers.get('connection'), 'close');
    await client.closed;
    assert.equal(client.left, '');
  });
}
