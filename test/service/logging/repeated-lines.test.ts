/** What a process that is started again and again writes into the log. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ARCHIVER_RESTARTS } from '../../../src/service/archiver-process.ts';
import { RepeatedLines } from '../../../src/service/logging/repeated-lines.ts';
import { RestartDelay } from '../../../src/timing/restart-delay.ts';

const MINUTE_MS = 60_000;
const ENDED = 'the archiver has ended';

function openLines() {
  const written: string[] = [];
  const write = (entry: object, message: string) =>
    void written.push(`${message} ${JSON.stringify(entry)}`);
  let nowMs = 0;
  // Only these two are called, in this form.
  const log = { info: write, error: write } as never;
  const lines = new RepeatedLines(log, () => nowMs);
  const wait = (ms: number) => {
    nowMs += ms;
  };
  const fail = (reason: string) => lines.write('error', { reason }, ENDED);
  return { written, wait, fail, lines };
}

test('the same reason is written once, whatever its figures, and again after ten minutes', () => {
  const { written, wait, fail } = openLines();
  for (let minute = 0; minute < 25; minute++) {
    fail(`1: no space left: ${100 - minute} bytes are free`);
    wait(MINUTE_MS);
  }
  assert.deepEqual(written, [
    `${ENDED} {"reason":"1: no space left: 100 bytes are free"}`,
    `${ENDED} {"reason":"1: no space left: 90 bytes are free","leftOut":9}`,
    `${ENDED} {"reason":"1: no space left: 80 bytes are free","leftOut":9}`,
  ]);
});

test('another reason is written at once, and so is a line of the process itself', () => {
  const { written, fail, lines } = openLines();
  fail('1: no space left');
  fail('SIGKILL: ');
  fail('1: no space left');
  lines.write('info', { part: 'archiver' }, 'no space left');
  lines.write('info', { part: 'archiver' }, 'no space left');
  assert.deepEqual(written, [
    `${ENDED} {"reason":"1: no space left"}`,
    `${ENDED} {"reason":"SIGKILL: "}`,
    'no space left {"part":"archiver"}',
  ]);
});

test('lines that all differ are written, and only so many are known', () => {
  const { written, fail } = openLines();
  const reasons = Array.from({ length: 1000 }, (_, index) => 'x'.repeat(index));
  for (const reason of reasons) fail(reason);
  assert.equal(written.length, 1000);
  fail(reasons[999]);
  assert.equal(written.length, 1000);
  fail(reasons[0]);
  assert.equal(written.length, 1001);
});

test('the pause before a restart grows to a minute, also where an end takes minutes to come', () => {
  const delay = new RestartDelay(ARCHIVER_RESTARTS);
  const pauses = [0, 1, 2, 3, 4, 5, 6].map((minutes) => delay.nextMs(minutes * MINUTE_MS));
  assert.deepEqual(pauses, [2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
  assert.equal(delay.nextMs(10 * MINUTE_MS), 1000);
});
