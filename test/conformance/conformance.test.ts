/**
 * One table of requests for all transports. Each gives the status, the headers and the body that the table says,
 * however the bytes of a request arrive; over push, the answer or the refusal in a frame.
 */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { formatAddress } from '../../src/exact/address.ts';
import { entityTag } from '../../src/http/message/entity-tag.ts';
import { answerQuestion, parseQuestion } from '../../src/info/read-question.ts';
import { REQUEST_ERRORS, type RequestErrorCode } from '../../src/info/request-error.ts';
import { connect, type RawClient, type RawResponse } from '../../tools/harness/raw-client.ts';
import { readSamples } from '../../tools/harness/running.ts';
import { formatQuestion, HEIGHT } from '../../tools/harness/service.ts';
import { ALSO_LONG, scale, shareOut } from '../scale.ts';
import { StandingClock } from '../standing-clock.ts';
import {
  type Asked,
  BODY_BYTES_MAX,
  BUDGET,
  type Case,
  type Deviation,
  type Expected,
  type Fields,
  formatAsked,
  HEADER_BYTES_MAX,
  KEY,
  queryOf,
} from './case.ts';
import { listFramingCases } from './framing-cases.ts';
import { listHttpCases } from './http-cases.ts';
import { DEVIATIONS, listQuestionCases, PAST_HEIGHT } from './question-cases.ts';
import { answerPast, openSources, teachExchange } from './sources.ts';
import { connectPushAsker, httpTransports, openTransports, type Transport } from './transports.ts';

// A budget fills up with time, and that is told.
new StandingClock();
const transports = await openTransports(
  { after },
  {
    settings: {
      ...{ bodyBytesMax: BODY_BYTES_MAX, headerBytesMax: HEADER_BYTES_MAX, minHeightWait: 1 },
    },
    budgets: { budget: BUDGET, count: 100 },
  },
);
const sourced = await openTransports({ after }, { settings: { forward: true }, openSources });
const { state } = transports;
const AUCTION_TAG = tagOf({ type: 'perpDeployAuctionStatus' });
const QUESTION_CASES = listQuestionCases(
  {
    user: formatAddress(state.addresses.addressOf(1)),
    dex: state.markets.dexes[1].name,
    coin: state.markets.markets[0].coin,
    table: Number(/"marginTableId":(\d+)/.exec(answerQuestion(state, { type: 'meta' }))?.[1]),
  },
  AUCTION_TAG,
);
const CASES = [...QUESTION_CASES, ...listHttpCases(), ...listFramingCases()];
teachExchange(CASES);

/** The length of small pieces; longer requests are not sent in them. */
const PIECE_BYTES = scale(24, 1);
const IN_PIECES_MAX = 600;

function splitAtBody(bytes: Buffer): Buffer[] {
  const end = bytes.indexOf('\r\n\r\n') + 4;
  return [bytes.subarray(0, end), bytes.subarray(end)];
}

/** The ways in which the bytes of a request arrive. */
const ARRIVALS: Readonly<Record<string, (bytes: Buffer) => Buffer[]>> = {
  whole: (bytes) => [bytes],
  'headers and body apart': splitAtBody,
  'cut at line ends': (bytes) => {
    const ends = [bytes.indexOf('\r\n') + 1, bytes.indexOf('\r\n\r\n') + 2, bytes.length - 5];
    const places = [0, ...ends, bytes.length].sort((one, other) => one - other);
    return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
  },
  'in small pieces': (bytes) => {
    if (bytes.length > IN_PIECES_MAX) return [bytes];
    const count = Math.ceil(bytes.length / PIECE_BYTES);
    return Array.from({ length: count }, (_, index) =>
      bytes.subarray(index * PIECE_BYTES, (index + 1) * PIECE_BYTES),
    );
  },
};

/** Enough for what was written to be read before the next bytes are. */
const TURNS = 2;

async function sendParts(client: RawClient, parts: readonly Buffer[]): Promise<void> {
  for (const part of parts) {
    client.send(part);
    for (let turn = 0; turn < TURNS; turn++) await new Promise(setImmediate);
  }
}

const freeBudgeted = transports.budgeted.values();

function secretFor({ hasBudget, asked, from }: Case): string {
  if (from !== undefined) return sourced.key;
  if (asked.key === 'unknown') return 'A'.repeat(43);
  if (asked.key === 'expired') return transports.expired;
  if (hasBudget === undefined) return transports.key;
  const { value } = freeBudgeted.next();
  assert.ok(value, 'there are enough keys with a budget');
  return value;
}

