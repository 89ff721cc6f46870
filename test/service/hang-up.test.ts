/** A terminal that closes sends SIGHUP to every process of it: all of them stop as at SIGTERM. */

import assert from 'node:assert/strict';
import { mkdirSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf } from '../../tools/harness/processes.ts';
import { createPlaces, joinLines, type Program, start } from '../../tools/harness/program.ts';
import { connect, type RawResponse } from '../../tools/harness/raw-client.ts';
import { makeLedger, until } from '../../tools/harness/running.ts';
import { ask, formatQuestion, startService } from '../../tools/harness/service.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';

const place = createPlaces();
const lines = simulateLines(6);

/** As the system does to the processes of a terminal. */
function hangUp({ child }: Program): void {
  assert.ok(child.pid);
  for (const pid of [...childrenOf(child.pid), child.pid]) process.kill(pid, 'SIGHUP');
}

test('a hang-up of all processes of a service drains them', async (context) => {
  const stopping = await startService(context, ['--workers', '2', '--archive']);
  const { body: answer } = await ask(stopping);
  const question = formatQuestion(stopping.key);
  const busy = await connect(stopping.port);
  busy.send(question.subarray(0, -5));
  await sleep(100);
  hangUp(stopping.program);
  await sleep(100);
  busy.send(question.subarray(-5));
  const { status, body }: RawResponse = await busy.response();
  assert.deepEqual([status, body], [200, answer]);
  const { code, signal, stderr } = await stopping.program.ended;
  assert.deepEqual({ code, signal, stderr }, { code: 0, signal: null, stderr: '' });
  assert.doesNotMatch(stopping.program.stdout, /died|"level":[56]0/);
});

test('an append that is hung up keeps what it has acknowledged, with exit code 129', async () => {
  const data = place();
  const program = start(['append', '--data', data]);
  program.child.stdin.write(`${joinLines(lines.slice(0, 5))}${lines[5].slice(0, 20)}`);
  await program.untilWritten('durable 5\n');
  hangUp(program);
  const { code, stderr } = await program.ended;
  const summary = 'perpinfo: appended 5 durable blocks; the ledger is at height 5\n';
  assert.deepEqual([code, stderr], [129, summary]);
});

test('an archiver, a follower and a demo that are hung up end in order', async () => {
  const data = await makeLedger(place(), lines);
  const archiver = start(['archive', '--data', data]);
  const unreachable = 'http://127.0.0.1:1';
  const follower = start(['follow', '--data', place(), '--upstream', unreachable]);
  const temporary = place();
  mkdirSync(temporary);
  const demo = start(['demo', '--port', '0', '--accounts', '40'], { TMPDIR: temporary });
  await Promise.all([follower.untilWritten('"following"'), demo.untilWritten('Ctrl-C')]);
  await until('the archive', () => readdirSync(data).includes('archive'));
  const ends = await Promise.all(
    [archiver, follower, demo].map((program) => {
      hangUp(program);
      return program.ended;
    }),
  );
  assert.deepEqual(
    ends.map(({ code, signal }) => [code, signal]),
    [
      [0, null],
      [0, null],
      [0, null],
    ],
  );
  assert.match(ends[0].stderr, /archived up to height \d\n$/);
  assert.match(ends[1].stdout, /"stopped"/);
  assert.deepEqual(readdirSync(temporary), []);
});
