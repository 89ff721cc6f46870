/** What is followed, and when it is due to be read again. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAddress } from '../../../src/exact/address.ts';
import { type Watched, WatchList } from '../../../src/upstream/follower/accounts/watch-list.ts';

const HOUR_MS = 3_600_000;
/** Half past, so that no hour is full by accident. */
const NOON = 1_758_556_800_000 + HOUR_MS / 2;
const OPTIONS = { sweepMs: 60_000, forgetMs: HOUR_MS, watchedMax: 100 };

function createList(options: Partial<typeof OPTIONS> = {}): WatchList {
  return new WatchList({ ...OPTIONS, ...options });
}

function watch(list: WatchList, digit: string, readTime = NOON, nowMs = 0): Watched {
  const user = `0x${digit.repeat(40)}`;
  const address = parseAddress(user);
  assert.ok(address !== undefined);
  const watched = list.add({ kind: 'account', user, dex: '' }, address, nowMs);
  watched.readTime = readTime;
  return watched;
}

function dueAt(list: WatchList, ms: number, count = 10): string[] {
  const due = list.findDue({ ms, exchange: NOON + ms }, count);
  return due.map(({ watched, reason }) => `${watched.item.user.slice(2, 3)} ${reason}`);
}

test('an account is due when its age reaches the sweep, the oldest first', () => {
  const list = createList();
  watch(list, 'a', NOON - 1_000);
  watch(list, 'b', NOON - 2_000);
  watch(list, 'c');
  assert.deepEqual(dueAt(list, 57_000), []);
  assert.deepEqual(dueAt(list, 59_000), ['b sweep', 'a sweep']);
  assert.deepEqual(dueAt(list, 60_000, 2), ['b sweep', 'a sweep']);
});

test('trades come before the hour, and the hour before age', () => {
  const list = createList();
  watch(list, 'a', NOON - HOUR_MS);
  watch(list, 'b', NOON - HOUR_MS).hasPositions = true;
  const traded = watch(list, 'c');
  list.noteTrade(traded.item.user, '', NOON + 100, 100);
  assert.deepEqual(dueAt(list, 1_000), ['c trade', 'b hour', 'a sweep']);
});

test('trades that come together are read once, and old ones not at all', () => {
  const list = createList();
  const watched = watch(list, 'a');
  assert.equal(list.noteTrade(watched.item.user, '', NOON, 0), false);
  assert.equal(list.noteTrade(watched.item.user, '', NOON + 10, 10), true);
  assert.equal(list.noteTrade(watched.item.user, '', NOON + 100, 100), true);
  assert.deepEqual(dueAt(list, 100), []);
  assert.deepEqual(dueAt(list, 200), ['a trade']);
  list.noteRead(watched, NOON + 50);
  assert.deepEqual(dueAt(list, 300), ['a trade'], 'the answer was older than the second trade');
  list.noteRead(watched, NOON + 100);
  assert.deepEqual(dueAt(list, 400), []);
});

test('an account with positions is due after the full hour, one without is not', () => {
  const list = createList({ sweepMs: 24 * HOUR_MS });
  watch(list, 'a').hasPositions = true;
  watch(list, 'b');
  assert.deepEqual(dueAt(list, HOUR_MS / 2), []);
  assert.deepEqual(dueAt(list, HOUR_MS / 2 + 2_000), ['a hour']);
});

test('what is being read is not due, and what failed is tried later and later', () => {
  const list = createList();
  const watched = watch(list, 'a', NOON - HOUR_MS);
  watched.readReason = 'trade';
  assert.deepEqual(dueAt(list, 0), []);
  watched.readReason = undefined;
  const delays: number[] = [];
  for (let failures = 1; failures <= 8; failures++) {
    watched.triedMs = 0;
    list.noteFailed(watched);
    let ms = 0;
    while (dueAt(list, ms).length === 0) ms += 1_000;
    delays.push(ms / 1_000);
  }
  // Not before a quarter of the sweep, and never later than a minute.
  assert.deepEqual(delays, [15, 15, 15, 15, 16, 32, 60, 60]);
});

test('an account that is not recorded is tried again after a sweep', () => {
  const list = createList();
  const watched = watch(list, 'a', 0);
  watched.isUnrecorded = true;
  watched.triedMs = 0;
  assert.deepEqual(dueAt(list, 59_000), []);
  assert.deepEqual(dueAt(list, 60_000), ['a sweep']);
});

test('unified accounts are read more often, delegations less', () => {
  const list = createList();
  const unified = watch(list, 'a');
  unified.isUnified = true;
  const { address } = unified;
  list.add({ kind: 'delegations', user: `0x${'b'.repeat(40)}` }, address, 0).readTime = NOON;
  assert.deepEqual(dueAt(list, 15_000), ['a sweep']);
  assert.deepEqual(dueAt(list, 599_000), ['a sweep']);
  assert.deepEqual(dueAt(list, 600_000), ['a sweep', 'b sweep']);
});

test('what nobody asks for is forgotten, but not while it is being read', () => {
  const list = createList();
  watch(list, 'a');
  const read = watch(list, 'b');
  read.readReason = 'trade';
  list.noteAsked(watch(list, 'c'), 1, 1_000);
  list.forget(HOUR_MS + 500, () => true);
  assert.deepEqual(
    [...list].map(({ item }) => item.user[2]),
    ['b', 'c'],
  );
});

