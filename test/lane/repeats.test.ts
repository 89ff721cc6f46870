/** Heads that differ from the last one of their connection in the query or the length only. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Answers } from '../../src/http/answering/answers.ts';
import { readQuestionHead, withQuestion } from '../../src/http/answering/question-head.ts';
import type { ClientConnection } from '../../src/http/transport/connections/client-connection.ts';
import { HeadReader } from '../../src/http/transport/lane/head-reader.ts';
import { LaneConnection, type LaneReader } from '../../src/http/transport/lane/lane-connection.ts';
import { Random } from '../../src/simulator/random.ts';
import { SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import { ALSO_LONG, scale } from '../scale.ts';
import { StandingClock } from '../standing-clock.ts';
import { compare, openBothLanes } from './both-lanes.ts';
import { metricsOf } from './metrics.ts';
import { cutRequests } from './random-conversations.ts';
import { repeatedRequests } from './random-repeats.ts';

const ROUNDS = scale(6, 100, 2000);
const STATUSES = ['200', '304', '400', '401', '422', '429'];

const clock = new StandingClock();

test(`both lanes say the same to heads that nearly repeat ${SEED_NOTE}`, ALSO_LONG, async (t) => {
  const lanes = await openBothLanes(t);
  const random = new Random(`repeats ${SEED}`);
  const seen = new Set<string>();
  for (let round = 0; round < ROUNDS; round++) {
    const conversations = lanes.keySets.map((keys) => ({
      reads: cutRequests(random, repeatedRequests({ random, keys, subjects: lanes })),
      ending: random.pick(['stays', 'stays', 'hangs up'] as const),
      isSlow: random.chance(0.1),
    }));
    const sights = await Promise.all(conversations.map((one) => compare(lanes, one)));
    for (const { text } of sights) {
      for (const [, status] of text.matchAll(/HTTP\/1\.1 (\d{3}) [A-Z]/g)) seen.add(status);
    }
    clock.advance(random.below(20_000));
  }
  for (const status of STATUSES) assert.ok(seen.has(status), `nothing was answered with ${status}`);
  assert.deepEqual(await metricsOf(lanes.fast), await metricsOf(lanes.plain));
});

const USERS = ['1', '2', 'a'].map((digit) => `0x${digit.repeat(40)}`);
const TERMS = { bodyBytesMax: 1024, forwards: false };

/** Reads heads of one connection, each delivered whole, and counts those that were parsed in full. */
function openReader() {
  const counts = { parsed: 0 };
  const answers: Pick<Answers, 'readHead' | 'changeQuery'> = {
    readHead: (source) => {
      counts.parsed++;
      return readQuestionHead(source, TERMS);
    },
    changeQuery: (head, query) => withQuestion(head, query.read(false)),
  };
  const settings = { bodyBytesMax: TERMS.bodyBytesMax, headerBytesMax: 2048 };
  const reader = new HeadReader({ answers: answers as Answers, settings });
  const connection = new LaneConnection({} as ClientConnection, {} as LaneReader, 0);
  const read = (text: string) => {
    // Not at the start of the buffer, and not up to its end.
    const bytes = Buffer.from(`xx${text}GET `, 'latin1');
    const head = reader.read(connection, bytes, 2, bytes.length);
    connection.expectNext();
    return typeof head === 'string' ? head : { ...head, text: head.bytes.toString('latin1') };
  };
  return { counts, read };
}

function formatGet(query: string): string {
  return `GET /abc/info?${query} HTTP/1.1\r\nHost: a\r\nX: b?c d\r\n\r\n`;
}

test('of a GET that differs in its query only the query is parsed, into the same head', () => {
  const { counts, read } = openReader();
  const queries = USERS.map((user) => `type=clearinghouseState&user=${user}`);
  for (const query of [
    ...queries,
    'type=meta',
    queries[0],
    '',
    'type=%6Deta',
    'type=meta',
    'x?y',
  ]) {
    const head = read(formatGet(query));
    const alone = openReader().read(formatGet(query));
    assert.deepEqual(head, alone, query);
  }
  assert.equal(counts.parsed, 1);
});

test('of a POST that differs in its length only the length is parsed, into the same head', () => {
  const { counts, read } = openReader();
  const format = (length: string) =>
    `POST /abc/info HTTP/1.1\r\nHost: a\r\ncontent-length:${length}\r\nContent-Type: application/json\r\n\r\n`;
  for (const length of ['5', '6', '70', '1024', '0', '5']) {
    assert.deepEqual(read(format(length)), openReader().read(format(length)), length);
  }
  assert.equal(counts.parsed, 1);
  assert.equal(read(format('1025')), 'too_large');
  for (const length of ['05', '+5', '5 ', '', '-1', '5\r\nContent-Length: 5']) {
    assert.equal(read(format(length)), 'syntax', length);
  }
});

test('a query with a byte that no URL contains is left to Node, as after any other head', () => {
  for (let code = 0; code < 256; code++) {
    const { read } = openReader();
    read(formatGet('type=meta'));
    const query = `type=${String.fromCharCode(code)}eta`;
    assert.deepEqual(read(formatGet(query)), openReader().read(formatGet(query)), `byte ${code}`);
  }
});
