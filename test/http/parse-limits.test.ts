/** Bodies that would cost far more to parse than any question are refused unparsed. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findExcess } from '../../src/http/message/parse-limits.ts';
import { exchange } from '../../tools/harness/raw-client.ts';
import { formatQuestion } from '../../tools/harness/service.ts';
import { startInProcess } from './in-process.ts';

const THOUSAND = Array.from({ length: 1000 }, (_, at) => `0x${String(at).padStart(40, '0')}`);

test('the longest question there is may be written with as much space as it likes', async (context) => {
  const { port, key } = await startInProcess(context);
  const question = { type: 'batchClearinghouseStates', users: THOUSAND };
  const { status } = await exchange(
    port,
    formatQuestion(key, { body: JSON.stringify(question, undefined, 4) }),
  );
  assert.equal(status, 200);
});

test('the limits are exact, and hold for short texts too', () => {
  const pad = ' '.repeat(1024);
  assert.equal(findExcess(`${pad}${'['.repeat(256)}`), undefined);
  assert.equal(findExcess(`${pad}${'['.repeat(257)}`), 'more than 256 of "["');
  assert.equal(findExcess(`${pad}${','.repeat(2048)}`), undefined);
  assert.equal(findExcess(`${pad}${','.repeat(2049)}`), 'more than 2048 of ","');
  assert.equal(findExcess('['.repeat(257)), 'more than 256 of "["');
});
