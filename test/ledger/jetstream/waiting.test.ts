/** Connecting to NATS servers that are not there yet. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectNats } from '../../../src/ledger/jetstream/nats.ts';
import { runInProcess } from '../../../tools/fault-simulator/nats/run-in-process.ts';

test('a connection is tried until the servers are there, and each retry says for how much longer', () =>
  runInProcess(1, async (nats, kernel) => {
    const [server] = nats.servers;
    const said: string[] = [];
    server.kill();
    kernel.schedule(20_000, () => server.start(), kernel.world);
    const waiting = (message: string) => said.push(message);
    const link = await connectNats({ ...nats.options('ledger'), waitMs: 60_000, waiting });
    assert.ok(kernel.nowMs >= 20_000 && kernel.nowMs < 30_000, `connected at ${kernel.nowMs}`);
    assert.match(
      said[0],
      /^cannot reach NATS JetStream at 10\.0\.0\.1:4222: .+: retrying for 60 s /,
    );
    assert.ok(said.length >= 4 && said.length <= 12, `${said.length} lines`);
    await link.close();
  }));

test('a connection is not tried beyond its deadline, and the error is the last reason', () =>
  runInProcess(1, async (nats, kernel) => {
    nats.servers[0].kill();
    const connecting = connectNats({ ...nats.options('ledger'), waitMs: 10_000 });
    await assert.rejects(connecting, {
      fault: 'unavailable',
      message: /^cannot reach NATS JetStream at 10\.0\.0\.1:4222: /,
    });
    assert.ok(kernel.nowMs >= 10_000 && kernel.nowMs < 20_000, `ended at ${kernel.nowMs}`);
  }));

test('without a time to wait, a connection is tried once', () =>
  runInProcess(1, async (nats, kernel) => {
    nats.servers[0].kill();
    await assert.rejects(connectNats(nats.options('ledger')), { fault: 'unavailable' });
    assert.ok(kernel.nowMs < 5_000, `ended at ${kernel.nowMs}`);
  }));
