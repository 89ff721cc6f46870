/** A service that is told to stop finishes what has begun, and holds on to nobody. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type RawResponse } from '../../tools/harness/raw-client.ts';
import { ask, formatQuestion, type Service, startService } from '../../tools/harness/service.ts';
import { ALSO_LONG, shareOut } from '../scale.ts';

/** Begins a question, asks the service to stop, and then sends the rest. */
async function stopDuringRequest(stopping: Service, signal: NodeJS.Signals): Promise<void> {
  const { body: answer } = await ask(stopping);
  const checkAnswer = ({ status, body }: RawResponse) =>
    assert.deepEqual([status, body], [200, answer]);
  const question = formatQuestion(stopping.key);
  const [idle, silent, busy] = await Promise.all([1, 2, 3].map(() => connect(stopping.port)));
  idle.send(question);
  checkAnswer(await idle.response());
  busy.send(question.subarray(0, -5));
  await sleep(100);
  const stopped = stopping.stop(signal);
  await idle.closed;
  busy.send(question.subarray(-5));
  checkAnswer(await busy.response());
  await busy.closed;
  await silent.closed;
  const { code, signal: endedBy, stderr } = await stopped;
  assert.deepEqual({ code, endedBy, stderr }, { code: 0, endedBy: null, stderr: '' });
}

/** Node's server stops by the same rules: one of each is enough to show it. */
const STOPS = [
  { workers: '1', signal: 'SIGTERM', lane: 'fast lane' },
  { workers: '2', signal: 'SIGINT', lane: 'fast lane' },
  { workers: '1', signal: 'SIGINT', lane: "Node's server" },
  { workers: '1', signal: 'SIGINT', lane: 'fast lane' },
  { workers: '2', signal: 'SIGTERM', lane: 'fast lane' },
  { workers: '2', signal: 'SIGTERM', lane: "Node's server" },
] as const;

for (const { workers, signal, lane } of shareOut(STOPS, 3)) {
  test(
    `at ${signal} requests under way finish, with ${workers} at work (${lane})`,
    ALSO_LONG,
    async (t) => {
      const flags = lane === 'fast lane' ? [] : ['--no-fast-lane'];
      const stopping = await startService(t, ['--workers', workers, ...flags]);
      const startedMs = performance.now();
      await stopDuringRequest(stopping, signal);
      assert.ok(performance.now() - startedMs < 5000, 'a silent connection holds nobody up');
    },
  );
}
