/** The history of an account's value: what it keeps is true, and what nobody saw is a gap. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../src/simulator/random.ts';
import { SEED, SEED_NOTE } from '../../../tools/harness/seed.ts';
import { changeOver } from '../../../web/src/history/value-change.ts';
import { Histories, RANGES, ValueHistory } from '../../../web/src/history/value-history.ts';

const START_MS = 1_758_556_800_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** As it is stored. */
function keptOf(history: ValueHistory) {
  return RANGES.map(({ name }) => [...history.pointsOf(name)]);
}

test('points are kept for 15 minutes, 6 hours and 7 days, by second, ten seconds and minute', () => {
  assert.deepEqual(RANGES, [
    { name: '15 min', stepMs: 1_000, retentionMs: 900_000 },
    { name: '6 h', stepMs: 10_000, retentionMs: 21_600_000 },
    { name: '7 d', stepMs: 60_000, retentionMs: 604_800_000 },
  ]);
});

test('after eight days what is older than each range is gone, but for where its line comes from', () => {
  const history = new ValueHistory();
  const everyMs = 100_000;
  const end = START_MS + 8 * DAY_MS;
  for (let time = START_MS; time <= end; time += everyMs) history.add(time, '1.0');
  const expected = [900_000, 21_600_000, 604_800_000].map((retentionMs) => {
    const count = Math.floor(retentionMs / everyMs) + (retentionMs % everyMs === 0 ? 1 : 2);
    return Array.from({ length: count }, (_, index) => end - (count - 1 - index) * everyMs);
  });
  assert.deepEqual(
    keptOf(history).map((points) => points.map(({ time }) => time)),
    expected,
  );
  assert.equal(keptOf(history)[2].at(0)?.time, START_MS + DAY_MS);
});

test('a silence of more than two minutes is a gap, though nobody says so', () => {
  const history = new ValueHistory();
  const offsets = [0, 120_000, 240_001, 360_001, 3_960_001, 4_000_000];
  for (const offset of offsets) history.add(START_MS + offset, '1.0');
  assert.deepEqual(
    history.pointsOf('7 d').map(({ time, isAfterGap }) => [time - START_MS, isAfterGap]),
    [
      [0, false],
      [120_000, false],
      [240_001, true],
      [360_001, false],
      [3_960_001, true],
      [4_000_000, false],
    ],
  );
});

/** States of a ledger with some blocks a second: the value at a time is that of the last one before. */
class TrueValues {
  readonly times: number[] = [];
  readonly #values: string[] = [];

  add(time: number, value: string): void {
    this.times.push(time);
    this.#values.push(value);
  }

  at(time: number): string | undefined {
    let low = 0;
    let high = this.times.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.times[middle] <= time) low = middle + 1;
      else high = middle;
    }
    return this.#values[low - 1];
  }
}

/** The page during so many hours: pushed states, with outages, after which it is told the newest. */
function runHours(hours: number, random: Random) {
  const truth = new TrueValues();
  const history = new ValueHistory();
  const outages: { readonly from: number; readonly to: number }[] = [];
  let units = 100_000_000_000n;
  let outageEnds = 0;
  let heardAt = 0;
  for (let time = START_MS; time < START_MS + hours * HOUR_MS; time += 100 + random.below(900)) {
    units += BigInt(random.below(2_000_001) - 1_000_000);
    const value = `${units / 1_000_000n}.${`${units % 1_000_000n}`.padStart(6, '0')}`;
    truth.add(time, value);
    if (time < outageEnds) continue;
    if (outageEnds > 0) {
      outages.push({ from: heardAt, to: time });
      history.interrupt();
      outageEnds = 0;
    }
    history.add(time, value);
    heardAt = time;
    if (random.chance(0.0005)) outageEnds = time + 20_000 + random.below(600_000);
  }
  return { truth, history, outages, end: heardAt };
}

