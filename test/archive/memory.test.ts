/** The archiver's memory while it catches up. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPlaces } from '../../tools/harness/program.ts';
import { makeLedger } from '../../tools/harness/running.ts';
import { archiveOnce } from './archived.ts';

const place = createPlaces();
const BLOCKS = 22;
const ACCOUNTS_OF_BLOCK = 1_000;
/** Which are written at the latest after so many accounts. */
const ACCOUNTS_MAX = 20_000;

/** Each block opens other accounts: short lines that take much memory until they are written. */
function writeBlock(height: number): string {
  const events = Array.from({ length: ACCOUNTS_OF_BLOCK }, (_, index) => {
    const user = (height * ACCOUNTS_OF_BLOCK + index).toString(16).padStart(40, '0');
    return { type: 'transfer', user: `0x${user}`, dex: '', amount: '1.5' };
  });
  return JSON.stringify({ height, time: 1_758_556_800_000 + height, events });
}

test('an archiver that catches up writes after 20,000 accounts, however few bytes named them', async (context) => {
  const lines = Array.from({ length: BLOCKS }, (_, index) => writeBlock(index + 1));
  const data = await makeLedger(place(), lines);
  const heights = [0];
  // No write is due by time.
  context.mock.method(performance, 'now', () => 0);
  context.mock.timers.enable({ apis: ['setInterval'] });
  await archiveOnce(data, { progress: (height) => heights.push(height) });
  const steps = heights.slice(1).map((height, index) => height - heights[index]);
  assert.equal(heights.at(-1), BLOCKS);
  assert.ok(Math.max(...steps) * ACCOUNTS_OF_BLOCK <= ACCOUNTS_MAX, `${heights}`);
});
