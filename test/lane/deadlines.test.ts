/** When the deadlines of the fast lane's connections are checked. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientConnection } from '../../src/http/transport/connections/client-connection.ts';
import { TIMEOUT_CHECK_MS } from '../../src/http/transport/connections/timeouts.ts';
import { LaneConnection, type LaneReader } from '../../src/http/transport/lane/lane-connection.ts';
import { DeadlineTimer, findMissedDeadline } from '../../src/http/transport/lane/lane-deadlines.ts';

/** Keeps this process from doing anything else. */
function stall(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

test('right after a stall nobody is taken for idle, and then deadlines are checked again', async (t) => {
  const checkedMs: number[] = [];
  const timer = new DeadlineTimer((nowMs) => checkedMs.push(nowMs));
  t.after(() => timer.stop());
  while (checkedMs.length === 0) await sleep(TIMEOUT_CHECK_MS / 5);
  stall(3 * TIMEOUT_CHECK_MS);
  const resumedMs = performance.now();
  const count = checkedMs.length;
  while (checkedMs.length === count) await sleep(TIMEOUT_CHECK_MS / 5);
  const waitedMs = checkedMs[count] - resumedMs;
  assert.ok(waitedMs > TIMEOUT_CHECK_MS / 2, `checked ${waitedMs} ms after the stall`);
});

const TIMEOUTS = { headerTimeout: 1000, requestTimeout: 1000, idleTimeout: 1000 };

test('the time in which a client is not read from does not count against its request', () => {
  // Deadlines depend on neither the socket nor the lane.
  const connection = new LaneConnection({} as ClientConnection, {} as LaneReader, 0);
  connection.partialSinceMs = 1;
  connection.hasUnsent = true;
  assert.equal(findMissedDeadline(connection, TIMEOUTS, 5000), undefined);
  connection.hasUnsent = false;
  assert.equal(findMissedDeadline(connection, TIMEOUTS, 5000), 'request');
  connection.restartDeadlines(5000);
  assert.equal(findMissedDeadline(connection, TIMEOUTS, 5900), undefined);
  assert.equal(findMissedDeadline(connection, TIMEOUTS, 6001), 'request');
});
