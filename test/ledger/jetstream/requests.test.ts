/** Requests to NATS: what refusals, interruptions and unanswered questions become. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { StreamInfo } from '@nats-io/jetstream';
import { formatNatsAddress, parseNatsAddress } from '../../../src/config/nats-address.ts';
import { connectNats, type NatsLink } from '../../../src/ledger/jetstream/nats.ts';
import { connectionOptions, loadModules } from '../../../src/ledger/jetstream/nats-client.ts';
import { ServerWatch } from '../../../src/ledger/jetstream/server-watch.ts';
import { runInProcess } from '../../../tools/fault-simulator/nats/run-in-process.ts';
import { makeTemporaryFolder } from '../../../tools/harness/temporary-folder.ts';
import { chainOfLength } from '../chains.ts';
import { storeBlocks, test } from './simulated-ledger.ts';

const blocks = chainOfLength(3);
const REFUSAL = { message: 'JetStream system temporarily unavailable' };

/** As the stream's leader does without a metadata leader. */
function refuseMessages({ manager, modules }: NatsLink): void {
  const { JetStreamApiError } = modules.stream;
  const refusal = { code: 503, err_code: 10008, description: REFUSAL.message };
  manager.streams.getMessage = () => Promise.reject(new JetStreamApiError(refusal));
}

test('a message that the leader refuses to return is read from any server that has it', async (world) => {
  await storeBlocks(world, blocks);
  const link = await world.connect();
  refuseMessages(link);
  const { direct } = link.manager;
  const getMessage = direct.getMessage.bind(direct);
  let lagging = 2;
  direct.getMessage = async (stream, query) => (lagging-- > 0 ? null : getMessage(stream, query));
  const message = await link.readMessage(2);
  assert.equal(message?.seq, 2);
  assert.equal(Buffer.from(message?.data ?? []).toString(), 'line 2');
  assert.equal(message?.header.get('Perpinfo-Hash'), blocks[1].hash.toString('hex'));
});

test('a message that no server proves to have stays refused: it may be there', async (world) => {
  await storeBlocks(world, blocks);
  const link = await world.connect();
  refuseMessages(link);
  await assert.rejects(link.readMessage(4), REFUSAL);
  link.manager.direct.getMessage = () => Promise.reject(new Error('no responders'));
  await assert.rejects(link.readMessage(2), REFUSAL);
  link.manager.direct.getMessage = () => Promise.reject(new TypeError('a bug'));
  await assert.rejects(link.readMessage(2), { name: 'TypeError', message: 'a bug' });
});

test('a stream without direct gets is not asked for any: nobody would answer', async (world) => {
  const link = await world.connect();
  await link.retryWhileUnavailable(() =>
    link.ask('creating', () =>
      link.manager.streams.add({ name: link.name, subjects: ['some'], allow_direct: false }),
    ),
  );
  refuseMessages(link);
  link.manager.direct.getMessage = () => assert.fail('it was asked');
  await assert.rejects(link.readMessage(1), REFUSAL);
});

test('a request in flight fails as soon as the connection is lost, and a bug stays a bug', async (world) => {
  const link = await world.connect();
  const startedMs = world.kernel.nowMs;
  const asked = link.ask('asking', () => new Promise<never>(() => undefined));
  world.nats.cutConnections(world.kernel.current);
  await assert.rejects(asked, {
    fault: 'unavailable',
    message: 'asking: NATS request failed: the connection was lost (10.0.0.1:4222)',
  });
  assert.ok(world.kernel.nowMs - startedMs < 100);
  const bug = new RangeError('a bug');
  await assert.rejects(
    link.ask('asking', () => Promise.reject(bug)),
    bug,
  );
  await link.close();
  // A reader may notice that its server lags while it is being closed.
  link.leaveServer();
  assert.equal(link.connection.isClosed(), true);
});

test('a bucket is opened once the servers answer, and not waited for forever', async (world) => {
  const { kernel, nats, connect } = world;
  const [server] = nats.servers;
  const link = await connect();
  server.kill();
  kernel.schedule(5_000, () => server.start(), kernel.world);
  const bucket = await link.openBucket('some');
  await bucket.put('key', 'value');
  server.kill();
  await assert.rejects(link.openBucket('other'), {
    fault: 'unavailable',
    message: /^opening the bucket other: NATS request failed: /,
  });
});