test('a full list drops what was asked for longest ago', () => {
  const list = createList({ watchedMax: 2 });
  watch(list, 'a', NOON, 0);
  watch(list, 'b', NOON, 1);
  list.noteAsked(watch(list, 'a'), 1, 2);
  watch(list, 'c', NOON, 3);
  assert.deepEqual(
    [...list].map(({ item }) => item.user[2]),
    ['a', 'c'],
  );
});

test('the users asked for most are chosen, and stay until another is asked for clearly more', () => {
  const list = createList();
  const [first, second] = [watch(list, 'a'), watch(list, 'b')];
  list.noteAsked(first, 10, 0);
  list.noteAsked(second, 8, 0);
  assert.deepEqual(list.chooseUsers(1, 0), [first.item.user]);
  list.noteAsked(second, 4, 0);
  assert.deepEqual(list.chooseUsers(1, 0), [first.item.user]);
  list.noteAsked(second, 10, 0);
  assert.deepEqual(list.chooseUsers(1, 0), [second.item.user]);
  list.noteAsked(first, 12, 3 * HOUR_MS);
  assert.deepEqual(list.chooseUsers(1, 3 * HOUR_MS), [first.item.user], 'interest fades');
});

test('a few accounts are read after the full hour until one shows its funding, then all', () => {
  const list = createList({ sweepMs: 24 * HOUR_MS });
  const digits = ['1', '2', '3', '4', '5', '6', '7', '8'];
  const all = digits.map((digit) => watch(list, digit));
  for (const watched of all) watched.hasPositions = true;
  const hourMs = HOUR_MS / 2;
  const readAt = (ms: number, watched: Watched, booking: 'all' | 'none') => {
    watched.triedMs = ms;
    list.noteFunding(watched, NOON + ms, booking, ms);
    list.noteRead(watched, NOON + ms);
  };
  assert.equal(dueAt(list, hourMs + 300).length, 0);
  assert.equal(dueAt(list, hourMs + 600).length, 4);
  assert.equal(dueAt(list, hourMs + 700).length, 0, 'not more of them at once');
  for (const watched of all.slice(0, 4)) readAt(hourMs + 700, watched, 'none');
  assert.deepEqual(dueAt(list, hourMs + 1_100), ['5 hour', '6 hour', '7 hour', '8 hour']);
  readAt(hourMs + 1_200, all[4], 'all');
  assert.equal(dueAt(list, hourMs + 1_300).length, 3, 'those that were not read just before');
  assert.equal(
    list.countWaiting({ ms: hourMs + 5_000, exchange: NOON + hourMs + 5_000 }, 3_000),
    7,
  );
  for (const watched of all) readAt(hourMs + 2_000, watched, 'all');
  assert.deepEqual(dueAt(list, hourMs + 100_000), []);
});

test('an account that does not show its funding is looked at later and later, for a minute', () => {
  const list = createList({ sweepMs: 24 * HOUR_MS });
  const [dust, other] = [watch(list, 'a'), watch(list, 'b')];
  for (const watched of [dust, other]) watched.hasPositions = true;
  const hourMs = HOUR_MS / 2;
  list.noteFunding(other, NOON + hourMs + 1_000, 'all', hourMs + 1_000);
  const readMs: number[] = [];
  for (let ms = hourMs; ms < hourMs + 200_000; ms += 100) {
    if (!dueAt(list, ms).includes('a hour')) continue;
    readMs.push(ms - hourMs);
    dust.triedMs = ms;
    list.noteFunding(dust, NOON + ms, 'none', ms);
    list.noteRead(dust, NOON + ms);
  }
  assert.ok(readMs.length >= 4 && readMs.length <= 8, `${readMs}`);
  assert.ok(Number(readMs.at(-1)) >= 60_000, 'once after the last moment at which it is booked');
});

test('who has traded just before being followed is read again', () => {
  const list = createList();
  const user = `0x${'a'.repeat(40)}`;
  list.noteTrade(user, '', NOON + 50, 50);
  const watched = watch(list, 'a', NOON, 100);
  assert.deepEqual(dueAt(list, 300), ['a trade']);
  list.noteRead(watched, NOON + 300);
  assert.deepEqual(dueAt(list, 2_000), []);
  list.noteTrade(`0x${'b'.repeat(40)}`, '', NOON + 300, 300);
  watch(list, 'b', NOON + 20_000, 20_000);
  assert.deepEqual(dueAt(list, 21_000), [], 'a trade of long ago');
});

test('an account in the queue of the sweep is read at once for a trade', () => {
  const list = createList();
  const watched = watch(list, 'a', NOON - HOUR_MS);
  watched.readReason = 'sweep';
  assert.deepEqual(dueAt(list, 1_000), []);
  list.noteTrade(watched.item.user, '', NOON, 1_000);
  assert.deepEqual(dueAt(list, 1_200), ['a trade']);
  watched.readReason = 'trade';
  assert.deepEqual(dueAt(list, 1_300), []);
});
