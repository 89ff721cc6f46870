/** Streams on NATS that keep enough blocks for the interval of snapshots, or too few. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StreamInfo } from '@nats-io/jetstream';
import { UsageError } from '../../src/config/usage-error.ts';
import { limitsOf } from '../../src/ledger/jetstream/stream-limits.ts';
import { checkStreamRoom, isSnapshotDue } from '../../src/replica/stream-room.ts';

const NANOS_PER_S = 1e9;

/** The limits of a stream that holds ten blocks of 500 bytes. */
function limits(config: object) {
  const state = { messages: 10, bytes: 5_000 };
  return limitsOf({ config: { name: 'exchange', ...config }, state } as unknown as StreamInfo);
}

/** The warnings of a check. */
async function check(config: object, snapshotEvery = 1_000): Promise<string[]> {
  const warnings: string[] = [];
  const shared = { limits: async () => limits(config) };
  await checkStreamRoom({ shared, snapshotEvery, warn: (message) => warnings.push(message) });
  return warnings;
}

const TOO_FEW =
  'the stream exchange keeps 1999 blocks (max_msgs), fewer than 2 times --snapshot-every 1000: replicas ' +
  'could not start from a snapshot; set --snapshot-every to 999 or less, or max_msgs to 2000 or more';

const REFUSED: [about: string, config: object, message: string][] = [
  ['too few blocks', { max_msgs: 1_999 }, TOO_FEW],
  [
    'too few blocks of its one subject',
    { max_msgs: 5_000, max_msgs_per_subject: 1_999, discard: 'new' },
    TOO_FEW.replaceAll('max_msgs', 'max_msgs_per_subject'),
  ],
  [
    'blocks for too short a time',
    { max_age: 59 * NANOS_PER_S },
    'the stream exchange keeps blocks for 59 s (max_age): expected at least 60 s, so that a snapshot can ' +
      'be published before they are dropped',
  ],
];

for (const [about, config, message] of REFUSED) {
  test(`a stream that keeps ${about} is refused, with what to set`, async () => {
    await assert.rejects(check(config), (error: Error) => {
      assert.ok(error instanceof UsageError);
      assert.equal(error.message, message);
      return true;
    });
  });
}

const TAKEN: [about: string, config: object][] = [
  ['no limits', { max_msgs: -1, max_bytes: -1, max_age: 0, max_msgs_per_subject: -1 }],
  ['room for two intervals', { max_msgs: 2_000, max_age: 60 * NANOS_PER_S, max_bytes: 1_000_000 }],
  ['limits at which new blocks are refused', { max_msgs: 5, max_bytes: 10, discard: 'new' }],
];

for (const [about, config] of TAKEN) {
  test(`a stream with ${about} is taken`, async () => {
    assert.deepEqual(await check(config), []);
  });
}

test('a stream that may have too few bytes is taken with a warning', async () => {
  assert.deepEqual(await check({ max_bytes: 999_999 }), [
    'the stream exchange has room for about 1999 blocks like those stored (max_bytes), fewer than 2 times ' +
      '--snapshot-every 1000: snapshots will be made more often; better set max_bytes to 1000000 or more',
  ]);
});

test('a snapshot is due when the blocks after the last one use half of a limit', () => {
  const rows: [config: object, count: number, ageMs: number, isDue: boolean][] = [
    [{ max_msgs: 100 }, 50, 0, false],
    [{ max_msgs: 100 }, 51, 0, true],
    [{ max_bytes: 10_000 }, 10, 0, false],
    [{ max_bytes: 10_000 }, 11, 0, true],
    [{ max_age: 60 * NANOS_PER_S }, 1, 30_000, false],
    [{ max_age: 60 * NANOS_PER_S }, 1, 30_001, true],
    [{}, 1e9, 1e12, false],
  ];
  for (const [config, count, ageMs, isDue] of rows) {
    assert.equal(isSnapshotDue(limits(config), { count, ageMs }), isDue, JSON.stringify(config));
  }
});
