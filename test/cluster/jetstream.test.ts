/** The ledger on JetStream: the conformance suite on a real server, and what only JetStream does. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KV } from '@nats-io/kv';
import { readSettings } from '../../src/config/read-settings.ts';
import { parseBlock } from '../../src/events/event.ts';
import { openJetStreamLedger } from '../../src/ledger/jetstream/jetstream-ledger.ts';
import { openJetStreamLedgerWriter } from '../../src/ledger/jetstream/jetstream-writer.ts';
import { Lease, takeLease } from '../../src/ledger/jetstream/lease.ts';
import { describeProcess } from '../../src/ledger/ownership/process-identity.ts';
import { LEDGER_WRITER_SETTINGS } from '../../src/ledger/settings.ts';
import { removeOrphanedChunks } from '../../src/replica/orphaned-chunks.ts';
import { openSharedSnapshots } from '../../src/replica/shared-snapshots.ts';
import { SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import { openStorageWriter } from '../../src/replica/storage.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState } from '../../src/state/state.ts';
import { run } from '../../tools/harness/program.ts';
import { makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';
import {
  chainLines,
  chainOfLength,
  collectBlocks,
  describeBlocks,
  heightsOf,
} from '../ledger/chains.ts';
import { describeLedger, type LedgerHarness } from '../ledger/conformance.ts';
import { LONG_ONLY } from '../scale.ts';
import { natsOptions, startNats } from './nats-servers.ts';

const RETRY_MS = 5_000;
let count = 0;

const nats = await startNats();
after(() => nats.stop());

function newLedger() {
  count++;
  const options = natsOptions(nats.address(`ledger-${count}`));
  return {
    name: options.address.name,
    openWriter: () => openJetStreamLedgerWriter({ ...options, retryMs: RETRY_MS }),
    openReader: () => openJetStreamLedger(options),
  };
}

async function makeHarness(): Promise<LedgerHarness> {
  const { name, openWriter, openReader } = newLedger();
  return {
    openWriter,
    openReader,
    async remove() {
      const link = await nats.connect(name);
      for (const stream of [name, `KV_${name}`]) await link.manager.streams.delete(stream);
      await link.close();
    },
  };
}

describeLedger('the ledger on JetStream', makeHarness);

test('a missing ledger cannot be read', async () => {
  const { name, openReader } = newLedger();
  await assert.rejects(openReader(), {
    fault: 'missing',
    message: `there is no ledger ${name} at 127.0.0.1:${nats.servers[0].port}`,
  });
});

test('a stream with unsuitable settings is refused, and the setting is named', async () => {
  const { name, openWriter } = newLedger();
  const link = await nats.connect(name);
  const { RetentionPolicy, StorageType } = link.modules.stream;
  const subjects = [`perpinfo.${name}.blocks`];
  const rows = [
    [{ subjects: [`other.${name}`] }, `its subjects are other.${name};`],
    [{ subjects, storage: StorageType.Memory }, 'its storage is memory;'],
    [{ subjects, retention: RetentionPolicy.Workqueue }, 'its retention is workqueue;'],
    [{ subjects, no_ack: true }, 'its no_ack is true;'],
  ] as const;
  for (const [config, fault] of rows) {
    await link.manager.streams.add({ name, ...config, subjects: [...config.subjects] });
    await assert.rejects(openWriter(), ({ message }: Error) => message.includes(fault));
    await link.manager.streams.delete(name);
  }
  await link.close();
});

test('an unreachable server is named in the error, without the password', async () => {
  const options = natsOptions('nats://user:secret@127.0.0.1:1/nowhere');
  await assert.rejects(openJetStreamLedger(options), (error: Error) => {
    assert.match(error.message, /^cannot reach NATS JetStream at 127\.0\.0\.1:1: /);
    assert.doesNotMatch(error.message, /secret/);
    return true;
  });
});

test('an append whose acknowledgement was lost is idempotent', async () => {
  const { openWriter, name } = newLedger();
  const blocks = chainOfLength(6);
  const first = await openWriter();
  await first.append(blocks.slice(0, 2));
  // The retry of a publish whose acknowledgement was lost: the same bytes on another connection.
  await first.close();
  const second = await openWriter();
  const link = await nats.connect(name);
  const headers = link.modules.transport.headers();
  headers.set('Perpinfo-Hash', blocks[2].hash.toString('hex'));
  headers.set('Perpinfo-Previous', blocks[1].hash.toString('hex'));
  await link.streams.publish(`perpinfo.${name}.blocks`, blocks[2].line, {
    headers,
    msgID: `3:${blocks[2].hash.toString('hex')}`,
  });
  await second.append(blocks.slice(2));
  assert.deepEqual(describeBlocks(await collectBlocks(second.read(0))), describeBlocks(blocks));
  await link.close();
  await second.close();
});

test('a writer that lost its lease fails with a conflict, and stores nothing', async () => {
  const { openWriter, name } = newLedger();
  const mine = chainOfLength(2);
  const theirs = chainLines(['line 1', 'another line 2', 'line 3']);
  const writer = await openWriter();
  await writer.append(mine.slice(0, 1));
  const link = await nats.connect(name);
  for (const block of theirs.slice(1)) {
    const headers = link.modules.transport.headers();
    headers.set('Perpinfo-Hash', block.hash.toString('hex'));
    headers.set('Perpinfo-Previous', theirs[block.height - 2].hash.toString('hex'));
    await link.streams.publish(`perpinfo.${name}.blocks`, block.line, { headers });
  }
  await assert.rejects(writer.append(mine.slice(1)), {
    fault: 'conflict',
    message: 'another writer has written block 2 of this ledger',
  });
  assert.deepEqual(describeBlocks(await collectBlocks(writer.read(0, 3))), describeBlocks(theirs));
  await link.close();
  await writer.close();
});

/** Two writers that both believe to hold the lease: the first one's lease is deleted. */
async function openTwoWriters() {
  const { openWriter, name } = newLedger();
  const first = await openWriter();
  const link = await nats.connect(name);
  await (await link.openBucket(name)).delete('writer');
  const second = await openWriter();
  return { first, second, close: () => Promise.all([first, second, link].map((it) => it.close())) };
}

