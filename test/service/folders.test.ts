import assert from 'node:assert/strict';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { createPlaces, failed, joinLines, run, start } from '../../tools/harness/program.ts';
import { createKey, LIGHT, makeLedger, startService, until } from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { LONG_ONLY } from '../scale.ts';

const place = createPlaces();
const lines = simulateLines(30);
const anyAge = ['--max-age', '0'];

test('a folder that is not there is named, and is not made', async () => {
  const data = place('typo');
  const nowhere = failed(`perpinfo: there is no folder ${data}\n`);
  assert.deepEqual(await run(['keys', 'list', '--data', data]), nowhere);
  const noKeys = failed(`perpinfo: there are no keys in ${data}\n`);
  assert.deepEqual(await run(['keys', 'revoke', '--data', data, '0123456789']), noKeys);
  assert.deepEqual(await run(['keys', 'create', '--data', data, '--key', '0123456789']), noKeys);
  assert.deepEqual(await run(['keys', 'list', '--data', data]), nowhere);
});

test('a file in the place of a folder is named by every command', LONG_ONLY, async () => {
  const file = place('file');
  writeFileSync(file, '');
  const expected = failed(`perpinfo: got ${file}, which is not a folder, expected a folder\n`);
  const commands = [['verify'], ['keys', 'list'], ['keys', 'create'], ['append'], ['serve']];
  for (const data of [file, path.join(file, 'below')]) {
    for (const command of commands) {
      assert.deepEqual(await run([...command, '--data', data]), expected, command.join(' '));
    }
  }
  const data = place();
  mkdirSync(data);
  renameSync(file, path.join(data, 'ledger'));
  const { code, stderr } = await run(['append', '--data', data]);
  assert.deepEqual([code, stderr.includes(`got ${data}/ledger, which is not a folder`)], [1, true]);
});

test('a ledger in the place of another one is not answered from', LONG_ONLY, async (context) => {
  const data = await makeLedger(place(), lines);
  const { secret } = await createKey(data);
  const other = await makeLedger(place(), simulateLines(30, 'other'));
  const service = await startService(context, { data, flags: anyAge });
  await service.untilCaughtUp(lines.length);
  renameSync(path.join(data, 'ledger'), path.join(data, 'old-ledger'));
  renameSync(path.join(other, 'ledger'), path.join(data, 'ledger'));
  const client = service.connect();
  const refused = await until('the refusal', async () => {
    const answer = await client.ask(secret, LIGHT);
    return answer.status === 503 && answer;
  });
  const file = path.join(data, 'ledger', 'data.mdb');
  assert.equal(
    JSON.parse(refused.body).message,
    `the ledger is broken: ${file} was removed or replaced while it was open: restart this process`,
  );
  assert.equal(JSON.parse((await client.send({ path: '/health' })).body).status, 'broken');
});

test('nothing is acknowledged for a ledger that was moved away', LONG_ONLY, async () => {
  const data = place();
  const writer = start(['append', '--data', data]);
  writer.child.stdin.write(joinLines(lines.slice(0, 10)));
  await writer.untilWritten('durable 10');
  renameSync(path.join(data, 'ledger'), path.join(data, 'old-ledger'));
  writer.child.stdin.end(joinLines(lines.slice(10)));
  const { code, stdout, stderr } = await writer.ended;
  assert.deepEqual([code, stdout], [1, 'durable 10\n']);
  const file = path.join(data, 'ledger', 'data.mdb');
  assert.ok(stderr.includes(`${file} was removed or replaced while it was open`), stderr);
});
