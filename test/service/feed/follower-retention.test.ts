/** Which blocks the ledger of a follower keeps, if nobody has said how many. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { readSettings } from '../../../src/config/read-settings.ts';
import { FEED_SETTINGS } from '../../../src/feed/settings.ts';
import { openEmbeddedLedger } from '../../../src/ledger/embedded/embedded-ledger.ts';
import { followerRetention } from '../../../src/service/follower-retention.ts';
import { ServiceFeed } from '../../../src/service/service-feed.ts';
import { makeTemporaryFolder } from '../../../tools/harness/temporary-folder.ts';
import { archiveOnce } from '../../archive/archived.ts';

const DAY_MS = 86_400_000;
const SETTINGS = FEED_SETTINGS;

/** Writes empty blocks, one a day and each with a snapshot, as a follower; returns its warnings. */
async function write(
  data: string,
  { from, to }: { from: number; to: number },
  flags: Readonly<Record<string, string>> = {},
): Promise<string[]> {
  const chosen = { data, 'snapshot-every': '1', 'snapshot-keep': '1', ...flags };
  const settings = readSettings(SETTINGS, new Map(Object.entries(chosen)), {});
  const warnings: string[] = [];
  const hear = { write: (text: string) => void warnings.push(JSON.parse(text).msg) };
  const feed = await ServiceFeed.open({
    settings,
    feed: {
      name: 'days',
      async *blocks() {
        for (let height = from; height <= to; height++) {
          const time = Date.UTC(2026, 0, 1) + height * DAY_MS;
          yield [{ line: Buffer.from(`{"height":${height},"time":${time},"events":[]}`) }];
        }
      },
    },
    log: pino({ level: 'warn' }, hear),
    retention: followerRetention(settings),
    durable: () => undefined,
    closed: () => undefined,
  });
  await feed.run();
  assert.equal(feed.error, undefined);
  return warnings;
}

async function firstOf(data: string): Promise<number> {
  const ledger = await openEmbeddedLedger(data);
  const { height } = await ledger.base();
  await ledger.close();
  return height + 1;
}

test('a follower keeps the blocks of a week, unless it is told otherwise', async (t) => {
  const days = { from: 1, to: 30 };
  const first = async (flags?: Readonly<Record<string, string>>) => {
    const data = await makeTemporaryFolder(t);
    assert.deepEqual(await write(data, days, flags), []);
    return firstOf(data);
  };
  assert.equal(await first(), 30 - 7);
  assert.equal(await first({ 'keep-days': '20' }), 30 - 20);
  assert.equal(await first({ 'keep-days': '3' }), 30 - 3);
  assert.equal(await first({ 'keep-blocks': '25' }), 30 - 24);
  assert.equal(await first({ 'keep-days': '0' }), 1);
});

test('a follower never drops blocks that the archive does not have yet, and says so', async (t) => {
  const data = await makeTemporaryFolder(t);
  await write(data, { from: 1, to: 5 });
  await archiveOnce(data);
  const [warning] = await write(data, { from: 6, to: 30 });
  assert.equal(
    warning,
    'old blocks were not pruned: the archive ends at block 5, and needs those after it',
  );
  assert.equal(await firstOf(data), 6);
  await archiveOnce(data);
  assert.deepEqual(await write(data, { from: 31, to: 32 }), []);
  assert.equal(await firstOf(data), 32 - 7);
});