interface Seen {
  readonly status: number;
  readonly reason: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly names: readonly string[];
  readonly body: string;
}

/** All of a response but the second in which it was given. */
function readSeen({ status, reason, headers, body }: RawResponse): Seen {
  const { date, ...others } = Object.fromEntries(headers);
  if (date !== undefined) assert.ok(Number.isFinite(Date.parse(date)), date);
  return { status, reason, headers: others, names: [...headers.keys()], body };
}

async function askHttp(
  { port }: Transport,
  { before = [], asked, expected }: Case,
  secret: string,
  cut: (bytes: Buffer) => Buffer[],
): Promise<Seen> {
  const client = await connect(port);
  try {
    for (const earlier of before) {
      client.send(formatAsked(earlier, secret));
      await client.response();
    }
    await sendAsked(client, asked, formatAsked(asked, secret), cut);
    const hasBody = asked.method !== 'HEAD' && expected.status !== 101;
    const seen = readSeen(await client.response({ hasBody }));
    if (seen.status === 101) return seen;
    await checkBehind(client, expected);
    if (expected.closes) assert.equal(await client.next(), undefined);
    else await checkKept(client, secret);
    assert.equal(client.left, '');
    return seen;
  } finally {
    client.close();
  }
}

async function sendAsked(
  client: RawClient,
  { asksFirst }: Asked,
  bytes: Buffer,
  cut: (bytes: Buffer) => Buffer[],
): Promise<void> {
  if (asksFirst === undefined) return sendParts(client, cut(bytes));
  const [head, body] = splitAtBody(bytes);
  client.send(head);
  assert.equal((await client.response()).status, 100);
  client.send(body);
}

/** The responses behind the first one, the last of which may close the connection. */
async function checkBehind(client: RawClient, { behind = [], closes }: Expected): Promise<void> {
  const responses: RawResponse[] = [];
  for (const _ of behind) responses.push(await client.response());
  assert.deepEqual(
    responses.map(({ status }) => status),
    behind,
  );
  const last = responses.at(-1)?.headers.get('connection');
  if (last !== undefined) assert.equal(last, closes === true ? 'close' : 'keep-alive');
}

/** The next question on the connection has its answer. */
async function checkKept(client: RawClient, secret: string): Promise<void> {
  client.send(formatQuestion(secret === sourced.key ? secret : transports.key));
  const { status, body } = await client.response();
  const answer = answerQuestion(state, { type: 'perpDeployAuctionStatus' });
  assert.deepEqual([status, body], [200, answer]);
}

/** The tag of the answer to a question. */
function tagOf(body: unknown): string {
  const question = parseQuestion(body);
  return entityTag(state, question.type, question.changedAt(state));
}

const EXPOSED =
  'ETag, Ledger-Height, Ledger-Time, Account-Time, Account-Source, ' +
  'RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After';

function expectedHeaders(expected: Expected, body: string): Record<string, string> {
  const { status, answerTo, error, isTagged = false, behind = [], headers = {} } = expected;
  const closes = expected.closes === true && behind.length === 0;
  const hasPlace = answerTo !== undefined || error === 'behind';
  return {
    ...(status !== 204 && { 'content-type': 'application/json' }),
    'access-control-allow-origin': '*',
    'access-control-expose-headers': EXPOSED,
    ...(status !== 204 && status !== 304 && { 'content-length': `${Buffer.byteLength(body)}` }),
    ...(hasPlace && { 'ledger-height': `${HEIGHT}`, 'ledger-time': `${state.time}` }),
    ...(isTagged && { 'cache-control': 'private, no-cache', etag: tagOf(answerTo) }),
    connection: closes ? 'close' : 'keep-alive',
    ...(!closes && { 'keep-alive': 'timeout=65' }),
    ...headers,
  };
}

function checkHttp(seen: Seen, one: Case): void {
  const { asked, expected } = one;
  const { status, answerTo, error, headers = {}, isPage } = expected;
  if (one.from !== undefined) {
    const height = one.from === 'archive' ? `${PAST_HEIGHT}` : undefined;
    const seenHeight = seen.headers['ledger-height'];
    assert.deepEqual([seen.status, seenHeight, seen.body], [status, height, sourcedBody(one)]);
    return;
  }
  if (isPage) {
    const seenHeaders = Object.keys(headers).map((name) => [name, seen.headers[name]]);
    assert.deepEqual([seen.status, Object.fromEntries(seenHeaders)], [status, headers]);
    return;
  }
  const isEmpty = asked.method === 'HEAD' || status === 304 || status === 204;
  const body = answerTo === undefined ? seen.body : answerQuestion(state, answerTo);
  assert.deepEqual(
    { status: seen.status, headers: seen.headers, body: seen.body },
    { status, headers: expectedHeaders(expected, body), body: isEmpty ? '' : body },
  );
  if (error !== undefined) checkError(seen.body, expected, error);
}

