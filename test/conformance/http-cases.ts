/** How a request is written in HTTP: its path, its headers, its method, and its syntax. */

import type { RequestErrorCode } from '../../src/info/request-error.ts';
import { HEIGHT, QUESTION } from '../../tools/harness/service.ts';
import {
  type Asked,
  AUCTION,
  answered,
  type Case,
  ENCODED_KEY,
  type Expected,
  formatAsked,
  HEADER_BYTES_MAX,
  KEY,
  MALFORMED,
  maxAge,
  minHeight,
} from './case.ts';

/** Paths under which the endpoint is found. */
const PATHS = [
  ...[`/${KEY}/info/`, `/${KEY}/info?`, `/${KEY}/info?a=b/c`, `/${KEY}/info/?a#b`],
  ...[`/${ENCODED_KEY}/info`, `/${ENCODED_KEY}/%69nfo`],
  ...[`/${KEY}//info`, `/${KEY}////info/?a`, `/${KEY}//%69nfo`, `http://localhost/${KEY}//info`],
  ...[`http://localhost/${KEY}/info`, `https://user:word@elsewhere:1/${KEY}/info/?a`],
  // A path has up to 32 slashes.
  `/${KEY}${'/'.repeat(31)}info`,
];

const NO_PATHS = [
  ...[`/${KEY}`, `/${KEY}/`, `/${KEY}/info//`, `/${KEY}/INFO`, `/${KEY}/info/more`, '*'],
  ...[`/${KEY}%2Finfo`, `/${KEY}/info%2F`, '/%zz/info', `/${KEY}%/info`, '/%ff/info'],
  ...[`//${KEY}/info`, `/${KEY}/info//info`, `/${KEY}/x//info`, '/assets//info/x', 'http://'],
  ...['/__proto__', '/health%00', '/constructor/', `/${KEY}/information`],
  `/${KEY}${'/'.repeat(32)}info`,
];

const NO_KEY =
  'key: got none, expected a live key in the path, /{key}/info or /{key}/ws; if the client drops ' +
  'the key from its base address, end the address with a slash: http://host:port/{key}/';
const UNKNOWN_KEY =
  'key: got an unknown, revoked or expired one, expected a live key in the path, /{key}/info or /{key}/ws';

function refusedKey(message: string): Expected {
  return { status: 401, error: 'unknown_key', message, field: 'key' };
}

function pathCases(): Case[] {
  const notFound: Expected = {
    ...{ status: 404, error: 'not_found' },
    message: 'there is no such path; expected /{key}/info or /{key}/ws',
  };
  const at = (path: string): Asked => ({ path, body: QUESTION });
  const withoutKey = ['/info', '//info', '///info', '/info/'];
  return [
    ...PATHS.map((path) => answered(`POST ${path}`, at(path))),
    ...NO_PATHS.map((path) => ({ name: `POST ${path}`, asked: at(path), expected: notFound })),
    ...withoutKey.map((path) => ({
      ...{ name: `POST ${path}`, asked: at(path), expected: refusedKey(NO_KEY) },
    })),
    ...[`/${KEY}%20/info`, '/__proto__/info'].map((path) => ({
      ...{ name: `POST ${path}`, asked: at(path), expected: refusedKey(UNKNOWN_KEY) },
    })),
    {
      ...{ name: 'an unknown key', asked: { key: 'unknown', question: AUCTION } },
      expected: refusedKey(UNKNOWN_KEY),
    },
    {
      ...{ name: 'an expired key', asked: { key: 'expired', question: AUCTION } },
      expected: refusedKey(UNKNOWN_KEY),
    },
    {
      ...{ name: 'GET without a key', asked: { method: 'GET', path: '/info?type=meta' } },
      expected: refusedKey(NO_KEY),
    },
    {
      ...{ name: 'GET /ws without a key', asked: { method: 'GET', path: '/ws' } },
      expected: refusedKey(NO_KEY),
    },
    {
      name: 'a WebSocket without a key',
      asked: {
        ...{ method: 'GET', path: '/ws' },
        headers: { Connection: 'Upgrade', Upgrade: 'websocket' },
      },
      expected: { ...refusedKey(NO_KEY), closes: true },
    },
  ];
}

