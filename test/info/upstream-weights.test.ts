/** What questions cost: on the public server, and on a vendor's by a setting. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UpstreamWeights } from '../../src/info/upstream-weights.ts';

const VENDOR = new Map([
  ['userFills', 7],
  ['l2Book', 0],
  ['default', 3],
]);

test("a vendor's weights come before the public server's, and do not depend on the answer", () => {
  const weights = new UpstreamWeights(VENDOR);
  const types = ['userFills', 'l2Book', 'clearinghouseState', 'userRole', 'candleSnapshot'];
  const expected = [7, 0, 3, 3, 3];
  assert.deepEqual(
    types.map((type) => weights.of(type)),
    expected,
  );
  assert.deepEqual(
    types.map((type) => weights.maxOf(type)),
    expected,
  );
  assert.equal(weights.ofRows('userFills', 100), 7);
});

test('questions that the setting does not name keep their weight if it has no default', () => {
  const weights = new UpstreamWeights(new Map([['clearinghouseState', 5]]));
  const types = ['clearinghouseState', 'spotClearinghouseState', 'userRole', 'meta', 'constructor'];
  assert.deepEqual(
    types.map((type) => weights.of(type)),
    [5, 2, 60, 20, 20],
  );
  assert.equal(weights.ofRows('userFills', 100), 25);
});
