/** A replica on NATS whose own folder cannot be written to. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { createPlaces, joinLines, succeed } from '../../tools/harness/program.ts';
import { LIGHT, readSamples, until } from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { type NatsServers, natsOptions, startNats } from '../cluster/nats-servers.ts';
import { createSharedKey, startReplicas, untilHeight } from '../cluster/replicas.ts';
import { ALSO_LONG, LONG_ONLY, scale, shareOut } from '../scale.ts';
import { makeDisk, type SmallDisk } from './small-disk.ts';

const hasNats = spawnSync('nats-server', ['--version']).error === undefined;
const skip = !hasNats && process.env['CI'] === undefined ? 'there is no nats-server' : false;
const place = createPlaces();
const lines = simulateLines(60, 'disk');
/** Blocks per append, each followed by failed snapshots. */
const STEP = scale(25, 25, 10);
let nats: NatsServers;

before(async () => {
  if (!skip) nats = await startNats();
});
after(() => nats?.stop());

async function append(
  address: string,
  from: number,
  to: number,
  flags: readonly string[] = [],
): Promise<void> {
  const input = joinLines(lines.slice(from, to));
  await succeed(['append', '--ledger', address, ...flags], { input });
}

test('a replica without room for its snapshot starts once there is room', {
  ...LONG_ONLY,
  skip: LONG_ONLY.skip || skip,
}, async (t) => {
  const address = nats.address('room');
  await append(address, 0, 50);
  const interval = ['--snapshot-every', '5'];
  const flags = ['--max-age', '0', ...interval];
  const [first] = await startReplicas(t, [{ address, data: place(), flags }]);
  await untilHeight(first, 50);
  const link = await nats.connect(natsOptions(address).address.name);
  const objects = await link.openObjects(`${link.name}-snapshots`);
  await until('a snapshot on NATS', async () => (await objects.list()).length > 0);
  await link.manager.streams.update(link.name, { max_msgs: 10 });
  await link.close();
  await append(address, 50, 55, interval);
  const disk = makeDisk(t, 2048);
  disk.fill();
  const [second] = await startReplicas(t, [{ address, data: disk.folder, flags }]);
  await until('the reason', async () => {
    const { status, body } = await second.once({ path: '/health' });
    assert.equal(status, 503);
    assert.notEqual(JSON.parse(body).status, 'broken', body);
    return body.includes('cannot be restored yet: the blocks up to 45 were pruned');
  });
  disk.makeRoom();
  await untilHeight(second, 55);
});

const BREAKING: [what: string, breakDisk: (disk: SmallDisk) => void][] = [
  ['read-only', (disk) => disk.setReadOnly(true)],
  ['full', (disk) => disk.fill()],
];

for (const [what, breakDisk] of shareOut(BREAKING, 0)) {
  test(`a replica with a ${what} folder follows and answers, and counts failed snapshots`, {
    ...ALSO_LONG,
    skip,
  }, async (t) => {
    const disk = makeDisk(t, 2048);
    const address = nats.address(what);
    await append(address, 0, 10);
    const { secret } = await createSharedKey(address);
    breakDisk(disk);
    const flags = ['--max-age', '0', '--snapshot-every', '5'];
    const [replica] = await startReplicas(t, [{ address, data: disk.folder, flags }]);
    await untilHeight(replica, 10);
    for (let height = 10; height < 60; height += STEP) {
      await append(address, height, height + STEP);
      await untilHeight(replica, height + STEP);
    }
    const { status, body } = await replica.connect().ask(secret, LIGHT);
    assert.equal(status, 200, body);
    const samples = readSamples(await replica.metrics());
    assert.ok((samples.get('perpinfo_cache_failures_total') ?? 0) > 0);
    assert.deepEqual(
      disk.names('.').filter((name) => name !== 'snapshots'),
      [],
    );
  });
}
