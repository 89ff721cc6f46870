/** The time series of an account from rows of the archive: exact, with its gaps and transfers. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatLocalTime, readLocalTime } from '../../../web/src/figures/local-time.ts';
import {
  continueLive,
  findTransfers,
  type HistoryRow,
  panSpan,
  profitPoints,
  scaleSpan,
  spanUntil,
  stepOf,
  sumRows,
  valuePoints,
} from '../../../web/src/history/archive-series.ts';

const STEP_MS = 1_000;

function row(time: number, value: string | null, netTransfers: string | null): HistoryRow {
  const height = value === null ? null : time;
  return [height, time, value, '7.0', '7.0', '7.0', '7.0', '7.0', netTransfers];
}

const seriesOf = (...lists: HistoryRow[][]) => ({ rows: sumRows(lists), stepMs: STEP_MS });

test('values and profits of all dexes are summed to the last digit', () => {
  const series = seriesOf(
    [row(0, '9007199254740993.1', '0.1'), row(1, '9007199254740993.2', '0.1')],
    [row(0, '0.000001', '0.0'), row(1, '-0.000002', '-5.5')],
  );
  assert.deepEqual(valuePoints(series), [
    { time: 0, value: '9007199254740993.100001', isAfterGap: false },
    { time: 1, value: '9007199254740993.199998', isAfterGap: false },
  ]);
  assert.deepEqual(profitPoints(series), [
    { time: 0, value: '0.0', isAfterGap: false },
    { time: 1, value: '5.599997', isAfterGap: false },
  ]);
});

test('a row that is not known on one dex is a gap', () => {
  const series = seriesOf(
    [row(0, null, null), row(1, '1.0', '0.0'), row(2, '1.0', '0.0'), row(3, '1.0', '0.0')],
    [row(0, '1.0', '0.0'), row(1, '2.0', '0.0'), row(2, null, null), row(3, '4.0', '0.0')],
  );
  const expected = [
    { time: 1, value: '3.0', isAfterGap: false },
    { time: 3, value: '5.0', isAfterGap: true },
  ];
  assert.deepEqual(valuePoints(series), expected);
});

test('rows are a line up to two steps and a minute apart', () => {
  const gapMs = 2 * STEP_MS + 60_000;
  const series = seriesOf([
    ...[row(0, '1.0', '0.0'), row(gapMs, '1.0', '0.0'), row(2 * gapMs + 1, '1.0', '0.0')],
  ]);
  const gaps = valuePoints(series).map(({ isAfterGap }) => isAfterGap);
  assert.deepEqual(gaps, [false, false, true]);
});

test('a transfer is where the sum of transfers changes, also over a gap', () => {
  const series = seriesOf([
    row(0, '100.0', '100.0'),
    row(10, '90.0', '100.0'),
    row(20, '1090.5', '1100.5'),
    row(30, null, null),
    row(40, '0.5', '10.5'),
  ]);
  assert.deepEqual(findTransfers(series), [
    { since: 10, time: 20, amount: '1000.5' },
    { since: 20, time: 40, amount: '-1090.0' },
  ]);
  const profits = profitPoints(series).map(({ value }) => value);
  assert.deepEqual(profits, ['0.0', '-10.0', '-10.0', '-10.0']);
});

test('what the page has seen goes on where the archive ends', () => {
  const kept = valuePoints(seriesOf([row(1_000, '1.0', '0.0'), row(2_000, '2.0', '0.0')]));
  const seen = [
    { time: 1_500, value: '1.5', isAfterGap: false },
    { time: 3_000, value: '3.0', isAfterGap: true },
    { time: 9_000, value: '4.0', isAfterGap: true },
  ];
  const line = continueLive(kept, STEP_MS, seen);
  assert.deepEqual(
    line.map(({ value, isAfterGap }) => [value, isAfterGap]),
    // The page was opened after the archive's last row, which is close enough.
    [
      ['1.0', false],
      ['2.0', false],
      ['3.0', false],
      ['4.0', true],
    ],
  );
  assert.equal(continueLive([], STEP_MS, seen), seen);
  const [, late] = continueLive(kept.slice(0, 1), STEP_MS, [{ ...seen[1], time: 63_001 }]);
  assert.equal(late.isAfterGap, true);
});

test('a span ends at a time and begins with what is kept', () => {
  assert.deepEqual(spanUntil('hour', 7_200_000, 0), { from: 3_600_000, to: 7_200_000 });
  assert.deepEqual(spanUntil('day', 7_200_000, 1_000), { from: 1_000, to: 7_200_000 });
  assert.deepEqual(spanUntil('all', 7_200_000, 5), { from: 5, to: 7_200_000 });
});

test('zooming keeps the middle, stays in the bounds, and asks for finer steps', () => {
  const bounds = { from: 0, to: 1_000_000 };
  const half = scaleSpan(bounds, 0.5, bounds);
  assert.deepEqual(half, { from: 250_000, to: 750_000 });
  assert.deepEqual([stepOf(bounds), stepOf({ from: 250_000, to: 750_000 })], [2_000, 1_000]);
  assert.equal(scaleSpan({ from: 250_000, to: 750_000 }, 2, bounds), undefined);
  const early = panSpan({ from: 250_000, to: 750_000 }, -1, bounds);
  assert.deepEqual(early, { from: 0, to: 500_000 });
  const late = scaleSpan({ from: 900_000, to: 1_000_000 }, 2, bounds);
  assert.deepEqual(late, { from: 800_000, to: 1_000_000 });
  // Not less than ten seconds.
  const least = scaleSpan({ from: 0, to: 12_000 }, 0.5, bounds);
  assert.deepEqual(least, { from: 1_000, to: 11_000 });
});

test('a local time is read to the end of its second', () => {
  const timeMs = new Date(2026, 2, 4, 5, 6, 7, 89).getTime();
  assert.equal(formatLocalTime(timeMs), '2026-03-04T05:06:07');
  assert.equal(readLocalTime('2026-03-04T05:06:07'), timeMs - 89 + 999);
  assert.equal(readLocalTime(''), undefined);
});

test('a time series begins when the account does', () => {
  const row = (time: number, value: string, transfers: string): HistoryRow => {
    return [1, time, value, '0.0', '0.0', '0.0', '0.0', '0.0', transfers];
  };
  const before = [row(1, '0.0', '0.0'), row(2, '0.0', '0.0')];
  const after = [row(3, '12.5', '10.0'), row(4, '0.0', '-2.5'), row(5, '0.0', '0.0')];
  const timesOf = (rows: HistoryRow[]) => sumRows([rows]).map(({ time }) => time);
  assert.deepEqual(timesOf([...before, ...after]), [3, 4, 5]);
  assert.deepEqual(timesOf(before), [1, 2]);
});
