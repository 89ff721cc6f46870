import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Backoff, backoffMs } from '../../src/timing/backoff.ts';

const TERMS = { firstMs: 500, maxMs: 3_000 };

test('the delay doubles with each failure in a row, up to the maximum', () => {
  const delays = [0, 1, 2, 3, 4, 5, 10_000].map((failures) => backoffMs(failures, TERMS));
  assert.deepEqual(delays, [0, 500, 1_000, 2_000, 3_000, 3_000, 3_000]);
});

test('a delay without a maximum stays finite', () => {
  assert.ok(Number.isFinite(backoffMs(10_000, { firstMs: 1, maxMs: Number.POSITIVE_INFINITY })));
});

test('with jitter it is between half of the delay and all of it, and a reset starts again', () => {
  let random = 0;
  const backoff = new Backoff({ ...TERMS, random: () => random });
  assert.equal(backoff.nextMs(), 250);
  random = 1;
  assert.equal(backoff.nextMs(), 1_000);
  backoff.reset();
  assert.equal(backoff.nextMs(), 500);
});
