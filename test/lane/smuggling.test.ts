/**
 * Requests whose end two readers could see in different places: what the one takes for a body, the
 * other takes for a request of its own. Each row is refused, and nothing after it is answered, or it
 * says why HTTP allows it. Both lanes do the same, however the bytes arrive.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { formatRequest, QUESTION } from '../../tools/harness/service.ts';
import { ALSO_FULL, scale } from '../scale.ts';
import { compare, openBothLanes, type Read } from './both-lanes.ts';
import { byteByByte, cutAt } from './random-conversations.ts';

const lanes = await openBothLanes({ after });
const key = lanes.keySets[0].free;

/** What an attacker would have answered: nobody else gives this status. */
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
}

const START = `POST /${key}/info HTTP/1.1`;

function formatRow({ start = START, headers, end = '\r\n', body }: Row): Buffer {
  const head = `${start}\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}${end}`;
  return Buffer.from(`${head}${body}${HIDDEN}`, 'latin1');
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

const LENGTH = `Content-Length: ${length}\r\n`;
const TRANSFER = 'Transfer-Encoding: chunked\r\n';
const hex = length.toString(16);

/** Refused with a 4xx, and the connection is closed. */
const REFUSED: Readonly<Record<string, Row>> = {
  'both ways to tell the length, chunked last': chunkedRow(`${LENGTH}${TRANSFER}`),
  'both ways to tell the length, chunked first': chunkedRow(`${TRANSFER}${LENGTH}`),
  'both ways to tell the length, with a length of 0': chunkedRow(
    `Content-Length: 0\r\n${TRANSFER}`,
  ),
  'both ways to tell the length, the one in odd case': chunkedRow(
    `cOnTeNt-LeNgTh: ${length}\r\ntRaNsFeR-eNcOdInG: CHUNKED\r\n`,
  ),
  'an encoding that only looks like chunked': chunkedRow('Transfer-Encoding: xchunked\r\n'),
  'an encoding that begins like chunked': chunkedRow('Transfer-Encoding: chunkedx\r\n'),
  'chunked before another encoding': chunkedRow('Transfer-Encoding: chunked, identity\r\n'),
  'chunked before another header of it': chunkedRow(`${TRANSFER}Transfer-Encoding: identity\r\n`),
  'an encoding that does not tell the length': lengthRow('Transfer-Encoding: identity\r\n'),
  'an encoding that does not tell the length, beside a length': lengthRow(
    `${LENGTH}Transfer-Encoding: identity\r\n`,
  ),
  'an empty encoding beside a length': lengthRow(`${LENGTH}Transfer-Encoding:\r\n`),
  'chunked in quotes': chunkedRow('Transfer-Encoding: "chunked"\r\n'),
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
  // HTTP would allow this one; Node does not.
  'a length before a tab': lengthRow(`Content-Length: ${length}\t\r\n`),
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
  'a chunk whose size is no number': chunkRow(`zz\r\n${QUESTION}\r\n`),
  'a chunk of negative size': chunkRow(`-${hex}\r\n${QUESTION}\r\n`),
  'a chunk size with 0x': chunkRow(`0x${hex}\r\n${QUESTION}\r\n`),
  'a chunk size with a plus': chunkRow(`+${hex}\r\n${QUESTION}\r\n`),
  'a chunk size after a space': chunkRow(` ${hex}\r\n${QUESTION}\r\n`),
  'a chunk size before a space': chunkRow(`${hex} \r\n${QUESTION}\r\n`),
  'a chunk size before a bare LF': chunkRow(`${hex}\n${QUESTION}\r\n`),
  'a chunk size before a bare CR': chunkRow(`${hex}\r${QUESTION}\r\n`),
  'a chunk of more than 2^64 bytes': chunkRow(`1000000000000000${hex}\r\n${QUESTION}\r\n`),
  'a chunk without a size': chunkRow(`\r\n${QUESTION}\r\n`),
  'a chunk that is longer than it says': chunkRow(`5\r\n${QUESTION}\r\n`),
  'a chunk that ends in a bare LF': chunkRow(`${hex}\r\n${QUESTION}\n`),
  'a chunk that ends in anything': chunkRow(`${hex}\r\n${QUESTION}xx`),
  'a chunk extension with a bare LF': chunkRow(`${hex};a\n${QUESTION}\r\n`),
  'a chunk extension with a bare CR': chunkRow(`${hex};a\rb\r\n${QUESTION}\r\n`),
  'chunk extensions that are too long': chunkRow(`${hex};${'a'.repeat(20_000)}\r\n${QUESTION}\r\n`),
  'a trailer with a bare LF': chunkedRow(TRANSFER, `${hex}\r\n${QUESTION}\r\n0\r\nX-Late: a\n\r\n`),
  'chunked in HTTP/1.0 beside a length': {
    ...chunkedRow(`${TRANSFER}${LENGTH}`),
    start: `POST /${key}/info HTTP/1.0`,
  },
  'a method after a space': { ...lengthRow(LENGTH), start: ` ${START}` },
  'a version that is none': { ...lengthRow(LENGTH), start: `POST /${key}/info HTTP/1.1.1` },
  'a request line with a bare CR': { ...lengthRow(LENGTH), start: `POST /${key}/info\rHTTP/1.1` },
  'a request line with more in it': { ...lengthRow(LENGTH), start: `POST /${key}/info x HTTP/1.1` },
};

interface AllowedRow extends Row {
  readonly because: string;
  /** All that is answered: to the row itself, then to what was sent behind it. */
  readonly statuses: readonly number[];
}

const BOTH_ANSWERED = [200, HIDDEN_STATUS];
const CASE = 'names and the word chunked are in any case';
const SPACE = 'white space around a value is no part of it';
const OTHER = 'it is another header, which means nothing here';

/** Allowed by HTTP: what follows is a request of its own, and both know where it begins. */
const ALLOWED: Readonly<Record<string, AllowedRow>> = {
  'a length': { ...lengthRow(LENGTH), because: 'that is the usual way', statuses: BOTH_ANSWERED },
  'a length with zeros before it': {
    ...lengthRow(`Content-Length: 000${length}\r\n`),
    because: 'a length is any number of digits',
    statuses: BOTH_ANSWERED,
  },
  'a length between spaces': {
    ...lengthRow(`Content-Length: \t ${length}  \r\n`),
    because: SPACE,
    statuses: BOTH_ANSWERED,
  },
  chunks: {
    ...chunkedRow(TRANSFER),
    because: 'that is the other usual way',
    statuses: BOTH_ANSWERED,
  },
  'chunks in odd case': {
    ...chunkedRow('tRANSFER-eNCODING: cHuNkEd\r\n'),
    because: CASE,
    statuses: BOTH_ANSWERED,
  },
  'chunks after a tab': {
    ...chunkedRow('Transfer-Encoding:\tchunked\r\n'),
    because: SPACE,
    statuses: BOTH_ANSWERED,
  },
  'chunks before a space': {
    ...chunkedRow('Transfer-Encoding: chunked \r\n'),
    because: SPACE,
    statuses: BOTH_ANSWERED,
  },
  'a chunk with a short extension': {
    ...chunkRow(`${hex};a=b\r\n${QUESTION}\r\n`),
    because: 'extensions are there to be passed over',
    statuses: BOTH_ANSWERED,
  },
  'a chunk size with zeros before it': {
    ...chunkRow(`0000${hex}\r\n${QUESTION}\r\n`),
    because: 'a size is any number of digits',
    statuses: BOTH_ANSWERED,
  },
  'chunks with a trailer': {
    ...chunkedRow(TRANSFER, `${hex}\r\n${QUESTION}\r\n0\r\nX-Late: 5\r\n\r\n`),
    because: 'trailers say nothing about the length',
    statuses: BOTH_ANSWERED,
  },
  'an encoding that is unknown, before chunked': {
    ...chunkedRow('Transfer-Encoding: gzip, chunked\r\n'),
    because: 'the length is known, and the media type is refused',
    statuses: [415, HIDDEN_STATUS],
  },
  'Transfer_Encoding beside a length': {
    ...lengthRow(`${LENGTH}Transfer_Encoding: chunked\r\n`),
    because: OTHER,
    statuses: BOTH_ANSWERED,
  },
  'X-Transfer-Encoding beside a length': {
    ...lengthRow(`${LENGTH}X-Transfer-Encoding: chunked\r\n`),
    because: OTHER,
    statuses: BOTH_ANSWERED,
  },
  'a header of no importance that comes twice': {
    ...lengthRow(`${LENGTH}X-Twice: a\r\nX-Twice: b\r\n`),
    because: 'it is a list then',
    statuses: BOTH_ANSWERED,
  },
  'a second request within the length': {
    headers: `Content-Length: ${HIDDEN.length}\r\n`,
    body: '',
    because: 'it is the body, and no JSON',
    statuses: [400],
  },
  'a second request within a chunk': {
    ...chunkedRow(TRANSFER, `${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n`),
    because: 'it is the body, and no JSON',
    statuses: [400, HIDDEN_STATUS],
  },
  'no length at all': {
    ...lengthRow(''),
    body: '',
    because: 'there is no body then, and so no JSON',
    statuses: [400, HIDDEN_STATUS],
  },
  'an empty line before the request': {
    ...lengthRow(LENGTH),
    start: `\r\n${START}`,
    because: 'some clients send one too many, and it is passed over',
    statuses: BOTH_ANSWERED,
  },
};

/** Longer rows do not come byte by byte. */
const BYTE_BY_BYTE_MAX = scale(2000, 60_000);

/** The ways in which the bytes of a row arrive. */
function arrivals(bytes: Buffer): Read[][] {
  const seams = [bytes.indexOf('\r\n') + 1, bytes.indexOf('\r\n\r\n') + 2, bytes.length - 5];
  const all = [cutAt(bytes, []), cutAt(bytes, seams), cutAt(bytes, [bytes.length / 2])];
  return bytes.length > BYTE_BY_BYTE_MAX ? all : [...all, byteByByte(bytes)];
}

function statusesIn(text: string): number[] {
  return Array.from(text.matchAll(/HTTP\/1\.1 (\d{3}) [A-Z]/g), ([, status]) => Number(status));
}

for (const [name, row] of Object.entries(REFUSED)) {
  test(`refused by both: ${name}`, ALSO_FULL, async () => {
    for (const reads of arrivals(formatRow(row))) {
      const { text, standing } = await compare(lanes, { reads, ending: 'stays', isSlow: false });
      const statuses = statusesIn(text);
      assert.equal(statuses.length, 1, text);
      assert.ok(statuses[0] >= 400 && statuses[0] < 500, text);
      assert.equal(standing, 'ended', text);
    }
  });
}

for (const [name, { because, statuses, ...row }] of Object.entries(ALLOWED)) {
  test(`allowed by both, since ${because}: ${name}`, ALSO_FULL, async () => {
    for (const reads of arrivals(formatRow(row))) {
      const { text, standing } = await compare(lanes, { reads, ending: 'stays', isSlow: false });
      assert.deepEqual([statusesIn(text), standing], [statuses, 'open']);
    }
  });
}
