/** Workers and a follower in different processes, which meet in the folder of the ledger. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listenOnFollowerSocket } from '../../../src/upstream/channel/socket/socket-server.ts';
import { createKey, readSamples, startService, until } from '../../../tools/harness/running.ts';
import { makeTemporaryFolder } from '../../../tools/harness/temporary-folder.ts';
import { ALICE, BOB, TestFollower } from '../../http/followed.ts';
import { openSteppedLedger } from '../../push/stepped-ledger.ts';
import { LONG_ONLY } from '../../scale.ts';

const WORKERS = 2;

test('every worker reaches the follower, and the next follower', LONG_ONLY, async (t) => {
  const data = await makeTemporaryFolder(t);
  const ledger = await openSteppedLedger(t, data);
  const follower = new TestFollower(ledger);
  await follower.append({ type: 'partial' });
  const { secret } = await createKey(data);
  const first = await listenOnFollowerSocket(data, follower);
  t.after(() => first.close());
  const service = await startService(t, { data, workers: WORKERS, flags: ['--max-age', '0'] });
  await service.untilCaughtUp(1);
  const ask = async (user: string, headers = {}) => {
    const client = service.connect();
    const { status, body } = await client.ask(
      secret,
      { type: 'clearinghouseState', user },
      headers,
    );
    client.close();
    return { status, withdrawable: JSON.parse(body).withdrawable, body };
  };
  // Connections go to the workers in turn.
  for (let asked = 0; asked < 2 * WORKERS; asked++) {
    const { status, withdrawable } = await ask(ALICE, { 'Account-Max-Age': '0' });
    assert.deepEqual([status, withdrawable], [200, '12.5']);
  }
  assert.equal(follower.wants.length, 2 * WORKERS);
  const samples = await until('the report in the metrics', async () => {
    const read = readSamples(await service.metrics());
    return read.has('perpinfo_follow_budget_left') && read;
  });
  // The same report of both, not its sum.
  assert.equal(samples.get('perpinfo_follow_budget_left'), 1100);
  assert.equal(samples.get('perpinfo_follow_mismatches_total{field="withdrawable"}'), 2);
  await first.close();
  const waiting = ask(BOB);
  const second = await listenOnFollowerSocket(data, follower);
  t.after(() => second.close());
  assert.equal((await waiting).status, 200);
});
