import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestStream } from '../../src/http/transport/node/request-stream.ts';
import { exchange } from '../../tools/harness/raw-client.ts';
import { formatQuestion } from '../../tools/harness/service.ts';
import { startInProcess } from './in-process.ts';

const LINES = '\r\n'.repeat(1 << 19);

for (const [first, title] of [
  ['', 'empty lines'],
  ['\n', 'line ends that are not in step'],
] as const) {
  test(`a megabyte of ${title} before a request costs as little as any other megabyte`, async (t) => {
    const { port, key } = await startInProcess(t);
    const pushed = t.mock.method(RequestStream.prototype, 'push');
    const bytes = Buffer.concat([Buffer.from(first + LINES), formatQuestion(key)]);
    assert.equal((await exchange(port, bytes)).status, 200);
    // A piece for each read, where it used to be one for each line.
    assert.ok(pushed.mock.callCount() < 1000, `${pushed.mock.callCount()} pieces`);
  });
}
