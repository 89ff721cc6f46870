/** An archive on a disk that is full or cannot be written to, beside a ledger on another one. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { archiveFolder } from '../../src/archive/records/archive-tables.ts';
import { createPlaces, run, succeed } from '../../tools/harness/program.ts';
import { createKey, LIGHT, makeLedger, startService, until } from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { LONG_ONLY } from '../scale.ts';
import { mountDisk } from './small-disk.ts';

const place = createPlaces();
const BLOCKS = 600;
const lines = simulateLines(BLOCKS);
const DISK_KIBIBYTES = 8192;
const USER = `0x${'1'.repeat(40)}`;

test('a full disk stops the archive alone, until there is room', LONG_ONLY, async (context) => {
  const data = await makeLedger(place(), lines.slice(0, 30));
  const { secret } = await createKey(data);
  const disk = mountDisk(context, archiveFolder(data), DISK_KIBIBYTES);
  const flags = ['--archive', '--max-age', '0'];
  const service = await startService(context, { data, flags });
  const client = service.connect();
  const askAt = (atHeight: number) => client.ask(secret, { type: 'allMids', atHeight });
  const isAnswered = async (height: number) => (await askAt(height)).status === 200;
  await until('the archive', () => isAnswered(30));
  const { body } = await askAt(30);

  disk.fill();
  await makeLedger(data, lines.slice(30));
  await service.untilCaughtUp(BLOCKS);
  await until('the archiver to give up', () =>
    /the archiver has ended/.test(service.program.stdout),
  );
  assert.match(
    service.program.stdout,
    /"reason":"1: cannot write the archive: no space left [^"]* bytes are free in/,
  );
  assert.deepEqual([(await askAt(30)).status, (await askAt(30)).body], [200, body]);
  assert.match((await askAt(BLOCKS)).body, /^\{"error":"behind"/);
  assert.equal((await client.ask(secret, LIGHT)).status, 200);

  disk.makeRoom();
  await until('the archive to go on', () => isAnswered(BLOCKS));
  assert.equal((await askAt(30)).body, body);
  await service.stop();

  disk.setReadOnly(true);
  const history = ['history', '--data', data, '--user', USER, '--step', '1min'];
  for (const command of [['verify', '--data', data], history]) {
    await succeed(command);
  }
  const archived = await run(['archive', '--data', data, '--once']);
  assert.equal(archived.code, 1);
  assert.match(archived.stderr, /^perpinfo: cannot open the archive for writing: .* Read-only/);
});
