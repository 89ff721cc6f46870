/**
 * Requests whose end two readers could see in different places: what the one takes for a body, the other takes
 * for a request of its own. Behind each of them stands such a hidden request. A row is refused, and nothing behind
 * it is answered; or it says why HTTP allows it.
 */

import { formatRequest, QUESTION } from '../../tools/harness/service.ts';
import { AUCTION, type Case, type Expected, KEY, MALFORMED } from './case.ts';

/** What an attacker would have answered: no other request here has this status. */
const HIDDEN = formatRequest({ method: 'OPTIONS', path: '/' }).toString();
const HIDDEN_STATUS = 204;

const length = QUESTION.length;
const CHUNKED = `${length.toString(16)}\r\n${QUESTION}\r\n0\r\n\r\n`;

interface Row {
  /** The headers after Host and Content-Type, as lines. */
  readonly headers: string;
  readonly body: string;
  /** What stands before the headers, where it is not a question to the endpoint. */
  readonly start?: string;
  /** What ends the headers, where it is not an empty line. */
  readonly end?: string;
  /** If it is refused for another reason than its form. */
  readonly expected?: Expected;
}

const START = `POST /${KEY}/info HTTP/1.1`;

function formatRow({ start = START, headers, end = '\r\n', body }: Row): string {
  const head = `${start}\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}${end}`;
  return `${head}${body}${HIDDEN}`;
}

function lengthRow(headers: string): Row {
  return { headers, body: QUESTION };
}

function chunkedRow(headers: string, body = CHUNKED): Row {
  return { headers, body };
}

function chunkRow(chunk: string): Row {
  return chunkedRow('Transfer-Encoding: chunked\r\n', `${chunk}0\r\n\r\n`);
}

/** The message names both of the headers, whichever comes first. */
function twoFramings(row: Row): Row {
  const message =
    'Transfer-Encoding: got it in a request that has Content-Length as well, expected only one of the two';
  return { ...row, expected: { ...MALFORMED, field: 'Transfer-Encoding', message } };
}

/** The encoding is refused before it matters where the body ends. */
function unknownEncoding(row: Row): Row {
  return { ...row, expected: { status: 415, error: 'unsupported_media_type', closes: 'later' } };
}

/** The message blames the size of the chunk. */
function chunkSizeRow(chunk: string): Row {
  const message =
    'body: got a chunk without a valid size, expected its number of bytes in hexadecimal digits';
  return { ...chunkRow(chunk), expected: { ...MALFORMED, field: 'body', message } };
}

const LENGTH = `Content-Length: ${length}\r\n`;
const TRANSFER = 'Transfer-Encoding: chunked\r\n';
const hex = length.toString(16);

const LENGTH_BEFORE_TAB = {
  'a length before a tab': lengthRow(`Content-Length: ${length}\t\r\n`),
};
const [parserMajor, parserMinor] = (process.versions['llhttp'] ?? '').split('.').map(Number);
/** HTTP allows a tab after a length, but Node's parser refuses it before version 9.4. */
const ALLOWS_TAB = parserMajor > 9 || (parserMajor === 9 && parserMinor >= 4);