it('a client leaves a server that is cut off from its peers, for one that is not', () =>
  runInProcess(3, async (nats, kernel) => {
    const link = await connectNats(nats.options('ledger'));
    await link.retryWhileUnavailable(() =>
      link.ask('creating', () =>
        link.manager.streams.add({ name: 'ledger', subjects: ['some'], num_replicas: 3 }),
      ),
    );
    const serverOf = () =>
      nats.servers.findIndex((each) => each.connectionsOf(kernel.current).length > 0);
    const first = serverOf();
    nats.isolate(first);
    await sleep(20_000);
    assert.notEqual(serverOf(), first);
    assert.equal((await link.manager.streams.info('ledger')).config.name, 'ledger');
    await link.close();
  }));

interface Peer {
  readonly active: number;
}

function infoOf(leader: string | undefined, silencesMs: readonly number[]): StreamInfo {
  const replicas = silencesMs.map((ms): Peer => ({ active: ms * 1e6 }));
  return { cluster: { leader, replicas } } as unknown as StreamInfo;
}

const WATCHED: [about: string, readInfo: () => Promise<StreamInfo>, isLeft: boolean][] = [
  ['is alone', async () => infoOf(undefined, []), false],
  ['leads a majority', async () => infoOf('n1', [100, 9_000]), false],
  ['hears from no peer', async () => infoOf('n1', [9_000, 9_000]), true],
  ['knows no leader', async () => infoOf(undefined, [100, 100]), true],
  ['does not answer', () => new Promise(() => undefined), true],
  ['has no such stream', () => Promise.reject(new Error('stream not found')), false],
  ['fails', () => Promise.reject(new Error('timeout')), true],
];

for (const [about, readInfo, isLeft] of WATCHED) {
  it(`a server that ${about} is ${isLeft ? 'left' : 'kept'}`, () =>
    runInProcess(1, async () => {
      let leaves = 0;
      const watch = new ServerWatch({
        readInfo,
        isAnswer: (error) => (error as Error).message === 'stream not found',
        leave: () => leaves++,
      });
      await sleep(2_900);
      assert.equal(leaves, 0);
      await sleep(5_000);
      assert.equal(leaves > 0, isLeft, `left ${leaves} times`);
      watch.disconnected();
      const before = leaves;
      await sleep(5_000);
      // There is nothing to leave: the client looks for a server already.
      assert.ok(leaves - before <= 1, `left ${leaves - before} times more`);
      watch.close();
    }));
}

it('files of the settings are read for every connection, and one that is missing or empty is named', async (context) => {
  const folder = await makeTemporaryFolder(context);
  const modules = await loadModules();
  const address = parseNatsAddress('nats://127.0.0.1:1/ledger');
  assert.ok(address !== undefined);
  const file = path.join(folder, 'file');
  const settings = { address, replicas: 1 };
  assert.equal(connectionOptions(settings, modules).tls, undefined);
  const encrypted = { ...settings, address: { ...address, isEncrypted: true } };
  assert.deepEqual(connectionOptions(encrypted, modules).tls, {});
  await assert.rejects(connectNats({ ...settings, caFile: file }), {
    fault: 'missing',
    message: `cannot read the file of --nats-ca: ENOENT: no such file or directory, open '${file}'`,
  });
  await assert.rejects(connectNats({ ...settings, credsFile: file }), {
    fault: 'missing',
    message: `cannot read the file of --nats-creds: ENOENT: no such file or directory, open '${file}'`,
  });
  writeFileSync(file, '');
  await assert.rejects(connectNats({ ...settings, caFile: file }), {
    fault: 'missing',
    message: `the file of --nats-ca is empty: ${file}`,
  });
  writeFileSync(file, 'some bytes');
  // The bytes, not the file: during its handshake, the client must not wait for anything.
  const { tls } = connectionOptions({ ...settings, caFile: file }, modules);
  assert.deepEqual(tls, { ca: 'some bytes' });
  const { authenticator } = connectionOptions({ ...settings, credsFile: file }, modules);
  assert.equal(typeof authenticator, 'function');
});

it('an address is written as it was read', () => {
  for (const text of [
    'nats://127.0.0.1:4222/ledger',
    'nats://a:1,b:2,[::1]:3/ledger',
    'tls://user:p%40ss%2F%25@a:1/ledger',
    'nats://t%3Aoken@a/ledger',
  ]) {
    const address = parseNatsAddress(text);
    assert.ok(address, text);
    assert.equal(formatNatsAddress(address), text);
  }
});
