/** How the service behaves as a server of HTTP, byte by byte. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, exchange, type RawClient, type RawResponse } from './raw-client.ts';
import {
  appendNextBlock,
  ask,
  formatQuestion,
  formatRequest,
  HEIGHT,
  QUESTION,
  type Service,
  startService,
} from './service.ts';

const service = await startService({ after });
const { key, port } = service;
const answer = (await ask(service)).body;

function checkAnswer({ status, body }: RawResponse): void {
  assert.deepEqual({ status, body }, { status: 200, body: answer });
}

function errorOf({ status, headers, body }: RawResponse): string {
  assert.equal(headers.get('content-type'), 'application/json');
  assert.equal(headers.get('access-control-allow-origin'), '*');
  assert.ok(!body.includes(key));
  return `${status} ${JSON.parse(body).error}`;
}

async function onConnection(use: (client: RawClient) => Promise<void>): Promise<void> {
  const client = await connect(port);
  try {
    await use(client);
  } finally {
    client.close();
  }
}

/** The body in chunks of the given lengths, the last as often as needed. */
function chunked(body: string, length: number): string {
  const chunks = body.match(new RegExp(`.{1,${length}}`, 'g')) ?? [];
  const lines = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`);
  return `${lines.join('')}0\r\n\r\n`;
}

function formatChunked(body: string): Buffer {
  const headers = { 'Transfer-Encoding': 'chunked', 'Content-Length': undefined };
  return formatQuestion(key, { headers, body });
}

const encoded = Array.from(key, (letter) => `%${letter.charCodeAt(0).toString(16)}`).join('');

test('the endpoint is found however its path is written', async () => {
  const paths = [
    ...[`/${key}/info/`, `/${key}/info?`, `/${key}/info?a=b/c`, `/${key}/info/?a#b`],
    ...[`/${encoded}/info`, `/${encoded.toUpperCase()}/%69nfo`],
    ...[`/${key}//info`, `/${key}////info/?a`, `/${key}//%69nfo`, `http://localhost/${key}//info`],
    ...[`http://localhost/${key}/info`, `https://user:word@elsewhere:1/${key}/info/?a`],
  ];
  for (const path of paths) checkAnswer(await ask(service, { path }));
});

test('other paths are not found, and none is told again', async () => {
  const paths = [
    ...[`/${key}`, `/${key}/`, `/${key}/info//`, `/${key}/INFO`, `/${key}/info/more`, '*'],
    ...[`/${key}%2Finfo`, `/${key}/info%2F`, `/%zz/info`, `/${key}%/info`, `/%ff/info`],
    ...[
      `//${key}/info`,
      `/${key}/info//info`,
      `/${key}/x//info`,
      '/assets//info/x',
      'http://',
      '/__proto__',
      '/health%00',
      '/constructor/',
    ],
  ];
  for (const path of paths) {
    assert.equal(errorOf(await ask(service, { path })), '404 not_found', path);
  }
  for (const path of [
    '/info',
    '//info',
    '///info',
    '/info/',
    `/${key}%20/info`,
    '/__proto__/info',
  ]) {
    assert.equal(errorOf(await ask(service, { path })), '401 unknown_key', path);
  }
});

test('whoever gives no key is told of the slash that keeps it in an address', async () => {
  const handshake = { Connection: 'Upgrade', Upgrade: 'websocket' };
  const asked: Parameters<typeof formatRequest>[0][] = [
    { path: '/info', body: QUESTION },
    { path: '/ws', method: 'GET' },
    { path: '/ws', method: 'GET', headers: handshake },
  ];
  for (const request of asked) {
    const response = await exchange(port, formatRequest(request));
    assert.equal(response.status, 401);
    assert.equal(
      JSON.parse(response.body).message,
      'key: got none, expected a live key in the path, /{key}/info or /{key}/ws; a client that drops the ' +
        'key of its base address keeps it where the address ends with a slash: http://host:port/{key}/',
    );
  }
});

