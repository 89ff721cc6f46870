/** Which heights a question about the past is about, on a history of which only times are known. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HistoryUntil } from '../../src/info/archive/history-until.ts';
import type { HistoryView } from '../../src/info/archive/history-view.ts';
import { findMomentHeight } from '../../src/info/archive/moment-height.ts';
import {
  heightsOf,
  listPoints,
  readStep,
  readTimeRange,
} from '../../src/info/archive/time-range.ts';
import { PAST_MOMENT_FIELDS, readMoment } from '../../src/info/fields/past-moment.ts';
import type { ArchiveQuestion } from '../../src/info/question.ts';
import { readQuestion } from '../../src/info/read-question.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { answerFrom, historyOf } from './histories.ts';
import { assertRefused } from './states.ts';

const USER = `0x${'a'.repeat(40)}`;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const HISTORY = historyOf([1000, 2000, 2000, 5000]);

test('a time range is cut to what is kept, and fixed if it ends before the last block', () => {
  const all = { from: 1000, to: 5000, since: 0, isFixed: false };
  assert.deepEqual(readTimeRange(HISTORY, { from: undefined, to: undefined }), all);
  assert.deepEqual(readTimeRange(HISTORY, { from: 0, to: 9000 }), all);
  assert.deepEqual(readTimeRange(HISTORY, { from: 1000, to: 5000 }), { ...all, since: 1000 });
  const middle = { from: 1500, to: 1500, since: 1500, isFixed: true };
  assert.deepEqual(readTimeRange(HISTORY, { from: 1500, to: 1500 }), middle);
  const open = { from: 4999, to: 5000, since: 4999, isFixed: false };
  assert.deepEqual(readTimeRange(HISTORY, { from: 4999, to: undefined }), open);
  assert.deepEqual(readTimeRange(HISTORY, { from: 0, to: 4999 }).isFixed, true);
});

test('a time range that ends before it begins is refused', () => {
  assertRefused(() => readTimeRange(HISTORY, { from: 1501, to: 1500 }), {
    code: 'invalid_field',
    field: 'to',
    message: 'to: got 1500, expected at least 1501, the value of from',
  });
});

const NOT_GIVEN = -1;
const rangeOf = (length: number) => ({
  ...{ from: 1000, to: 1000 + length },
  ...{ since: 1000, isFixed: true },
});

test('a step that is not given divides the time by 500, and is a millisecond at least', () => {
  assert.deepEqual(
    [0, 1, 500, 501, 50_000].map((length) => readStep(rangeOf(length), NOT_GIVEN)),
    [1, 1, 1, 2, 100],
  );
});

test('a step is so long that at most 5000 points are answered', () => {
  assert.equal(readStep(rangeOf(0), 1), 1);
  assert.equal(readStep(rangeOf(4998), 1), 1);
  assert.equal(readStep(rangeOf(2 * 4998), 2), 2);
  assert.equal(readStep(rangeOf(100), 10_000), 10_000);
  assertRefused(() => readStep(rangeOf(4999), 1), {
    code: 'invalid_field',
    field: 'step',
    message: 'step: got 1, expected 2 or more: at most 5000 points are answered',
  });
});

function pointsOf(history: HistoryView, from: number, to: number, step: number) {
  return Array.from(listPoints(history, { from, to }, step), ({ height, time }) => [height, time]);
}

test('a time range has each height once, at the time of its block, and ends at its end', () => {
  const points = [
    [1, 1000],
    [3, 2000],
    [4, 5000],
  ];
  assert.deepEqual(pointsOf(HISTORY, 1000, 5000, 700), points);
  assert.deepEqual(pointsOf(HISTORY, 1000, 5000, 4000), [points[0], points[2]]);
  assert.deepEqual(pointsOf(HISTORY, 1000, 4999, 10_000), points.slice(0, 2));
  assert.deepEqual(pointsOf(HISTORY, 2000, 2000, 1), [points[1]]);
  assert.deepEqual(pointsOf(HISTORY, 2001, 2000, 1), []);
});

test('a time range has a gap where no block came for more than a minute and a step', () => {
  const history = historyOf([0, 300_000]);
  const gaps = (step: number) => pointsOf(history, 0, 299_999, step).map(([height]) => height);
  assert.deepEqual(gaps(30_000), [1, ...new Array(8).fill(undefined)]);
  assert.deepEqual(gaps(MINUTE_MS), [1, ...new Array(4).fill(undefined)]);
  assert.deepEqual(gaps(100_000), [1, undefined, undefined]);
  assert.deepEqual(pointsOf(history, 0, 60_001, 60_000).at(-1), [undefined, 60_001]);
  assert.deepEqual(pointsOf(history, 0, 60_000, 60_000), [[1, 0]]);
  const once = [
    [1, 0],
    [undefined, 120_000],
  ];
  assert.deepEqual(pointsOf(history, 0, 120_000, 60_000), once);
  assert.deepEqual(pointsOf(historyOf([7000, 307_000]), 7000, 67_000, 60_000), [[1, 7000]]);
});

test('a time range has nothing before the first block', () => {
  assert.deepEqual(pointsOf(HISTORY, 100, 1200, 400), [[1, 1000]]);
});

test('a time range begins with the last block that is not later, if there is no gap since', () => {
  const history = historyOf([0, 300_000]);
  const points = pointsOf(history, 60_000, 299_999, 70_000);
  assert.deepEqual(points.slice(0, 2), [
    [1, 0],
    [undefined, 130_000],
  ]);
  assert.deepEqual(pointsOf(history, 200_000, 299_999, 70_000), [
    [undefined, 200_000],
    [undefined, 270_000],
    [undefined, 299_999],
  ]);
  const days = historyOf([0, 3 * DAY_MS, 4 * DAY_MS]);
  assert.deepEqual(pointsOf(days, 3 * DAY_MS - 1, 4 * DAY_MS, HOUR_MS / 2)[0], [
    undefined,
    3 * DAY_MS - 1,
  ]);
});

test('a time range has a point for a gap that lies between two of its points', () => {
  const history = historyOf([0, 500, 1000, 2000, 3000], { lost: [3, 4] });
  const points = [
    [1, 0],
    [undefined, 1],
    [5, 3000],
  ];
  assert.deepEqual(pointsOf(history, 0, 3000, 3000), points);
  const atOnce = historyOf([5, 5, 5], { hasSeen: (after, to) => after >= 2 || to < 2 });
  assert.deepEqual(pointsOf(atOnce, 5, 5, 1), [[3, 5]]);
});

test('blocks of time 0 are in a range that is open, begins at 0, or has nothing else', () => {
  const history = historyOf([0, 0, 5000, 6000]);
  const range = { first: 1, firstTime: 5000, last: 4, lastTime: 6000, text: '' };
  const later: HistoryView = { ...history, range: () => range };
  const heights = (from?: number, to?: number) => {
    const found = heightsOf(later, readTimeRange(later, { from, to }));
    return [found.from, found.to];
  };
  assert.deepEqual(heights(), [1, 4]);
  assert.deepEqual(heights(0, 5000), [1, 3]);
  assert.deepEqual(heights(0, 0), [1, 2]);
  assert.deepEqual(heights(undefined, 4999), [1, 2]);
  assert.deepEqual(heights(1, 5999), [3, 3]);
  assert.deepEqual(heights(1, 4999), [3, 2]);
  const points = (from?: number, to?: number) => {
    const found = readTimeRange(later, { from, to });
    return pointsOf(later, found.from, found.to, 1000);
  };
  assert.deepEqual(points(0, 0), [[2, 0]]);
  assert.deepEqual(points(undefined, 4999), [[2, 0]]);
  assert.deepEqual(points(1, 4999), []);
  assert.deepEqual(points(), [
    [3, 5000],
    [4, 6000],
  ]);
  const ended = new HistoryUntil(later, 2);
  assert.deepEqual(ended.range(), { ...range, firstTime: 0, last: 2, lastTime: 0 });
});

test('a time range has a gap where blocks are not kept', () => {
  const history = historyOf([0, 1000, 2000], { lost: [2] });
  assert.deepEqual(pointsOf(history, 0, 999, 500), [
    [undefined, 0],
    [undefined, 500],
    [undefined, 999],
  ]);
  assert.deepEqual(pointsOf(history, 2000, 2000, 500), [[3, 2000]]);
});

test('a moment is a height, or the last block that is not later', () => {
  for (const [moment, height] of [
    [{ height: 1 }, 1],
    [{ height: 4 }, 4],
    [{ time: 1000 }, 1],
    [{ time: 1999 }, 1],
    [{ time: 2000 }, 3],
    [{ time: 4999 }, 3],
    [{ time: 5000 }, 4],
  ] as const) {
    assert.equal(findMomentHeight(moment, HISTORY), height, JSON.stringify(moment));
  }
});

const HELD = 'expected what the archive holds: heights 1 to 4, times 1000 to 5000';
const BEHIND_HEIGHT = 'expected at most 4: the archive is catching up';
const BEHIND_TIME = 'expected at most 5000: the archive is catching up';
const PRESENT = { height: 6, time: 7000 };

for (const [moment, present, code, message] of [
  [{ height: 5 }, undefined, 'unknown_height', `atHeight: got 5, ${HELD}`],
  [{ height: 7 }, PRESENT, 'unknown_height', `atHeight: got 7, ${HELD}`],
  [{ height: 6 }, PRESENT, 'behind', `atHeight: got 6, ${BEHIND_HEIGHT}`],
  [{ height: 5 }, PRESENT, 'behind', `atHeight: got 5, ${BEHIND_HEIGHT}`],
  [{ height: 0 }, PRESENT, 'unknown_height', `atHeight: got 0, ${HELD}`],
  [{ time: 999 }, PRESENT, 'unknown_height', `atTime: got 999, ${HELD}`],
  [{ time: 5001 }, undefined, 'unknown_height', `atTime: got 5001, ${HELD}`],
  [{ time: 5001 }, PRESENT, 'behind', `atTime: got 5001, ${BEHIND_TIME}`],
  [{ time: 7000 }, PRESENT, 'behind', `atTime: got 7000, ${BEHIND_TIME}`],
  [{ time: 7001 }, PRESENT, 'unknown_height', `atTime: got 7001, ${HELD}`],
] as const) {
  const ledger = present === undefined ? 'no ledger ahead' : 'a ledger ahead';
  test(`${JSON.stringify(moment)} with ${ledger} is refused as ${code}`, () => {
    const field = 'height' in moment ? 'atHeight' : 'atTime';
    assertRefused(() => findMomentHeight(moment, HISTORY, present), { code, field, message });
  });
}

test('from a block on that a missing one follows, no time is known until the next one', () => {
  const history = historyOf([1000, 2000, 3000], { lost: [2] });
  assert.equal(findMomentHeight({ height: 1 }, history), 1);
  // The missing block may have the time of the one before.
  for (const moment of [
    { time: 1000 },
    { time: 1001 },
    { time: 2000 },
    { time: 2999 },
    { height: 2 },
  ]) {
    assert.throws(() => findMomentHeight(moment, history), { code: 'unknown_height' });
  }
  assert.equal(findMomentHeight({ time: 3000 }, history), 3);
});

test('a question has one moment or none', () => {
  assert.equal(readMoment({}), undefined);
  assert.deepEqual(readMoment({ atHeight: 1 }), { height: 1 });
  assert.deepEqual(readMoment({ atTime: 0 }), { time: 0 });
  for (const [source, field, message] of [
    [
      { atHeight: 0 },
      'atHeight',
      'atHeight: got 0, expected a whole number from 1 to 9007199254740991',
    ],
    [
      { atTime: 1e16 },
      'atTime',
      'atTime: got 10000000000000000, expected a whole number from 0 to 9007199254740991',
    ],
    [
      { atTime: -1 },
      'atTime',
      'atTime: got -1, expected a whole number from 0 to 9007199254740991',
    ],
    [
      { atTime: '5' },
      'atTime',
      'atTime: got "5", expected a whole number from 0 to 9007199254740991',
    ],
    [
      { atHeight: 1, atTime: 2 },
      'atTime',
      'atTime: got 2 and also atHeight, expected only one of them',
    ],
  ] as const) {
    const refusal = readMoment(source);
    assert.ok(refusal instanceof RequestError);
    const { code } = refusal;
    assert.deepEqual([code, refusal.field, refusal.message], ['invalid_field', field, message]);
  }
});

test('in a query a moment is digits, at most sixteen, given once', () => {
  const { readTexts } = PAST_MOMENT_FIELDS.atTime;
  assert.ok(readTexts !== undefined);
  const texts = [['12'], ['0012'], ['1234567890123456'], ['12345678901234567'], ['1', '2']];
  assert.deepEqual(
    [...texts, ['-1'], ['1.5'], ['1x'], ['x1'], ['']].map((each) => readTexts(each)),
    [12, 12, 1234567890123456, ...new Array(7).fill(undefined)],
  );
});

/** The times of a portfolio's periods, each as first, step and count. */
function periodsOf(history: HistoryView): Record<string, readonly number[]> {
  const question = readQuestion({ type: 'portfolio', user: USER }) as ArchiveQuestion;
  const answer = answerFrom(question, history);
  const { body, format, height, time, isFixed, accountTime } = answer;
  const { last, lastTime } = history.range();
  assert.deepEqual(
    [format, height, time, isFixed, accountTime],
    ['json', last, lastTime, false, -1],
  );
  const periods = JSON.parse(body) as [string, { accountValueHistory: [number, string][] }][];
  return Object.fromEntries(
    periods.map(([name, { accountValueHistory }]) => {
      const times = accountValueHistory.map(([at]) => at);
      return [name, [lastTime - times[0], (times[1] ?? times[0]) - times[0], times.length]];
    }),
  );
}

