/** Generates requests that are wrong in one of many ways: none of them can be answered with a 200. */

import { gzipSync } from 'node:zlib';
import fc, { type Arbitrary } from 'fast-check';
import { formatQuestion, formatRequest, QUESTION } from './service.ts';

const BODY_BYTES_MAX = 65_536;
const HEADER_BYTES_MAX = 16_384;

/** Bytes that are not UTF-8, at any place in a text. */
const INVALID_UTF8 = [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xe2]];

const PROTOTYPE_BODIES = [
  '{"__proto__":{"type":"perpDeployAuctionStatus"}}',
  '{"constructor":{"prototype":{"type":"delegations"}}}',
  '{"type":"__proto__"}',
  '{"type":"toString"}',
  '{"type":"hasOwnProperty"}',
  '{"type":"delegations","__proto__":{"user":"0x0000000000000000000000000000000000000000"}}',
  '{"type":"clearinghouseState","user":{"toString":"0x"}}',
  '{"type":{"toJSON":1}}',
];

const randomBytes = (lengths: { minLength?: number; maxLength?: number }) =>
  fc.uint8Array(lengths).map((bytes) => Buffer.from(bytes));

function insert(bytes: Buffer, position: number, more: Buffer): Buffer {
  return Buffer.concat([bytes.subarray(0, position), more, bytes.subarray(position)]);
}

const deepJson = fc
  .tuple(fc.constantFrom('[', '{"a":', '[{"type":'), fc.integer({ min: 1, max: 7000 }))
  .map(([open, depth]) => open.repeat(depth));

const notUtf8 = fc
  .tuple(fc.nat(QUESTION.length), fc.constantFrom(...INVALID_UTF8))
  .map(([position, bytes]) => insert(Buffer.from(QUESTION), position, Buffer.from(bytes)));

const otherEncoding = fc.constantFrom(
  Buffer.from(QUESTION, 'utf16le'),
  Buffer.from(`\ufeff${QUESTION}`, 'utf16le'),
  Buffer.from(`\ufeff${QUESTION}`),
  gzipSync(QUESTION),
);

/** Random fields that are hardly ever right. No random JSON is a valid question. */
const wrongFields = fc
  .record({
    type: fc.constantFrom('clearinghouseState', 'delegations'),
    user: fc.oneof(fc.string({ maxLength: 41 }), fc.jsonValue()),
    dex: fc.oneof(fc.string(), fc.jsonValue()),
  })
  .map((question) => JSON.stringify(question));

const badBody: Arbitrary<string | Buffer> = fc.oneof(
  randomBytes({ maxLength: 300 }),
  fc.json(),
  fc.string({ unit: 'binary' }),
  wrongFields,
  deepJson,
  notUtf8,
  otherEncoding,
  fc.constantFrom(...PROTOTYPE_BODIES),
  fc.integer({ min: BODY_BYTES_MAX + 1, max: 3 * BODY_BYTES_MAX }).map((n) => QUESTION.padEnd(n)),
);

const badHeaders = fc.oneof(
  fc.constantFrom<Record<string, string | undefined>>(
    { Host: undefined },
    { Host: 'localhost\r\nhost: localhost' },
    { 'Content-Length': `${QUESTION.length}\r\nContent-Length: 5` },
    { 'Content-Length': '9'.repeat(30) },
    { 'Content-Length': '0x10' },
    { 'Content-Length': '10000000' },
    { 'Transfer-Encoding': 'chunked' },
    { 'Transfer-Encoding': 'chunked', 'Content-Length': undefined },
    { 'Transfer-Encoding': 'identity, gzip' },
    { 'Content-Encoding': 'br' },
    { 'Content-Type': undefined },
    { Expect: 'something else' },
    { Upgrade: 'h2c', 'Content-Length': '1' },
  ),
  fc.string({ minLength: 1 }).map((text) => ({ 'Ledger-Min-Height': `x${printable(text)}` })),
  fc.string().map((text) => ({ 'Content-Type': `text/${printable(text)}` })),
  fc.string().map((text) => ({ [`Bad ${printable(text)}`]: 'x' })),
  fc.string().map((text) => ({ 'X-Control': `\u0001${printable(text)}` })),
  fc.integer({ min: HEADER_BYTES_MAX, max: 60_000 }).map((n) => ({ 'X-Long': 'x'.repeat(n) })),
  fc
    .integer({ min: 2000, max: 4000 })
    .map((n) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`X-${i}`, 'a'.repeat(9)]))),
);

/** Returns the characters of a text that are allowed in a header. */
function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, '');
}

/** A path without a valid key. It is never the path of a page, which needs a GET request. */
const badPath = fc.oneof(
  fc.webPath().map((path) => `/${path}`),
  fc.string().map((text) => `/${encodeURIComponent(text)}/info`),
  fc.string({ unit: 'binary-ascii' }).map((text) => `/${text}`),
  fc.webUrl(),
  fc.constantFrom('/%', '/%zz/info', '/%00/info', '/../../etc/passwd', '/%2e%2e/info', '//', '?'),
  fc.integer({ min: 1, max: 30_000 }).map((n) => `/${'a'.repeat(n)}/info`),
);

const badMethod = fc.oneof(
  fc.constantFrom('GET', 'HEAD', 'PUT', 'DELETE', 'CONNECT', 'TRACE', 'PRI', 'post', 'POSTS', ''),
  fc.string({ maxLength: 20 }).filter((text) => text !== 'POST' && text !== 'OPTIONS'),
);

/** Returns the bytes of a request that cannot be answered; `key` is a live key. */
export function badRequest(key: string): Arbitrary<Buffer> {
  const question = formatQuestion(key);
  return fc.oneof(
    { weight: 4, arbitrary: badBody.map((body) => formatQuestion(key, { body })) },
    { weight: 3, arbitrary: badHeaders.map((headers) => formatQuestion(key, { headers })) },
    { weight: 2, arbitrary: badPath.map((path) => formatRequest({ path, body: QUESTION })) },
    { weight: 1, arbitrary: badMethod.map((method) => formatQuestion(key, { method })) },
    // A truncated request: the client ends its side before the rest of the request.
    { weight: 1, arbitrary: fc.nat(question.length - 1).map((n) => question.subarray(0, n)) },
    { weight: 1, arbitrary: randomBytes({ maxLength: 2000 }) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.nat(question.length - QUESTION.length), randomBytes({ minLength: 1 }))
        .map(([position, bytes]) =>
          insert(question, position, Buffer.concat([bytes, Buffer.of(0)])),
        ),
    },
  );
}