test('JSON may be declared with its charset, as long as that is UTF-8', async () => {
  const types = ['application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"'];
  for (const type of [...types, 'application/json;', ' application/json ; charset=utf-8 ']) {
    checkAnswer(await ask(service, { headers: { 'Content-Type': type } }));
  }
  const others = ['application/json; charset=latin1', 'application/jsonp', 'text/json', ''];
  for (const type of [...others, undefined, `application/json${' '.repeat(10_000)}x`]) {
    const response = await ask(service, { headers: { 'Content-Type': type } });
    assert.equal(errorOf(response), '415 unsupported_media_type', type);
  }
  const compressed = await ask(service, { headers: { 'Content-Encoding': 'gzip' } });
  assert.equal(errorOf(compressed), '415 unsupported_media_type');
});

test('a body may come in chunks of any length', async () => {
  for (const length of [1, 7, 1000]) {
    checkAnswer(await exchange(port, formatChunked(chunked(QUESTION, length))));
  }
  const many = chunked(QUESTION.padEnd(60_000), 1);
  checkAnswer(await exchange(port, formatChunked(many)));
  const tooMany = chunked(QUESTION.padEnd(70_000), 5000);
  assert.equal(errorOf(await exchange(port, formatChunked(tooMany))), '413 body_too_large');
  for (const bad of ['x\r\n', '5\r\nab', '-1\r\n\r\n', '2\r\nabc\r\n']) {
    const response = await exchange(port, formatChunked(`${bad}\r\n\r\n`));
    assert.match(errorOf(response), /^400 malformed_/, bad);
  }
  const extended = formatChunked(`1;${'x'.repeat(20_000)}\r\n{\r\n0\r\n\r\n`);
  assert.equal(errorOf(await exchange(port, extended)), '413 body_too_large');
});

test('an empty body is no question', async () => {
  assert.equal(errorOf(await ask(service, { body: '' })), '400 malformed_json');
  const undeclared = { 'Content-Length': undefined };
  assert.equal(
    errorOf(await ask(service, { body: '', headers: undeclared })),
    '400 malformed_json',
  );
});

test('a request may be cut between any two of its bytes', async () => {
  const bytes = formatQuestion(key);
  const start = bytes.length - QUESTION.length;
  await onConnection(async (client) => {
    for (let cut = start - 4; cut < bytes.length; cut++) {
      client.send(bytes.subarray(0, cut));
      await sleep(1);
      client.send(bytes.subarray(cut));
      checkAnswer(await client.response());
    }
    for (const byte of bytes) client.send(Buffer.of(byte));
    checkAnswer(await client.response());
  });
});

test('a client that asks first is told to go on, then answered', async () => {
  await onConnection(async (client) => {
    for (const expectation of ['100-continue', '100-Continue']) {
      const bytes = formatQuestion(key, { headers: { Expect: expectation } });
      client.send(bytes.subarray(0, bytes.length - QUESTION.length));
      assert.equal((await client.response()).status, 100);
      client.send(QUESTION);
      checkAnswer(await client.response());
    }
  });
});

/** Sends no more than the head, with an Expect header. */
async function expectRefusal(head: Buffer): Promise<string> {
  const client = await connect(port);
  client.send(head);
  const response = await client.response();
  assert.equal(response.headers.get('connection'), 'close');
  await client.closed;
  return errorOf(response);
}

test('a client that asks first is refused before it sends, and the connection ends', async () => {
  const head = (headers: Record<string, string>, path = `/${key}/info`) =>
    formatRequest({
      path,
      headers: { Expect: '100-continue', 'Content-Length': '70000', ...headers },
    });
  assert.equal(await expectRefusal(head({})), '413 body_too_large');
  assert.equal(await expectRefusal(head({}, '/nobody/info')), '401 unknown_key');
  assert.equal(await expectRefusal(head({}, '/nowhere')), '404 not_found');
  const type = { 'Content-Type': 'text/plain' };
  assert.equal(await expectRefusal(head(type)), '415 unsupported_media_type');
  const other = { Expect: 'a miracle', 'Content-Length': '7' };
  assert.equal(await expectRefusal(head(other)), '400 malformed_request');
  assert.equal(await expectRefusal(head(other, '/nobody/info')), '401 unknown_key');
});

