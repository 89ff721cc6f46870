/** `perpinfo snapshot`: a running service saves one when it is asked to. */

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { stateDigest } from '../../src/replica/replica.ts';
import { SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import { verifyDirectory } from '../../tools/harness/data-directory.ts';
import { askedWrongly, createPlaces, done, failed, run } from '../../tools/harness/program.ts';
import { makeLedger, serveLedger, startService } from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';

const place = createPlaces();
const lines = simulateLines(30);

function request(adminPort: number) {
  return run(['snapshot', '--admin-port', `${adminPort}`]);
}

for (const workers of [1, 2]) {
  test(`a service of ${workers} workers saves a snapshot on request`, async (context) => {
    const { data, service } = await serveLedger(context, lines, { workers });
    const snapshots = new SnapshotFolder(data);
    assert.deepEqual(snapshots.heights(), []);
    const file = path.join(data, 'snapshots', `${'30'.padStart(16, '0')}.snapshot`);
    assert.deepEqual(await request(service.adminPort), done(`height 30\nfile   ${file}\n`));
    const loaded = await snapshots.load(30);
    assert.ok(loaded);
    assert.equal(stateDigest(loaded.state), (await verifyDirectory(data)).digest);
    // Again, at the same height.
    assert.equal((await request(service.adminPort)).code, 0);
  });
}

test('a snapshot that cannot be saved is reported with its reason', async (context) => {
  assert.deepEqual(
    await run(['snapshot', '--admin-port', '0']),
    askedWrongly('--admin-port: got 0, expected that of the service'),
  );
  const data = await makeLedger(place(), lines);
  const service = await startService(context, { data, flags: ['--max-age', '0'] });
  const { stderr } = await run(['snapshot', '--admin-port', `${service.port}`]);
  assert.match(
    stderr,
    /: the service at http:\/\/127\.0\.0\.1:\d+ saves no snapshots on request\n$/,
  );
  await service.stop();
  const origin = `http://127.0.0.1:${service.adminPort}`;
  assert.deepEqual(
    await request(service.adminPort),
    failed(
      `perpinfo: the service at ${origin} does not answer (ECONNREFUSED): is it running, with this ` +
        'admin port?\n',
    ),
  );
});