const JSON_TYPES = [
  ...['application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"', 'application/json;'],
  ' application/json ; charset=utf-8 ',
  'application/json'.padEnd(256, ';'),
];
const OTHER_TYPES = [
  ...['application/json; charset=latin1', 'application/jsonp', 'text/json', 'text/plain', ''],
  ...[undefined, `application/json${' '.repeat(10_000)}x`, 'application/json'.padEnd(257, ';')],
];

function headerCases(): Case[] {
  const typed = (type: string | undefined): Asked => ({
    ...{ body: QUESTION, headers: { 'Content-Type': type } },
  });
  const refused: Expected = {
    ...{ status: 415, error: 'unsupported_media_type', field: 'Content-Type' },
  };
  return [
    ...JSON_TYPES.map((type) => answered(`Content-Type: ${type}`, typed(type))),
    ...OTHER_TYPES.map((type) => ({
      ...{
        name: `Content-Type: ${type?.slice(0, 40)} (${type?.length})`,
        asked: typed(type),
        expected: refused,
      },
    })),
    {
      name: 'a compressed body',
      asked: { body: QUESTION, headers: { 'Content-Encoding': 'gzip' } },
      expected: { status: 415, error: 'unsupported_media_type' },
    },
    ...['1', `${HEIGHT}`, `0${HEIGHT}`].map((height) =>
      answered(`a minimum height of ${height}`, minHeight(height)),
    ),
    {
      name: 'a minimum height that the ledger is not at',
      asked: minHeight(`${HEIGHT + 1}`),
      expected: {
        ...{ status: 503, error: 'behind', field: 'Ledger-Min-Height' },
        message: `Ledger-Min-Height: got ${HEIGHT + 1}, the ledger is at height ${HEIGHT}`,
        headers: { 'retry-after': '1' },
      },
    },
    ...['high', '-1', '', '1e3', '9999999999999999'].map(
      (height): Case => ({
        ...{ name: `a minimum height of "${height}"`, asked: minHeight(height) },
        expected: { status: 422, error: 'invalid_field', field: 'Ledger-Min-Height' },
      }),
    ),
    answered('a maximum age of accounts, on a ledger that is not partial', maxAge('0')),
    ...['old', '-1', '1.5'].map(
      (age): Case => ({
        ...{ name: `a maximum age of accounts of "${age}"`, asked: maxAge(age) },
        expected: { status: 422, error: 'invalid_field', field: 'Account-Max-Age' },
      }),
    ),
    answered('a connection that is to be kept', {
      ...{ body: QUESTION, headers: { Connection: 'keep-alive' } },
    }),
    {
      name: 'a connection that is to be closed',
      asked: { body: QUESTION, headers: { Connection: 'close' } },
      expected: { status: 200, answerTo: AUCTION, closes: true },
    },
    answered('an offer of another protocol', {
      ...{ body: QUESTION, headers: { Upgrade: 'websocket', Connection: 'Upgrade' } },
    }),
  ];
}

const ALLOWED = 'GET, HEAD, POST, OPTIONS';