test('a writer that continues after another took over stores nothing, however long its batch', async () => {
  const { first, second, close } = await openTwoWriters();
  const theirs = chainOfLength(10);
  await second.append(theirs);
  const mine = chainLines(Array.from({ length: 40 }, (_, index) => `mine ${index}`));
  await assert.rejects(first.append(mine), { fault: 'conflict' });
  assert.deepEqual(describeBlocks(await collectBlocks(second.read(0))), describeBlocks(theirs));
  await close();
});

test('of two concurrent writers one succeeds, and the other fails with a conflict', async () => {
  for (let round = 0; round < 10; round++) {
    const { first, second, close } = await openTwoWriters();
    const chains = ['first', 'second'].map((name) =>
      chainLines(Array.from({ length: 300 }, (_, index) => `${name} ${index}`)),
    );
    try {
      const outcomes = await Promise.allSettled([
        first.append(chains[0]),
        second.append(chains[1]),
      ]);
      const stored = describeBlocks(await collectBlocks(second.read(0)));
      const winner = outcomes.findIndex(({ status }) => status === 'fulfilled');
      assert.notEqual(winner, -1, JSON.stringify(outcomes));
      assert.deepEqual(stored, describeBlocks(chains[winner]));
      const loser = outcomes[1 - winner];
      assert.equal(loser.status === 'rejected' && loser.reason.fault, 'conflict');
    } finally {
      await close();
    }
  }
});

test('a block larger than a NATS message is refused, and the limit is named', async () => {
  const { openWriter } = newLedger();
  const noise = randomBytes(1 << 20);
  const writer = await openWriter();
  await assert.rejects(writer.append(chainLines([noise])), {
    fault: 'limit',
    message:
      /^block 1 has 1048576 bytes, deflated \d+: expected at most 1047552, the max_payload of the NATS server/,
  });
  await writer.append(chainOfLength(1));
  assert.deepEqual(heightsOf(await collectBlocks(writer.read(0))), [1]);
  await writer.close();
});

