/** Snapshots on NATS, from which replicas start once the stream has dropped the blocks before them. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { CHAIN_START, nextBlock } from '../../src/ledger/hash-chain.ts';
import { openJetStreamLedgerWriter } from '../../src/ledger/jetstream/jetstream-writer.ts';
import { Lease, takeLease } from '../../src/ledger/jetstream/lease.ts';
import { createPlaces, joinLines, run, succeed } from '../../tools/harness/program.ts';
import { until } from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { natsOptions, startNats } from './nats-servers.ts';
import { startReplicas, untilHeight } from './replicas.ts';

const place = createPlaces();
const STORED = 40;
const lines = simulateLines(STORED + 2);

const nats = await startNats();
after(() => nats.stop());

/** A ledger with all lines but the last two. */
async function storeLines(name: string): Promise<string> {
  const address = nats.address(name);
  const writer = await openJetStreamLedgerWriter({ ...natsOptions(address), retryMs: 5_000 });
  let last = CHAIN_START;
  const blocks = lines.slice(0, STORED).map((line) => {
    const block = nextBlock(last, Buffer.from(line));
    last = block;
    return block;
  });
  await writer.append(blocks);
  await writer.close();
  return address;
}

test('a stream that keeps fewer blocks than snapshots need is refused at the start', async () => {
  const address = await storeLines('short');
  const link = await nats.connect('short');
  await link.manager.streams.update('short', { max_msgs: 50 });
  await link.close();
  const message =
    'perpinfo: the stream short keeps 50 blocks (max_msgs), fewer than 2 times --snapshot-every 26: ' +
    'replicas could not start from a snapshot; set --snapshot-every to 25 or less, or max_msgs to 52 or ' +
    'more\n';
  const place = ['--ledger', address, '--snapshot-every', '26'];
  const ports = ['--port', '0', '--admin-port', '0', '--log-level', 'silent'];
  const refuse = async (...command: string[]) => {
    const { code, stderr } = await run([...command, ...place]);
    assert.deepEqual([code, stderr], [2, message], command.join(' '));
  };
  await Promise.all([refuse('append'), refuse('serve', ...ports)]);
  await refuse('serve', '--feed', '-', ...ports);
  await succeed(['append', '--ledger', address, '--snapshot-every', '25']);
});

test('a replica that lacks dropped blocks starts once another one, though no publisher, saves on request', async (context) => {
  const address = await storeLines('requested');
  const link = await nats.connect('requested');
  context.after(() => link.close());
  const bucket = await link.openBucket(link.name);
  const lease = await takeLease({ link, bucket, key: 'snapshots' });
  assert.ok(lease instanceof Lease);
  const flags = ['--max-age', '0'];
  const data = place();
  const [first] = await startReplicas(context, [{ address, data, flags }]);
  await untilHeight(first, 40);
  await link.manager.streams.purge(link.name);
  const [second] = await startReplicas(context, [{ address, data: place(), flags }]);
  await until('a start that waits', async () => {
    const { body } = await second.once({ path: '/health' });
    return body.includes('and no snapshot from there to 40 is usable');
  });
  assert.equal((await run(['verify', '--ledger', address])).code, 1);
  const asked = await run(['snapshot', '--admin-port', `${first.adminPort}`]);
  const name = `${'40'.padStart(16, '0')}.snapshot`;
  const places = `file   ${data}/snapshots/${name}\nobject requested-snapshots/${name}\n`;
  assert.equal(asked.stdout, `height 40\n${places}`, asked.stderr);
  assert.equal(lease.isLost, false);
  await lease.release();
  await untilHeight(second, 40);
  const verified = await succeed(['verify', '--ledger', address]);
  assert.match(verified.stdout, /^height 40\nhead {3}[0-9a-f]{64}\ndigest [0-9a-f]{64}\n$/);
});

test('a stream that has dropped all its blocks is continued, and read on', async (context) => {
  const address = await storeLines('dropped');
  const link = await nats.connect('dropped');
  context.after(() => link.close());
  // Nobody waits for two days: a purge drops blocks as the limit does.
  const limits = { max_age: link.modules.transport.nanos(2 * 86_400_000) };
  await link.manager.streams.update(link.name, limits);
  const flags = ['--max-age', '0'];
  const [replica] = await startReplicas(context, [{ address, data: place(), flags }]);
  await untilHeight(replica, STORED);
  for (let height = STORED + 1; height <= lines.length; height++) {
    await link.manager.streams.purge(link.name);
    const input = joinLines(lines.slice(height - 1, height));
    // The replica publishes what was dropped before it was in a snapshot, within seconds.
    await until('a writer that can start', async () => {
      const { code, stdout, stderr } = await run(['append', '--ledger', address], { input });
      if (code === 0) assert.equal(stdout, `durable ${height}\n`);
      else assert.match(stderr, /no snapshot from there to \d+ is usable\n$/);
      return code === 0;
    });
    await untilHeight(replica, height);
  }
});
