/** Offers to change the protocol: taken where push is, and passed over everywhere else. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { answerQuestion } from '../../src/info/read-question.ts';
import { connect } from '../../tools/harness/raw-client.ts';
import { formatQuestion, formatRequest, QUESTION } from '../../tools/harness/service.ts';
import { httpTransports, openTransports } from '../conformance/transports.ts';

const transports = await openTransports({ after });
const { key } = transports;
const expected = answerQuestion(transports.state, JSON.parse(QUESTION));

/** What a client that would rather speak HTTP/2 sends with its first request. */
const H2C = { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': 'AAMAAABk' };

const HANDSHAKE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
};

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

const UNCLEAR_HANDSHAKES: readonly (readonly [string, string, string])[] = [
  ['without a Host', '1.1', ''],
  ['with two Hosts', '1.1', 'Host: a\r\nHost: b\r\n'],
  ['of HTTP/1.0', '1.0', 'Host: a\r\n'],
];

async function checkWrongHandshake(
  port: number,
  changed: Record<string, string | undefined>,
  expectedStatus: number,
): Promise<void> {
  const client = await connect(port);
  const headers = { ...HANDSHAKE, ...changed };
  client.send(formatRequest({ method: 'GET', path: `/${key}/ws`, headers }));
  const { status, body, headers: sent } = await client.response();
  assert.deepEqual([status, sent.get('content-type')], [expectedStatus, 'application/json']);
  assert.equal(JSON.parse(body).error, 'malformed_request');
  client.socket.destroy();
}

async function checkUnclearHandshake(port: number, version: string, hosts: string): Promise<void> {
  const client = await connect(port);
  const lines = Object.entries(HANDSHAKE).map(([name, value]) => `${name}: ${value}\r\n`);
  client.send(`GET /${key}/ws HTTP/${version}\r\n${hosts}${lines.join('')}\r\n`);
  const { status, body } = await client.response({ hasBody: true });
  assert.deepEqual([status, JSON.parse(body).error], [400, 'malformed_request']);
  await client.closed;
}

const CHECKS: Readonly<Record<string, (port: number) => Promise<void>>> = {
  async 'a question that comes with an offer of HTTP/2 is answered, and the next one too'(port) {
    const client = await connect(port);
    for (const headers of [H2C, {}, H2C]) {
      client.send(formatQuestion(key, { headers }));
      const { status, body } = await client.response();
      assert.deepEqual([status, body], [200, expected]);
    }
    client.socket.destroy();
  },
  async 'questions with offers that are sent ahead are answered in their order'(port) {
    const client = await connect(port);
    const questions = [{}, H2C, {}, H2C, H2C, {}].map((headers) =>
      formatQuestion(key, { headers }),
    );
    const wrong = formatQuestion(key, { headers: H2C, body: '{}' });
    client.send(Buffer.concat([...questions, wrong, formatQuestion(key)]));
    for (let index = 0; index < questions.length; index++) {
      assert.deepEqual([index, (await client.response()).body], [index, expected]);
    }
    assert.equal((await client.response()).status, 422);
    assert.equal((await client.response()).body, expected);
    client.socket.destroy();
  },
  async 'a question with an offer may come in chunks, and in pieces'(port) {
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
  },
  async 'an offer of a WebSocket is passed over where there is none'(port) {
    for (const path of ['/health', `/${key}/info`, '/nowhere']) {
      const client = await connect(port);
      client.send(formatRequest({ method: 'GET', path, headers: HANDSHAKE }));
      const { status } = await client.response();
      assert.equal(status, path === '/health' ? 200 : path === '/nowhere' ? 404 : 422);
      client.socket.destroy();
    }
  },
  async 'push is asked for with GET, and only with a key'(port) {
    const client = await connect(port);
    for (const headers of [{}, HANDSHAKE]) {
      client.send(formatRequest({ path: `/${key}/ws`, headers }));
      const posted = await client.response();
      assert.deepEqual([posted.status, posted.headers.get('allow')], [405, 'GET, OPTIONS']);
    }
    client.send(formatRequest({ method: 'GET', path: '/nobody/ws', headers: HANDSHAKE }));
    assert.equal((await client.response()).status, 401);
    await client.closed;
  },
  async 'a WebSocket may be one of several offers'(port) {
    const client = await connect(port);
    const headers = { ...HANDSHAKE, Upgrade: 'h2c, WebSocket' };
    client.send(formatRequest({ method: 'GET', path: `/${key}/ws`, headers }));
    assert.equal((await client.next({ hasBody: false }))?.status, 101);
    client.socket.destroy();
  },
  async 'push may be asked for on a connection that has asked questions before'(port) {
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
  },
};

for (const { name: transport, port } of httpTransports(transports)) {
  for (const [title, check] of Object.entries(CHECKS)) {
    test(`${title} (${transport})`, () => check(port));
  }

  for (const [about, changed, expectedStatus] of WRONG_HANDSHAKES) {
    test(`a request for push ${about} is told so (${transport})`, () =>
      checkWrongHandshake(port, changed, expectedStatus));
  }

  for (const [about, version, hosts] of UNCLEAR_HANDSHAKES) {
    test(`a handshake ${about} is refused as any other request is (${transport})`, () =>
      checkUnclearHandshake(port, version, hosts));
  }
}