test('a portfolio has a day by half an hour, a week by 2, a month by 8, and all time in 100 steps', () => {
  const everyTenMinutes = Array.from({ length: 50 * 144 + 1 }, (_, index) => index * 600_000);
  const day = [DAY_MS, HOUR_MS / 2, 49];
  const week = [7 * DAY_MS, 2 * HOUR_MS, 85];
  const month = [30 * DAY_MS, 8 * HOUR_MS, 91];
  const allTime = [50 * DAY_MS, 12 * HOUR_MS, 101];
  assert.deepEqual(periodsOf(historyOf(everyTenMinutes)), {
    ...{ day, week, month, allTime },
    ...{ perpDay: day, perpWeek: week, perpMonth: month, perpAllTime: allTime },
  });
});

test('of a history of a few hours every period has all, and of an instant one point', () => {
  const short = periodsOf(historyOf([0, 1, 2 * HOUR_MS, 3 * HOUR_MS]));
  assert.deepEqual(short['day'], [3 * HOUR_MS, 1, 4]);
  assert.deepEqual(short['month'], [3 * HOUR_MS, 3 * HOUR_MS, 2]);
  assert.deepEqual(periodsOf(historyOf([7]))['allTime'], [0, 0, 1]);
  assert.deepEqual(periodsOf(historyOf([7, 8, 9]))['allTime'], [2, 1, 3]);
  const everyMillisecond = Array.from({ length: 151 }, (_, time) => time);
  assert.deepEqual(periodsOf(historyOf(everyMillisecond))['allTime'], [150, 2, 76]);
});
