/** The page's arithmetic and text, without a browser. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { drawLine, findFloor, timeOfGas } from '../../../web/src/figures/auction-line.ts';
import {
  divideRounded,
  formatDecimal,
  formatPercent,
  parseDecimal,
  RATIO_DECIMALS,
  roundTo,
  subtract,
  sum,
  toShare,
} from '../../../web/src/figures/decimal.ts';
import {
  formatAge,
  formatClock,
  formatDuration,
  formatTick,
  formatTime,
  group,
  groupRounded,
  withSign,
} from '../../../web/src/figures/text.ts';

const decimalText = fc
  .tuple(fc.boolean(), fc.bigInt({ min: 0n, max: 10n ** 24n }), fc.integer({ min: 0, max: 10 }))
  .map(([isNegative, units, scale]) => {
    const value = { units: isNegative ? -units : units, scale };
    return formatDecimal(value);
  });

test('text in, the same text out', () => {
  fc.assert(
    fc.property(decimalText, (text) => {
      assert.equal(formatDecimal(parseDecimal(text)), text);
    }),
  );
});

test('sums and differences are exact at any size', () => {
  assert.equal(formatDecimal(sum(['0.1', '0.2', '-0.3'])), '0.0');
  assert.equal(formatDecimal(sum(['9007199254740993.000001', '-0.000001'])), '9007199254740993.0');
  fc.assert(
    fc.property(decimalText, decimalText, (a, b) => {
      const total = sum([a, b]);
      assert.equal(formatDecimal(subtract(total, parseDecimal(b))), a);
    }),
  );
});

test('rounding is to the nearest, ties away from zero', () => {
  const round = (text: string, scale: number) => formatDecimal(roundTo(parseDecimal(text), scale));
  assert.deepEqual(
    ['1.005', '-1.005', '1.0049', '0.5', '-0.4'].map((text) => round(text, 2)),
    ['1.01', '-1.01', '1.0', '0.5', '-0.4'],
  );
  assert.equal(round('-0.4', 0), '0.0');
  const third = divideRounded(parseDecimal('-2.0'), parseDecimal('3.0'), 4);
  assert.deepEqual(third, { units: -6667n, scale: 4 });
  assert.equal(divideRounded(parseDecimal('1.0'), parseDecimal('0.0'), 4), undefined);
});

test('a ratio is written as per cent, and drawn between nothing and all', () => {
  assert.equal(formatPercent(parseDecimal('0.12345')), '12.35');
  const nearTie = divideRounded(
    parseDecimal('154.898355'),
    parseDecimal('1254.750469'),
    RATIO_DECIMALS,
  );
  assert.equal(formatPercent(nearTie ?? parseDecimal('0.0')), '12.34');
  assert.equal(formatPercent(parseDecimal('-2.0')), '-200.00');
  assert.equal(formatPercent(parseDecimal('0.0')), '0.00');
  const share = (a: string, b: string) => toShare(parseDecimal(a), parseDecimal(b));
  assert.deepEqual([share('1.0', '4.0'), share('9.0', '4.0'), share('-1.0', '4.0')], [0.25, 1, 0]);
});

test('figures are grouped, rounded text has no sign when it is zero', () => {
  assert.equal(group('-1234567.000001'), '−1,234,567.000001');
  assert.equal(group('999.5'), '999.5');
  assert.equal(groupRounded('-0.001', 2), '0.00');
  assert.equal(groupRounded('1999.995', 2), '2,000.00');
  assert.deepEqual(
    [withSign('1.0', '1'), withSign('-1.0', '−1'), withSign('0.0', '0')],
    ['+1', '−1', '0'],
  );
  const tooSmall = ['0.001', '-0.001'].map((text) => withSign(text, groupRounded(text, 2)));
  assert.deepEqual(tooSmall, ['+<0.01', '−<0.01']);
});

test('a banner and a chart write the same clock', () => {
  const time = new Date(2026, 10, 18, 21, 4, 37).getTime();
  const clock = formatClock(time);
  assert.ok(formatTime(time).includes(clock), formatTime(time));
  assert.equal(formatTick(time, 1_000), clock);
  assert.equal(formatTick(time, 60_000), clock.replace(':37', ''));
});

test('durations name their two largest units', () => {
  const durations = [0, 59_999, 65_000, 3_600_000, 90_061_000];
  assert.deepEqual(durations.map(formatDuration), [
    '0 s',
    '59 s',
    '1 min 05 s',
    '1 h 00 min',
    '1 d 01 h',
  ]);
  assert.deepEqual([240, 9_949, 12_000].map(formatAge), ['0.2 s', '9.9 s', '12 s']);
});

const AUCTION = {
  startTimeSeconds: 1_000,
  durationSeconds: 111_600,
  startGas: '1000.0',
  currentGas: '1000.0',
  endGas: null,
};
const START_MS = AUCTION.startTimeSeconds * 1000;

/** What the endpoint answers, with a floor of its own. */
function gasAt(elapsedMs: number, floor: bigint): string {
  const start = 100_000_000_000n;
  const fallen = (start - floor) * BigInt(elapsedMs);
  const duration = BigInt(AUCTION.durationSeconds) * 1000n;
  const units = (start * duration - fallen) / duration;
  return formatDecimal({ units, scale: 8 });
}

test('the floor follows from start and present price, as far as it can be told', () => {
  assert.equal(findFloor(AUCTION, START_MS), undefined);
  for (const elapsedMs of [10_000, 600_000, 55_800_000, 111_599_999]) {
    const currentGas = gasAt(elapsedMs, 50_000_000_000n);
    const floor = findFloor({ ...AUCTION, currentGas }, START_MS + elapsedMs);
    assert.ok(floor);
    assert.equal(formatDecimal(floor.gas), '500.0', `after ${elapsedMs} ms`);
    assert.equal(floor.isExact, false);
  }
  const ended = { ...AUCTION, currentGas: '500.00000001' };
  const floor = findFloor(ended, START_MS + 111_600_000);
  assert.deepEqual(floor?.isExact && formatDecimal(floor.gas), '500.00000001');
  assert.equal(findFloor({ ...AUCTION, endGas: '700.0' }, START_MS + 5_000_000), undefined);
});

test('the line goes from the start over the present price to the floor', () => {
  const elapsedMs = 55_800_000;
  const auction = { ...AUCTION, currentGas: gasAt(elapsedMs, 50_000_000_000n) };
  const floor = findFloor(auction, START_MS + elapsedMs);
  assert.ok(floor);
  assert.deepEqual(drawLine(auction, floor, START_MS + elapsedMs), {
    start: { time: 1_000, value: 1000 },
    present: { time: 1_000 + 55_800, value: 750 },
    end: { time: 1_000 + 111_600, value: 500 },
  });
  assert.equal(timeOfGas(auction, floor, '750.0'), START_MS + elapsedMs);
});
