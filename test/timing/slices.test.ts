import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { runInSlices, SliceLoop } from '../../src/timing/slices.ts';

/** A slice of this length is over after one step. */
const ONE_STEP_MS = 0;
const LONG_MS = 1e9;

test('work that fits into one slice is done at once', () => {
  let steps = 0;
  void runInSlices(() => ++steps === 3, LONG_MS);
  assert.equal(steps, 3);
});

test('between two slices of the work others have their turn', async () => {
  const order: string[] = [];
  setImmediate(() => order.push('other'));
  const times: number[] = [];
  const step = () => order.push('step') === 3;
  await runInSlices(step, ONE_STEP_MS, (seconds) => times.push(seconds));
  assert.deepEqual(order, ['step', 'other', 'step']);
  assert.equal(times.length, 2);
});

test('what a step throws rejects', async () => {
  const fail = () => {
    throw new Error('bad');
  };
  await assert.rejects(runInSlices(fail, LONG_MS), /bad/);
});

function startLoop(sliceMs: number, work: string[]) {
  const done: string[][] = [];
  let slice: string[] = [];
  const loop = new SliceLoop({
    sliceMs: () => sliceMs,
    step: () => slice.push(work.shift() as string) > 0,
    hasMore: () => work.length > 0,
    worked: () => {
      done.push(slice);
      slice = [];
    },
  });
  return { loop, done };
}

test('a loop does what was added before its slice, and one slice is planned at a time', async () => {
  const work = ['a'];
  const { loop, done } = startLoop(LONG_MS, work);
  loop.start();
  work.push('b');
  loop.start();
  assert.deepEqual(done, []);
  await nextTurn();
  await nextTurn();
  assert.deepEqual(done, [['a', 'b']]);
});

test('what does not fit into a slice is left to the next one', async () => {
  const { loop, done } = startLoop(ONE_STEP_MS, ['a', 'b', 'c']);
  loop.runNow();
  assert.deepEqual(done, [['a']]);
  await nextTurn();
  await nextTurn();
  await nextTurn();
  assert.deepEqual(done, [['a'], ['b'], ['c']]);
});

test('a loop that is stopped does no more', async () => {
  const { loop, done } = startLoop(LONG_MS, ['a']);
  loop.start();
  loop.stop();
  loop.start();
  loop.runNow();
  await nextTurn();
  assert.deepEqual(done, []);
});
