/** How the service keeps its connections: alike in the fast lane and in Node's server. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerQuestion } from '../../src/info/read-question.ts';
import {
  connect,
  exchange,
  type RawClient,
  type RawResponse,
} from '../../tools/harness/raw-client.ts';
import {
  ask,
  formatQuestion,
  formatRequest,
  HEIGHT,
  QUESTION,
} from '../../tools/harness/service.ts';
import { httpTransports, openTransports } from '../conformance/transports.ts';

const transports = await openTransports({ after }, { settings: { minHeightWait: 100 } });
const { key } = transports;
const answer = answerQuestion(transports.state, JSON.parse(QUESTION));

function checkAnswer({ status, body }: RawResponse): void {
  assert.deepEqual({ status, body }, { status: 200, body: answer });
}

function errorOf({ status, headers, body }: RawResponse): string {
  assert.equal(headers.get('content-type'), 'application/json');
  assert.equal(headers.get('access-control-allow-origin'), '*');
  assert.ok(!body.includes(key));
  return `${status} ${JSON.parse(body).error}`;
}

async function onConnection(
  port: number,
  use: (client: RawClient) => Promise<void>,
): Promise<void> {
  const client = await connect(port);
  try {
    await use(client);
  } finally {
    client.close();
  }
}

/** Sends no more than the head, with an Expect header. */
async function expectRefusal(port: number, head: Buffer): Promise<string> {
  const client = await connect(port);
  client.send(head);
  const response = await client.response();
  assert.equal(response.headers.get('connection'), 'close');
  await client.closed;
  return errorOf(response);
}

const UNCHUNKED = formatQuestion(key, {
  headers: { 'Transfer-Encoding': 'chunked', 'Content-Length': undefined },
  body: 'nonsense',
});
const WAITING = { headers: { 'Ledger-Min-Height': String(HEIGHT + 9) } };
const BAD_BYTES: Record<string, [bytes: string | Buffer, error: string]> = {
  'bytes that are not HTTP': ['nonsense\r\n\r\n', '400 malformed_request'],
  'a body that is not in chunks': [UNCHUNKED, '400 malformed_request'],
  'headers that are too large': [
    `GET / HTTP/1.1\r\nA: ${'a'.repeat(20_000)}`,
    '431 headers_too_large',
  ],
  'a tunnel': ['CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', '405 method_not_allowed'],
};

async function checkBadBytesLast(
  port: number,
  bytes: string | Buffer,
  error: string,
): Promise<void> {
  const client = await connect(port);
  const [waiting, ordinary] = [formatQuestion(key, WAITING), formatQuestion(key)];
  client.send(Buffer.concat([waiting, ordinary, Buffer.from(bytes), ordinary]));
  assert.equal(errorOf(await client.response()), '503 behind');
  checkAnswer(await client.response());
  const last = await client.response();
  assert.equal(errorOf(last), error);
  assert.equal(last.headers.get('connection'), 'close');
  await client.closed;
  assert.equal(client.left, '');
}

