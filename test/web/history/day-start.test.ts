/** What an account was worth when the day began. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMidnight, startDay } from '../../../web/src/history/day-start.ts';

/** Local: a day begins when it begins where the page is. */
const MIDNIGHT = new Date(2026, 4, 10).getTime();
const NOON = MIDNIGHT + 12 * 3_600_000;

test('without anything known the day begins with the first value', () => {
  const start = startDay(undefined, undefined, { value: '5.0', timeMs: NOON });
  assert.deepEqual(start, { dayMs: MIDNIGHT, value: '5.0', sinceMs: NOON });
  assert.equal(isMidnight(start), false);
  assert.equal(startDay(start, undefined, { value: '9.0', timeMs: NOON + 1 }), start);
});

test('followed over midnight, the day begins with the last value before it', () => {
  const yesterday = { dayMs: MIDNIGHT - 86_400_000, value: '1.0', sinceMs: MIDNIGHT - 86_400_000 };
  const before = { value: '7.0', untilMs: MIDNIGHT - 500 };
  const start = startDay(yesterday, before, { value: '8.0', timeMs: MIDNIGHT + 500 });
  assert.deepEqual(start, { dayMs: MIDNIGHT, value: '7.0', sinceMs: MIDNIGHT });
  assert.equal(isMidnight(start), true);
});

test('after a gap over midnight nobody knows what it was worth then', () => {
  const before = { value: '7.0', untilMs: MIDNIGHT - 500 };
  const start = startDay(undefined, before, { value: '8.0', timeMs: NOON });
  assert.deepEqual(start, { dayMs: MIDNIGHT, value: '8.0', sinceMs: NOON });
});

test('what was seen earlier today is not what was at midnight', () => {
  const before = { value: '7.0', untilMs: NOON - 500 };
  assert.equal(startDay(undefined, before, { value: '8.0', timeMs: NOON }).value, '8.0');
});
