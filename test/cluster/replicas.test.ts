/** Replicas of a ledger on one NATS server: snapshots, keys, outages and forged messages. */

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openJetStreamKeys } from '../../src/access/jetstream/jetstream-keys.ts';
import { nextBlock } from '../../src/ledger/hash-chain.ts';
import { openJetStreamLedger } from '../../src/ledger/jetstream/jetstream-ledger.ts';
import { createPlaces, joinLines, run, start, succeed } from '../../tools/harness/program.ts';
import { LIGHT, until } from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { LONG_ONLY } from '../scale.ts';
import { natsOptions, startNats } from './nats-servers.ts';
import {
  checkAllAnswers,
  createSharedKey,
  Oracle,
  startReplica,
  startReplicas,
  untilHeight,
} from './replicas.ts';

const place = createPlaces();
const lines = simulateLines(300, 'cluster');
const oracle = new Oracle(lines);
const ANY_AGE = ['--max-age', '0'];
/** More than enough for replicas to exchange charges, which they do 40 times a second. */
const TOLD_MS = 1_000;
/** Keys until one of them was created and revoked in time. */
const TRIES_MAX = 10;
let count = 0;

const nats = await startNats();
after(() => nats.stop());

function newAddress(): string {
  count++;
  return nats.address(`replicas-${count}`);
}

async function append(
  address: string,
  from: number,
  to: number,
  flags: readonly string[] = [],
): Promise<void> {
  const input = joinLines(lines.slice(from, to));
  await succeed(['append', '--ledger', address, ...flags], { input });
}

test('a new replica starts from a snapshot if blocks were dropped', LONG_ONLY, async (context) => {
  const address = newAddress();
  await append(address, 0, 200);
  const { secret } = await createSharedKey(address);
  const flags = [...ANY_AGE, '--snapshot-every', '50'];
  const [first] = await startReplicas(context, [{ address, data: place(), flags }]);
  await untilHeight(first, 200);
  const link = await nats.connect(natsOptions(address).address.name);
  const objects = await link.openObjects(`${link.name}-snapshots`);
  await until('a snapshot on NATS', async () => (await objects.list()).length > 0);
  await link.manager.streams.update(link.name, { max_msgs: 30 });
  const interval = ['--snapshot-every', '15'];
  await append(address, 200, 220, interval);
  const { state } = await link.manager.streams.info(link.name);
  assert.equal(state.first_seq, 191);
  await link.close();
  const data = place();
  const [second] = await startReplicas(context, [
    { address, data, flags: [...ANY_AGE, ...interval] },
  ]);
  await untilHeight(second, 220);
  await untilHeight(first, 220);
  assert.ok(readdirSync(path.join(data, 'snapshots')).includes('0000000000000200.snapshot'));
  for (const service of [first, second]) await checkAllAnswers(service, secret, oracle, 220);
  const verified = await run(['verify', '--ledger', address]);
  assert.match(verified.stdout, new RegExp(`^height 220\\n.*\\ndigest ${oracle.digest(220)}\\n$`));
});

test('a replica without a snapshot as new as the stream says so', LONG_ONLY, async () => {
  const address = newAddress();
  await append(address, 0, 50);
  const link = await nats.connect(natsOptions(address).address.name);
  await link.manager.streams.update(link.name, { max_msgs: 10 });
  await link.close();
  const { code, stderr } = await run(['query', '--ledger', address, '{"type":"allMids"}']);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /the blocks up to 40 were pruned, and no snapshot from there to 50 is usable/,
  );
});

test('a key is known and revoked on all replicas within a second', LONG_ONLY, async (context) => {
  const address = newAddress();
  await append(address, 0, 5);
  const replicas = await startReplicas(
    context,
    [1, 2, 3].map(() => ({ address, data: place(), flags: ANY_AGE })),
  );
  for (const replica of replicas) await untilHeight(replica, 5);
  const store = await openJetStreamKeys(natsOptions(address));
  context.after(() => store.close());
  const clients = replicas.map((replica) => replica.connect());
  const reachAll = async (secret: string, expected: number) => {
    const startedMs = performance.now();
    for (const client of clients) {
      const hasReached = async () => (await client.ask(secret, LIGHT)).status === expected;
      await until(`${expected}`, hasReached);
    }
    return performance.now() - startedMs;
  };
  // On a busy machine anything may come late once: then another key is tried.
  for (let tries = 1; ; tries++) {
    const terms = { label: '', budget: undefined, expiresMs: undefined };
    const { id, secret } = await store.create(terms);
    const createdMs = await reachAll(secret, 200);
    await store.revoke(id);
    const revokedMs = await reachAll(secret, 401);
    const figures = [createdMs, revokedMs].map(Math.round);
    context.diagnostic(`created after ${figures[0]} ms, revoked after ${figures[1]} ms`);
    if (Math.max(...figures) < 1000) return;
    assert.ok(tries < TRIES_MAX, `none of ${tries} keys was in time`);
  }
});

