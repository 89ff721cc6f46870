/** That the page's delays before a retry double, have a maximum, and are spread. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryDelayMs } from '../../web/src/service/retry-delay.ts';

const TERMS = { firstMs: 2_000, maxMs: 60_000 };

test('a delay doubles up to the maximum, within a quarter of it', (t) => {
  let random = 0;
  t.mock.method(Math, 'random', () => random);
  const delays = () => [1, 2, 3, 6, 100].map((failures) => retryDelayMs(failures, TERMS));
  assert.deepEqual(delays(), [1_500, 3_000, 6_000, 45_000, 45_000]);
  random = 0.5;
  assert.deepEqual(delays(), [2_000, 4_000, 8_000, 60_000, 60_000]);
  random = 1;
  assert.deepEqual(delays(), [2_500, 5_000, 10_000, 75_000, 75_000]);
});
