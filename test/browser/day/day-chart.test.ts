/** The chart after hours of pushed states, by a mocked clock, with outages: held against the truth. */

import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Page } from 'playwright-core';
import { Random } from '../../../src/simulator/random.ts';
import { createPlaces } from '../../../tools/harness/program.ts';
import { SEED, SEED_NOTE } from '../../../tools/harness/seed.ts';
import { FULL_ONLY, LONG_ONLY } from '../../scale.ts';
import { browserTest, openPage, type PageOptions, useBrowser } from '../browser.ts';
import { letHide, setHidden } from '../hiding.ts';
import { FILE_MS_MAX, screenTest } from '../screens/every-screen.ts';
import { USER } from '../small-ledger.ts';
import { serveSmall } from '../small-service.ts';
import { readStored } from '../stored-points.ts';
import type { DayScript, Outage, OutageKind, Told } from './day-in-page.ts';
import { assertDrawn, type Flat, type TruePoint } from './drawn-line.ts';
import { readTold, stageDay, tick } from './scripted-day.ts';

useBrowser();
/** Only the files of the page come from it. */
const { url } = await serveSmall({ after }, { data: createPlaces()(), runMsMax: FILE_MS_MAX });

const START_MS = Date.UTC(2026, 2, 3, 8, 0, 0, 250);
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const RANGES = [
  { name: '15 min', stepMs: 1_000, retentionMs: 15 * MINUTE_MS },
  { name: '6 h', stepMs: 10_000, retentionMs: 6 * HOUR_MS },
  { name: '7 d', stepMs: MINUTE_MS, retentionMs: 7 * 24 * HOUR_MS },
];

interface Plan {
  readonly lengthMs: number;
  /** Not a divisor of any step of the chart. */
  readonly blockMs: number;
  readonly outages: readonly Outage[];
  /** The account does not change, so that nothing is pushed. */
  readonly quiet: readonly Flat[];
}

const isWithin = (timeMs: number, { fromMs, toMs }: Flat) => timeMs >= fromMs && timeMs < toMs;

/** As the service writes amounts: without zeros at the end, but with a decimal. */
const writeAmount = (cents: number) => (cents / 100).toFixed(2).replace(/0$/, '');

function writeScript({ lengthMs, blockMs, outages, quiet }: Plan, random: Random): DayScript {
  let cents = 10_000_000;
  const values = Array.from({ length: Math.ceil(lengthMs / blockMs) + 60 }, (_, block) => {
    const timeMs = START_MS + block * blockMs;
    if (!quiet.some((span) => isWithin(timeMs, span))) cents += random.below(2_001) - 1_000;
    return writeAmount(cents);
  });
  return { user: USER, startMs: START_MS, blockMs, values, outages, maxAgeMs: 0 };
}

async function openDay(script: DayScript, options: PageOptions = {}): Promise<Page> {
  const page = await openPage(url, {
    ...{ timezoneId: 'UTC', locale: 'en-GB', paceMs: 0, ...options },
    async prepare(opened) {
      await letHide(opened);
      await stageDay(opened, script);
    },
  });
  await tick(page, 5_000);
  return page;
}

/** So long without a state is a gap, if something went wrong meanwhile. */
const GAP_MS = 5_000;

function markGaps(reported: readonly Told[], outages: readonly Outage[]): TruePoint[] {
  // At one time there is one state, by whichever way it was reported.
  const states = reported.filter(([time], index) => index === 0 || time !== reported[index - 1][0]);
  return states.map(([time, value], index) => {
    const before = index === 0 ? time : states[index - 1][0];
    assert.ok(index === 0 || before < time, `${before} before ${time}`);
    const isAfterGap =
      time - before > GAP_MS &&
      outages.some(({ kind, fromMs, toMs }) => {
        return kind !== 'unpushed' && fromMs < time && toMs > before;
      });
    return { time, value, isAfterGap };
  });
}

/** What the chart has to keep: the last state of each step, both ends of a gap, and the first of all. */
function keepPoints(
  states: readonly TruePoint[],
  { stepMs, retentionMs }: (typeof RANGES)[number],
): TruePoint[] {
  const stepOf = ({ time }: TruePoint) => Math.floor(time / stepMs);
  const kept = states.filter((state, index) => {
    const next = states.at(index + 1);
    if (index === 0 || state.isAfterGap || next === undefined || next.isAfterGap) return true;
    return stepOf(next) !== stepOf(state);
  });
  const from = (states.at(-1)?.time ?? 0) - retentionMs;
  const first = kept.findIndex(({ time }) => time > from);
  return kept.slice(Math.max(0, first - 1));
}

/** Points of steps in which the line was extended without a new state are not compared one by one. */
function isCompared(time: number, stepMs: number, quiet: readonly Flat[]): boolean {
  return !quiet.some(({ fromMs, toMs }) =>
    isWithin(time, { fromMs: fromMs - 2 * stepMs, toMs: toMs + 2 * stepMs + GAP_MS }),
  );
}