/** Refused with a 4xx, and the connection is closed. */
const REFUSED: Readonly<Record<string, Row>> = {
  'both ways to tell the length, chunked last': twoFramings(chunkedRow(`${LENGTH}${TRANSFER}`)),
  'both ways to tell the length, chunked first': twoFramings(chunkedRow(`${TRANSFER}${LENGTH}`)),
  'both ways to tell the length, with a length of 0': chunkedRow(
    `Content-Length: 0\r\n${TRANSFER}`,
  ),
  'both ways to tell the length, the one in odd case': chunkedRow(
    `cOnTeNt-LeNgTh: ${length}\r\ntRaNsFeR-eNcOdInG: CHUNKED\r\n`,
  ),
  'an encoding that only looks like chunked': unknownEncoding(
    chunkedRow('Transfer-Encoding: xchunked\r\n'),
  ),
  'an encoding that begins like chunked': unknownEncoding(
    chunkedRow('Transfer-Encoding: chunkedx\r\n'),
  ),
  'chunked before another encoding': chunkedRow('Transfer-Encoding: chunked, identity\r\n'),
  'chunked before another header of it': chunkedRow(`${TRANSFER}Transfer-Encoding: identity\r\n`),
  'an encoding that does not tell the length': unknownEncoding(
    lengthRow('Transfer-Encoding: identity\r\n'),
  ),
  'an encoding that does not tell the length, beside a length': lengthRow(
    `${LENGTH}Transfer-Encoding: identity\r\n`,
  ),
  'an empty encoding beside a length': lengthRow(`${LENGTH}Transfer-Encoding:\r\n`),
  'chunked in quotes': unknownEncoding(chunkedRow('Transfer-Encoding: "chunked"\r\n')),
  'chunked after a vertical tab': chunkedRow('Transfer-Encoding: \x0bchunked\r\n'),
  'chunked before a NUL': chunkedRow('Transfer-Encoding: chunked\0\r\n'),
  'a space before the colon of Transfer-Encoding': chunkedRow('Transfer-Encoding : chunked\r\n'),
  'a space before the colon of Transfer-Encoding, beside a length': lengthRow(
    `${LENGTH}Transfer-Encoding : chunked\r\n`,
  ),
  'a tab before the colon of Content-Length': lengthRow(`Content-Length\t: ${length}\r\n`),
  'a space before the name': lengthRow(` ${LENGTH}`),
  'a folded Transfer-Encoding': chunkedRow('Transfer-Encoding:\r\n chunked\r\n'),
  'a folded Content-Length': lengthRow(`Content-Length:\r\n ${length}\r\n`),
  'a folded header of no importance': lengthRow(`X-Folded: a\r\n b\r\n${LENGTH}`),
  'a header folded with a tab': lengthRow(`X-Folded: a\r\n\tb\r\n${LENGTH}`),
  'a bare CR in a value': lengthRow(`X-Bare: a\rTransfer-Encoding: chunked\r\n${LENGTH}`),
  'a bare CR for a line end': lengthRow(`X-Bare: a\r${LENGTH}`),
  'a bare CR at the end of a name': lengthRow(`X-Bare\r: a\r\n${LENGTH}`),
  'a bare LF for a line end': lengthRow(`X-Bare: a\n${LENGTH}`),
  'a bare LF before the encoding': lengthRow(`${LENGTH}X-Bare: a\nTransfer-Encoding: chunked\r\n`),
  'a bare LF at the end of the headers': { ...lengthRow(LENGTH), end: '\n' },
  'a NUL in a value': lengthRow(`X-Nul: a\0b\r\n${LENGTH}`),
  'a NUL in a name': lengthRow(`X-N\0ul: a\r\n${LENGTH}`),
  'a NUL in the length': lengthRow(`Content-Length: ${length}\0\r\n`),
  'a header without a colon': lengthRow(`X-None\r\n${LENGTH}`),
  'a header without a name': lengthRow(`: a\r\n${LENGTH}`),
  'two lengths that agree': lengthRow(`${LENGTH}${LENGTH}`),
  'two lengths that do not': lengthRow(`${LENGTH}Content-Length: 5\r\n`),
  'two lengths that do not, in odd case': lengthRow(`${LENGTH}CONTENT-LENGTH: 5\r\n`),
  'two lengths in one header': lengthRow(`Content-Length: ${length}, ${length}\r\n`),
  'an empty length': lengthRow('Content-Length:\r\n'),
  ...(ALLOWS_TAB ? {} : LENGTH_BEFORE_TAB),
  'a length in a trailer': chunkedRow(
    TRANSFER,
    `${hex}\r\n${QUESTION}\r\n0\r\nContent-Length: 5\r\n\r\n`,
  ),
  'a negative length': lengthRow(`Content-Length: -${length}\r\n`),
  'a length with a plus': lengthRow(`Content-Length: +${length}\r\n`),
  'a length in hexadecimal': lengthRow(`Content-Length: 0x${hex}\r\n`),
  'a length with a space in it': lengthRow('Content-Length: 3 5\r\n'),
  'a length with a point': lengthRow(`Content-Length: ${length}.0\r\n`),
  'a length of 2^64': lengthRow('Content-Length: 18446744073709551616\r\n'),
  'a length of 2^64 and what the body has': lengthRow(
    `Content-Length: ${2n ** 64n + BigInt(length)}\r\n`,
  ),
  'a chunk whose size is no number': chunkSizeRow(`zz\r\n${QUESTION}\r\n`),
  'a chunk of negative size': chunkSizeRow(`-${hex}\r\n${QUESTION}\r\n`),
  'a chunk size with 0x': chunkSizeRow(`0x${hex}\r\n${QUESTION}\r\n`),
  'a chunk size with a plus': chunkSizeRow(`+${hex}\r\n${QUESTION}\r\n`),
  'a chunk size after a space': chunkRow(` ${hex}\r\n${QUESTION}\r\n`),
  'a chunk size before a space': chunkRow(`${hex} \r\n${QUESTION}\r\n`),
  'a chunk size before a bare LF': chunkRow(`${hex}\n${QUESTION}\r\n`),
  'a chunk size before a bare CR': chunkRow(`${hex}\r${QUESTION}\r\n`),
  'a chunk of more than 2^64 bytes': chunkSizeRow(`1000000000000000${hex}\r\n${QUESTION}\r\n`),
  'a chunk without a size': chunkSizeRow(`\r\n${QUESTION}\r\n`),
  'a chunk that is longer than it says': chunkRow(`5\r\n${QUESTION}\r\n`),
  'a chunk that ends in a bare LF': chunkRow(`${hex}\r\n${QUESTION}\n`),
  'a chunk that ends in anything': chunkRow(`${hex}\r\n${QUESTION}xx`),
  'a chunk extension with a bare LF': chunkRow(`${hex};a\n${QUESTION}\r\n`),
  'a chunk extension with a bare CR': chunkRow(`${hex};a\rb\r\n${QUESTION}\r\n`),
  'chunk extensions that are too long': {
    ...chunkRow(`${hex};${'a'.repeat(20_000)}\r\n${QUESTION}\r\n`),
    expected: { status: 413, error: 'body_too_large', closes: true },
  },
  'a trailer with a bare LF': chunkedRow(TRANSFER, `${hex}\r\n${QUESTION}\r\n0\r\nX-Late: a\n\r\n`),
  'chunked in HTTP/1.0 beside a length': {
    ...chunkedRow(`${TRANSFER}${LENGTH}`),
    start: `POST /${KEY}/info HTTP/1.0`,
  },
  'a method after a space': { ...lengthRow(LENGTH), start: ` ${START}` },
  'a version that is none': { ...lengthRow(LENGTH), start: `POST /${KEY}/info HTTP/1.1.1` },
  'a request line with a bare CR': { ...lengthRow(LENGTH), start: `POST /${KEY}/info\rHTTP/1.1` },
  'a request line with more in it': { ...lengthRow(LENGTH), start: `POST /${KEY}/info x HTTP/1.1` },
};

