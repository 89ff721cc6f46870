/** Offers to change the protocol: taken where push is, and passed over everywhere else. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { connect } from './raw-client.ts';
import { ask, formatQuestion, formatRequest, QUESTION, startService } from './service.ts';

const service = await startService({ after });
const { key, port } = service;
const expected = (await ask(service)).body;

/** What a client that would rather speak HTTP/2 sends with its first request. */
const H2C = { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': 'AAMAAABk' };

const HANDSHAKE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
};

test('a question that comes with an offer of HTTP/2 is answered, and the next one too', async () => {
  const client = await connect(port);
  for (const headers of [H2C, {}, H2C]) {
    client.send(formatQuestion(key, { headers }));
    const { status, body } = await client.response();
    assert.deepEqual([status, body], [200, expected]);
  }
  client.socket.destroy();
});

test('questions with offers that are sent ahead are answered in their order', async () => {
  const client = await connect(port);
  const questions = [{}, H2C, {}, H2C, H2C, {}].map((headers) => formatQuestion(key, { headers }));
  const wrong = formatQuestion(key, { headers: H2C, body: '{}' });
  client.send(Buffer.concat([...questions, wrong, formatQuestion(key)]));
  for (let index = 0; index < questions.length; index++) {
    assert.deepEqual([index, (await client.response()).body], [index, expected]);
  }
  assert.equal((await client.response()).status, 422);
  assert.equal((await client.response()).body, expected);
  client.socket.destroy();
});

test('a question with an offer may come in chunks, and in pieces', async () => {
  const client = await connect(port);
  const chunked = { ...H2C, 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' };
  const body = `5\r\n${QUESTION.slice(0, 5)}\r\n${(QUESTION.length - 5).toString(16)}\r\n${QUESTION.slice(5)}\r\n0\r\n\r\n`;
  const bytes = formatQuestion(key, { headers: chunked, body });
  for (const byte of bytes) {
    client.send(Buffer.from([byte]));
    await new Promise(setImmediate);
  }
  assert.equal((await client.response()).body, expected);
  client.socket.destroy();
});

test('an offer of a WebSocket is passed over where there is none', async () => {
  for (const path of ['/health', `/${key}/info`, '/nowhere']) {
    const client = await connect(port);
    client.send(formatRequest({ method: 'GET', path, headers: HANDSHAKE }));
    const { status } = await client.response();
    assert.equal(status, path === '/health' ? 200 : path === '/nowhere' ? 404 : 422);
    client.socket.destroy();
  }
});

const WRONG_HANDSHAKES: readonly (readonly [string, Record<string, string | undefined>, number])[] =
  [
    ['without an offer', { Upgrade: undefined, Connection: undefined }, 400],
    ['with an offer of something else', { Upgrade: 'h2c' }, 400],
    ['without saying that it is an offer', { Connection: undefined }, 400],
    ['with a body', { 'Content-Length': '2' }, 400],
    ['without a nonce', { 'Sec-WebSocket-Key': undefined }, 400],
    ['with a short nonce', { 'Sec-WebSocket-Key': 'AAAA' }, 400],
    ['of another version', { 'Sec-WebSocket-Version': '7' }, 400],
  ];

for (const [about, changed, expectedStatus] of WRONG_HANDSHAKES) {
  test(`a request for push ${about} is told so`, async () => {
    const client = await connect(port);
    const headers = { ...HANDSHAKE, ...changed };
    client.send(formatRequest({ method: 'GET', path: `/${key}/ws`, headers }));
    const { status, body, headers: sent } = await client.response();
    assert.deepEqual([status, sent.get('content-type')], [expectedStatus, 'application/json']);
    assert.equal(JSON.parse(body).error, 'malformed_request');
    client.socket.destroy();
  });
}

const UNCLEAR_HANDSHAKES: readonly (readonly [string, string, string])[] = [
  ['without a Host', '1.1', ''],
  ['with two Hosts', '1.1', 'Host: a\r\nHost: b\r\n'],
  ['of HTTP/1.0', '1.0', 'Host: a\r\n'],
];

for (const [about, version, hosts] of UNCLEAR_HANDSHAKES) {
  test(`a handshake ${about} is refused as any other request is`, async () => {
    const client = await connect(port);
    const lines = Object.entries(HANDSHAKE).map(([name, value]) => `${name}: ${value}\r\n`);
    client.send(`GET /${key}/ws HTTP/${version}\r\n${hosts}${lines.join('')}\r\n`);
    const { status, body } = await client.response({ hasBody: true });
    assert.deepEqual([status, JSON.parse(body).error], [400, 'malformed_request']);
    await client.closed;
  });
}

test('push is asked for with GET, and only with a key', async () => {
  const client = await connect(port);
  for (const headers of [{}, HANDSHAKE]) {
    client.send(formatRequest({ path: `/${key}/ws`, headers }));
    const posted = await client.response();
    assert.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, OPTIONS']);
  }
  client.send(formatRequest({ method: 'GET', path: '/nobody/ws', headers: HANDSHAKE }));
  assert.equal((await client.response()).status, 401);
  await client.closed;
});

test('a WebSocket may be one of several offers', async () => {
  const client = await connect(port);
  const headers = { ...HANDSHAKE, Upgrade: 'h2c, WebSocket' };
  client.send(formatRequest({ method: 'GET', path: `/${key}/ws`, headers }));
  assert.equal((await client.next({ hasBody: false }))?.status, 101);
  client.socket.destroy();
});

test('push may be asked for on a connection that has asked questions before', async () => {
  const client = await connect(port);
  client.send(
    Buffer.concat([
      formatQuestion(key),
      formatRequest({ method: 'GET', path: `/${key}/ws`, headers: HANDSHAKE }),
    ]),
  );
  assert.equal((await client.response()).body, expected);
  assert.equal((await client.next({ hasBody: false }))?.status, 101);
  client.socket.destroy();
});