test('a lease that is released while it is being renewed is free at once', async (context) => {
  const { openWriter, name } = newLedger();
  await (await openWriter()).close();
  const link = await nats.connect(name);
  context.after(() => link.close());
  const bucket = await link.openBucket(name);
  const slow: KV = Object.create(bucket);
  const renewals: Promise<number>[] = [];
  slow.update = (...change) => {
    const renewal = bucket.update(...change).then((revision) => sleep(100, revision));
    renewals.push(renewal);
    return renewal;
  };
  const lease = await takeLease({ link, bucket: slow, key: 'test' });
  assert.ok(lease instanceof Lease);
  while (renewals.length === 0) await sleep(10);
  await sleep(50);
  await lease.release();
  assert.equal((await bucket.get('test'))?.operation, 'DEL');
});

/** The lease as a writer on another machine writes it. */
const ELSEWHERE = JSON.stringify({ pid: 7, startedAt: '1', host: 'elsewhere', token: 'x' });

/** As its holder does, until the connection is closed. */
function renewEvery(ms: number, bucket: KV, holder: string): NodeJS.Timeout {
  return setInterval(() => bucket.put('writer', holder).catch(() => undefined), ms);
}

test('the lease of a writer elsewhere is respected until it expires', LONG_ONLY, async () => {
  const { openWriter, name } = newLedger();
  await (await openWriter()).close();
  const link = await nats.connect(name);
  const bucket = await link.openBucket(name);
  await bucket.put('writer', ELSEWHERE);
  const renewing = renewEvery(500, bucket, ELSEWHERE);
  await assert.rejects(openWriter(), {
    fault: 'busy',
    message: 'another writer, process 7 on elsewhere, has this ledger open',
  });
  clearInterval(renewing);
  const startedMs = performance.now();
  const writer = await openWriter();
  assert.ok(performance.now() - startedMs > 5_000, 'the lease was taken before it expired');
  await writer.append(chainOfLength(1));
  // The other writer was only slow: it renews its lease, and this writer must notice.
  await bucket.put('writer', ELSEWHERE);
  await sleep(2_500);
  await assert.rejects(writer.append(chainOfLength(2).slice(1)), {
    fault: 'conflict',
    message: 'another writer has taken this ledger over after block 1',
  });
  await writer.close();
  await link.close();
});

test('a writer in another process namespace with the same host name keeps its lease while it renews it', async (context) => {
  const { openWriter, name } = newLedger();
  await (await openWriter()).close();
  const link = await nats.connect(name);
  const bucket = await link.openBucket(name);
  const inContainer = { ...describeProcess(), pid: 1, namespace: 'pid:[1]' };
  const holder = JSON.stringify({ ...inContainer, host: hostname(), token: 'x' });
  await bucket.put('writer', holder);
  const renewing = renewEvery(300, bucket, holder);
  context.after(() => {
    clearInterval(renewing);
    return link.close();
  });
  await assert.rejects(openWriter(), {
    fault: 'busy',
    message: `another writer, process 1 on ${hostname()}, has this ledger open`,
  });
});

test('chunks of a snapshot whose publisher was killed are removed, and those of snapshots are not', async (context) => {
  const { name, openWriter } = newLedger();
  await (await openWriter()).close();
  const link = await nats.connect(name);
  context.after(() => link.close());
  const bucket = `${name}-snapshots`;
  const objects = await link.openObjects(bucket);
  await objects.putBlob({ name: 'kept' }, randomBytes(300_000));
  await objects.putBlob({ name: 'deleted' }, randomBytes(300_000));
  await objects.delete('deleted');
  const orphan = `$O.${bucket}.C.orphan`;
  await link.streams.publish(orphan, randomBytes(1_000));
  const place = { link, objects, bucket, objectCount: 1 };
  const readSubjects = async () => {
    const { state } = await link.manager.streams.info(`OBJ_${bucket}`, {
      subjects_filter: `$O.${bucket}.C.>`,
    });
    return Object.keys(state.subjects ?? {});
  };
  // A minute later it may still be published.
  await removeOrphanedChunks({ ...place, nowMs: Date.now() + 60_000 });
  assert.equal((await readSubjects()).length, 2);
  await removeOrphanedChunks({ ...place, nowMs: Date.now() + 3_600_000 });
  const kept = await objects.info('kept');
  assert.deepEqual(await readSubjects(), [`$O.${bucket}.C.${kept?.nuid}`]);
  assert.equal((await objects.getBlob('kept'))?.length, 300_000);
});

