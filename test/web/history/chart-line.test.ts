/** What the chart draws: every point at its own time, and a break from one end of a gap to the other. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { runs, SEED_NOTE } from '../../../tools/harness/seed.ts';
import { toLine } from '../../../web/src/history/chart-line.ts';
import { type Point, ValueHistory } from '../../../web/src/history/value-history.ts';

const START_MS = 1_758_556_800_000;

function pointAt(offsetMs: number, value: string, isAfterGap = false): Point {
  return { time: START_MS + offsetMs, value, isAfterGap };
}

test('points that are unevenly apart are drawn at their times', () => {
  const line = toLine([pointAt(0, '1.5'), pointAt(250, '2.0'), pointAt(90_000, '-3.25')]);
  assert.deepEqual(line, [
    [1_758_556_800, 1_758_556_800.25, 1_758_556_890],
    [1.5, 2, -3.25],
  ]);
});

test('an outage of 20 s is a break of 20 s', () => {
  const history = new ValueHistory();
  history.add(START_MS, '5.0');
  history.add(START_MS + 1_000, '6.0');
  history.interrupt();
  history.add(START_MS + 21_000, '1.0');
  const [times, values] = toLine(history.pointsOf('15 min'));
  assert.deepEqual(values, [5, 6, null, 1]);
  assert.deepEqual([times[0], times[1], times[3]], [1_758_556_800, 1_758_556_801, 1_758_556_821]);
  assert.ok(times[1] < times[2] && times[2] < times[3], `${times}`);
});

test(`every step of the line is a step between points, or a gap ${SEED_NOTE}`, () => {
  const step = fc.record({
    silenceMs: fc.integer({ min: 2, max: 600_000 }),
    value: fc.integer({ min: -1_000_000, max: 1_000_000 }),
    isAfterGap: fc.boolean(),
  });
  const property = fc.property(fc.array(step, { minLength: 1 }), (steps) => {
    let offsetMs = 0;
    const points = steps.map(({ silenceMs, value, isAfterGap }) => {
      offsetMs += silenceMs;
      return pointAt(offsetMs, `${value}.0`, isAfterGap);
    });
    const [times, values] = toLine(points);
    const drawn = times.flatMap((seconds, index) => {
      const value = values[index];
      return value === null
        ? []
        : [
            pointAt(
              Math.round(seconds * 1000) - START_MS,
              `${value}.0`,
              values[index - 1] === null,
            ),
          ];
    });
    assert.deepEqual(drawn, points);
    const isAscending = times.every((time, index) => index === 0 || times[index - 1] < time);
    assert.ok(isAscending, `${times}`);
  });
  fc.assert(property, runs(200));
});