test(`after eight hours with outages every point is true, and every outage a gap ${SEED_NOTE}`, () => {
  const { truth, history, outages, end } = runHours(8, new Random(`history/${SEED}`));
  assert.ok(outages.length > 5, `${outages.length} outages`);
  for (const { name, stepMs, retentionMs } of RANGES) {
    const points = history.pointsOf(name);
    for (const { time, value } of points) assert.equal(value, truth.at(time), `${name} at ${time}`);
    const from = end - retentionMs;
    const expected = outages.filter((outage) => outage.to > from);
    const gaps = points.flatMap(({ time, isAfterGap }, index) =>
      isAfterGap && index > 0 ? [{ from: points[index - 1].time, to: time }] : [],
    );
    assert.deepEqual(gaps, expected, name);
    // Apart from gaps there is a point in every step.
    for (const [index, { time, isAfterGap }] of points.entries()) {
      if (index === 0 || isAfterGap) continue;
      assert.ok(time - points[index - 1].time <= 2 * stepMs + 1000, `${name} at ${time}`);
    }
    assert.equal(points.at(-1)?.time, end);
    assert.ok(points[0].time <= Math.max(from, START_MS), `${name} begins at ${points[0].time}`);
    assert.ok(points.length <= retentionMs / stepMs + 2 * outages.length + 2, `${points.length}`);
  }
});

test('what an earlier visit kept comes before a gap, then what this one has seen', () => {
  const earlier = new ValueHistory();
  for (let second = 0; second < 60; second++) earlier.add(START_MS + second * 1000, `${second}.0`);
  const later = new ValueHistory();
  later.add(START_MS + 90_000, '90.0');
  later.add(START_MS + 91_000, '91.0');
  later.restore(keptOf(earlier));
  const points = later.pointsOf('15 min');
  assert.equal(points.length, 62);
  assert.deepEqual(
    points.filter(({ isAfterGap }) => isAfterGap),
    [{ time: START_MS + 90_000, value: '90.0', isAfterGap: true }],
  );
});

test('a reload without a pause leaves no gap', () => {
  const earlier = new ValueHistory();
  earlier.add(START_MS, '1.0');
  const later = new ValueHistory();
  later.add(START_MS + 2000, '2.0');
  later.restore(keptOf(earlier));
  assert.deepEqual(
    later.pointsOf('15 min').map(({ value, isAfterGap }) => [value, isAfterGap]),
    [
      ['1.0', false],
      ['2.0', false],
    ],
  );
});

test('a polled value is a line as long as answers come, and a gap where they did not', () => {
  const history = new ValueHistory();
  for (const second of [0, 1, 2, 3, 23, 24]) {
    history.interrupt();
    history.add(START_MS + second * 1000, '1.0');
  }
  const gaps = history.pointsOf('15 min').map(({ isAfterGap }) => isAfterGap);
  assert.deepEqual(gaps, [false, false, false, false, true, false]);
});

test('a point of the same time does not end an interruption', () => {
  const history = new ValueHistory();
  history.add(START_MS, '1.0');
  history.interrupt();
  history.add(START_MS, '1.0');
  history.add(START_MS + 20_000, '2.0');
  assert.equal(history.last?.isAfterGap, true);
});

test('of one time the newest value counts, and a ledger that was replaced begins anew', () => {
  const history = new ValueHistory();
  history.add(START_MS, '1.0');
  history.add(START_MS, '2.0');
  assert.deepEqual(history.last, { time: START_MS, value: '2.0', isAfterGap: false });
  history.add(START_MS - 60_000, '3.0');
  assert.deepEqual(
    keptOf(history),
    RANGES.map(() => [history.last]),
  );
});

test('the change is exact, in USDC and per cent, and says since when', () => {
  const [range] = RANGES;
  const history = new ValueHistory();
  assert.equal(changeOver(history.pointsOf(range.name), range), undefined);
  history.add(START_MS, '0.300000');
  history.add(START_MS + 10_000, '0.1');
  const change = changeOver(history.pointsOf(range.name), range);
  assert.equal(change?.amount, '-0.2');
  assert.match(String(change?.ratio), /^-66\.6{30,}7$/);
  assert.equal(change?.since, START_MS);
});

test('who had nothing before has no change in per cent', () => {
  const [range] = RANGES;
  const history = new ValueHistory();
  history.add(START_MS, '0.0');
  history.add(START_MS + 1000, '5.0');
  const change = changeOver(history.pointsOf(range.name), range);
  assert.deepEqual([change?.amount, change?.ratio], ['5.0', undefined]);
});

test('histories are kept for the accounts that were looked at last', () => {
  const histories = new Histories();
  for (let account = 0; account < 9; account++) histories.set(`${account}`, new ValueHistory());
  assert.equal(histories.find('0'), undefined);
  assert.ok(histories.find('1'));
  histories.set('9', new ValueHistory());
  assert.ok(histories.find('1'));
  assert.equal(histories.find('2'), undefined);
});