/** By the reason for which HTTP allows them: both are answered, and what stands behind them too. */
const ALLOWED: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  'that is the usual way': { 'a length': lengthRow(LENGTH), chunks: chunkedRow(TRANSFER) },
  'a length or a size is any number of digits': {
    'a length with zeros before it': lengthRow(`Content-Length: 000${length}\r\n`),
    'a chunk size with zeros before it': chunkRow(`0000${hex}\r\n${QUESTION}\r\n`),
  },
  'white space around a value is no part of it': {
    ...(ALLOWS_TAB ? LENGTH_BEFORE_TAB : {}),
    'a length between spaces': lengthRow(`Content-Length: \t ${length}  \r\n`),
    'chunks after a tab': chunkedRow('Transfer-Encoding:\tchunked\r\n'),
    'chunks before a space': chunkedRow('Transfer-Encoding: chunked \r\n'),
  },
  'names and the word chunked are in any case': {
    'chunks in odd case': chunkedRow('tRANSFER-eNCODING: cHuNkEd\r\n'),
  },
  'extensions and trailers say nothing about the length': {
    'a chunk with a short extension': chunkRow(`${hex};a=b\r\n${QUESTION}\r\n`),
    'chunks with a trailer': chunkedRow(
      TRANSFER,
      `${hex}\r\n${QUESTION}\r\n0\r\nX-Late: 5\r\n\r\n`,
    ),
  },
  'it is another header, which means nothing here': {
    'Transfer_Encoding beside a length': lengthRow(`${LENGTH}Transfer_Encoding: chunked\r\n`),
    'X-Transfer-Encoding beside a length': lengthRow(`${LENGTH}X-Transfer-Encoding: chunked\r\n`),
    'a header of no importance that comes twice': lengthRow(
      `${LENGTH}X-Twice: a\r\nX-Twice: b\r\n`,
    ),
  },
  'some clients send an empty line too many': {
    'an empty line before the request': { ...lengthRow(LENGTH), start: `\r\n${START}` },
  },
};

const NO_JSON: Expected = { status: 400, error: 'malformed_json', field: 'body' };

/** Where the end is clear, but the request is refused. */
const REFUSED_ALONE: Readonly<Record<string, readonly [row: Row, expected: Expected]>> = {
  'an encoding that is unknown, before chunked': [
    chunkedRow('Transfer-Encoding: gzip, chunked\r\n'),
    { status: 415, error: 'unsupported_media_type', behind: [HIDDEN_STATUS] },
  ],
  'a second request within the length': [
    { headers: `Content-Length: ${HIDDEN.length}\r\n`, body: '' },
    NO_JSON,
  ],
  'a second request within a chunk': [
    chunkedRow(TRANSFER, `${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n`),
    { ...NO_JSON, behind: [HIDDEN_STATUS] },
  ],
  'no length at all': [
    { headers: '', body: '' },
    { ...NO_JSON, behind: [HIDDEN_STATUS] },
  ],
};

export function listFramingCases(): Case[] {
  const refused = Object.entries(REFUSED).map(
    ([name, row]): Case => ({
      ...{ name: `refused: ${name}`, asked: { bytes: formatRow(row) } },
      expected: row.expected ?? MALFORMED,
    }),
  );
  const allowed = Object.entries(ALLOWED).flatMap(([because, rows]) =>
    Object.entries(rows).map(([name, row]) => ({
      ...{ name: `allowed, since ${because}: ${name}`, asked: { bytes: formatRow(row) } },
      expected: { status: 200, answerTo: AUCTION, behind: [HIDDEN_STATUS] },
    })),
  );
  const alone = Object.entries(REFUSED_ALONE).map(([name, [row, expected]]) => ({
    ...{ name: `refused alone: ${name}`, asked: { bytes: formatRow(row) }, expected },
  }));
  return [...refused, ...allowed, ...alone];
}