test('a recreated bucket of keys is noticed at the same sequence', LONG_ONLY, async (context) => {
  const address = newAddress();
  await append(address, 0, 5);
  const before = await createSharedKey(address);
  const [replica] = await startReplicas(context, [{ address, data: place(), flags: ANY_AGE }]);
  await untilHeight(replica, 5);
  const client = replica.connect();
  assert.equal((await client.ask(before.secret, LIGHT)).status, 200);
  const link = await nats.connect(natsOptions(address).address.name);
  await link.manager.streams.delete(`KV_${link.name}-keys`);
  await link.close();
  const made = await createSharedKey(address);
  await until('the new key', async () => (await client.ask(made.secret, LIGHT)).status === 200);
  assert.equal((await client.ask(before.secret, LIGHT)).status, 401);
});

test('a key has one budget across machines and workers', LONG_ONLY, async (context) => {
  const address = newAddress();
  await append(address, 0, 5);
  const store = await openJetStreamKeys(natsOptions(address));
  const budget = { weight: 400, periodMs: 3_600_000 };
  const { secret } = await store.create({ label: '', budget, expiresMs: undefined });
  await store.close();
  const replicas = await startReplicas(context, [
    { address, data: place(), flags: ANY_AGE },
    { address, data: place(), flags: [...ANY_AGE, '--workers', '2'] },
  ]);
  for (const replica of replicas) await untilHeight(replica, 5);
  const [alone, together] = replicas;
  const remaining = async (replica: (typeof replicas)[number]) => {
    const { headers } = await replica.once({ path: `/${secret}/info?type=allMids` });
    return Number(headers['ratelimit-remaining']);
  };
  // Each question weighs 20, including those that read the remaining budget.
  for (let asked = 0; asked < 5; asked++) await remaining(alone);
  await sleep(TOLD_MS);
  assert.equal(await remaining(together), 280);
  for (let asked = 0; asked < 5; asked++) await remaining(together);
  await sleep(TOLD_MS);
  assert.equal(await remaining(alone), 160);
});

test('health checks read no block, and seldom ask NATS', LONG_ONLY, async (context) => {
  const address = newAddress();
  await append(address, 0, 5);
  const [replica] = await startReplicas(context, [{ address, data: place(), flags: ANY_AGE }]);
  await untilHeight(replica, 5);
  const link = await nats.connect(natsOptions(address).address.name);
  context.after(() => link.close());
  const asked: string[] = [];
  link.connection.subscribe('$JS.API.STREAM.>', {
    callback: (_, { subject }) => void asked.push(subject),
  });
  await link.connection.flush();
  const client = replica.connect();
  const startedMs = performance.now();
  for (let checks = 0; checks < 300; checks++) {
    assert.equal((await client.send({ path: '/health' })).status, 200);
  }
  const seconds = (performance.now() - startedMs) / 1000;
  await link.connection.flush();
  const countOf = (kind: string) =>
    asked.filter((subject) => subject === `$JS.API.STREAM.${kind}.${link.name}`).length;
  assert.equal(countOf('MSG.GET'), 0);
  // Four a second for all health checks, and one for each of the replica's connections and ours.
  assert.ok(countOf('INFO') <= 10 * (seconds + 1), `${countOf('INFO')} in ${seconds} s`);
});

test('a replica resumes after its stream was gone for a moment', LONG_ONLY, async (context) => {
  const address = newAddress();
  const sound = place();
  await append(address, 0, 10);
  await succeed(['copy', '--from', address, '--to', sound]);
  const [replica] = await startReplicas(context, [{ address, data: place(), flags: ANY_AGE }]);
  await untilHeight(replica, 10);
  const link = await nats.connect(natsOptions(address).address.name);
  await link.manager.streams.delete(link.name);
  await link.close();
  const status = async () => JSON.parse((await replica.once({ path: '/health' })).body).status;
  for (let looks = 0; looks < 15; looks++) assert.notEqual(await status(), 'broken');
  await succeed(['copy', '--from', sound, '--to', address, '--accept-loss']);
  await append(address, 10, 15);
  await untilHeight(replica, 15);
  assert.equal(await status(), 'ok');
});

