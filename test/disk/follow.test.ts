/** A service that follows an exchange, on a disk that is full for a while. */

import assert from 'node:assert/strict';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { readVerification, run } from '../../tools/harness/program.ts';
import { readSamples, until } from '../../tools/harness/running.ts';
import { RunningFollower } from '../../tools/harness/running-follower.ts';
import { startFollowing } from '../../tools/stub-exchange/following.ts';
import { limitFileSize, makeDisk } from './small-disk.ts';

const DISK_KIBIBYTES = 8192;

/** False if the disk became full in the middle of a write: the service ends then, as the next test shows. */
async function followThroughFullDisk(context: TestContext): Promise<boolean> {
  const disk = makeDisk(context, DISK_KIBIBYTES);
  const data = path.join(disk.folder, 'data');
  const { follower, truth, check } = await startFollowing(context, { follower: { data } });
  truth.refresh();
  const [first, second] = [...truth.users].map((user) => ({
    ...{ type: 'clearinghouseState', user, dex: '' },
  }));
  await check([await follower.untilAnswered(first)]);
  disk.fill();
  const { program } = follower.service;
  const full = await until('the full disk to be noticed', async () => {
    if (program.stdout.includes('the feed has failed, the service ends')) return 'ended';
    const { status, body } = await follower.health();
    return body['status'] === 'feed_failed' && { status, message: String(body['message']) };
  });
  if (full === 'ended' || full.message.startsWith('the feed has failed')) return false;
  assert.equal(full.status, 503);
  assert.match(full.message, /^the feed waits, and tries again: cannot store blocks? .* 0 bytes/);
  const early = await follower.ask(second);
  assert.deepEqual([early.status, JSON.parse(early.body).code], [503, 'behind'], early.body);
  disk.makeRoom();
  await until('the service to be healthy', async () => (await follower.health()).status === 200);
  await check([await follower.untilAnswered(second)]);
  assert.match(program.stdout, /the feed goes on: its blocks are stored/);
  const samples = readSamples(await follower.service.metrics());
  assert.ok((samples.get('perpinfo_feed_retries_total') ?? 0) > 0);
  await follower.stop();
  const verified = readVerification(await run(['verify', '--data', data]));
  assert.ok(verified.height > 0);
  return true;
}

const TRIES_MAX = 5;

test('a service goes on following by itself when a full disk has room again', async (context) => {
  for (let tries = 1; !(await followThroughFullDisk(context)); tries++) {
    assert.ok(tries < TRIES_MAX, 'the disk became full in the middle of a write each time');
  }
});

test('a service whose ledger fails in the middle of a write ends, and goes on when it is started again', async (context) => {
  const { follower, stub, truth, data, check } = await startFollowing(context);
  truth.refresh();
  const [first, second] = [...truth.users].map((user) => ({
    ...{ type: 'clearinghouseState', user, dex: '' },
  }));
  await check([await follower.untilAnswered(first)]);
  const { program } = follower.service;
  limitFileSize(program.child.pid, 1);
  const { code, stdout, stderr } = await program.ended;
  assert.equal(code, 1);
  assert.match(stdout, /the feed has failed, the service ends, to be started again/);
  assert.match(stderr, /perpinfo: cannot store blocks? /);
  assert.doesNotMatch(stderr, /^ +at /m);
  const { secret } = follower;
  const next = await RunningFollower.start(context, { data, stub, secret });
  await check([await next.untilAnswered(second)]);
  await next.stop();
});
