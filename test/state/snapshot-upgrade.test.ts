/** A snapshot that an earlier version wrote is loaded, and goes on as if this one had written it. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { parseBlock } from '../../src/events/event.ts';
import { formatAddress } from '../../src/exact/address.ts';
import { parseQuestion } from '../../src/info/read-question.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { digestBytes } from '../../src/state/snapshot/digest.ts';
import {
  allocateTables,
  decodeDescription,
  decodeState,
} from '../../src/state/snapshot/snapshot.ts';
import type { State, StateView } from '../../src/state/state.ts';
import { ACCOUNT_CHANGED_AT } from '../../src/state/tables/columns.ts';
import { PROJECT } from '../../tools/harness/paths.ts';
import { hashSnapshot } from './snapshot-hash.ts';

/** The length of the description in 4 bytes, the description, the tables. */
const FILE = path.join(PROJECT, 'test/state/snapshot-format-2.bin.gz');
const BLOCKS_AFTER = 200;

function loadSnapshot(): State {
  const bytes = gunzipSync(readFileSync(FILE));
  let start = 4 + bytes.readUInt32LE(0);
  const description = decodeDescription(bytes.subarray(4, start));
  assert.equal(description.format, 2);
  const { tables, targets } = allocateTables(description);
  for (const target of targets) {
    target.set(bytes.subarray(start, start + target.length));
    start += target.length;
  }
  return decodeState(description, tables);
}

function digest(state: StateView): string {
  const hash = createHash('sha256');
  for (const bytes of digestBytes(state)) hash.update(bytes);
  return hash.digest('hex');
}

test('a snapshot of format 2 gives the state of a replay, now and later', () => {
  const simulator = createSimulator({ seed: 'format 2', accounts: 5 });
  const restored = loadSnapshot();
  const { height } = restored;
  while (simulator.state.height < height) simulator.next();
  assert.equal(digest(restored), digest(simulator.state));
  for (let block = 0; block < BLOCKS_AFTER; block++) {
    applyBlock(restored, parseBlock(simulator.next()));
  }
  assert.equal(digest(restored), digest(simulator.state));
});

test('what a snapshot of format 2 holds is taken to have changed at its height', () => {
  const state = loadSnapshot();
  const user = formatAddress(state.addresses.addressOf(1));
  for (const body of [
    { type: 'clearinghouseState', user },
    { type: 'delegations', user },
    { type: 'perpDexs' },
    { type: 'meta' },
    { type: 'allMids' },
  ]) {
    assert.equal(parseQuestion(body).changedAt(state), state.height, body.type);
  }
});

test('what a snapshot of format 2 does not hold is taken to be as late as can be, or unknown', () => {
  const state = loadSnapshot();
  const { height, ledgerId, auctionChangedAt } = state;
  assert.deepEqual([ledgerId, auctionChangedAt], ['', height]);
  assert.equal(state.accounts.get(1, ACCOUNT_CHANGED_AT), height);
  const { markets } = state;
  assert.deepEqual([markets.markChangedAt(0), markets.termsChangedAt(0)], [height, height]);
  assert.equal(hashSnapshot(state), hashSnapshot(loadSnapshot()));
});
