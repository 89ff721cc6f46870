/** Two containers on one volume, as far as process numbers go: each has a process namespace of its own. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { MAIN } from '../../tools/harness/paths.ts';
import { createPlaces, joinLines, Program, succeed } from '../../tools/harness/program.ts';
import {
  type Cleanup,
  createKey,
  LIGHT,
  makeLedger,
  RunningService,
  until,
} from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';

const place = createPlaces();
const lines = simulateLines(40);

const CONTAINER = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child'];

/** Why these tests are left out; false where they are not, as with the variable CI set. */
function withoutNamespaces(): string | false {
  const [program, ...args] = [...CONTAINER, 'true'];
  if (spawnSync(program, args).status === 0 || process.env['CI'] !== undefined) return false;
  return 'a process namespace needs Linux, unshare and root';
}

const skip = withoutNamespaces();

/** The program as process 1 of a namespace of its own. */
function startInContainer(context: Cleanup, ...args: string[]): Program {
  const program = new Program([...CONTAINER, process.execPath, MAIN, ...args]);
  context.after(async () => {
    program.child.kill('SIGKILL');
    await program.ended;
  });
  return program;
}

async function serveInContainer(context: Cleanup, data: string): Promise<RunningService> {
  const flags = ['--port', '0', '--admin-port', '0', '--max-age', '0'];
  const service = new RunningService(startInContainer(context, 'serve', '--data', data, ...flags));
  await until('the service to listen', () => service.workerPids.length === 1);
  return service;
}

/** What is said of a folder that another container has open. */
function refusalOf(folder: string): string {
  return (
    `perpinfo: ${folder} is open in another process namespace, that is in another container: ` +
    'run both commands in one container (docker exec), or give them one process namespace ' +
    '(docker run --pid container:NAME)\n'
  );
}

test('a writer and a manager of keys in another container are told what to do', {
  skip,
}, async (context) => {
  const data = await makeLedger(place(), lines.slice(0, 30));
  const { secret } = await createKey(data);
  const service = await serveInContainer(context, data);
  await service.untilCaughtUp(30);
  const append = startInContainer(context, 'append', '--data', data);
  append.child.stdin.end(joinLines(lines.slice(30)));
  const appended = await append.ended;
  assert.deepEqual([appended.code, appended.stderr], [1, refusalOf(`${data}/ledger`)]);
  const keys = await startInContainer(context, 'keys', 'create', '--data', data).ended;
  assert.deepEqual([keys.code, keys.stderr], [1, refusalOf(`${data}/keys`)]);
  // A process of the first container's own namespace, or one that shares it, would be let in.
  assert.equal((await service.connect().ask(secret, LIGHT)).status, 200);
  service.closeClients();

  service.program.child.kill('SIGKILL');
  await service.program.ended;
  await succeed(['append', '--data', data], { input: joinLines(lines.slice(30)) });
  assert.deepEqual(readdirSync(path.join(data, 'ledger', 'users')), []);
});

test('a second writer is refused across containers, and a server beside a writer too', {
  skip,
}, async (context) => {
  const data = place();
  const writer = startInContainer(context, 'append', '--data', data);
  writer.child.stdin.write(joinLines(lines.slice(0, 30)));
  await writer.untilWritten('durable 30');
  const second = startInContainer(context, 'append', '--data', data);
  second.child.stdin.end(joinLines(lines.slice(30)));
  assert.deepEqual((await second.ended).stderr, refusalOf(`${data}/ledger`));
  const ports = ['--port', '0', '--admin-port', '0'];
  const server = await startInContainer(context, 'serve', '--data', data, ...ports).ended;
  assert.deepEqual([server.code, server.stderr], [1, refusalOf(`${data}/ledger`)]);
  writer.child.stdin.end(joinLines(lines.slice(30)));
  const { code, stderr } = await writer.ended;
  assert.deepEqual(
    [code, stderr],
    [0, 'perpinfo: appended 40 durable blocks; the ledger is at height 40\n'],
  );
});

const KEEPER = path.join(import.meta.dirname, 'keeper-process.js');
const SAVE_EVERY = 4;

function startKeeper(context: Cleanup, prefix: readonly string[], folder: string): Program {
  const program = new Program([...prefix, process.execPath, KEEPER, folder, `${SAVE_EVERY}`]);
  context.after(() => void program.child.kill('SIGKILL'));
  return program;
}

/** Gives all of them blocks, each when the one before has been taken by everyone. */
async function feedAll(keepers: readonly Program[], from: number, to: number): Promise<void> {
  for (let height = from; height <= to; height++) {
    for (const { child } of keepers) child.stdin.write(`${lines[height - 1]}\n`);
    await Promise.all(keepers.map((keeper) => keeper.untilWritten(`taken ${height}\n`)));
    await sleep(10);
  }
}

async function endAll(keepers: readonly Program[]): Promise<number[]> {
  for (const { child } of keepers) child.stdin.end();
  const outcomes = await Promise.all(keepers.map(({ ended }) => ended));
  return outcomes.map(({ stdout }) => Number(/^saved (\d+)$/m.exec(stdout)?.[1]));
}

test('of replicas that share a folder of snapshots one saves, also across containers', {
  skip,
}, async (context) => {
  const folder = place();
  const keepers = [[], [], CONTAINER, CONTAINER].map((prefix) =>
    startKeeper(context, prefix, folder),
  );
  await Promise.all(keepers.map((keeper) => keeper.untilWritten('ready\n')));
  await sleep(1000);
  await feedAll(keepers, 1, 20);
  const saved = await endAll(keepers);
  assert.deepEqual(saved.filter((count) => count > 0).length, 1, saved.join());
});

test('when the replica that saves snapshots is killed, another one takes over', {
  skip,
}, async (context) => {
  const folder = place();
  const start = (prefix: readonly string[]) => startKeeper(context, prefix, folder);
  const first = start(CONTAINER);
  await first.untilWritten('ready\n');
  await sleep(500);
  const others = [start([]), start(CONTAINER)];
  await Promise.all(others.map((keeper) => keeper.untilWritten('ready\n')));
  await feedAll([first, ...others], 1, 12);
  first.child.kill('SIGKILL');
  await first.ended;
  await sleep(1500);
  await feedAll(others, 13, 24);
  const saved = await endAll(others);
  assert.deepEqual(saved.filter((count) => count > 0).length, 1, saved.join());
});