const CHECKS: Readonly<Record<string, (port: number) => Promise<void>>> = {
  async 'a request may be cut between any two of its bytes'(port) {
    const bytes = formatQuestion(key);
    const start = bytes.length - QUESTION.length;
    await onConnection(port, async (client) => {
      for (let cut = start - 4; cut < bytes.length; cut++) {
        client.send(bytes.subarray(0, cut));
        await sleep(1);
        client.send(bytes.subarray(cut));
        checkAnswer(await client.response());
      }
      for (const byte of bytes) client.send(Buffer.of(byte));
      checkAnswer(await client.response());
    });
  },
  async 'a client that asks first is told to go on, then answered'(port) {
    await onConnection(port, async (client) => {
      for (const expectation of ['100-continue', '100-Continue']) {
        const bytes = formatQuestion(key, { headers: { Expect: expectation } });
        client.send(bytes.subarray(0, bytes.length - QUESTION.length));
        assert.equal((await client.response()).status, 100);
        client.send(QUESTION);
        checkAnswer(await client.response());
      }
    });
  },
  async 'a client that asks first is refused before it sends, and the connection ends'(port) {
    const head = (headers: Record<string, string>, path = `/${key}/info`) =>
      formatRequest({
        path,
        headers: { Expect: '100-continue', 'Content-Length': '70000', ...headers },
      });
    assert.equal(await expectRefusal(port, head({})), '413 body_too_large');
    assert.equal(await expectRefusal(port, head({}, '/nobody/info')), '401 unknown_key');
    assert.equal(await expectRefusal(port, head({}, '/nowhere')), '404 not_found');
    const type = { 'Content-Type': 'text/plain' };
    assert.equal(await expectRefusal(port, head(type)), '415 unsupported_media_type');
    const other = { Expect: 'a miracle', 'Content-Length': '7' };
    assert.equal(await expectRefusal(port, head(other)), '400 malformed_request');
    assert.equal(await expectRefusal(port, head(other, '/nobody/info')), '401 unknown_key');
  },
  async 'an answer before the body that was announced ends the connection'(port) {
    for (const path of [`/${key}/info?type=meta`, '/health', '/llms.txt']) {
      const client = await connect(port);
      const headers = { Expect: '100-continue', 'Content-Length': '50' };
      client.send(formatRequest({ method: 'GET', path, headers }));
      const response = await client.response();
      assert.deepEqual([response.status, response.headers.get('connection')], [200, 'close']);
      await client.closed;
    }
  },
  async 'a connection is kept for further requests, also after a refusal'(port) {
    await onConnection(port, async (client) => {
      for (const body of [QUESTION, '{', QUESTION, '[]', QUESTION]) {
        client.send(formatQuestion(key, { body }));
        const response = await client.response();
        assert.equal(response.headers.get('connection'), 'keep-alive');
        if (body === QUESTION) checkAnswer(response);
      }
    });
    const closing = await connect(port);
    closing.send(formatQuestion(key, { headers: { Connection: 'close' } }));
    checkAnswer(await closing.response());
    await closing.closed;
  },
  async 'pipelined requests are answered in their order'(port) {
    await onConnection(port, async (client) => {
      const bodies = [QUESTION, '{', QUESTION, '{}', QUESTION];
      client.send(Buffer.concat(bodies.map((body) => formatQuestion(key, { body }))));
      const statuses = [];
      for (const _ of bodies) statuses.push((await client.response()).status);
      assert.deepEqual(statuses, [200, 400, 200, 422, 200]);
    });
  },
  async 'a connection that goes on asking without a known key is closed'(port) {
    const client = await connect(port);
    client.send(Buffer.concat(Array.from({ length: 400 }, () => formatQuestion('nobody'))));
    const responses = [];
    for (let response = await client.next(); response; response = await client.next()) {
      assert.equal(errorOf(response), '401 unknown_key');
      responses.push(response);
    }
    assert.equal(responses.length, 256);
    assert.equal(responses.at(-1)?.headers.get('connection'), 'close');
    await client.closed;
    checkAnswer(await ask({ port, key }));
  },
  async 'a tunnel is refused with what is allowed, and a reset after it harms nobody'(port) {
    const tunnel = 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n';
    const response = await exchange(port, tunnel);
    assert.equal(errorOf(response), '405 method_not_allowed');
    assert.equal(response.headers.get('allow'), 'GET, HEAD, POST, OPTIONS');
    for (let count = 0; count < 20; count++) {
      const client = await connect(port);
      client.send(tunnel);
      await sleep(count % 4);
      client.socket.resetAndDestroy();
    }
    checkAnswer(await ask({ port, key }));
  },
  async 'HTTP/1.0 is answered, without consent that it would not understand'(port) {
    const client = await connect(port);
    const headers = { Host: undefined, Expect: '100-continue' };
    client.send(formatQuestion(key, { version: '1.0', headers }));
    checkAnswer(await client.response());
    await client.closed;
  },
  async 'HEAD on a page is GET without the body'(port) {
    const [get, head] = await Promise.all(
      ['GET', 'HEAD'].map((method) => exchange(port, formatRequest({ method, path: '/llms.txt' }))),
    );
    assert.equal(head.headers.get('content-length'), get.headers.get('content-length'));
    assert.equal(head.headers.get('content-type'), 'text/plain; charset=utf-8');
    const health = await exchange(port, formatRequest({ method: 'HEAD', path: '/health' }));
    assert.equal(health.status, 200);
    assert.equal(health.body, '');
  },
};

for (const { name: transport, port } of httpTransports(transports)) {
  for (const [title, check] of Object.entries(CHECKS)) {
    test(`${title} (${transport})`, () => check(port));
  }

  for (const [name, [bytes, error]] of Object.entries(BAD_BYTES)) {
    test(`${name}, behind requests that are still to be answered, come last (${transport})`, () =>
      checkBadBytesLast(port, bytes, error));
  }
}
