/** What the upstream sees of who asks: in each question, and in the handshake of the push connection. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { readPackageVersion } from '../../../src/config/package-version.ts';
import { requestHeadersOf } from '../../../src/upstream/follower/request-headers.ts';
import { start } from '../../../tools/harness/program.ts';
import { until } from '../../../tools/harness/running.ts';
import { makeTemporaryFolder } from '../../../tools/harness/temporary-folder.ts';

const OURS = `perpinfo/${readPackageVersion()}`;

test('a follower says its name and version in each question and in the handshake', async (t) => {
  const asked: unknown[] = [];
  const opened: unknown[] = [];
  const server = createServer((request, response) => {
    asked.push(request.headers['user-agent']);
    response.writeHead(500).end('null');
  });
  server.on('upgrade', (request, socket) => {
    opened.push(request.headers['user-agent']);
    socket.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const data = await makeTemporaryFolder(t);
  const follower = start(['follow', '--data', data, '--upstream', url], {}, 60_000);
  t.after(async () => {
    follower.child.kill('SIGTERM');
    await follower.ended;
  });
  await until('questions and a handshake', async () => asked.length > 1 && opened.length > 0);
  assert.deepEqual([...new Set([...asked, ...opened])], [OURS]);
});

test('a header of the settings is sent as well, and in place of ours if it has the same name', () => {
  assert.deepEqual(requestHeadersOf(undefined), { 'user-agent': OURS });
  const key = { name: 'X-API-Key', value: 'secret' };
  assert.deepEqual(requestHeadersOf(key), { 'user-agent': OURS, 'x-api-key': 'secret' });
  const agent = { name: 'User-Agent', value: 'desk-7' };
  assert.deepEqual(requestHeadersOf(agent), { 'user-agent': 'desk-7' });
});
