/** Requests of every kind, cut into reads at every place: it makes no difference to either lane. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { formatQuestion, formatRequest } from '../../tools/harness/service.ts';
import { ALSO_FULL, scale } from '../scale.ts';
import { StandingClock } from '../standing-clock.ts';
import { compare, openBothLanes, PLACES, type Read } from './both-lanes.ts';
import { metricsOf } from './metrics.ts';
import { byteByByte, cutAt } from './random-conversations.ts';

// The answers say how long ago things were.
new StandingClock();
const lanes = await openBothLanes({ after });
const { free, expired } = lanes.keySets[0];
const [user] = lanes.users;
const BODY = '{"type":"perpDexs"}';

/** As short as a question can be. */
function formatShort(key: string): Buffer {
  const head = `POST /${key}/info HTTP/1.1\r\nHost:a\r\nContent-Type:application/json\r\n`;
  return Buffer.from(`${head}Content-Length:${BODY.length}\r\n\r\n${BODY}`);
}

const SHORT = formatShort(free);

const spaced = `{"type": "clearinghouseState", "user": "${user}", "dex": ""}`;
const chunks = `5\r\n${BODY.slice(0, 5)}\r\ne;a=b\r\n${BODY.slice(5)}\r\n0\r\nX-Late: 1\r\n\r\n`;
const chunked = { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' };
const offer = { Connection: 'Upgrade', Upgrade: 'h2c' };

const REQUESTS: Readonly<Record<string, Buffer>> = {
  'a question': formatQuestion(free, { body: spaced }),
  'two questions': Buffer.concat([SHORT, formatQuestion(free, { body: spaced })]),
  'a question in chunks': formatQuestion(free, { headers: chunked, body: chunks }),
  'a question between two that are refused': Buffer.concat([
    formatQuestion(expired, { body: BODY }),
    SHORT,
    formatQuestion(free, { body: '{"type":' }),
  ]),
  'a question, then one in the query': Buffer.concat([
    SHORT,
    formatRequest({ method: 'GET', path: `/${free}/info?type=perpDexs` }),
  ]),
  'a question and an empty line, then one that is the last': Buffer.concat([
    SHORT,
    Buffer.from('\r\n'),
    formatQuestion(free, { body: BODY, headers: { Connection: 'close' } }),
    SHORT,
  ]),
  'a question, then one that asks before it sends': Buffer.concat([
    SHORT,
    formatQuestion(free, { body: BODY, headers: { Expect: '100-continue' } }),
  ]),
  'a question, then one with an offer of another protocol, then one': Buffer.concat([
    SHORT,
    formatQuestion(free, { body: BODY, headers: offer }),
    SHORT,
  ]),
  'a question, then bytes that are none': Buffer.concat([SHORT, Buffer.from('nonsense\r\n\r\n')]),
  'a question, then one of HTTP/1.0': Buffer.concat([
    SHORT,
    formatQuestion(free, { body: BODY, version: '1.0' }),
  ]),
};

/** Whatever the cuts, the same is said; returns how many there were. */
async function compareCuts(arrivals: Iterable<Read[]>): Promise<number> {
  const queue = arrivals[Symbol.iterator]();
  let whole: string | undefined;
  let count = 0;
  const work = async () => {
    for (let next = queue.next(); next.done !== true; next = queue.next()) {
      const conversation = { reads: next.value, ending: 'hangs up', isSlow: false } as const;
      const { text } = await compare(lanes, conversation);
      whole ??= text;
      assert.equal(text, whole);
      count++;
    }
  };
  await Promise.all(Array.from({ length: PLACES }, work));
  return count;
}

function* everyCut(bytes: Buffer): Iterable<Read[]> {
  yield cutAt(bytes, []);
  yield byteByByte(bytes);
  for (let place = 1; place < bytes.length; place++) yield cutAt(bytes, [place]);
}

/** In the short run every seventh first place, each with every second one. */
const PAIR_STEP = scale(61, 1);

function* everyPair(bytes: Buffer): Iterable<Read[]> {
  for (let first = 1; first < bytes.length - 1; first += PAIR_STEP) {
    for (let second = first + 1; second < bytes.length; second++) {
      yield cutAt(bytes, [first, second]);
    }
  }
}

for (const [name, bytes] of Object.entries(REQUESTS)) {
  test(`cut at every byte: ${name}`, ALSO_FULL, async () => {
    assert.equal(await compareCuts(everyCut(bytes)), bytes.length + 1);
  });
}

test('cut at pairs of bytes: a short question', ALSO_FULL, async () => {
  const places = Array.from(SHORT.keys()).slice(1, -1);
  const firsts = places.filter((_, index) => index % PAIR_STEP === 0);
  const count = firsts.reduce((sum, first) => sum + SHORT.length - 1 - first, 0);
  assert.equal(await compareCuts(everyPair(SHORT)), count);
});

test('ended at every byte, a request is refused alike, and counted once', async () => {
  const both = await openBothLanes({ after });
  const short = formatShort(both.keySets[0].free);
  const bytes = Buffer.concat([short, Buffer.from('\r\n'), short]);
  const queue = bytes.keys();
  const work = async () => {
    for (const length of queue) {
      const reads = cutAt(bytes.subarray(0, length + 1), []);
      await compare(both, { reads, ending: 'hangs up', isSlow: false });
    }
  };
  await Promise.all(Array.from({ length: PLACES }, work));
  const counted = await metricsOf(both.fast);
  assert.deepEqual(counted, await metricsOf(both.plain));
  assert.ok(counted.some((line) => /requests_total.*status="400"/.test(line)));
});
