/** How errors of disks are told apart and described. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findReason, isUnwritable } from '../../src/ledger/embedded/disk-failure.ts';
import { createOpeningError } from '../../src/ledger/embedded/lmdb-environment.ts';

const FULL = Object.assign(new Error('No space left on device.'), { code: 28 });

test('errors of the driver are told apart by their codes', async () => {
  assert.equal(await findReason(FULL), FULL);
  assert.equal(isUnwritable(FULL), true);
  assert.equal(isUnwritable(new Error('another')), false);
});

test('a folder that may not be read is named, without its free space', () => {
  const denied = Object.assign(new Error('Permission denied: Attempting to setup locks'), {
    code: 'EACCES',
  });
  const opening = { what: 'the ledger', folder: '/some/ledger' };
  const reading = createOpeningError(denied, { ...opening, readOnly: true });
  assert.equal(reading.fault, 'unavailable');
  assert.equal(
    reading.message,
    'cannot open the ledger for reading: /some/ledger cannot be read: Permission denied',
  );
  const writing = createOpeningError(denied, { ...opening, readOnly: false });
  assert.equal(writing.fault, 'unwritable');
  assert.match(writing.message, /for writing: \/some\/ledger cannot be written to: /);
});