test('of two replicas that publish a snapshot at once, one is told that it lost', async (context) => {
  const { name, openWriter } = newLedger();
  const writer = await openWriter();
  await writer.append(chainOfLength(50));
  await writer.close();
  const options = natsOptions(nats.address(name));
  const folder = new SnapshotFolder(await makeTemporaryFolder(context));
  const publishers = [await openSharedSnapshots(options), await openSharedSnapshots(options)];
  const link = await nats.connect(name);
  context.after(() => Promise.all([...publishers, link].map((it) => it.close())));
  const bucket = await link.openBucket(name);
  const state = createState();
  const save = (height: number) => {
    applyBlock(state, parseBlock(JSON.stringify({ height, time: 1, events: [] })));
    return folder.save(state, chainOfLength(height)[height - 1].hash);
  };
  // Both believe to hold the publisher's lease: it is deleted after each publish.
  await save(1);
  for (const publisher of publishers) {
    assert.equal(await publisher.publish(folder, 1), true);
    await bucket.delete('snapshots');
  }
  // Publishes only collide if they overlap, so repeat until they do.
  const outcomes: boolean[] = [];
  for (let height = 2; height < 50 && !outcomes.includes(false); height++) {
    await save(height);
    outcomes.push(...(await Promise.all(publishers.map((it) => it.publish(folder, height)))));
    assert.ok(outcomes.slice(-2).includes(true), 'neither has published');
    assert.equal((await publishers[0].heights()).at(-1), height);
  }
  assert.ok(outcomes.includes(false), 'the slower publisher was never told');
});

test('the password in the address is sent to the server', async (context) => {
  const config = 'authorization { user: "some one", password: "p@ss/word" }';
  const guarded = await startNats(1, { config, login: 'some%20one:p%40ss%2Fword@' });
  context.after(() => guarded.stop());
  const options = natsOptions(guarded.address('guarded'));
  const writer = await openJetStreamLedgerWriter({ ...options, retryMs: RETRY_MS });
  await writer.append(chainOfLength(1));
  await writer.close();
  const stranger = natsOptions(guarded.address('guarded').replace(/\/\/.*@/, '//some:one@'));
  await assert.rejects(openJetStreamLedger(stranger), (error: Error) => {
    assert.match(error.message, /^cannot reach NATS JetStream at 127[^@]*Authorization Violation/i);
    return true;
  });
});

test('a command whose server does not respond fails with that reason', LONG_ONLY, async () => {
  const silent = await startNats();
  try {
    silent.servers[0].signal('SIGSTOP');
    const ledger = ['--ledger', silent.address('silent')];
    const askInVain = async (command: string[]) => {
      const { code, stderr } = await run([...command, ...ledger], { input: '' });
      assert.deepEqual([command, code], [command, 1]);
      assert.match(stderr, /^perpinfo: cannot reach NATS JetStream .*\n$/);
    };
    const flags = new Map([['ledger', silent.address('silent')]]);
    const settings = readSettings(LEDGER_WRITER_SETTINGS, flags, {});
    await Promise.all([
      ...[['verify'], ['keys', 'list']].map(askInVain),
      assert.rejects(
        openStorageWriter({ ...settings, natsWaitMs: 0 }),
        /^LedgerError: cannot reach NATS JetStream /,
      ),
    ]);
  } finally {
    silent.servers[0].signal('SIGCONT');
    await silent.stop();
  }
});
