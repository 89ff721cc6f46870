/** When subscriptions are checked, on a clock of the test. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Turns } from '../../src/http/answering/limits/turns.ts';
import { LinkedList } from '../../src/http/push/linked-list.ts';
import {
  PushSchedule,
  type Scheduled,
  type ScheduledConnection,
} from '../../src/http/push/schedule.ts';
import { FrameWriter } from '../../src/http/transport/websocket/frame-writer.ts';
import { createState } from '../../src/state/state.ts';

const STEP_MS = 10;
/** How early one may be sent its next state, with others that are due. */
const EARLY_MS_MAX = 25;

function createSchedule(worked: () => void = () => undefined): PushSchedule {
  const state = createState();
  const frames = new FrameWriter();
  return new PushSchedule({ frames, turns: new Turns(), readState: () => state, worked });
}

/** A connection with one subscription, which always has something new. */
class Connection implements ScheduledConnection {
  readonly keyId = 'a';
  readonly intervalMs: number;
  readonly stale = new LinkedList<Scheduled>();
  readonly subscription: Scheduled;
  readonly sentMs: number[] = [];
  list: LinkedList<ScheduledConnection> | undefined;
  previous: ScheduledConnection | undefined;
  next: ScheduledConnection | undefined;
  readonly #schedule: PushSchedule;

  constructor(schedule: PushSchedule, intervalMs: number) {
    this.#schedule = schedule;
    this.intervalMs = intervalMs;
    this.subscription = {
      ...{ connection: this, dueMs: 0, isResting: false, isMarked: false, allMarksSeen: 0 },
      ...{ list: undefined, previous: undefined, next: undefined },
      write: () => true,
    };
  }

  compose(): void {
    const { subscription } = this;
    if (this.stale.first === undefined) return;
    this.stale.remove(subscription);
    subscription.isMarked = false;
    this.sentMs.push(performance.now());
    this.#schedule.rest(subscription);
  }

  send(): boolean {
    return false;
  }
}

/** A clock at 0, and a function that advances it. */
function mockClock(context: TestContext): (ms: number) => void {
  let nowMs = 0;
  context.mock.timers.enable({ apis: ['setTimeout', 'setImmediate'] });
  context.mock.method(performance, 'now', () => nowMs);
  return (ms) => {
    nowMs += ms;
    context.mock.timers.tick(ms);
  };
}

test('each connection has its own interval', (context) => {
  const advance = mockClock(context);
  const schedule = createSchedule();
  const connections = [0, 250, 1000, 5000].map((interval) => new Connection(schedule, interval));
  for (const { subscription } of connections) schedule.rest(subscription);
  while (performance.now() <= 10_000) {
    // Every step is a block that changes all states.
    for (const { subscription } of connections) schedule.mark(subscription);
    advance(STEP_MS);
  }
  schedule.close();
  for (const { intervalMs, sentMs } of connections) {
    const pauses = sentMs.slice(1).map((ms, index) => ms - sentMs[index]);
    const earlyMs = Math.min(EARLY_MS_MAX, intervalMs / 10);
    assert.ok(Math.min(...pauses) >= intervalMs - earlyMs, `${intervalMs}: ${pauses}`);
    assert.ok(Math.max(...pauses) <= intervalMs + 2 * STEP_MS, `${intervalMs}: ${pauses}`);
    assert.ok(sentMs.length >= 10_000 / (intervalMs + 2 * STEP_MS) - 1, `${sentMs.length} states`);
  }
});

test('one that is marked before it rests is sent when it is due, and nothing is done before', (context) => {
  const advance = mockClock(context);
  let slices = 0;
  const schedule = createSchedule(() => slices++);
  const connection = new Connection(schedule, 1000);
  schedule.mark(connection.subscription);
  schedule.rest(connection.subscription);
  assert.equal(connection.stale.first, undefined);
  while (performance.now() < 900) advance(STEP_MS);
  assert.deepEqual(connection.sentMs, []);
  assert.ok(slices <= 1, `${slices} slices`);
  while (performance.now() < 5000) advance(STEP_MS);
  assert.equal(connection.sentMs.length, 1);
  assert.ok(slices <= 2, `${slices} slices`);
});

