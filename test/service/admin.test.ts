import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { startAdmin } from '../../src/service/listening/admin.ts';
import { connect } from '../../tools/harness/raw-client.ts';
import { until } from '../../tools/harness/running.ts';

test('the admin port takes 64 connections, and others once there is room', async (context) => {
  const metrics = async () => 'up 1\n';
  const saveSnapshot = async () => ({ height: 0 });
  const admin = await startAdmin({ host: '127.0.0.1', port: 0, metrics, saveSnapshot });
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

test('a page in a browser cannot have a snapshot saved, and others who ask at once share one', async (context) => {
  let saves = 0;
  let finish: (saved: { height: number }) => void = () => undefined;
  const saveSnapshot = () => {
    saves++;
    return new Promise<{ height: number }>((resolve) => {
      finish = resolve;
    });
  };
  const metrics = async () => '';
  const admin = await startAdmin({ host: '127.0.0.1', port: 0, metrics, saveSnapshot });
  context.after(() => admin.close());
  const request = (...headers: string[]) => {
    const lines = ['POST /snapshot HTTP/1.1', 'Host: localhost', 'Content-Length: 0', ...headers];
    return `${lines.join('\r\n')}\r\n\r\n`;
  };
  const client = await connect(admin.port);
  client.send(request('Origin: https://page.example'));
  assert.equal((await client.response()).status, 403);
  assert.equal(saves, 0);
  // Both are read at once.
  client.send(request() + request());
  await until('a save', () => saves > 0);
  finish({ height: 7 });
  for (const _ of ['first', 'second']) {
    assert.equal((await client.response()).body, '{"height":7}\n');
  }
  assert.equal(saves, 1);
});