function methodCases(): Case[] {
  const refused = (method: string): Case => ({
    name: method,
    asked: { method, path: `/${KEY}/info` },
    expected: {
      ...{ status: 405, error: 'method_not_allowed', field: 'method' },
      message: `method: got "${method}", expected ${ALLOWED}`,
      headers: { allow: ALLOWED },
    },
  });
  return [
    ...['PUT', 'DELETE', 'PATCH', 'TRACE', 'QUERY', 'PROPFIND'].map(refused),
    {
      name: 'OPTIONS',
      asked: {
        ...{ method: 'OPTIONS', path: `/${KEY}/info` },
        headers: {
          Origin: 'https://example.com',
          'Access-Control-Request-Method': 'POST',
          'Access-Control-Request-Headers': 'content-type, ledger-min-height',
        },
      },
      expected: {
        status: 204,
        headers: {
          allow: ALLOWED,
          'access-control-allow-methods': ALLOWED,
          'access-control-allow-headers':
            'Content-Type, If-None-Match, Ledger-Min-Height, Account-Max-Age',
          'access-control-max-age': '86400',
        },
      },
    },
    {
      name: 'POST of a page',
      asked: { path: '/health', body: QUESTION },
      expected: {
        ...{ status: 405, error: 'method_not_allowed', field: 'method' },
        headers: { allow: 'GET, HEAD, OPTIONS' },
      },
    },
    {
      name: 'POST where push is',
      asked: { path: `/${KEY}/ws`, body: '' },
      expected: {
        ...{ status: 405, error: 'method_not_allowed', field: 'method' },
        headers: { allow: 'GET, OPTIONS' },
      },
    },
  ];
}

