/** The exchange's time: what is believed, and what it is now. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ExchangeTime } from '../../../src/upstream/follower/blocks/exchange-time.ts';
import { ManualClock } from '../../follow/manual-clock.ts';

const NOON = 1_758_556_800_000;

function createTime(aheadMsMax = 300_000) {
  const clock = new ManualClock();
  const startMs = clock.nowMs();
  const wallMs = () => NOON + clock.nowMs() - startMs;
  return { clock, time: new ExchangeTime({ clock, aheadMsMax, wallMs }) };
}

/** The heartbeat finds out that it is noon. */
function begin(time: ExchangeTime): void {
  for (const told of [NOON, NOON]) time.noteAsked(told);
}

test('the first time is believed when the heartbeat is told it twice', () => {
  const { time } = createTime();
  assert.match(time.note(NOON) ?? '', /before the exchange's time is known/);
  assert.match(time.noteAsked(NOON) ?? '', /before the exchange's time is known/);
  assert.equal(time.latest, 0);
  assert.equal(time.noteAsked(NOON + 10), undefined);
  assert.equal(time.latest, NOON + 10);
});

test('a time ahead is not believed of an account, however often it is told', () => {
  const { time } = createTime();
  begin(time);
  for (let round = 0; round < 5; round++) {
    assert.match(time.note(NOON + 60_000) ?? '', /expected about/);
  }
  assert.equal(time.note(NOON + 5), undefined);
  assert.equal(time.latest, NOON + 5);
});

test('a time ahead is believed when the heartbeat is told it twice in a row', () => {
  const { time } = createTime();
  begin(time);
  assert.match(time.noteAsked(NOON + 60_000) ?? '', /expected about/);
  assert.equal(time.noteAsked(NOON + 5), undefined);
  assert.match(time.noteAsked(NOON + 60_000) ?? '', /expected about/);
  assert.equal(time.noteAsked(NOON + 60_001), undefined);
  assert.equal(time.latest, NOON + 60_001);
});

test('why the time is not known is kept until it is', () => {
  const { time } = createTime();
  time.noteFailure('status 500: null');
  assert.equal(time.failure, 'status 500: null');
  begin(time);
  assert.equal(time.failure, undefined);
});

test("a time too far ahead of this machine's clock is never believed", () => {
  const { time } = createTime();
  begin(time);
  for (let round = 0; round < 3; round++) {
    assert.match(time.noteAsked(NOON + 300_001) ?? '', /at most 300000 ms ahead/);
  }
  assert.equal(time.latest, NOON);
});

test('without a limit any time is believed at once', () => {
  const { time } = createTime(0);
  assert.equal(time.note(NOON + 86_400_000), undefined);
});

test('a time that goes back is taken for an old answer', () => {
  const { clock, time } = createTime();
  begin(time);
  clock.advance(5_000);
  assert.equal(time.note(NOON - 60_000), undefined);
  assert.equal(time.latest, NOON);
  assert.equal(time.now, NOON + 5_000);
});

test('the estimate runs with our clock, so that ages grow when the exchange is gone', () => {
  const { clock, time } = createTime();
  begin(time);
  clock.advance(3_600_000);
  assert.equal(time.now, NOON + 3_600_000);
  assert.equal(time.quietMs, 3_600_000);
});

test('a clock of the exchange that runs slower is followed after two minutes', () => {
  const { clock, time } = createTime();
  begin(time);
  for (let minute = 1; minute <= 4; minute++) {
    clock.advance(60_000);
    assert.equal(time.note(NOON + minute * 59_000), undefined);
  }
  assert.equal(time.now, NOON + 3 * 59_000 + 60_000);
});