test('one that rests again is due an interval after the last time', (context) => {
  const advance = mockClock(context);
  const schedule = createSchedule();
  const [first, second] = [1000, 1000].map((interval) => new Connection(schedule, interval));
  schedule.rest(first.subscription);
  advance(500);
  schedule.rest(second.subscription);
  advance(100);
  schedule.rest(first.subscription);
  for (const { subscription } of [first, second]) schedule.mark(subscription);
  while (performance.now() < 3000) advance(STEP_MS);
  schedule.close();
  assert.ok(first.sentMs[0] >= 1600 && first.sentMs[0] <= 1600 + 2 * STEP_MS, `${first.sentMs}`);
  assert.ok(second.sentMs[0] >= 1500 && second.sentMs[0] <= 1500 + 2 * STEP_MS);
});

test('connections that are due at nearly the same time are checked together, now and later', (context) => {
  const advance = mockClock(context);
  const schedule = createSchedule();
  const connections = Array.from({ length: 100 }, () => new Connection(schedule, 1000));
  for (const { subscription } of connections) {
    schedule.rest(subscription);
    advance(STEP_MS);
  }
  while (performance.now() < 10_000) {
    schedule.markAll();
    schedule.markWaiting(Number.POSITIVE_INFINITY);
    advance(STEP_MS);
  }
  schedule.close();
  for (const { sentMs } of connections) {
    const pauses = sentMs.slice(1).map((ms, index) => ms - sentMs[index]);
    assert.ok(Math.min(...pauses) >= 1000 - EARLY_MS_MAX, `${pauses}`);
    assert.ok(Math.max(...pauses) <= 1000 + 2 * STEP_MS, `${pauses}`);
    assert.ok(sentMs.length >= 8, `${sentMs.length} states`);
  }
  const times = new Set(connections.flatMap(({ sentMs }) => sentMs.filter((ms) => ms > 9000)));
  assert.ok(times.size <= 1000 / EARLY_MS_MAX, `checked at ${times.size} times of a second`);
});

test('when all are marked, those that wait are checked, and those that rest once they are due', (context) => {
  const advance = mockClock(context);
  const schedule = createSchedule();
  const [waiting, resting] = [0, 1000].map((interval) => new Connection(schedule, interval));
  for (const { subscription } of [waiting, resting]) schedule.rest(subscription);
  while (performance.now() < 500) advance(STEP_MS);
  schedule.markAll();
  assert.equal(schedule.markWaiting(Number.POSITIVE_INFINITY), true);
  while (performance.now() < 3000) advance(STEP_MS);
  schedule.close();
  assert.deepEqual([waiting.sentMs.length, resting.sentMs.length], [1, 1]);
  assert.ok(waiting.sentMs[0] <= 500 + 2 * STEP_MS, `${waiting.sentMs}`);
  assert.ok(resting.sentMs[0] >= 1000 && resting.sentMs[0] <= 1000 + 2 * STEP_MS);
});

test('one that rested while nothing was marked waits for the next mark of all', (context) => {
  const advance = mockClock(context);
  const schedule = createSchedule();
  const connection = new Connection(schedule, 1000);
  schedule.rest(connection.subscription);
  while (performance.now() < 2000) advance(STEP_MS);
  assert.deepEqual(connection.sentMs, []);
  schedule.markAll();
  schedule.markWaiting(Number.POSITIVE_INFINITY);
  advance(STEP_MS);
  assert.equal(connection.sentMs.length, 1);
});

test('many are marked in pieces, each once, while others are checked', (context) => {
  const advance = mockClock(context);
  const schedule = createSchedule();
  const connections = Array.from({ length: 1000 }, () => new Connection(schedule, 0));
  for (const { subscription } of connections) schedule.rest(subscription);
  schedule.markAll();
  let pieces = 1;
  for (; !schedule.markWaiting(-1); pieces++) {
    assert.ok(connections.filter(({ sentMs }) => sentMs.length > 0).length < 1000);
    advance(STEP_MS);
  }
  advance(STEP_MS);
  assert.ok(pieces > 10, `${pieces} pieces`);
  assert.deepEqual(new Set(connections.map(({ sentMs }) => sentMs.length)), new Set([1]));
  assert.equal(schedule.markWaiting(-1), true);
});
