/** Snapshots on NATS, from which replicas start once the stream has dropped the blocks before them. */

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CHAIN_START, nextBlock } from '../../src/ledger/hash-chain.ts';
import { openJetStreamLedgerWriter } from '../../src/ledger/jetstream/jetstream-writer.ts';
import { Lease, takeLease } from '../../src/ledger/jetstream/lease.ts';
import { createPlaces, run } from '../cli/program.ts';
import { simulateLines } from '../simulated-lines.ts';
import { type NatsServers, natsOptions, startNats } from './nats-servers.ts';
import { startReplicas, untilHeight } from './replicas.ts';

const place = createPlaces();
const lines = simulateLines(40);
let nats: NatsServers;

before(async () => {
  nats = await startNats();
});
after(() => nats?.stop());

/** A ledger with the lines. */
async function storeLines(name: string): Promise<string> {
  const address = nats.address(name);
  const writer = await openJetStreamLedgerWriter({ ...natsOptions(address), retryMs: 5_000 });
  let last = CHAIN_START;
  const blocks = lines.map((line) => {
    const block = nextBlock(last, Buffer.from(line));
    last = block;
    return block;
  });
  await writer.append(blocks);
  await writer.close();
  return address;
}

test('a snapshot on request is published also by a replica that is not the publisher', async (context) => {
  const address = await storeLines('requested');
  const link = await nats.connect('requested');
  context.after(() => link.close());
  const bucket = await link.openBucket(link.name);
  const lease = await takeLease({ link, bucket, key: 'snapshots' });
  assert.ok(lease instanceof Lease);
  const flags = ['--max-age', '0'];
  const data = place();
  const [service] = await startReplicas(context, [{ address, data, flags }]);
  await untilHeight(service, 40);
  const asked = await run(['snapshot', '--admin-port', `${service.adminPort}`]);
  const name = `${'40'.padStart(16, '0')}.snapshot`;
  const places = `file   ${data}/snapshots/${name}\nobject requested-snapshots/${name}\n`;
  assert.equal(asked.stdout, `height 40\n${places}`, asked.stderr);
  assert.equal(lease.isLost, false);
  await lease.release();
  await link.manager.streams.purge(link.name);
  // From the snapshot alone: no block is left.
  const verified = await run(['verify', '--ledger', address]);
  assert.equal(verified.code, 0, verified.stderr);
  assert.match(verified.stdout, /^height 40\nhead {3}[0-9a-f]{64}\ndigest [0-9a-f]{64}\n$/);
});
