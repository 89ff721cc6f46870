/** How a request is written in HTTP: its path, its headers, its method, and its syntax. */

import { formatQuestion, HEIGHT, QUESTION } from '../../tools/harness/service.ts';
import {
  type Asked,
  AUCTION,
  answered,
  type Case,
  ENCODED_KEY,
  type Expected,
  HEADER_BYTES_MAX,
  KEY,
  maxAge,
  minHeight,
} from './case.ts';

/** Paths under which the endpoint is found. */
const PATHS = [
  ...[`/${KEY}/info/`, `/${KEY}/info?`, `/${KEY}/info?a=b/c`, `/${KEY}/info/?a#b`],
  ...[`/${ENCODED_KEY}/info`, `/${ENCODED_KEY}/%69nfo`],
  ...[`/${KEY}//info`, `/${KEY}////info/?a`, `/${KEY}//%69nfo`, `http://localhost/${KEY}//info`],
  ...[`http://localhost/${KEY}/info`, `https://user:word@elsewhere:1/${KEY}/info/?a`],
];

const NO_PATHS = [
  ...[`/${KEY}`, `/${KEY}/`, `/${KEY}/info//`, `/${KEY}/INFO`, `/${KEY}/info/more`, '*'],
  ...[`/${KEY}%2Finfo`, `/${KEY}/info%2F`, '/%zz/info', `/${KEY}%/info`, '/%ff/info'],
  ...[`//${KEY}/info`, `/${KEY}/info//info`, `/${KEY}/x//info`, '/assets//info/x', 'http://'],
  ...['/__proto__', '/health%00', '/constructor/', `/${KEY}/information`],
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
];
const OTHER_TYPES = [
  ...['application/json; charset=latin1', 'application/jsonp', 'text/json', 'text/plain', ''],
  ...[undefined, `application/json${' '.repeat(10_000)}x`],
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
      ...{ name: `Content-Type: ${type?.slice(0, 40)}`, asked: typed(type), expected: refused },
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

const MALFORMED: Expected = { status: 400, error: 'malformed_request', closes: true };
const UNREADABLE: Expected = {
  ...MALFORMED,
  message: 'request: expected a well-formed HTTP/1.1 request',
};

const TWO_TYPES = 'application/json\r\nContent-Type: text/plain';

/** What is unusual in its syntax. */
function syntaxCases(): Case[] {
  const bytesOf = (headers: Record<string, string | undefined>, version = '1.1') =>
    formatQuestion(KEY, { headers, version }).toString('latin1');
  const length = `${QUESTION.length}`;
  const bad: Readonly<Record<string, string>> = {
    'bytes that are not HTTP': 'nonsense\r\n\r\n',
    'a space in the name of a header': bytesOf({ 'Bad Name': 'x' }),
    'a NUL in a header': bytesOf({ A: 'b\0c' }),
    'a request line without a version': `GET /${KEY}/info\r\n\r\n`,
    'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'the beginning of TLS': '\x16\x03\x01\x02\x00',
  };
  const blamed: readonly (readonly [string, string, string])[] = [
    [
      'two lengths',
      'Content-Length',
      bytesOf({ 'Content-Length': `${length}\r\nContent-Length: 9` }),
    ],
    ['a length beside chunks', 'Transfer-Encoding', bytesOf({ 'Transfer-Encoding': 'chunked' })],
    ['another encoding', 'Transfer-Encoding', bytesOf({ 'Transfer-Encoding': 'gzip' })],
    ['a negative length', 'Content-Length', bytesOf({ 'Content-Length': '-1' })],
    ['a length that is no number', 'Content-Length', bytesOf({ 'Content-Length': 'many' })],
    ...['0.9', '1.2', '2.0', '9.9'].map(
      (version) => [`HTTP/${version}`, 'version', bytesOf({}, version)] as const,
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
        ...{ name: `the Host ${host}`, asked: { bytes: bytesOf({ Host: host }) } },
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
    ...['x\r\n', '-1\r\n\r\n', '2\r\nabc\r\n'].map(
      (bad): Case => ({
        ...{ name: `the chunk ${JSON.stringify(bad)}`, asked: chunked(`${bad}\r\n\r\n`) },
        expected: MALFORMED,
      }),
    ),
    {
      name: 'an expectation that is not known',
      asked: { body: QUESTION, headers: { Expect: 'a miracle' } },
      expected: { ...MALFORMED, field: 'Expect' },
    },
  ];
}

export function listHttpCases(): Case[] {
  return [...pathCases(), ...headerCases(), ...methodCases(), ...syntaxCases()];
}
