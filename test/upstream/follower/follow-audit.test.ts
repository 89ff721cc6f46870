/** Which lines a follower logs about differences, and how often. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FollowAudit } from '../../../src/upstream/follower/follow-audit.ts';
import { ManualClock } from '../../follow/manual-clock.ts';

test('changes that nothing explains are one line a minute, with the number of the others', () => {
  const clock = new ManualClock();
  const lines: string[] = [];
  const log = (message: string) => void lines.push(message);
  const audit = new FollowAudit(clock, { info: log, warn: log });
  for (let index = 0; index < 30; index++)
    audit.noteSurprises(`account ${index}`, ['withdrawable']);
  assert.deepEqual(lines, ['account 0: changed unseen: withdrawable']);
  clock.advance(60_000);
  audit.noteSurprises('account 30', ['value']);
  audit.noteSurprises('account 31', []);
  assert.deepEqual(lines.slice(1), [
    'account 30: changed unseen: value; 29 more such changes since the last such line',
  ]);
  assert.deepEqual(audit.counters.surprises, { withdrawable: 30, value: 1 });
});
