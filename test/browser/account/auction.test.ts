/** The auction while none runs: folded, with what is known of the last one, or announced. */

import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { createPlaces } from '../../../tools/harness/program.ts';
import { makeLedger } from '../../../tools/harness/running.ts';
import { LONG_ONLY } from '../../scale.ts';
import { browserTest, fieldText, openPage, useBrowser } from '../browser.ts';
import { assertAccessible } from '../screens/axe.ts';
import { FILE_MS_MAX, screenTest } from '../screens/every-screen.ts';
import { auction, formatBlock } from '../small-ledger.ts';
import { serveSmall } from '../small-service.ts';

const place = createPlaces();
useBrowser();
const END = { type: 'deployAuctionEnd', endGas: '750.50000001' };

const startSeconds = Math.floor(Date.now() / 1000) - 300;
const ended = await serveSmall(
  { after },
  { data: place(), events: [auction(startSeconds, 600), END], runMsMax: FILE_MS_MAX },
);

/** What is known of the next one: that nobody tells. */
const NEXT =
  'The endpoint does not report when the next auction starts. An announced auction is shown here.';

const panel = (page: Page): Locator => page.locator('section.panel-auction');
const body = (page: Page): Locator => panel(page).locator('.auction-body');

screenTest(
  '11. an ended auction is folded',
  async (screen) => {
    const page = await openPage(ended.url, screen);
    const summary = panel(page).locator('summary');
    assert.equal(await summary.innerText(), 'Ended at 750.50000001 gas');
    assert.equal(await body(page).isVisible(), false);
    await assertAccessible(page);
    await summary.press('Enter');
    await body(page).waitFor();
    assert.equal(await fieldText(page, 'currentGas'), '750.5000 gas');
    assert.equal(await fieldText(page, 'auctionState'), 'ended');
    // The answer has no moment of the end: it was after the start, and before the page asked.
    assert.match(await fieldText(page, 'auctionEnd'), /^between .+ and .+$/);
    await panel(page).getByText('after 10 min 00 s').waitFor();
    await panel(page).getByText(NEXT).waitFor();
    await assertAccessible(page);
    const { scroll, width } = await page.evaluate(() => ({
      scroll: document.documentElement.scrollWidth,
      width: innerWidth,
    }));
    assert.ok(scroll <= width, `${scroll} > ${width}`);
  },
  LONG_ONLY,
);

browserTest(
  'whether an auction is unfolded outlives a reload',
  async () => {
    const page = await openPage(ended.url);
    const summary = panel(page).locator('summary');
    await summary.click();
    await body(page).waitFor();
    await page.reload();
    await body(page).waitFor();
    await summary.click();
    await body(page).waitFor({ state: 'hidden' });
    await page.reload();
    await summary.waitFor();
    assert.equal(await body(page).isVisible(), false);
  },
  LONG_ONLY,
);

browserTest(
  'an auction that ends is folded, one that begins is not',
  async (context) => {
    const { url, data } = await serveSmall(context, { data: place() });
    const page = await openPage(url);
    const summary = panel(page).locator('summary');
    await summary.getByText('No auction', { exact: true }).waitFor();
    await summary.click();
    await panel(page).getByText('Not live yet').waitFor();
    await summary.click();
    await makeLedger(data, [formatBlock(2, Date.now(), [auction(startSeconds, 600)])]);
    await panel(page).getByText('Cost now').waitFor();
    assert.equal(await summary.count(), 0);
    assert.equal(await fieldText(page, 'floorGas'), '500.0');
    await makeLedger(data, [formatBlock(3, Date.now(), [END])]);
    await summary.getByText('Ended at 750.50000001 gas').waitFor();
    assert.equal(await body(page).isVisible(), false);
    await summary.click();
    // The floor is still known, and so is when it was last seen to run.
    assert.equal(await fieldText(page, 'floorGas'), '500.0');
    await panel(page).locator('.auction-chart canvas').first().waitFor();
    const startText = await page.evaluate(
      (time) =>
        new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' }),
      startSeconds * 1000,
    );
    assert.equal((await fieldText(page, 'auctionEnd')).includes(startText), false);
  },
  LONG_ONLY,
);

browserTest(
  'an auction that is announced says when it starts, and at what price',
  async (context) => {
    const announced = auction(Math.floor(Date.now() / 1000) + 7_200, 600);
    const { url } = await serveSmall(context, { data: place(), events: [announced] });
    const page = await openPage(url);
    await panel(page).getByText('Starts in', { exact: true }).waitFor();
    assert.equal(await panel(page).locator('summary').count(), 0);
    assert.match(await fieldText(page, 'auctionState'), /^1 h 5\d min$/);
    await panel(page).getByText('Cost at the start', { exact: true }).waitFor();
    assert.equal(await fieldText(page, 'currentGas'), '1,000.0000 gas');
    await panel(page).getByText('It has not started yet.').waitFor();
  },
  LONG_ONLY,
);
