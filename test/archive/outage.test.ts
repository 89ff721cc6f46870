/** An archive whose ledger cannot be reached for a moment. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LedgerError } from '../../src/ledger/ledger.ts';
import { appendAll, NO_SNAPSHOTS } from '../../tools/harness/data-directory.ts';
import { createPlaces } from '../../tools/harness/program.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { archiveOnce } from './archived.ts';

const place = createPlaces();
const BLOCKS = 20;

test('an archive is written although the ledger cannot tell its height at that moment', async () => {
  const data = place();
  await appendAll(data, simulateLines(BLOCKS, 'outage'), NO_SNAPSHOTS);
  const reported: number[][] = [];
  const progress = (...heights: number[]) => void reported.push(heights);
  await archiveOnce(data, { progress }, ({ ledger }) => {
    ledger.height = () => Promise.reject(new LedgerError('unavailable', 'NATS is away'));
  });
  assert.ok(reported.length > 0);
  assert.deepEqual(reported.at(-1), [BLOCKS, BLOCKS]);
});
