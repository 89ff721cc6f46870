/** Commands that are started before NATS, or with credentials that it refuses. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { serve } from '../../src/cli/commands/serve.ts';
import { readSettings } from '../../src/config/read-settings.ts';
import { SERVICE_WAIT } from '../../src/ledger/settings.ts';
import { runService } from '../../src/service/run-service.ts';
import { createPlaces, joinLines, run, start } from '../../tools/harness/program.ts';
import { until } from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { startNats } from './nats-servers.ts';

const place = createPlaces();
const lines = simulateLines(5, 'waiting');
const ANY_AGE = ['--max-age', '0'];

test('append and serve that are started before NATS wait for it, and say so', async (context) => {
  const nats = await startNats();
  context.after(() => nats.stop());
  const [server] = nats.servers;
  const address = nats.address('early');
  await server.kill();
  const writer = start(['append', '--ledger', address]);
  writer.child.stdin?.end(joinLines(lines));
  await until('the writer to wait', () => writer.stderr.includes(': retrying for '));
  await server.start();
  const { code, stderr } = await writer.ended;
  assert.equal(code, 0, stderr);
  await server.kill();
  const flags = ['--ledger', address, '--data', place(), '--port', '0', '--admin-port', '0'];
  const service = start(['serve', ...flags, ...ANY_AGE]);
  context.after(() => service.child.kill('SIGKILL'));
  await until('the service to wait', () => service.stdout.includes(': retrying for '));
  await server.start();
  await until('the service to listen', () => service.stdout.includes('listening'));
});

test('a service whose NATS never comes ends with the reason', async () => {
  const address = 'nats://127.0.0.1:1/nowhere';
  const settings = readSettings(serve.settings, new Map([['ledger', address]]), {});
  const { signal } = new AbortController();
  const log = pino({ level: 'silent' });
  await assert.rejects(
    runService({ settings: { ...settings, natsWaitMs: 300 }, log, signal }),
    /^LedgerError: cannot reach NATS JetStream at 127\.0\.0\.1:1: connection refused/,
  );
});

test('a service without a writer before it ends at once, however long it would wait for NATS', async (context) => {
  const nats = await startNats();
  context.after(() => nats.stop());
  const address = nats.address('unwritten');
  const { code, stdout, stderr } = await run([
    ...['serve', '--ledger', address, '--port', '0', '--admin-port', '0'],
  ]);
  assert.equal(code, 1, stderr);
  assert.match(stderr, /^perpinfo: there is no ledger unwritten at /m);
  assert.doesNotMatch(stdout, /retrying|waiting/);
});

test('credentials that NATS refuses are not retried until the deadline', async (context) => {
  const config = 'authorization { user: "someone", password: "right" }';
  const guarded = await startNats(1, { config, login: 'someone:right@' });
  context.after(() => guarded.stop());
  const address = guarded.address('guarded').replace('right', 'wrong');
  const startedMs = performance.now();
  const { code, stderr } = await run(['append', '--ledger', address]);
  assert.equal(code, 1, stderr);
  assert.ok(performance.now() - startedMs < SERVICE_WAIT.natsWaitMs / 2);
  assert.match(stderr, /: Authorization Violation\n$/);
  assert.doesNotMatch(stderr, /wrong/);
});
