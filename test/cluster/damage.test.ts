/** Streams that were changed by hand: how that is detected, and how they are repaired. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  createPlaces,
  joinLines,
  readVerification,
  run,
  succeed,
} from '../../tools/harness/program.ts';
import { until } from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { LONG_ONLY } from '../scale.ts';
import { type NatsServers, natsOptions, startNats } from './nats-servers.ts';
import {
  checkAllAnswers,
  createSharedKey,
  Oracle,
  startReplica,
  startReplicas,
  untilHeight,
} from './replicas.ts';

const place = createPlaces();
const lines = simulateLines(60, 'damage');
const oracle = new Oracle(lines);
const ANY_AGE = ['--max-age', '0'];
let count = 0;

const nats = await startNats();
after(() => nats.stop());

async function newLedger(blocks: number): Promise<string> {
  count++;
  const address = nats.address(`damage-${count}`);
  await append(address, 0, blocks);
  return address;
}

async function append(address: string, from: number, to: number, ...flags: string[]) {
  const input = joinLines(lines.slice(from, to));
  await succeed(['append', '--ledger', address, ...flags], { input });
}

async function meddle<T>(address: string, work: (link: Connected, name: string) => Promise<T>) {
  const link = await nats.connect(natsOptions(address).address.name);
  try {
    return await work(link, link.name);
  } finally {
    await link.close();
  }
}
type Connected = Awaited<ReturnType<NatsServers['connect']>>;

/** Publishes a message that is not a block, and deletes it again. */
function putAndDeleteStray(address: string): Promise<boolean> {
  return meddle(address, async ({ streams, manager }, name) => {
    const { seq } = await streams.publish(`perpinfo.${name}.blocks`, 'stray');
    return manager.streams.deleteMessage(name, seq);
  });
}

async function expectRefusal(args: string[], expected: RegExp, input?: string): Promise<void> {
  const { code, stderr } = await run(args, input === undefined ? {} : { input });
  assert.equal(code, 1, stderr);
  assert.match(stderr, expected);
}

test('a ledger without its last message is damaged, not empty', LONG_ONLY, async (context) => {
  const address = await newLedger(20);
  const [follower] = await startReplicas(context, [{ address, data: place(), flags: ANY_AGE }]);
  await untilHeight(follower, 20);
  await putAndDeleteStray(address);
  const expected = /block 21 is not in the ledger, which ends at 21: it was deleted/;
  await expectRefusal(['verify', '--ledger', address], expected);
  await expectRefusal(['copy', '--from', address, '--to', place()], expected);
  await expectRefusal(['append', '--ledger', address], expected, joinLines(lines.slice(20, 21)));
  await expectRefusal(['query', '--ledger', address, '{"type":"allMids"}'], expected);
  const fresh = await startReplica({ address, data: place(), flags: ANY_AGE });
  context.after(async () => void (await fresh.stop()));
  for (const replica of [fresh, follower]) {
    const health = await until('the health check to say so', async () => {
      const seen = JSON.parse((await replica.once({ path: '/health' })).body);
      return seen.status === 'broken' ? seen : undefined;
    });
    assert.match(health.message, /block 21 /);
  }
});

test('a ledger with a missing block is refused by every reader', LONG_ONLY, async () => {
  const address = await newLedger(20);
  await meddle(address, ({ manager }, name) => manager.streams.deleteMessage(name, 3));
  const expected = /block 3 is not in the ledger|block 4 found where block 3 was expected/;
  await expectRefusal(['verify', '--ledger', address], expected);
  await expectRefusal(['copy', '--from', address, '--to', place()], expected);
  await expectRefusal(['query', '--ledger', address, '{"type":"allMids"}'], expected);
});

test('a damaged ledger is repaired by the guide, and its keys stay', LONG_ONLY, async (context) => {
  const address = await newLedger(30);
  const { secret } = await createSharedKey(address);
  await putAndDeleteStray(address);
  const sound = place();
  const kept = await succeed(['copy', '--from', address, '--to', sound, '--until', '30']);
  assert.equal(readVerification(kept).digest, oracle.digest(30));
  await meddle(address, ({ manager }, name) => manager.streams.delete(name));
  await expectRefusal(['copy', '--from', sound, '--to', address], /was written to it/);
  await succeed(['copy', '--from', sound, '--to', address, '--accept-loss']);
  await append(address, 30, 40);
  const [replica] = await startReplicas(context, [{ address, data: place(), flags: ANY_AGE }]);
  await untilHeight(replica, 40);
  await checkAllAnswers(replica, secret, oracle, 40);
});

const GONE: [about: string, expected: RegExp, work: (link: Connected) => Promise<unknown>][] = [
  [
    'deleted',
    /the stream \S+ ends at block 0, but block 20 was written to it: restore it/,
    ({ manager, name }) => manager.streams.delete(name),
  ],
  [
    'purged, its head not noted,',
    /the stream \S+ was emptied, but block 20 was written to it: restore it/,
    async (link) => {
      const bucket = await link.openBucket(link.name);
      await bucket.delete('written');
      await link.manager.streams.purge(link.name);
    },
  ],
];
for (const [about, expected, work] of GONE) {
  test(`a stream that was ${about} is replaced only with --accept-loss`, LONG_ONLY, async () => {
    const address = await newLedger(20);
    await meddle(address, work);
    const input = joinLines(lines.slice(0, 5));
    await expectRefusal(['append', '--ledger', address], expected, input);
    await expectRefusal(['append', '--ledger', address], expected, input);
    await append(address, 0, 5, '--accept-loss');
    await append(address, 5, 10);
    const verified = await run(['verify', '--ledger', address]);
    assert.equal(readVerification(verified).digest, oracle.digest(10));
  });
}
