/** How fresh the page says it is, second by second, by a mocked clock. */

import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Page } from 'playwright-core';
import { createPlaces } from '../../../tools/harness/program.ts';
import { LONG_ONLY } from '../../scale.ts';
import { fieldText, openPage, type PageOptions, useBrowser } from '../browser.ts';
import { assertTone, FILE_MS_MAX, type Screen, screenTest } from '../screens/every-screen.ts';
import { USER } from '../small-ledger.ts';
import { serveSmall } from '../small-service.ts';
import type { OutageKind } from './day-in-page.ts';
import { stageDay, tick } from './scripted-day.ts';

useBrowser();
/** Only the files of the page come from it. */
const { url } = await serveSmall({ after }, { data: createPlaces()(), runMsMax: FILE_MS_MAX });

const START_MS = Date.UTC(2026, 2, 3, 8);
const WELL_MS = 10_000;
const OUTAGE_MS = 30_000;

/** A page that is well for a while; then something is wrong for half a minute. */
async function openBefore(kind: OutageKind, options: PageOptions): Promise<Page> {
  const fromMs = START_MS + WELL_MS;
  const script = {
    ...{ user: USER, startMs: START_MS, blockMs: 500, maxAgeMs: 10_000 },
    values: Array.from({ length: 400 }, (_, block) => `${1_000 + block}.0`),
    outages: [{ kind, fromMs, toMs: fromMs + OUTAGE_MS }],
  };
  const page = await openPage(url, {
    ...options,
    ...{ paceMs: 250, prepare: (opened) => stageDay(opened, script) },
  });
  await tick(page, WELL_MS);
  assert.equal(await fieldText(page, 'connection'), 'live, pushed');
  return page;
}

interface Freshness {
  /** Live, aging, stale or offline. */
  readonly state: string;
  readonly words: string;
  readonly height: number;
  readonly ageSeconds: number;
}

/** At one moment. */
async function readFreshness(page: Page): Promise<Freshness> {
  const [state, words, height, age] = await page.evaluate(() => {
    const textOf = (name: string) =>
      document.querySelector(`[data-field="${name}"]`)?.textContent ?? '';
    const link = document.querySelector('.freshness .link')?.className ?? '';
    return [link, ...['connection', 'height', 'age'].map(textOf)];
  });
  const [, minutes = '0', seconds] = /^(?:(\d+) min )?([\d.]+) s$/.exec(age) ?? [];
  return {
    state: state.replace(/^.*link-/, ''),
    ...{ words, height: Number(height), ageSeconds: 60 * Number(minutes) + Number(seconds) },
  };
}

/** Pushed states alone say that all is well. */
async function assertWell(kind: OutageKind, screen: Screen): Promise<void> {
  const page = await openBefore(kind, screen);
  const link = page.locator('.freshness .link');
  let last = await readFreshness(page);
  for (let second = 1; second <= OUTAGE_MS / 1_000; second++) {
    await tick(page, 1_000);
    const next = await readFreshness(page);
    const text = `after ${second} s: ${JSON.stringify(next)}`;
    assert.deepEqual([next.state, next.words], ['live', 'live, pushed'], text);
    assert.ok(next.ageSeconds <= 1.5 && next.height > last.height, text);
    last = next;
  }
  await assertTone(link, screen, 'gain');
  assert.equal(await page.getByRole('alert').filter({ hasText: /./ }).count(), 0);
  assert.equal(await page.locator('figure.chart-box').getAttribute('data-gaps'), '0');
}

screenTest(
  '3. while states are pushed the page is connected, though HTTP hangs or fails',
  async (screen) => {
    await assertWell('unanswered', screen);
    await assertWell('refused', screen);
  },
  LONG_ONLY,
);

screenTest(
  '3. a ledger that stops is live, then amber, then stale, as its age grows',
  async (screen) => {
    const page = await openBefore('stopped', screen);
    const link = page.locator('.freshness .link');
    const tones = { live: 'gain', aging: 'warn', stale: 'loss' } as const;
    const seen: string[] = [];
    for (let second = 1; second <= 15; second++) {
      await tick(page, 1_000);
      const { state, ageSeconds: age } = await readFreshness(page);
      assert.ok(Math.abs(age - second) <= 1.5, `${age} s old after ${second} s`);
      if (state === 'live') assert.ok(age <= 5.5, `${age} s old`);
      if (state === 'aging') assert.ok(age >= 5 && age <= 11.5, `${age} s old`);
      if (state === 'stale') assert.ok(age >= 10, `${age} s old`);
      if (state !== seen.at(-1)) {
        seen.push(state);
        await assertTone(link, screen, tones[state as keyof typeof tones]);
      }
    }
    assert.deepEqual(seen, ['live', 'aging', 'stale']);
    await page.locator('section.panel-account.is-old').waitFor();
    await tick(page, OUTAGE_MS);
    assert.equal(await fieldText(page, 'connection'), 'live, pushed');
    assert.equal(await page.locator('section.panel-account.is-old').count(), 0);
  },
  LONG_ONLY,
);
