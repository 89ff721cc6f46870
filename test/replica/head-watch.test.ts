/** How long a replica may have been behind: from when its ledger was looked up, not from blocks' times. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeadWatch } from '../../src/replica/head-watch.ts';

test('a ledger that stands still leaves no doubt, as long as it can be looked up', () => {
  const watch = new HeadWatch(0);
  for (let ms = 1000; ms <= 60_000; ms += 1000) watch.seeHead(7, 7, ms);
  assert.equal(watch.doubtMs(60_400), 400);
});

test('without a look the doubt grows', () => {
  const watch = new HeadWatch(0);
  watch.seeHead(7, 7, 1000);
  watch.reach(7);
  assert.equal(watch.doubtMs(31_000), 30_000);
});

test('blocks that come late prove only that the replica had everything at the look', () => {
  const watch = new HeadWatch(0);
  watch.seeHead(9, 7, 1000);
  assert.equal(watch.heightAhead, 9);
  watch.reach(8);
  assert.equal(watch.doubtMs(5000), 5000);
  watch.reach(9);
  assert.equal(watch.doubtMs(5000), 4000);
  assert.equal(watch.heightAhead, undefined);
});

test('a ledger that grows faster than it is read is judged by the first block that is missing', () => {
  const watch = new HeadWatch(0);
  for (let ms = 1000; ms <= 9000; ms += 1000) watch.seeHead(10 + ms / 1000, 5, ms);
  watch.reach(11);
  assert.equal(watch.doubtMs(9000), 8000);
});

test('an older proof does not take back a newer one', () => {
  const watch = new HeadWatch(5000);
  watch.seeHead(3, 3, 2000);
  assert.equal(watch.doubtMs(6000), 1000);
});