/** The body of an answer of the archive, or of the exchange. */
function sourcedBody({ expected }: Case): string {
  return expected.body ?? answerPast(expected.answerTo as Fields);
}

function checkError(body: string, { message, field }: Expected, error: RequestErrorCode): void {
  const told = JSON.parse(body);
  const expectedMessage = message ?? told.message;
  assert.deepEqual(told, {
    error,
    message: expectedMessage,
    ...(told.field !== undefined && { field: field ?? told.field }),
    ...{ code: error, msg: expectedMessage },
  });
  if (field !== undefined) assert.equal(told.field, field);
  assert.ok(!body.includes(transports.key));
}

function isListed(one: Case, way: Deviation['way']): boolean {
  return DEVIATIONS.some((each) => each.case === one.name && each.way === way);
}

/** Asks over each transport of HTTP, and says what is wrong with what came back. */
async function findFault(one: Case, cut: (bytes: Buffer) => Buffer[]): Promise<string | undefined> {
  const secret = secretFor(one);
  const seen: Seen[] = [];
  for (const transport of httpTransports(one.from === undefined ? transports : sourced)) {
    try {
      const response = await askHttp(transport, one, secret, cut);
      checkHttp(response, one);
      seen.push(response);
    } catch (error) {
      return `${one.name}, over ${transport.name}: ${(error as Error).message}`;
    }
  }
  // Also in the order of the headers.
  return isDeepStrictEqual(seen[0], seen[1]) ? undefined : `${one.name}: not the same`;
}

/** How many cases are asked at the same time. */
const CONCURRENCY = 12;