/** The body in chunks of the given length. */
function inChunks(body: string, length: number): string {
  const chunks = body.match(new RegExp(`.{1,${length}}`, 'g')) ?? [];
  const lines = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`);
  return `${lines.join('')}0\r\n\r\n`;
}

function chunked(body: string): Asked {
  const headers = { 'Transfer-Encoding': 'chunked', 'Content-Length': undefined };
  return { body, headers };
}

const UNREADABLE: Expected = {
  ...MALFORMED,
  message: 'request: expected a well-formed HTTP/1.1 request',
};

const TWO_TYPES = 'application/json\r\nContent-Type: text/plain';

/** What is unusual in its syntax. */
function syntaxCases(): Case[] {
  const withHeaders = (headers: Headers, version = '1.1') =>
    bytesOf({ ...ORDINARY, headers, version });
  const length = `${QUESTION.length}`;
  const bad: Readonly<Record<string, string>> = {
    'bytes that are not HTTP': 'nonsense\r\n\r\n',
    'a space in the name of a header': withHeaders({ 'Bad Name': 'x' }),
    'a request line without a version': `GET /${KEY}/info\r\n\r\n`,
    'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'the beginning of TLS': '\x16\x03\x01\x02\x00',
  };
  const blamed: readonly (readonly [string, string, string])[] = [
    [
      'two lengths',
      'Content-Length',
      withHeaders({ 'Content-Length': `${length}\r\nContent-Length: 9` }),
    ],
    [
      'a length beside chunks',
      'Transfer-Encoding',
      withHeaders({ 'Transfer-Encoding': 'chunked' }),
    ],
    ['another encoding', 'Transfer-Encoding', withHeaders({ 'Transfer-Encoding': 'gzip' })],
    ['a negative length', 'Content-Length', withHeaders({ 'Content-Length': '-1' })],
    ['a length that is no number', 'Content-Length', withHeaders({ 'Content-Length': 'many' })],
    ...['0.9', '1.2', '2.0', '9.9'].map(
      (version) => [`HTTP/${version}`, 'version', withHeaders({}, version)] as const,
    ),
  ];
  return [
    ...blamed.map(
      ([name, field, bytes]): Case => ({
        ...{ name, asked: { bytes }, expected: { ...MALFORMED, field } },
      }),
    ),
    {
      name: 'two types of one body',
      asked: { body: QUESTION, headers: { 'Content-Type': TWO_TYPES } },
      // Where it ends is known, so that the next one can be read.
      expected: { status: 400, error: 'malformed_request', field: 'Content-Type' },
    },
    answered('the same type twice', {
      body: QUESTION,
      headers: { 'Content-Type': 'application/json\r\nContent-Type: application/json' },
    }),
    ...Object.entries(bad).map(([name, bytes]) => ({
      ...{ name, asked: { bytes }, expected: MALFORMED },
    })),
    { name: 'bytes, and why', asked: { bytes: 'x\r\n\r\n' }, expected: UNREADABLE },
    ...[undefined, 'localhost\r\nHost: localhost'].map(
      (host): Case => ({
        ...{ name: `the Host ${host}`, asked: { bytes: withHeaders({ Host: host }) } },
        // Where it ends is known, so that the next one can be read.
        expected: { status: 400, error: 'malformed_request', field: 'Host' },
      }),
    ),
    {
      name: 'a tunnel',
      asked: { bytes: 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n' },
      expected: {
        ...{ status: 405, error: 'method_not_allowed', closes: true },
        headers: { allow: ALLOWED },
      },
    },
    {
      name: 'headers over the limit',
      asked: { question: AUCTION, headers: { 'X-Long': 'x'.repeat(20_000) } },
      expected: {
        ...{ status: 431, error: 'headers_too_large', field: 'headers', closes: true },
        message: `headers: got more than ${HEADER_BYTES_MAX} bytes, expected at most ${HEADER_BYTES_MAX}`,
      },
    },
    {
      name: 'HTTP/1.0',
      asked: { body: QUESTION, version: '1.0', headers: { Host: undefined } },
      expected: { status: 200, answerTo: AUCTION, closes: true },
    },
    ...[1, 7, 1000].map((each) =>
      answered(`chunks of ${each} bytes`, chunked(inChunks(QUESTION, each))),
    ),
    answered('60,000 chunks', chunked(inChunks(QUESTION.padEnd(60_000), 1))),
    {
      name: 'chunks over the limit',
      asked: chunked(inChunks(QUESTION.padEnd(70_000), 5000)),
      expected: { status: 413, error: 'body_too_large', closes: true },
    },
    {
      name: 'chunk extensions over the limit',
      asked: chunked(`1;${'x'.repeat(20_000)}\r\n{\r\n0\r\n\r\n`),
      expected: { status: 413, error: 'body_too_large', closes: true },
    },
    {
      name: 'an expectation that is not known',
      asked: { body: QUESTION, headers: { Expect: 'a miracle' } },
      expected: { ...MALFORMED, field: 'Expect' },
    },
  ];
}

/** What the bytes of a request are, with the key in its place. */
function bytesOf(asked: Asked): string {
  return formatAsked({ path: `/${KEY}/info`, ...asked }, KEY).toString('latin1');
}

const ORDINARY: Asked = { body: QUESTION };

/** A client that sends the head, and expects to be told whether to send the rest. */
function expectingCases(): Case[] {
  const announced = (path: string, headers: Record<string, string> = {}): Asked => ({
    ...{ path, body: '' },
    headers: { Expect: '100-continue', 'Content-Length': '70000', ...headers },
  });
  const known = `/${KEY}/info`;
  const miracle = { Expect: 'a miracle', 'Content-Length': '7' };
  const refused = (asked: Asked, status: number, error: RequestErrorCode): Case => ({
    name: `announced to ${asked.path}, with ${JSON.stringify(asked.headers)}`,
    ...{ asked, expected: { status, error, closes: true } },
  });
  const early = (path: string, expected: Expected): Case => ({
    name: `an answer before the body that was announced: ${path}`,
    asked: { ...announced(path, { 'Content-Length': '50' }), method: 'GET' },
    expected: { ...expected, closes: true },
  });
  const page: Expected = { status: 200, isPage: true, headers: { connection: 'close' } };
  return [
    ...['100-continue', '100-Continue'].map((Expect) =>
      answered(`the expectation ${Expect}`, {
        body: QUESTION,
        headers: { Expect },
        asksFirst: true,
      }),
    ),
    refused(announced(known), 413, 'body_too_large'),
    refused(announced('/nobody/info'), 401, 'unknown_key'),
    refused(announced('/nowhere'), 404, 'not_found'),
    refused(announced(known, { 'Content-Type': 'text/plain' }), 415, 'unsupported_media_type'),
    refused(announced(known, miracle), 400, 'malformed_request'),
    refused(announced('/nobody/info', miracle), 401, 'unknown_key'),
    early(`${known}?type=meta`, { status: 200, answerTo: { type: 'meta' }, isTagged: true }),
    early('/health', page),
    early('/llms.txt', page),
    {
      name: 'HTTP/1.0, which knows no consent',
      asked: { ...ORDINARY, version: '1.0', headers: { Host: undefined, Expect: '100-continue' } },
      expected: { status: 200, answerTo: AUCTION, closes: true },
    },
  ];
}

/** Requests that are sent ahead, of which the first to be malformed is the last. */
function pipelinedCases(): Case[] {
  const ordinary = bytesOf(ORDINARY);
  const waiting = bytesOf(minHeight(`${HEIGHT + 1}`));
  const offered = bytesOf({ ...ORDINARY, headers: H2C });
  const wrong = bytesOf({ body: '{}', headers: H2C });
  const behind: Expected = {
    ...{ status: 503, error: 'behind', field: 'Ledger-Min-Height' },
    headers: { 'retry-after': '1' },
  };
  const last: Readonly<Record<string, readonly [bytes: string, status: number]>> = {
    'bytes that are not HTTP': ['nonsense\r\n\r\n', 400],
    'a body that is not in chunks': [bytesOf(chunked('nonsense')), 400],
    'headers that are too large': [`GET / HTTP/1.1\r\nA: ${'a'.repeat(20_000)}`, 431],
    'a tunnel': ['CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', 405],
  };
  const unknown = bytesOf({ ...ORDINARY, path: '/nobody/info' });
  return [
    ...Object.entries(last).map(([name, [bytes, status]]) => ({
      name: `${name}, behind requests that are still to be answered`,
      asked: { bytes: waiting + ordinary + bytes + ordinary },
      expected: { ...behind, behind: [200, status], closes: true },
    })),
    {
      name: 'right and wrong questions in their order',
      asked: { bytes: ordinary + bytesOf({ body: '{' }) + ordinary + bytesOf({ body: '{}' }) },
      expected: { status: 200, answerTo: AUCTION, behind: [400, 200, 422] },
    },
    {
      name: 'questions with and without an offer of HTTP/2, in their order',
      asked: { bytes: [ordinary, offered, ordinary, offered, offered, wrong, ordinary].join('') },
      expected: { status: 200, answerTo: AUCTION, behind: [200, 200, 200, 200, 422, 200] },
    },
    {
      name: 'a client that goes on asking without a known key',
      asked: { bytes: unknown.repeat(400) },
      expected: {
        ...refusedKey(UNKNOWN_KEY),
        ...{ behind: new Array(255).fill(401), closes: true },
      },
    },
  ];
}

/** What a client that would rather speak HTTP/2 sends with its first request. */
const H2C = { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': 'AAMAAABk' };

const HANDSHAKE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
};

type Headers = Readonly<Record<string, string | undefined>>;

/** Ordinary requests, after which the connection goes on. */
const NO_HANDSHAKES: Readonly<Record<string, Headers>> = {
  'without an offer': { Upgrade: undefined, Connection: undefined },
  'with an offer of something else': { Upgrade: 'h2c' },
  'without saying that it is an offer': { Connection: undefined },
};

const WRONG_HANDSHAKES: Readonly<Record<string, Headers>> = {
  'with a body': { 'Content-Length': '2' },
  'without a nonce': { 'Sec-WebSocket-Key': undefined },
  'with a short nonce': { 'Sec-WebSocket-Key': 'AAAA' },
  'of another version': { 'Sec-WebSocket-Version': '7' },
  'without a Host': { Host: undefined },
  'with two Hosts': { Host: 'a\r\nHost: b' },
};

/** Offers to change the protocol: taken where push is, and passed over everywhere else. */
function upgradeCases(): Case[] {
  const handshake = (headers: Headers = {}, path = `/${KEY}/ws`): Asked => ({
    ...{ method: 'GET', path },
    headers: { ...HANDSHAKE, ...headers },
  });
  const switched: Expected = { status: 101, isPage: true };
  const post = { status: 405, error: 'method_not_allowed', field: 'method' } as const;
  return [
    answered('an offer of HTTP/2', { ...ORDINARY, headers: H2C }),
    answered('an offer of HTTP/2, in chunks', {
      ...chunked(inChunks(QUESTION, 5)),
      headers: { ...chunked('').headers, ...H2C },
    }),
    ...Object.entries({ ...NO_HANDSHAKES, ...WRONG_HANDSHAKES }).map(
      ([name, headers]): Case => ({
        ...{ name: `a handshake ${name}`, asked: handshake(headers) },
        expected: { ...MALFORMED, closes: name in WRONG_HANDSHAKES },
      }),
    ),
    {
      ...{ name: 'a handshake of HTTP/1.0', asked: { ...handshake(), version: '1.0' } },
      expected: MALFORMED,
    },
    {
      ...{ name: 'a handshake without a known key', asked: handshake({}, '/nobody/ws') },
      expected: { ...refusedKey(UNKNOWN_KEY), closes: true },
    },
    {
      ...{ name: 'a handshake by POST', asked: { ...handshake(), method: 'POST', body: '' } },
      expected: { ...post, headers: { allow: 'GET, OPTIONS' } },
    },
    {
      ...{ name: 'a handshake at /health', asked: handshake({}, '/health') },
      expected: { status: 200, isPage: true },
    },
    {
      ...{ name: 'a handshake where questions are', asked: handshake({}, `/${KEY}/info`) },
      expected: { status: 422, error: 'missing_field', field: 'type' },
    },
    {
      ...{ name: 'a handshake nowhere', asked: handshake({}, '/nowhere') },
      expected: { status: 404, error: 'not_found' },
    },
    {
      ...{
        name: 'a WebSocket among several offers',
        asked: handshake({ Upgrade: 'h2c, WebSocket' }),
      },
      expected: switched,
    },
    {
      ...{ name: 'a WebSocket after a question', before: [ORDINARY], asked: handshake() },
      expected: switched,
    },
  ];
}

/** What can be wrong with the request when its body is wrong too: the request is refused once. */
function wrongTwiceCases(): Case[] {
  const spoiled = { ...chunked('zz\r\n') };
  const refused = (name: string, change: Asked, expected: Expected): Case => ({
    name: `${name}, and a body that is not in chunks`,
    asked: { ...spoiled, ...change, headers: { ...spoiled.headers, ...change.headers } },
    expected: { ...expected, closes: 'later' },
  });
  return [
    refused('a wrong path', { path: '/nowhere' }, { status: 404, error: 'not_found' }),
    refused('an unknown key', { path: '/nobody/info' }, refusedKey(UNKNOWN_KEY)),
    refused(
      'another media type',
      { headers: { 'Content-Type': 'text/plain' } },
      { status: 415, error: 'unsupported_media_type' },
    ),
  ];
}

function pageCases(): Case[] {
  const text = { 'content-type': 'text/plain; charset=utf-8' };
  return ['GET', 'HEAD'].flatMap((method): Case[] => [
    {
      ...{ name: `${method} /llms.txt`, asked: { method, path: '/llms.txt' } },
      expected: { status: 200, isPage: true, headers: text },
    },
    {
      ...{ name: `${method} /health`, asked: { method, path: '/health' } },
      expected: { status: 200, isPage: true },
    },
  ]);
}

export function listHttpCases(): Case[] {
  return [
    ...pathCases(),
    ...headerCases(),
    ...methodCases(),
    ...syntaxCases(),
    ...expectingCases(),
    ...pipelinedCases(),
    ...upgradeCases(),
    ...wrongTwiceCases(),
    ...pageCases(),
  ];
}