test('a connection is kept for further requests, also after a refusal', async () => {
  await onConnection(async (client) => {
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
});

test('pipelined requests are answered in their order', async () => {
  await onConnection(async (client) => {
    const bodies = [QUESTION, '{', QUESTION, '{}', QUESTION];
    client.send(Buffer.concat(bodies.map((body) => formatQuestion(key, { body }))));
    const statuses = [];
    for (const _ of bodies) statuses.push((await client.response()).status);
    assert.deepEqual(statuses, [200, 400, 200, 422, 200]);
  });
});

test('a connection that goes on asking without a known key is closed', async () => {
  const client = await connect(port);
  client.send(Buffer.concat(Array.from({ length: 200 }, () => formatQuestion('nobody'))));
  const responses = [];
  for (let response = await client.next(); response; response = await client.next()) {
    assert.equal(errorOf(response), '401 unknown_key');
    responses.push(response);
  }
  assert.equal(responses.length, 32);
  assert.equal(responses.at(-1)?.headers.get('connection'), 'close');
  await client.closed;
  checkAnswer(await ask(service));
});

const WAITING = { headers: { 'Ledger-Min-Height': String(HEIGHT + 9) } };
const BAD_BYTES: Record<string, [bytes: string | Buffer, error: string]> = {
  'bytes that are not HTTP': ['nonsense\r\n\r\n', '400 malformed_request'],
  'a body that is not in chunks': [formatChunked('nonsense'), '400 malformed_request'],
  'headers that are too large': [
    `GET / HTTP/1.1\r\nA: ${'a'.repeat(20_000)}`,
    '431 headers_too_large',
  ],
  'a tunnel': ['CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', '405 method_not_allowed'],
};

for (const [name, [bytes, error]] of Object.entries(BAD_BYTES)) {
  test(`${name}, behind requests that are still to be answered, come last`, async () => {
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
  });
}

test('a refusal of bytes has the reason phrase of its status', async () => {
  const { status, reason } = await exchange(port, 'nonsense\r\n\r\n');
  assert.deepEqual({ status, reason }, { status: 400, reason: 'Bad Request' });
});

test('a tunnel is refused with what is allowed, and a reset after it harms nobody', async () => {
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
  checkAnswer(await ask(service));
});

test('other methods than GET and POST are told what is allowed', async () => {
  for (const method of ['PUT', 'DELETE', 'PATCH', 'TRACE', 'QUERY', 'PROPFIND']) {
    await onConnection(async (client) => {
      client.send(formatRequest({ method, path: `/${key}/info` }));
      const response = await client.response();
      assert.equal(response.status, 405, method);
      assert.equal(response.headers.get('allow'), 'GET, HEAD, POST, OPTIONS');
      // Whatever follows on the connection is not taken for a body.
      client.send(formatQuestion(key));
      checkAnswer(await client.response());
    });
  }
  const page = await exchange(port, formatRequest({ path: '/health' }));
  assert.equal(errorOf(page), '405 method_not_allowed');
  assert.equal(page.headers.get('allow'), 'GET, HEAD, OPTIONS');
});

test('a preflight is answered for any page', async () => {
  const { status, headers } = await exchange(
    port,
    formatRequest({
      method: 'OPTIONS',
      path: `/${key}/info`,
      headers: {
        Origin: 'https://example.com',
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'content-type, ledger-min-height',
      },
    }),
  );
  assert.equal(status, 204);
  assert.equal(headers.get('access-control-allow-origin'), '*');
  assert.equal(headers.get('access-control-allow-methods'), 'GET, HEAD, POST, OPTIONS');
  assert.equal(
    headers.get('access-control-allow-headers'),
    'Content-Type, If-None-Match, Ledger-Min-Height',
  );
});

test('HTTP/1.0 is answered, without consent that it would not understand', async () => {
  const client = await connect(port);
  const headers = { Host: undefined, Expect: '100-continue' };
  client.send(formatQuestion(key, { version: '1.0', headers }));
  checkAnswer(await client.response());
  await client.closed;
});

test('requests that are not HTTP/1.1 as it must be are refused', async () => {
  const twice = { 'Content-Length': `${QUESTION.length}\r\nContent-Length: ${QUESTION.length}` };
  const bad = [
    formatQuestion(key, { headers: { Host: undefined } }),
    formatQuestion(key, { headers: twice }),
    formatQuestion(key, { headers: { 'Transfer-Encoding': 'chunked' } }),
    formatQuestion(key, { headers: { 'Transfer-Encoding': 'gzip' } }),
    formatQuestion(key, { headers: { 'Content-Length': '-1' } }),
    formatQuestion(key, { headers: { 'Bad Name': 'x' } }),
    formatQuestion(key, { headers: { A: 'b\0c' } }),
    ...['0.9', '1.2', '2.0', '9.9'].map((version) => formatQuestion(key, { version })),
    ...[`GET /${key}/info\r\n\r\n`, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', '\x16\x03\x01\x02\x00'],
  ];
  for (const bytes of bad) {
    assert.equal(errorOf(await exchange(port, bytes)), '400 malformed_request', String(bytes));
  }
});

test('an offer to upgrade is passed over', async () => {
  const headers = { Upgrade: 'websocket', Connection: 'Upgrade' };
  checkAnswer(await ask(service, { headers }));
});

test('HEAD on a page is GET without the body', async () => {
  const [get, head] = await Promise.all(
    ['GET', 'HEAD'].map((method) => exchange(port, formatRequest({ method, path: '/llms.txt' }))),
  );
  assert.equal(head.headers.get('content-length'), get.headers.get('content-length'));
  assert.equal(head.headers.get('content-type'), 'text/plain; charset=utf-8');
  const health = await exchange(port, formatRequest({ method: 'HEAD', path: '/health' }));
  assert.equal(health.status, 200);
  assert.equal(health.body, '');
});

test('a question waits for the height that it asks for', async (t) => {
  const patient = await startService(t, ['--min-height-wait', '20000']);
  const asked = ask(patient, { headers: { 'Ledger-Min-Height': String(HEIGHT + 1) } });
  await sleep(50);
  await appendNextBlock(patient.folder);
  const { status, headers } = await asked;
  assert.equal(status, 200);
  assert.equal(headers.get('ledger-height'), String(HEIGHT + 1));
});

/** Begins a question, asks the service to stop, and then sends the rest. */
async function stopDuringRequest(stopping: Service, signal: NodeJS.Signals): Promise<void> {
  const question = formatQuestion(stopping.key);
  const [idle, silent, busy] = await Promise.all([1, 2, 3].map(() => connect(stopping.port)));
  idle.send(question);
  checkAnswer(await idle.response());
  busy.send(question.subarray(0, -5));
  await sleep(100);
  const stopped = stopping.stop(signal);
  await idle.closed;
  busy.send(question.subarray(-5));
  checkAnswer(await busy.response());
  await busy.closed;
  await silent.closed;
  const { code, signal: endedBy, stderr } = await stopped;
  assert.deepEqual({ code, endedBy, stderr }, { code: 0, endedBy: null, stderr: '' });
}

for (const workers of ['1', '2']) {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`at ${signal} requests under way finish, with ${workers} at work`, async (t) => {
      const stopping = await startService(t, ['--workers', workers]);
      const startedMs = performance.now();
      await stopDuringRequest(stopping, signal);
      assert.ok(performance.now() - startedMs < 5000, 'a silent connection holds nobody up');
    });
  }
}
