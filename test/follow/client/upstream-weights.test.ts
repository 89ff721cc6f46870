/** What questions cost: on the public server, and on a vendor's by a setting. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { upstreamWeights } from '../../../src/config/value-types.ts';
import { UpstreamWeights } from '../../../src/info/upstream-weights.ts';
import { weightsOf } from '../../../src/upstream/follower/follow-weights.ts';
import { askedWrongly, run } from '../../../tools/harness/program.ts';
import { json } from './scripted-server.ts';
import { openFixture, USER } from './upstream-fixture.ts';

const VENDOR = new Map([
  ['userFills', 7],
  ['l2Book', 0],
  ['default', 3],
]);

test('the budget is spent by the weights of the vendor', async (t) => {
  const weights = new UpstreamWeights(VENDOR);
  const { upstream } = await openFixture(t, json([]), { weights });
  for (const type of ['userFills', 'l2Book', 'clearinghouseState']) {
    await upstream.ask({ type, user: USER }, { priority: 'asked' });
  }
  assert.equal(upstream.budget.left, 1200 - 7 - 0 - 3);
});

test('the setting is read pair by pair', () => {
  const read = (text: string) => {
    const weights = upstreamWeights.parse(text);
    return weights && [...weights];
  };
  assert.deepEqual(read('clearinghouseState=2, default = 20'), [
    ['clearinghouseState', 2],
    ['default', 20],
  ]);
  const wrong = ['', 'default', 'default=', 'default=-1', 'default=1.5', 'default=10001', '=2'];
  for (const text of [
    ...wrong,
    'default=1,',
    'default=1,default=2',
    'a b=1',
    `${'x'.repeat(41)}=1`,
  ]) {
    assert.equal(read(text), undefined, text);
  }
});

test('weights that would have no effect, or that no budget has room for, are refused', () => {
  const problem = (upstreamWeights: ReadonlyMap<string, number>) => {
    try {
      weightsOf({ upstreamWeights, followBudget: 200 });
      return 'none';
    } catch (error) {
      return (error as Error).message;
    }
  };
  assert.equal(problem(new Map([['meta', 200]])), 'none');
  assert.equal(
    problem(new Map([['clearinghouseSate', 2]])),
    '--upstream-weights: got clearinghouseSate, expected the type of a question, or default',
  );
  assert.equal(
    problem(new Map([['default', 201]])),
    '--upstream-weights: got default=201, expected at most the 200 of --follow-budget',
  );
});

test('a wrong weight is one line, and the exit code is 2', async () => {
  const follow = ['follow', '--data', '/nowhere', '--upstream', 'http://127.0.0.1:1'];
  const expected = 'weights from 0 to 10000, such as clearinghouseState=2,default=20';
  assert.deepEqual(
    await run([...follow, '--upstream-weights', 'default=20,meta=x']),
    askedWrongly(`--upstream-weights: got "default=20,meta=x", expected ${expected}; not "meta=x"`),
  );
  assert.deepEqual(
    await run([...follow, '--upstream-weights', 'metas=2']),
    askedWrongly('--upstream-weights: got metas, expected the type of a question, or default'),
  );
});