async function assertStored(page: Page, states: readonly TruePoint[], quiet: readonly Flat[]) {
  const stored = await readStored(page);
  const end = states[states.length - 1].time;
  const valueAt = (time: number) => states.findLast((state) => state.time <= time)?.value;
  for (const range of RANGES) {
    const { name, stepMs, retentionMs } = range;
    const from = Math.max(START_MS, end - retentionMs);
    const found = stored.filter((point) => point.range === name && point.time >= from);
    const settled = found[found.length - 1].time;
    assert.ok(settled >= end - 2 * stepMs - 5_000, `${name}: up to ${end - settled} ms ago`);
    const expected = keepPoints(states, range).filter(
      ({ time }) => time >= from && time <= settled,
    );
    const isOne = ({ time }: TruePoint) => isCompared(time, stepMs, quiet);
    assert.deepEqual(
      found.filter(isOne).map(({ time, value, isAfterGap }) => ({ time, value, isAfterGap })),
      expected.filter(isOne),
      name,
    );
    for (const { time, value, isAfterGap } of found.filter((point) => !isOne(point))) {
      assert.equal(value, valueAt(time), `${name} at ${time}`);
      assert.equal(isAfterGap, false, `${name} at ${time}`);
    }
  }
}

/** What is drawn of each range, and what is said of it. */
async function assertShown(page: Page, plan: Plan): Promise<void> {
  const [first, ...others] = RANGES;
  // The first is shown already. Another range is drawn at once, while the clock of the page stands still.
  for (const range of [...others, first]) {
    await page.getByRole('button', { name: range.name, exact: true }).click();
    const reported = await readTold(page);
    const points = keepPoints(markGaps(reported, plan.outages), range);
    const gaps = points.filter(({ isAfterGap }, index) => isAfterGap && index > 0).length;
    const chart = page.locator('figure.chart-box');
    assert.equal(Number(await chart.getAttribute('data-gaps')), gaps, range.name);
    const count = Number(await chart.getAttribute('data-points'));
    assert.ok(count >= points.length, `${range.name}: ${count} of ${points.length} points`);
    if (plan.quiet.length === 0) assert.equal(count, points.length, range.name);
    await assertDrawn(page, { points, retentionMs: range.retentionMs, flats: plan.quiet });
    const [from, to] = [points[0], points[points.length - 1]].map(({ value }) => Number(value));
    const change = chart.locator('[data-field="valueChange"]');
    const cents = Math.round(100 * to) - Math.round(100 * from);
    assert.equal(Number(await change.getAttribute('title')), cents / 100, range.name);
  }
}

/** Outages of all kinds every half an hour or so, the last of them in the last minutes. */
function planDay(lengthMs: number, random: Random): Plan {
  const kinds: OutageKind[] = ['gone', 'hung', 'unpushed'];
  const outages: Outage[] = [];
  for (let at = 10 * MINUTE_MS; at < lengthMs - 40 * MINUTE_MS; at += 30 * MINUTE_MS) {
    const fromMs = START_MS + at + random.below(5 * MINUTE_MS);
    const spanMs = random.chance(0.5) ? 20_000 : 20_000 + random.below(9 * MINUTE_MS);
    outages.push({ kind: kinds[outages.length % 3], fromMs, toMs: fromMs + spanMs });
  }
  const late = START_MS + lengthMs - 12 * MINUTE_MS;
  const quietMs = START_MS + Math.floor(lengthMs / 2 / (30 * MINUTE_MS)) * 30 * MINUTE_MS;
  return {
    ...{ lengthMs, blockMs: 2_100 },
    outages: [
      ...outages,
      { kind: 'gone', fromMs: late, toMs: late + 20_000 },
      { kind: 'hung', fromMs: late + 4 * MINUTE_MS, toMs: late + 4 * MINUTE_MS + 15_000 },
      { kind: 'unpushed', fromMs: late + 8 * MINUTE_MS, toMs: late + 9 * MINUTE_MS },
    ],
    quiet: [{ fromMs: quietMs, toMs: quietMs + 4 * MINUTE_MS }],
  };
}

browserTest(
  `2. after eight hours with outages the chart is the truth, point by point ${SEED_NOTE}`,
  async () => {
    const random = new Random(`day/${SEED}`);
    const plan = planDay(8 * HOUR_MS, random);
    const page = await openDay(writeScript(plan, random), { deviceScaleFactor: 2 });
    // As on a day: looked at now and then.
    await tick(page, 2 * MINUTE_MS);
    await setHidden(page, true);
    await tick(page, plan.lengthMs - 4 * MINUTE_MS);
    await setHidden(page, false);
    await tick(page, 2 * MINUTE_MS);
    const states = markGaps(await readTold(page), plan.outages);
    assert.ok(states.filter(({ isAfterGap }) => isAfterGap).length > 8, 'outages are gaps');
    await assertStored(page, states, plan.quiet);
    await assertShown(page, plan);
  },
  // Half a minute of processor time, of which a busy machine gives little.
  { ...FULL_ONLY, timeout: 300_000 },
);

/** A quarter of an hour with an outage of 20 s, one that is not reported, and one of push alone. */
const SHORT_PLAN: Plan = {
  ...{ lengthMs: 13 * MINUTE_MS, blockMs: 300 },
  outages: (['gone', 'hung', 'unpushed'] as const).map((kind, index) => {
    const fromMs = START_MS + (3 + 3 * index) * MINUTE_MS;
    return { kind, fromMs, toMs: fromMs + (index === 1 ? 90_000 : 20_000) };
  }),
  quiet: [],
};

screenTest(
  '2. the chart has a true axis of time, gaps as gaps, and the change since then',
  async (screen) => {
    const random = new Random(`screens/${SEED}`);
    const page = await openDay(writeScript(SHORT_PLAN, random), screen);
    await setHidden(page, true);
    await tick(page, SHORT_PLAN.lengthMs);
    await setHidden(page, false);
    await tick(page, 2_000);
    await assertShown(page, SHORT_PLAN);
  },
  LONG_ONLY,
);
