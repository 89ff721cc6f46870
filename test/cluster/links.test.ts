/** NATS servers behind links that are cut: writers and replicas reconnect to a healthy server. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openJetStreamLedger } from '../../src/ledger/jetstream/jetstream-ledger.ts';
import { connectNats } from '../../src/ledger/jetstream/nats.ts';
import type { NatsOptions } from '../../src/ledger/jetstream/nats-client.ts';
import { createPlaces, joinLines, start } from '../../tools/harness/program.ts';
import { until } from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { LONG_ONLY } from '../scale.ts';
import type { Links } from './links.ts';
import { type NatsServers, natsOptions, startNats } from './nats-servers.ts';
import { startReplicas, untilHeight } from './replicas.ts';

const NAME = 'links';
const REPLICAS = ['--nats-replicas', '3'];
const lines = simulateLines(200, 'links');
const place = createPlaces();
/**
 * Time for writer and replica to recover; without help they never would. An election alone takes four to
 * nine seconds, and everything takes longer on a busy machine.
 */
const RECOVERY_MS_MAX = 30_000;
const METADATA_LOSS_MS_MAX = 30_000;
const RUN_MS_MAX = 120_000;

/** Servers with a ledger of ten blocks, one set for each fault. */
async function startLedger(): Promise<{ nats: NatsServers; links: Links }> {
  const nats = await startNats(3, { hasLinks: true });
  if (nats.links === undefined) throw new Error('there are no links');
  const first = start(['append', '--ledger', nats.address(NAME), ...REPLICAS]);
  first.child.stdin.end(joinLines(lines.slice(0, 10)));
  assert.equal((await first.ended).code, 0, first.stderr);
  return { nats, links: nats.links };
}

async function findLeader(nats: NatsServers): Promise<number> {
  const link = await nats.connect(NAME);
  const { cluster } = await link.manager.streams.info(NAME);
  await link.close();
  return nats.servers.findIndex(({ name }) => name === cluster?.leader);
}

type Fault = (links: Links, server: number) => void;
const FAULTS: [about: string, ofLeader: boolean, fault: Fault][] = [
  ["the stream's leader is cut off", true, (of, server) => of.isolate(server, 'silent')],
  ['their server has lost its routes', false, (of, server) => of.isolate(server, 'closed')],
  ['their server falls silent', false, (of, server) => of.clients[server].cut('silent')],
];
/** A metadata leader checks every ten seconds whether it still has a majority. */
async function untilMessagesAreRefused(options: NatsOptions): Promise<void> {
  const link = await connectNats(options);
  const deadlineMs = performance.now() + METADATA_LOSS_MS_MAX;
  const isRefusal = ({ message }: Error) => /temporarily unavailable/.test(message);
  const ask = () => link.manager.streams.getMessage(NAME, { seq: 1 }).then(() => false, isRefusal);
  while (!(await ask())) {
    assert.ok(performance.now() < deadlineMs, 'the metadata leader is still there');
    await sleep(50);
  }
  await link.close();
}

// Each test spends most of its time waiting for elections among servers of its own.
describe('servers behind links that are cut', { concurrency: true, ...LONG_ONLY }, () => {
  for (const [about, ofLeader, fault] of FAULTS) {
    test(`writer and replica recover by themselves when ${about}`, LONG_ONLY, async (context) => {
      const { nats, links } = await startLedger();
      context.after(() => nats.stop());
      const leader = await findLeader(nats);
      let height = 10;
      const server = ofLeader ? leader : (leader + 1) % 3;
      // Both connect to the server that is about to fail, which tells them about the others.
      const address = nats.address(NAME, server);
      const flags = ['--max-age', '0', ...REPLICAS];
      const [replica] = await startReplicas(context, [{ address, data: place(), flags }]);
      const writer = start(['append', '--ledger', address, ...REPLICAS], {}, RUN_MS_MAX);
      context.after(() => void writer.child.kill('SIGKILL'));
      const feed = async (count: number) => {
        writer.child.stdin.write(joinLines(lines.slice(height, height + count)));
        height += count;
        await until(`block ${height}`, () => writer.acknowledged >= height);
      };
      await feed(5);
      await untilHeight(replica, height);
      await sleep(1000);

      const cutMs = performance.now();
      fault(links, server);
      await feed(5);
      const acknowledgedMs = Math.round(performance.now() - cutMs);
      await untilHeight(replica, height);
      const visibleMs = Math.round(performance.now() - cutMs);
      context.diagnostic(`acknowledged after ${acknowledgedMs} ms, visible after ${visibleMs} ms`);
      assert.ok(visibleMs < RECOVERY_MS_MAX, `${visibleMs} ms`);
      const { status } = await replica.once({ path: '/health' });
      assert.equal(status, 200);
      writer.child.stdin.end();
      assert.equal((await writer.ended).code, 0, writer.stderr);
    });
  }

  test('blocks are read without a metadata leader of the servers', LONG_ONLY, async (context) => {
    const nats = await startNats(3, { hasLinks: true });
    context.after(() => nats.stop());
    // With one replica the stream keeps its leader, but the metadata group loses its quorum.
    const address = nats.address(NAME);
    const first = start(['append', '--ledger', address, '--nats-replicas', '1']);
    first.child.stdin.end(joinLines(lines.slice(0, 10)));
    assert.equal((await first.ended).code, 0, first.stderr);
    const server = await findLeader(nats);
    nats.links?.isolate(server, 'closed');
    const options = natsOptions(nats.address(NAME, server));
    await untilMessagesAreRefused(options);

    const ledger = await openJetStreamLedger(options);
    context.after(() => ledger.close());
    const heights: number[] = [];
    for await (const batch of ledger.follow(0, AbortSignal.timeout(RECOVERY_MS_MAX))) {
      heights.push(...batch.map(({ height }) => height));
      if (heights.length >= 10) break;
    }
    assert.deepEqual(heights, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  test('a connection with stalled writes is dropped and replaced', LONG_ONLY, async (context) => {
    const single = await startNats(1, { hasLinks: true });
    context.after(() => single.stop());
    const link = await single.connect('stuck');
    context.after(() => link.close());
    const [way] = single.links?.clients ?? [];
    way.cut('silent');
    // More than the socket buffers hold, so that writes stall.
    const payload = Buffer.alloc(1 << 19);
    for (let count = 0; count < 64; count++) link.connection.publish('some.subject', payload);
    const { begun } = way;
    await until('another connection to be tried', () => way.begun > begun);
    way.mend();
    await until('the connection', () => link.isConnected);
    await link.manager.getAccountInfo();
  });
});
