/** Entity tags are the same wherever a ledger is read: whoever polls may be sent to any of its readers. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatAddress } from '../../src/exact/address.ts';
import { entityTag } from '../../src/http/message/entity-tag.ts';
import { parseQuestion } from '../../src/info/read-question.ts';
import type { StateView } from '../../src/state/state.ts';
import { appendAll, NO_SNAPSHOTS, restoreDirectory } from '../../tools/harness/data-directory.ts';
import { createPlaces, run } from '../../tools/harness/program.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { listBodies } from '../archive/witness.ts';

const place = createPlaces();
const BLOCKS = 120;
const lines = simulateLines(BLOCKS, 'tags');

/** The tags of all types of questions, about accounts that hold something and one that does not. */
function tagsOf(state: StateView): string[] {
  assert.match(state.ledgerId, /^[\w-]{12}$/);
  const held = Array.from({ length: 10 }, (_, row) =>
    formatAddress(state.addresses.addressOf(row + 1)),
  );
  const values = {
    user: [...held, `0x${'0'.repeat(38)}aa`],
    users: [held],
    dex: [''],
    id: [3],
  };
  return listBodies(values).map((body) => {
    const question = parseQuestion(body);
    return entityTag(state, question.type, question.changedAt(state));
  });
}

async function tagsIn(folder: string): Promise<string[]> {
  const { replica } = await restoreDirectory(folder);
  assert.equal(replica.state.height, BLOCKS);
  return tagsOf(replica.state);
}

test('a replay, a snapshot, a pruned ledger, a backup and a copy have the same tags', async () => {
  const [replayed, data, restored, copied] = [place(), place(), place(), place()];
  await appendAll(replayed, lines, NO_SNAPSHOTS);
  const expected = await tagsIn(replayed);
  assert.ok(new Set(expected).size > 10);
  await appendAll(data, lines, { snapshotEvery: 25, snapshotKeep: 3 });
  assert.ok((await restoreDirectory(data)).startHeight > 0, 'not restored from a snapshot');
  assert.deepEqual(await tagsIn(data), expected);
  assert.equal((await run(['prune', '--data', data, '--keep-blocks', '30'])).code, 0);
  assert.deepEqual(await tagsIn(data), expected);
  const file = place('backup');
  assert.equal((await run(['backup', '--data', data, '--to', file])).code, 0);
  assert.equal((await run(['restore', '--from', file, '--data', restored])).code, 0);
  assert.deepEqual(await tagsIn(restored), expected);
  assert.equal((await run(['copy', '--from', replayed, '--to', copied])).code, 0);
  assert.deepEqual(await tagsIn(copied), expected);
});
