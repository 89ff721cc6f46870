/** The service on disks that are full or cannot be written to. */

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { failed, joinLines, run, start } from '../../tools/harness/program.ts';
import {
  Client,
  createKey,
  LIGHT,
  makeLedger,
  readSamples,
  startService,
  until,
} from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { LONG_ONLY } from '../scale.ts';
import { limitFiles, makeDisk } from './small-disk.ts';

const lines = simulateLines(30);
const anyAge = ['--max-age', '0'];
const DISK_KIBIBYTES = 8192;

/** Log messages with this beginning. */
function saidBy(stdout: string, beginning: string): string[] {
  const messages = stdout.split('\n').filter(Boolean);
  return messages.map((line) => JSON.parse(line).msg).filter((msg) => msg.startsWith(beginning));
}

test('on a full disk workers answer, and record no use of keys', LONG_ONLY, async (context) => {
  const disk = makeDisk(context, DISK_KIBIBYTES);
  const data = await makeLedger(path.join(disk.folder, 'data'), lines);
  const { secret } = await createKey(data);
  const service = await startService(context, { data, workers: 2, flags: anyAge });
  await service.untilCaughtUp(lines.length);
  disk.fill();
  const clients = Array.from({ length: 4 }, () => service.connect());
  const ask = () => Promise.all(clients.map((client) => client.ask(secret, LIGHT)));
  await ask();
  const complaint = 'could not save when keys were last used: cannot write ';
  await until('both to notice', () => saidBy(service.program.stdout, complaint).length === 2);
  assert.deepEqual(new Set((await ask()).map(({ status }) => status)), new Set([200]));
  const samples = readSamples(await service.metrics());
  assert.equal(samples.get('perpinfo_cache_failures_total'), 2);
  assert.equal((await service.stop()).stderr, '');

  const again = await startService(context, { data, flags: anyAge });
  await again.untilCaughtUp(lines.length);
  assert.equal((await again.connect().ask(secret, LIGHT)).status, 200);
});

test('a read-only disk is enough to serve and for reading commands', LONG_ONLY, async (context) => {
  const disk = makeDisk(context, DISK_KIBIBYTES);
  const data = await makeLedger(path.join(disk.folder, 'data'), lines);
  const { id, secret } = await createKey(data);
  disk.setReadOnly(true);
  const service = await startService(context, { data, flags: anyAge });
  await service.untilCaughtUp(lines.length);
  assert.equal((await service.connect().ask(secret, LIGHT)).status, 200);
  const listed = await run(['keys', 'list', '--data', data]);
  assert.deepEqual([listed.code, listed.stdout.includes(id)], [0, true]);
  assert.equal((await run(['query', '--data', data, JSON.stringify(LIGHT)])).code, 0);
  assert.equal((await run(['verify', '--data', data])).code, 0);
  const refused = (what: string, folder: string) =>
    `perpinfo: cannot open ${what} for writing: ${path.join(data, folder)} cannot be written to: Read-only file system\n`;
  const revoked = await run(['keys', 'revoke', '--data', data, id]);
  assert.deepEqual(revoked, failed(refused('the keys', 'keys')));
  const appended = await run(['append', '--data', data]);
  assert.deepEqual(appended, failed(refused('the ledger', 'ledger')));
});

test('a full disk fails the feed, and the service keeps answering', LONG_ONLY, async (context) => {
  const disk = makeDisk(context, DISK_KIBIBYTES);
  const data = path.join(disk.folder, 'data');
  const { secret } = await createKey(data);
  const flags = ['--feed', '-', '--port', '0', '--admin-port', '0', '--max-age', '0'];
  const program = start(['serve', '--data', data, ...flags]);
  context.after(async () => {
    program.child.kill('SIGTERM');
    await program.ended;
  });
  program.child.stdin.write(joinLines(lines));
  await program.untilWritten(`durable ${lines.length}\n`);
  disk.fill();
  const port = await until(
    'the port',
    () => /"port":(\d+),"msg":"listening"/.exec(program.stderr)?.[1],
  );
  const client = new Client(Number(port));
  context.after(() => client.close());
  program.child.stdin.write(joinLines(simulateLines(2000).slice(lines.length)));
  const health = await until('the failure', async () => {
    const { body } = await client.send({ path: '/health' });
    return body.includes('feed_failed') && body;
  });
  assert.match(
    health,
    /the feed has failed: cannot store blocks? \d+.* bytes are free in .*; restart/,
  );
  assert.equal((await client.ask(secret, LIGHT)).status, 200);
  program.child.kill('SIGTERM');
  const { code, stderr } = await program.ended;
  assert.equal(code, 1);
  assert.doesNotMatch(stderr, /^ +at /m);
});

test('a service out of file descriptors keeps answering, and accepts connections again later', async (context) => {
  const disk = makeDisk(context, DISK_KIBIBYTES);
  const data = await makeLedger(path.join(disk.folder, 'data'), lines.slice(0, 20));
  const { secret } = await createKey(data);
  const service = await startService(context, { data, flags: anyAge });
  await service.untilCaughtUp(20);
  const client = service.connect();
  assert.equal((await client.ask(secret, LIGHT)).status, 200);
  limitFiles(service.program.child.pid, 3);
  await makeLedger(data, lines.slice(20));
  await until('the new blocks', async () => {
    const { status, headers } = await client.ask(secret, LIGHT);
    assert.equal(status, 200);
    return headers['ledger-height'] === String(lines.length);
  });
  // New connections wait in the backlog until a descriptor is free.
  const waiting = service.once({ path: '/health' });
  assert.equal((await client.ask(secret, LIGHT)).status, 200);
  limitFiles(service.program.child.pid, 1024);
  await until('a new connection', async () => {
    return (await service.once({ path: '/health' }).catch(() => undefined))?.status === 200;
  });
  await waiting.catch(() => undefined);
  assert.equal((await service.stop()).code, 0);
});
