/** Keys on a disk that is full before, during and after they are changed. */

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { openEmbeddedKeys } from '../../src/access/embedded/embedded-keys.ts';
import { run, succeed } from '../../tools/harness/program.ts';
import { createKey, LIGHT, makeLedger, startService, until } from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { LONG_ONLY, scale } from '../scale.ts';
import { assertSentences, makeDisk } from './small-disk.ts';

const lines = simulateLines(5);
/** Each step is tried until there is enough room. */
const STEP_KIBIBYTES = scale(60, 20);

async function listIds(data: string): Promise<string[]> {
  const { stdout } = await succeed(['keys', 'list', '--data', data]);
  return [...stdout.matchAll(/^[0-9a-f]{10}/gm)].map(([id]) => id).sort();
}

test('a key is created whole or not at all, with little room', LONG_ONLY, async (t) => {
  const disk = makeDisk(t, 2048);
  const data = await makeLedger(path.join(disk.folder, 'data'), lines);
  let ids: string[] = [];
  for (let leave = 0; ids.length === 0; leave += STEP_KIBIBYTES) {
    disk.fill({ leave: leave * 1024 });
    const { code, stderr } = await run(['keys', 'create', '--data', data]);
    assertSentences(stderr);
    disk.makeRoom();
    ids = await listIds(data);
    assert.equal(ids.length, code === 0 ? 1 : 0, stderr);
    if (code !== 0) assert.match(stderr, / bytes are free in .*keys$/m);
  }
});

test('on a full disk keys work, are listed, and can be revoked', LONG_ONLY, async (t) => {
  const disk = makeDisk(t, 4096);
  const data = await makeLedger(path.join(disk.folder, 'data'), lines);
  const { id, secret } = await createKey(data);
  const service = await startService(t, { data, flags: ['--max-age', '0'] });
  await service.untilCaughtUp(lines.length);
  const client = service.connect();
  disk.fill();
  assert.equal((await client.ask(secret, LIGHT)).status, 200);
  assert.deepEqual(await listIds(data), [id]);
  const revoked = await run(['keys', 'revoke', '--data', data, id]);
  assert.deepEqual([revoked.code, revoked.signal], [0, null], revoked.stderr);
  await until('the key to be gone', async () => {
    return (await client.ask(secret, LIGHT)).status === 401;
  });
  const { stdout } = await run(['keys', 'list', '--data', data]);
  assert.match(stdout, new RegExp(`^${id} .* \\d{4}-\\d\\d-\\d\\dT\\d+:\\d+:\\d+Z$`, 'm'));
});

test('keys created until the disk is full are all kept, and the first that does not fit is refused', async (t) => {
  const disk = makeDisk(t, 2048);
  const data = await makeLedger(path.join(disk.folder, 'data'), lines);
  const store = await openEmbeddedKeys(data);
  const made: string[] = [];
  disk.fill();
  const refusal = await collectUntilRefused(() => {
    const terms = { label: 'x'.repeat(100), budget: undefined, expiresMs: undefined };
    made.push(store.create(terms).id);
  });
  assert.match(refusal, /^the keys were not changed: no space left .* bytes are free in .*keys$/);
  await store.close();
  assert.ok(made.length > 10, `${made.length} keys`);
  assert.deepEqual(await listIds(data), made.sort());
});

async function collectUntilRefused(make: () => void): Promise<string> {
  for (let count = 0; count < 5000; count++) {
    try {
      make();
    } catch (error) {
      return (error as Error).message;
    }
  }
  return 'nothing was refused';
}