test('in a NATS outage a replica answers, is stale, and catches up', LONG_ONLY, async (context) => {
  const own = await startNats();
  context.after(() => own.stop());
  const address = own.address('gone');
  let height = 0;
  const feed = async () => {
    height++;
    const input = joinLines([JSON.stringify({ height, time: Date.now(), events: [] })]);
    await succeed(['append', '--ledger', address], { input });
  };
  await feed();
  const { secret } = await createSharedKey(address);
  const flags = ['--max-age', '4000', '--min-height-wait', '100'];
  const [replica] = await startReplicas(context, [{ address, data: place(), flags }]);
  const client = replica.connect();
  const check = async () => JSON.parse((await client.send({ path: '/health' })).body).status;
  // On a busy machine a block may be too old by the time it is seen: then another one follows.
  const feedUntilFresh = () =>
    until('fresh data', async () => {
      await feed();
      await untilHeight(replica, height);
      return (await check()) === 'ok';
    });
  await feedUntilFresh();
  await own.servers[0].kill();
  await until('the health check to fail', async () => {
    const asked = await client.ask(secret, LIGHT);
    assert.equal(asked.status, 200);
    return (await client.send({ path: '/health' })).status === 503;
  });
  assert.equal(await check(), 'stale');
  const next = { 'Ledger-Min-Height': String(height + 1) };
  const behind = await client.ask(secret, LIGHT, next);
  assert.deepEqual([behind.status, JSON.parse(behind.body).error], [503, 'behind']);
  await own.servers[0].start();
  await feedUntilFresh();
  assert.equal((await client.ask(secret, LIGHT, next)).status, 200);
});

test('an append retries without NATS, and gives up in the end', LONG_ONLY, async (context) => {
  const own = await startNats();
  context.after(() => own.stop());
  const address = own.address('bound');
  const program = start(['append', '--ledger', address]);
  program.child.stdin.write(joinLines(lines.slice(0, 10)));
  await program.untilWritten('durable 10');
  await own.servers[0].kill();
  program.child.stdin.write(joinLines(lines.slice(10, 20)));
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await own.servers[0].start();
  await program.untilWritten('durable 20');
  program.child.stdin.end();
  assert.equal((await program.ended).code, 0);
  const hasty = start(['append', '--ledger', address], {}, 120_000);
  hasty.child.stdin.write(joinLines(lines.slice(20, 21)));
  await hasty.untilWritten('durable 21');
  await own.servers[0].kill();
  hasty.child.stdin.end(joinLines(lines.slice(21, 22)));
  const { code, stderr } = await hasty.ended;
  assert.equal(code, 1);
  assert.match(stderr, /appending: NATS request failed: /);
});

const BY_HAND: [about: string, expected: RegExp, headers: 'none' | 'forged'][] = [
  [
    'a message put into the stream by hand',
    /block 11 was not written by a ledger's writer/,
    'none',
  ],
  ['a corrupted message', /block 11 is damaged: its stored hash is/, 'forged'],
];
for (const [about, expected, kind] of BY_HAND) {
  test(`${about} is named, and nothing after it is served`, LONG_ONLY, async (context) => {
    const address = newAddress();
    await append(address, 0, 10);
    const { secret } = await createSharedKey(address);
    const [replica] = await startReplicas(context, [{ address, data: place(), flags: ANY_AGE }]);
    await untilHeight(replica, 10);
    const ledger = await openJetStreamLedger(natsOptions(address));
    const head = await ledger.head();
    await ledger.close();
    const link = await nats.connect(natsOptions(address).address.name);
    const headers = link.modules.transport.headers();
    if (kind === 'forged') {
      const block = nextBlock(head, Buffer.from(lines[10]));
      headers.set('Perpinfo-Hash', block.hash.toString('hex'));
      headers.set('Perpinfo-Previous', head.hash.toString('hex'));
    }
    const line = lines[10].replace('"time":1', '"time":2');
    await link.streams.publish(`perpinfo.${link.name}.blocks`, line, { headers });
    await link.close();
    const client = replica.connect();
    const answer = await until('the replica to stop', async () => {
      const asked = await client.ask(secret, LIGHT);
      return asked.status === 503 ? asked : undefined;
    });
    const { error, message } = JSON.parse(answer.body);
    assert.equal(error, 'not_ready');
    assert.match(message, expected);
    const verified = await run(['verify', '--ledger', address]);
    assert.equal(verified.code, 1);
    assert.match(verified.stderr, expected);
    // A replica that starts now stops at the same block.
    const late = await startReplica({ address, data: place(), flags: ANY_AGE });
    context.after(async () => void (await late.stop()));
    const { status, body } = await until('its health', async () => {
      const seen = await late.once({ path: '/health' });
      return JSON.parse(seen.body).status === 'broken' ? seen : undefined;
    });
    assert.equal(status, 503);
    assert.match(body, expected);
  });
}

test('a second writer is refused with the process id of the first', LONG_ONLY, async () => {
  const address = newAddress();
  const first = start(['append', '--ledger', address]);
  first.child.stdin.write(joinLines(lines.slice(0, 10)));
  await first.untilWritten('durable 10');
  const second = await run(['append', '--ledger', address], {
    input: joinLines(lines.slice(10, 20)),
  });
  assert.equal(second.code, 1);
  assert.match(
    second.stderr,
    new RegExp(`another writer, process ${first.child.pid}, has this ledger open`),
  );
  first.child.stdin.end(joinLines(lines.slice(10, 30)));
  assert.equal((await first.ended).code, 0);
  const verified = await run(['verify', '--ledger', address]);
  assert.match(verified.stdout, new RegExp(`^height 30\\n.*\\ndigest ${oracle.digest(30)}\\n$`));
});
