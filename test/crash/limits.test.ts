/** Memory and file descriptors run out: a process dies or refuses, and nothing acknowledged is lost. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatAddress } from '../../src/exact/address.ts';
import { restoreDirectory } from '../../tools/harness/data-directory.ts';
import { MAIN } from '../../tools/harness/paths.ts';
import {
  createPlaces,
  joinLines,
  Program,
  readVerification,
  run,
  start,
} from '../../tools/harness/program.ts';
import { connect } from '../../tools/harness/raw-client.ts';
import {
  createKey,
  LIGHT,
  makeLedger,
  RunningService,
  serveLedger,
  until,
} from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { LONG_ONLY } from '../scale.ts';

const place = createPlaces();
const lines = simulateLines(400, 'limits');

/** From now on the process gets no more memory; what it has, it keeps. */
function limitMemory(pid: number | undefined): void {
  const { status, stderr } = spawnSync('prlimit', [`--pid=${pid}`, '--data=1:']);
  assert.equal(status, 0, String(stderr));
}

/** Enough for answers of tens of megabytes at a time. */
const MANY_USERS = 1_000;
const CROWD_OF_ANSWERS = 20;

/** Seconds of processor time so far. */
function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

test('a writer without memory dies, and loses nothing acknowledged', LONG_ONLY, async () => {
  const data = place();
  const append = start(['append', '--data', data, '--snapshot-every', '50']);
  append.child.stdin.write(joinLines(lines.slice(0, 30)));
  await append.untilWritten('durable 30\n');
  limitMemory(append.child.pid);
  append.child.stdin.end(joinLines(lines.slice(30)));
  const { code, signal } = await append.ended;
  assert.ok(code !== 0, `${code} ${signal}`);
  const verified = readVerification(await run(['verify', '--data', data]));
  assert.ok(verified.height >= append.acknowledged, `${verified.height} of ${append.acknowledged}`);
  const input = joinLines(lines.slice(verified.height));
  assert.equal((await run(['append', '--data', data], { input })).code, 0);
  const undisturbed = await makeLedger(place(), lines);
  assert.deepEqual(
    readVerification(await run(['verify', '--data', data])),
    readVerification(await run(['verify', '--data', undisturbed])),
  );
});

test('a worker without memory is replaced, and the others answer', LONG_ONLY, async (context) => {
  const { data, secret, service } = await serveLedger(context, lines, { workers: 2 });
  const { state } = (await restoreDirectory(data)).replica;
  const users = Array(MANY_USERS).fill(formatAddress(state.addresses.addressOf(1)));
  const many = {
    ...{ method: 'POST', path: `/${secret}/info` },
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ type: 'batchClearinghouseStates', users }),
  };
  limitMemory(service.workerPids[0]);
  await until('its end', async () => {
    const crowd = Array.from({ length: CROWD_OF_ANSWERS }, () => service.once(many));
    await Promise.allSettled(crowd);
    return service.log('a worker died').length > 0;
  });
  await until('another worker', () => service.workerPids.length === 3);
  await service.untilCaughtUp(lines.length);
  const asked = Array.from({ length: 8 }, () => service.connect().ask(secret, LIGHT));
  assert.deepEqual(new Set((await Promise.all(asked)).map(({ status }) => status)), new Set([200]));
});

const DESCRIPTORS = 150;
const CROWD = 400;

test('workers without descriptors answer those that they have', LONG_ONLY, async (context) => {
  const data = await makeLedger(place(), lines.slice(0, 20));
  const { secret } = await createKey(data);
  const flags = ['--port', '0', '--admin-port', '0', '--max-age', '0', '--overload-delay', '60000'];
  const limited = [
    'bash',
    '-c',
    `ulimit -n ${DESCRIPTORS}; exec "$0" "$@"`,
    process.execPath,
    MAIN,
  ];
  const program = new Program([...limited, 'serve', '--data', data, '--workers', '2', ...flags]);
  const service = new RunningService(program);
  context.after(async () => void (await service.stop()));
  await until('both workers', () => service.workerPids.length === 2);
  await service.untilCaughtUp(20);
  const early = service.connect();
  assert.equal((await early.ask(secret, LIGHT)).status, 200);
  const crowd = await Promise.all(Array.from({ length: CROWD }, () => connect(service.port)));
  await program.untilWritten('"msg":"connections over the limit were closed"');
  assert.equal((await early.ask(secret, LIGHT)).status, 200);
  const { workerPids } = service;
  const before = workerPids.map(cpuSeconds);
  const beforeMs = performance.now();
  await sleep(1_000);
  const passedSeconds = (performance.now() - beforeMs) / 1000;
  for (const [index, pid] of workerPids.entries()) {
    const share = (cpuSeconds(pid) - before[index]) / passedSeconds;
    assert.ok(share < 0.5, `worker ${pid} was busy for ${share} of the time`);
  }
  await makeLedger(data, lines.slice(20, 30));
  for (const client of crowd) client.close();
  await service.untilCaughtUp(30);
  await until('new connections', async () => {
    const asked = Array.from({ length: 6 }, () => service.connect().ask(secret, LIGHT));
    const settled = await Promise.allSettled(asked);
    return settled.every((one) => one.status === 'fulfilled' && one.value.status === 200);
  });
  assert.deepEqual(service.log('a worker died'), []);
});
