import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { startAdmin } from '../../src/service/admin.ts';
import { connect } from '../http/raw-client.ts';

test('the admin port takes 64 connections, and others once there is room', async (context) => {
  const metrics = async () => 'up 1\n';
  const admin = await startAdmin({ host: '127.0.0.1', port: 0, metrics });
  context.after(() => admin.close());
  const request = 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const clients = await Promise.all(Array.from({ length: 64 }, () => connect(admin.port)));
  for (const client of clients) client.send(request);
  for (const client of clients) assert.equal((await client.response()).status, 200);
  const refused = await connect(admin.port);
  await refused.closed;
  assert.equal(refused.left, '');
  clients[0].socket.end();
  await once(clients[0].socket, 'close');
  const later = await connect(admin.port);
  later.send(request);
  assert.equal((await later.response()).body, 'up 1\n');
});
