/** What clients are told about a follower whose feed has failed for good. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withFailure } from '../../../src/service/failed-follower.ts';
import type {
  FollowerHandler,
  FollowStatus,
} from '../../../src/upstream/channel/follower-client.ts';

const STATUS = { isHealthy: true, reason: '', followed: 3 } as FollowStatus;
const CLOSED = { outcome: 'failed', reason: 'the follower stops' } as const;
const ITEM = { kind: 'delegations', user: `0x${'1'.repeat(40)}` } as const;

const handler: FollowerHandler = {
  readItem: async () => CLOSED,
  forward: async () => CLOSED,
  noteInterest: () => undefined,
  status: () => STATUS,
};

test('a follower that has failed says why, and one that has not is passed on', async () => {
  let failure: Error | undefined;
  const follower = withFailure(handler, () => failure);
  assert.deepEqual(await follower.readItem(ITEM, 0, 'key'), CLOSED);
  assert.deepEqual(follower.status(), STATUS);
  failure = new Error('block 7 is refused');
  const reason = 'the follower has failed: block 7 is refused; the service must be restarted';
  assert.deepEqual(await follower.readItem(ITEM, 0, 'key'), { outcome: 'failed', reason });
  assert.deepEqual(await follower.forward({ type: 'x' }, 'key'), { outcome: 'failed', reason });
  assert.deepEqual(follower.status(), { ...STATUS, isHealthy: false, reason });
});
