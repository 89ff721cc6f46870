/** Whose the folders and files are that the program makes, with a umask that allows everything. */

import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { createPlaces, joinLines, run, start } from '../../tools/harness/program.ts';
import { LIGHT, startService, until } from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';

process.umask(0);
const place = createPlaces();
const lines = simulateLines(30, 'permissions');
const APPEND = ['append', '--ahead-max', '0', '--snapshot-every', '10', '--data'];

/** Everything below a place, and the place itself; drafts come and go meanwhile. */
function listAll(at: string): string[] {
  if (!statSync(at, { throwIfNoEntry: false })?.isDirectory()) return [at];
  return [at, ...readdirSync(at).flatMap((name) => listAll(path.join(at, name)))];
}

function assertPrivate(at: string): void {
  for (const found of listAll(at)) {
    const stat = statSync(found, { throwIfNoEntry: false });
    if (stat === undefined) continue;
    const expected = stat.isFile() ? 0o600 : 0o700;
    assert.equal((stat.mode & 0o777).toString(8), expected.toString(8), found);
  }
}

test('what a ledger consists of is for its user alone, sockets and drafts included', async () => {
  const [data, backup, restored] = [path.join(place('parent'), 'data'), place('backup'), place()];
  assert.equal((await run(['keys', 'create', '--data', data])).code, 0);
  const writer = start([...APPEND, data]);
  writer.child.stdin.write(joinLines(lines));
  await writer.untilWritten('durable 30\n');
  const running = listAll(data);
  assert.ok(
    running.some((name) => /users\/\d+-\d+$/.test(name)),
    running.join('\n'),
  );
  assertPrivate(path.dirname(data));
  writer.child.stdin.end();
  await writer.ended;
  assert.equal((await run(['archive', '--data', data, '--once'])).code, 0);
  assert.equal((await run(['backup', '--data', data, '--to', backup])).code, 0);
  assert.equal((await run(['restore', '--from', backup, '--data', restored])).code, 0);
  const names = listAll(data).join('\n');
  for (const part of ['snapshots/', 'keys/data.mdb', 'archive'])
    assert.ok(names.includes(part), part);
  for (const made of [data, restored, backup]) assertPrivate(made);
});

test('what a service adds to a ledger is for its user alone', async (t) => {
  const data = place();
  await run([...APPEND, data], { input: joinLines(lines) });
  const secret = (await run(['keys', 'create', '--data', data])).stdout.trim();
  const service = await startService(t, { data, workers: 2, flags: ['--archive'] });
  const client = service.connect();
  await until('an answer', async () => (await client.ask(secret, LIGHT)).status === 200);
  await until('the time of last use', () => listAll(data).some((name) => /last-used/.test(name)));
  await until('the archive', () => listAll(data).some((name) => /archive\/.*mdb$/.test(name)));
  assertPrivate(data);
  await service.stop();
  assertPrivate(data);
});

test('a folder or a backup that others can open is left, and each command warns once', async () => {
  const [data, backup, restored] = [place(), place('backup'), place()];
  for (const folder of [data, restored]) mkdirSync(folder);
  for (const folder of [data, restored]) chmodSync(folder, 0o755);
  const backUp = ['backup', '--data', data, '--to', backup];
  const outcomes = [await run([...APPEND, data], { input: joinLines(lines) })];
  outcomes.push(await run(['keys', 'create', '--data', data]));
  outcomes.push(await run(['archive', '--data', data, '--once']));
  assert.doesNotMatch((await run(backUp)).stderr, /warning/);
  chmodSync(backup, 0o644);
  outcomes.push(await run(backUp));
  outcomes.push(await run(['restore', '--from', backup, '--data', restored]));
  for (const { code, stderr } of outcomes) {
    assert.equal(code, 0, stderr);
    assert.equal(stderr.match(/warning: \S+ has the permissions (755|644): /g)?.length, 1, stderr);
  }
  assert.equal(statSync(data).mode & 0o777, 0o755);
  assert.equal(statSync(backup).mode & 0o777, 0o644);
});

test('a folder that others can open is left as it is, with one warning', async (t) => {
  const data = place();
  mkdirSync(data);
  chmodSync(data, 0o755);
  await run([...APPEND, data], { input: joinLines(lines) });
  const service = await startService(t, { data, workers: 2 });
  const { stdout } = await service.stop();
  assert.equal(statSync(data).mode & 0o777, 0o755);
  const warnings = stdout.split('\n').filter((line) => line.includes('permissions'));
  assert.equal(warnings.length, 1);
  assert.match(warnings[0], /"msg":"\S+ has the permissions 755: .*chmod -R go= \/\S+"/);
});