/** Asks all of the cases. One that is listed as a deviation has to fail. */
async function checkAll(
  cases: readonly Case[],
  way: Deviation['way'],
  find: (one: Case) => Promise<string | undefined>,
): Promise<void> {
  const queue = cases.values();
  const faults: string[] = [];
  const work = async () => {
    for (const one of queue) {
      const fault = await find(one);
      if (!isListed(one, way)) faults.push(...(fault === undefined ? [] : [fault]));
      else if (fault === undefined) faults.push(`${one.name} passes: take it off DEVIATIONS`);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  assert.equal(faults.join('\n'), '');
}

for (const [about, cut] of shareOut(Object.entries(ARRIVALS), 2)) {
  test(
    `over HTTP every response is the one of the table, with requests that come ${about}`,
    ALSO_LONG,
    () => checkAll(CASES, 'POST', (one) => findFault(one, cut)),
  );
}

test('every answer of the archive and of the exchange is the one of the table by GET too', async () => {
  const cases = QUESTION_CASES.filter(({ from }) => from !== undefined).map((one) => ({
    ...one,
    asked: { method: 'GET', path: `/${KEY}/info?${queryOf(one.asked.question as Fields)}` },
  }));
  await checkAll(cases, 'GET', (one) => findFault(one, ARRIVALS['whole']));
});

test('every listed deviation names a case of the table', () => {
  for (const { case: name } of DEVIATIONS) {
    assert.ok(
      CASES.some((one) => one.name === name),
      name,
    );
  }
});

for (const { name, port } of httpTransports(transports)) {
  test(`a client that ends its side with a question, or many, gets every answer (${name})`, async () => {
    for (const count of [1, 2, 10]) {
      const client = await connect(port);
      client.socket.end(Buffer.concat(new Array(count).fill(formatQuestion(transports.key))));
      for (let index = 0; index < count; index++) {
        assert.equal((await client.response()).status, 200);
      }
      await client.closed;
      assert.equal(client.left, '');
    }
  });
}

/** Requests of which the client does not send all, and in which it ends its side. */
function cutRequests(): readonly Buffer[] {
  const request = formatQuestion(transports.key);
  const chunked = formatQuestion(transports.key, {
    body: '99\r\n{',
    headers: { 'Transfer-Encoding': 'chunked', 'Content-Length': undefined },
  });
  return [request.subarray(0, 60), request.subarray(0, request.length - 1), chunked];
}

test('a client that ends its side within a request is told so, on both lanes alike', async () => {
  const message =
    'request: got the end of the connection within a request, expected all headers and a body as long as announced';
  for (const { name, port } of httpTransports(transports)) {
    for (const cut of cutRequests()) {
      const client = await connect(port);
      client.socket.end(cut);
      const { status, body } = await client.response();
      assert.deepEqual([status, JSON.parse(body).message], [400, message], `${name}: ${cut}`);
      await client.closed;
    }
  }
});

/** How many connections have left the fast lane so far. */
async function countExits(): Promise<number> {
  const samples = [...readSamples(await transports.lane.registry.metrics())];
  const exits = samples.filter(([name]) => name.startsWith('perpinfo_fast_lane_exits_total'));
  return exits.reduce((sum, [, count]) => sum + count, 0);
}

/** A body over the limit is left to Node, which ends the connection. */
test('no answer and no refusal of a question makes a connection leave the fast lane', async () => {
  const left: string[] = [];
  const own = QUESTION_CASES.filter(({ expected, from }) => !expected.closes && from === undefined);
  for (const one of own) {
    const before = await countExits();
    await askHttp(transports.lane, one, secretFor(one), ARRIVALS['headers and body apart']);
    if ((await countExits()) > before) left.push(one.name);
  }
  assert.deepEqual(left, []);
});

/** A post has a question and a key; it has no path, no headers and no syntax of its own. */
function canBePosted({ asked }: Case): boolean {
  const { question, key, method, path, headers, bytes } = asked;
  const others = [key, method, path, headers, bytes];
  return question !== undefined && others.every((other) => other === undefined);
}

test('over push every post has the answer of the table, or its refusal', async () => {
  const posted = CASES.filter(canBePosted);
  assert.ok(posted.length > 30, `${posted.length}`);
  await checkAll(posted, 'push', async (one) => {
    const { push } = one.from === undefined ? transports : sourced;
    const asker = await connectPushAsker(push, secretFor(one));
    for (const { question } of one.before ?? []) await asker.post(question);
    const id = (one.before ?? []).length + 1;
    const frame = await asker.post(one.asked.question);
    asker.close();
    const expected = expectedFrame(one, id, frame);
    return frame === expected ? undefined : `${one.name}: ${frame}, expected ${expected}`;
  });
});

function expectedFrame(one: Case, id: number, frame: string): string {
  const { error, message } = one.expected;
  if (error === undefined) {
    const payload = expectedPayload(one, frame);
    return `{"channel":"post","data":{"id":${id},"response":{"type":"info","payload":${payload}}}}`;
  }
  const described = JSON.parse(frame).error;
  const told = inFrame(message) ?? described.message;
  const response = { type: 'error', payload: `${error}: ${told}` };
  const { field, retryAfterSeconds } = described;
  const members = { code: error, message: told, field, retryAfterSeconds, method: 'post', id };
  return JSON.stringify({ channel: 'post', data: { id, response }, error: members });
}

/** An answer of the exchange has no height; the time of one of the archive is that of its block. */
function expectedPayload(one: Case, frame: string): string {
  const { asked, expected, from } = one;
  const { type } = asked.question as Fields;
  const body = from === undefined ? answerQuestion(state, expected.answerTo) : sourcedBody(one);
  const time = from === undefined ? state.time : JSON.parse(frame).data.response.payload.time;
  const place = from === 'archive' ? PAST_HEIGHT : HEIGHT;
  const position = from === 'exchange' ? '' : `,"height":${place},"time":${time}`;
  return `{"type":"${type}","data":${body}${position}}`;
}

/** A frame has no body: the question is a field of it. */
function inFrame(message: string | undefined): string | undefined {
  return message?.replace(/^body:/, 'request.payload:');
}

/** Given for what the service is short of, not for what a client asks: see the other tests here. */
const OF_THE_SERVICE: readonly RequestErrorCode[] = [
  ...(['request_timeout', 'upstream_failed', 'not_ready', 'overloaded'] as const),
];

test('the table has every error that a client can cause', () => {
  const given = new Set(CASES.map(({ expected }) => expected.error));
  const missing = Object.keys(REQUEST_ERRORS).filter(
    (code) => !given.has(code as RequestErrorCode),
  );
  assert.deepEqual(missing, OF_THE_SERVICE);
});
