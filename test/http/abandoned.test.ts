/** Clients that reset a connection while requests of theirs are still held leave nothing behind. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { queryObjects } from 'node:v8';
import { RequestStream } from '../../src/http/transport/node/request-stream.ts';
import { connect } from '../../tools/harness/raw-client.ts';
import { formatQuestion, formatRequest } from '../../tools/harness/service.ts';
import { LONG_ONLY } from '../scale.ts';
import { startInProcess } from './in-process.ts';

const CONNECTIONS = 30;
const SETTLE_MS = 300;
/** A request that only Node's server answers. */
const PAGE = formatRequest({ method: 'GET', path: '/health' });

async function resetAfter(port: number, bytes: Buffer): Promise<void> {
  for (let count = 0; count < CONNECTIONS; count++) {
    const client = await connect(port);
    client.send(bytes);
    client.socket.resetAndDestroy();
  }
  await sleep(SETTLE_MS);
}

test(
  'a page held behind a full share of answers is dropped when its client resets',
  LONG_ONLY,
  async (context) => {
    const { port } = await startInProcess(context);
    const strange = formatRequest({ method: 'GET', path: '/nope' });
    await resetAfter(port, Buffer.concat([...Array.from({ length: 16 }, () => strange), PAGE]));
    assert.equal(queryObjects(RequestStream, { format: 'count' }), 0);
  },
);

test(
  'a page held behind a wait for a height is dropped when its client resets',
  LONG_ONLY,
  async (context) => {
    const { port, key } = await startInProcess(context, { settings: { minHeightWait: 100 } });
    const waiting = formatQuestion(key, { headers: { 'Ledger-Min-Height': '99999' } });
    await resetAfter(port, Buffer.concat([waiting, PAGE]));
    assert.equal(queryObjects(RequestStream, { format: 'count' }), 0);
  },
);
