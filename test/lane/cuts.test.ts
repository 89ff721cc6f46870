/** Requests of every kind, cut into reads at every place: it makes no difference to either lane. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { formatAsked } from '../conformance/case.ts';
import { listFramingCases } from '../conformance/framing-cases.ts';
import { listHttpCases } from '../conformance/http-cases.ts';
import { listQuestionCases } from '../conformance/question-cases.ts';
import { ALSO_FULL, scale } from '../scale.ts';
import { StandingClock } from '../standing-clock.ts';
import { compare, openBothLanes, PLACES, type Read } from './both-lanes.ts';
import { metricsOf } from './metrics.ts';
import { byteByByte, cutAt } from './random-conversations.ts';

// The answers say how long ago things were.
new StandingClock();
const lanes = await openBothLanes({ after });
const { free, expired } = lanes.keySets[0];
const BODY = '{"type":"perpDexs"}';

/** As short as a question can be. */
function formatShort(key: string): Buffer {
  const head = `POST /${key}/info HTTP/1.1\r\nHost:a\r\nContent-Type:application/json\r\n`;
  return Buffer.from(`${head}Content-Length:${BODY.length}\r\n\r\n${BODY}`);
}

const SHORT = formatShort(free);

/** Requests of the table that follow a question on its connection. */
const NAMES = [
  'allowed, since extensions and trailers say nothing about the length: chunks with a trailer',
  'allowed, since some clients send an empty line too many: an empty line before the request',
  'right and wrong questions in their order',
  'an expired key',
  'HEAD',
  'a connection that is to be closed',
  'the expectation 100-continue',
  'an offer of HTTP/2',
  'bytes that are not HTTP',
  'HTTP/1.0',
];

const subjects = { user: lanes.users[0], dex: lanes.dexes[1], table: lanes.tables[0], coin: 'BTC' };
const TABLE = [...listQuestionCases(subjects, '*'), ...listHttpCases(), ...listFramingCases()];

/** Between two questions, the second of which may not be answered any more. */
function formatNamed(name: string): Buffer {
  const one = TABLE.find((each) => each.name === name);
  assert.ok(one, name);
  const secret = one.asked.key === 'expired' ? expired : free;
  return Buffer.concat([SHORT, formatAsked(one.asked, secret), SHORT]);
}

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

for (const name of NAMES) {
  test(`cut at every byte: ${name}`, ALSO_FULL, async () => {
    const bytes = formatNamed(name);
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
