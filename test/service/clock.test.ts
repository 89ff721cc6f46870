/** The machine's clock is set back while the service runs: nothing gets younger by it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openEmbeddedKeys } from '../../src/access/embedded/embedded-keys.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { createPlaces, joinLines, start } from '../../tools/harness/program.ts';
import {
  type Client,
  createKey,
  HEAVY,
  LIGHT,
  makeLedger,
  readSamples,
  startService,
  until,
} from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { startFollowing } from '../../tools/stub-exchange/following.ts';
import { LONG_ONLY } from '../scale.ts';
import { ShiftedClock } from './shifted-clock.ts';

const place = createPlaces();
const HOUR_MS = 3_600_000;

/** Blocks of this very moment. */
function freshLines(count: number): string[] {
  const simulator = createSimulator({ seed: 'clock', accounts: 20 });
  return Array.from({ length: count }, () => simulator.next(Date.now()));
}

/** Until answers are dated by the clock that was set. */
async function untilSet(client: Client, secret: string, backMs: number): Promise<void> {
  await until('the clock to be set', async () => {
    const { headers } = await client.ask(secret, LIGHT);
    const offMs = Math.abs(Date.parse(headers.date ?? '') - (Date.now() - backMs));
    return offMs < HOUR_MS / 10;
  });
}

test('a key that has ended stays so if the clock goes back', LONG_ONLY, async (context) => {
  const clock = new ShiftedClock(place('clock'));
  const data = await makeLedger(place(), simulateLines(5));
  const lasting = await createKey(data);
  const revoked = await createKey(data);
  const spent = await createKey(data, { budget: '20/h' });
  const flags = ['--max-age', '0'];
  const service = await startService(context, { data, flags, variables: clock.variables });
  await service.untilCaughtUp(5);
  const client = service.connect();
  const ask = async ({ secret }: { secret: string }) => (await client.ask(secret, HEAVY)).status;
  assert.deepEqual([await ask(revoked), await ask(spent)], [200, 200]);
  const expiring = await createKey(data, { expiresMs: Date.now() + 6_000 });
  // Before it is known it is refused as well.
  await until('the key to be known', async () => (await ask(expiring)) === 200);
  const store = await openEmbeddedKeys(data);
  store.revoke(revoked.id);
  await store.close();
  await until('the keys to end', async () => {
    return (await ask(expiring)) === 401 && (await ask(revoked)) === 401;
  });
  clock.setBack(HOUR_MS);
  await untilSet(client, lasting.secret, HOUR_MS);
  assert.deepEqual([await ask(expiring), await ask(revoked), await ask(spent)], [401, 401, 429]);
  assert.equal(await ask(lasting), 200);
});

test('a stale ledger stays stale if the clock goes back', LONG_ONLY, async (context) => {
  const clock = new ShiftedClock(place('clock'));
  const lines = freshLines(20);
  const data = await makeLedger(place(), lines.slice(0, 10));
  const { secret } = await createKey(data);
  const flags = ['--max-age', '1500', '--refuse-stale'];
  const service = await startService(context, { data, flags, variables: clock.variables });
  const client = service.connect();
  const health = async () => JSON.parse((await client.send({ path: '/health' })).body);
  await until('the ledger to be stale', async () => (await health()).status === 'stale');
  // To just after the newest block, so that its age by the clock is next to nothing.
  const { time } = JSON.parse(lines[9]);
  clock.setBack(Date.now() - time - 200);
  await until('the clock to be set', async () => {
    const samples = readSamples(await service.metrics());
    return (samples.get('perpinfo_ledger_lag_seconds') ?? 0) > 0;
  });
  for (let look = 0; look < 5; look++) {
    const { status, lagMs } = await health();
    assert.equal(status, 'stale');
    assert.ok(lagMs > 1_500, `${lagMs}`);
    assert.equal((await client.ask(secret, LIGHT)).status, 503);
  }
  // A writer on the same clock goes on, with blocks that are ahead of it.
  clock.setBack(60_000);
  const append = start(['append', '--data', data], clock.variables);
  append.child.stdin.end(joinLines(lines.slice(10)));
  assert.equal((await append.ended).code, 0, append.stderr);
  await service.untilCaughtUp(lines.length);
  assert.equal((await health()).status, 'ahead');
});

test('a writer refuses new blocks if its clock goes back far', LONG_ONLY, async () => {
  const clock = new ShiftedClock(place('clock'));
  const lines = freshLines(20);
  const data = place();
  const append = start(['append', '--data', data], clock.variables);
  append.child.stdin.write(joinLines(lines.slice(0, 10)));
  await append.untilWritten('durable 10\n');
  clock.setBack(HOUR_MS);
  for (let next = 10; append.child.exitCode === null; next = Math.min(next + 1, lines.length)) {
    append.child.stdin.write(joinLines(lines.slice(next, next + 1)));
    await until('it to be taken or refused', () => {
      return append.acknowledged > next || append.child.exitCode !== null;
    });
  }
  const { code, stderr } = await append.ended;
  assert.equal(code, 1);
  assert.match(stderr, /time: got \d+, expected at most 300000 ms ahead of this machine's clock/);
  const again = start(['append', '--data', data]);
  again.child.stdin.end(joinLines(lines.slice(append.acknowledged)));
  assert.equal((await again.ended).code, 0, again.stderr);
  assert.equal(again.acknowledged, lines.length);
});

test('an account is not younger when the clock is set back', LONG_ONLY, async (context) => {
  const clock = new ShiftedClock(place('clock'));
  const following = await startFollowing(context, {
    stub: { intervalMs: 200 },
    follower: { variables: clock.variables, flags: ['--follow-wait', '1000'] },
  });
  const { follower, truth, stub } = following;
  const question = { type: 'clearinghouseState', user: truth.users[0], dex: '' };
  await following.check([await follower.untilAnswered(question)]);
  await stub.setFaults({ gone: true });
  clock.setBack(HOUR_MS);
  // Read 3 s ago or longer by now, whatever the clock says.
  await until('it to be too old', async () => (await follower.ask(question, 3_000)).status === 502);
  for (let look = 0; look < 5; look++) {
    assert.equal((await follower.ask(question, 3_000)).status, 502);
  }
  await stub.setFaults({});
  // As long as the clock is an hour behind the exchange's, nothing of it is recorded.
  clock.setBack(0);
  await follower.untilAnswered(question, 3_000);
});
