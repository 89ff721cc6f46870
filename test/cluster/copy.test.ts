/** Copies of ledgers from a folder to NATS and back. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { openJetStreamLedgerWriter } from '../../src/ledger/jetstream/jetstream-writer.ts';
import { appendAll, NO_SNAPSHOTS } from '../../tools/harness/data-directory.ts';
import {
  createPlaces,
  joinLines,
  readVerification,
  run,
  succeed,
} from '../../tools/harness/program.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { LONG_ONLY } from '../scale.ts';
import { natsOptions, startNats } from './nats-servers.ts';
import { createSharedKey } from './replicas.ts';

const place = createPlaces();
const lines = simulateLines(300, 'copy');

const nats = await startNats();
after(() => nats.stop());

async function copy(from: string, to: string) {
  const outcome = await succeed(['copy', '--from', from, '--to', to]);
  return outcome;
}

async function verify(...flags: string[]) {
  const outcome = await succeed(['verify', ...flags]);
  return readVerification(outcome);
}

test('a copy from a folder to NATS and back equals the original each time', LONG_ONLY, async () => {
  const [data, back] = [place(), place()];
  const address = nats.address('there-and-back');
  await appendAll(data, lines.slice(0, 200), NO_SNAPSHOTS);
  const original = await verify('--data', data);
  const copied = await copy(data, address);
  assert.deepEqual(readVerification(copied), original);
  assert.match(copied.stderr, /copied 200 blocks; the copy is the same as the original/);
  assert.deepEqual(await verify('--ledger', address), original);
  await copy(address, back);
  assert.deepEqual(await verify('--data', back), original);
});

test('a backup of a ledger on NATS, continued, is restored with its keys', LONG_ONLY, async () => {
  const [file, data] = [place('backup'), place()];
  const address = nats.address('backed-up');
  const backUp = async (from: number, to: number) => {
    const input = joinLines(lines.slice(from, to));
    await succeed(['append', '--ledger', address], { input });
    const { stdout, stderr } = await succeed(['backup', '--ledger', address, '--to', file]);
    assert.match(stdout, new RegExp(`^height ${to}$`, 'm'));
    return stderr;
  };
  const { id } = await createSharedKey(address);
  assert.match(await backUp(0, 100), /backed up 100 more blocks.*, with 1 keys/);
  assert.match(await backUp(100, 160), /backed up 60 more blocks.*, with 1 keys/);
  assert.equal((await run(['restore', '--from', file, '--data', data])).code, 0);
  assert.deepEqual(await verify('--data', data), await verify('--ledger', address));
  assert.match((await run(['keys', 'list', '--data', data])).stdout, new RegExp(id));
});

test('a copy resumes where an earlier one ended', LONG_ONLY, async () => {
  const data = place();
  const address = nats.address('resumed');
  await appendAll(data, lines.slice(0, 150), NO_SNAPSHOTS);
  await copy(data, address);
  await appendAll(data, lines.slice(150), NO_SNAPSHOTS);
  assert.match((await copy(data, address)).stderr, /copied 150 blocks/);
  assert.match((await copy(data, address)).stderr, /copied 0 blocks/);
  assert.deepEqual(await verify('--ledger', address), await verify('--data', data));
});

test('a copy of a pruned ledger keeps its heights, in both directions', LONG_ONLY, async () => {
  const [data, back] = [place(), place()];
  const address = nats.address('pruned');
  await appendAll(data, lines.slice(0, 200), { snapshotEvery: 70 });
  const original = await verify('--data', data);
  const writer = await openEmbeddedLedgerWriter(data);
  await writer.prune(120);
  await writer.close();
  assert.deepEqual(readVerification(await copy(data, address)), original);
  const input = joinLines(lines.slice(200, 210));
  const appended = await succeed(['append', '--ledger', address], { input });
  assert.match(appended.stdout, /^durable 210$/m);
  await copy(address, back);
  const expected = await verify('--ledger', address);
  assert.equal(expected.height, 210);
  assert.deepEqual(await verify('--data', back), expected);
  await succeed(['query', '--data', back, '{"type":"exchangeStatus"}']);
});

test('a copy onto another ledger is refused', LONG_ONLY, async () => {
  const data = place();
  const address = nats.address('another');
  await appendAll(data, lines.slice(0, 5), NO_SNAPSHOTS);
  const options = { ...natsOptions(address), retryMs: 1000 };
  const writer = await openJetStreamLedgerWriter(options);
  await writer.append([{ height: 1, hash: Buffer.alloc(32, 7), line: Buffer.from('{}') }]);
  await writer.close();
  const { code, stderr } = await run(['copy', '--from', data, '--to', address]);
  assert.equal(code, 1);
  assert.match(stderr, /the target ledger is at block 1, which is not in the source/);
});
