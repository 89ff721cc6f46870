/** The page on a phone, a tablet, a desk, a wall and paper; and how often it draws. */

import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Page } from 'playwright-core';
import { createPlaces } from '../cli/program.ts';
import { LONG_ONLY } from '../scale.ts';
import { browserTest, openPage, type PageOptions, useBrowser } from './browser.ts';
import { delegation, METALS, NOBODY, VALIDATORS } from './small-ledger.ts';
import { serveSmall } from './small-service.ts';

const place = createPlaces();
useBrowser();
const events = [...METALS, delegation(VALIDATORS[0], '12.5', 0)];
const { url } = await serveSmall({ after }, { data: place(), events, flags: [] });

async function open(options: PageOptions = {}): Promise<Page> {
  const page = await openPage(url, options);
  await page.locator('tr[data-coin="BTC"]').waitFor();
  return page;
}

const screen = (width: number, pageHeight = 900) => ({ viewport: { width, height: pageHeight } });

/** Elements with text that end beyond the right edge of the page. */
function findCut(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const edge = document.documentElement.clientWidth;
    return Array.from(document.querySelectorAll('main td, main th, main dd, main button, .top *'))
      .filter((element) => element.getClientRects().length > 0 && element.textContent !== '')
      .filter((element) => element.closest('thead') === null)
      .filter((element) => element.getBoundingClientRect().right > edge + 1)
      .map((element) => element.outerHTML.slice(0, 120));
  });
}

for (const width of [1200, 1440, 2560]) {
  browserTest(
    `nothing is cut at ${width} pixels`,
    async () => {
      const page = await open({
        ...screen(width),
        colorScheme: width % 3 === 0 ? 'dark' : 'light',
      });
      assert.deepEqual(await findCut(page), []);
      const isScrolled = await page.evaluate(
        () => document.documentElement.scrollWidth > document.documentElement.clientWidth,
      );
      assert.equal(isScrolled, false);
    },
    LONG_ONLY,
  );
}

browserTest(
  'the width of a wall is used',
  async () => {
    const page = await open(screen(2560));
    const box = await page.locator('.panel-positions').boundingBox();
    assert.ok(box && box.width > 2400, JSON.stringify(box));
  },
  LONG_ONLY,
);

browserTest(
  'on a phone a position is a card, with side, profit and liquidation first',
  async () => {
    const page = await open(screen(390));
    const row = page.locator('tr[data-coin="xyz:GOLD"]');
    const top = async (selector: string) =>
      (await row.locator(selector).first().boundingBox())?.y ?? Number.NaN;
    const tops = await Promise.all(
      [
        ['th', '[data-field="side"]'],
        ['[data-field="unrealizedPnl"]'],
        ['[data-field="liquidationPx"]'],
        ['[data-field="szi"]'],
      ].map((selectors) => Promise.all(selectors.map(top))),
    );
    const [names, profit, liquidation, size] = tops.map((each) => each[0]);
    assert.ok(names < profit && profit < liquidation && liquidation < size, `${tops}`);
    // It is still a table to those who hear it.
    assert.ok((await page.getByRole('row').count()) > 4);
    assert.equal(await page.getByRole('rowheader', { name: 'xyz:GOLD' }).count(), 1);
  },
);

browserTest(
  'on a phone the chooser folds away, and all targets are large enough',
  async () => {
    const page = await open(screen(390));
    assert.equal(await page.getByLabel('Address').isVisible(), false);
    const toggle = page.getByRole('button', { name: 'Other account or dex…' });
    assert.equal(await toggle.getAttribute('aria-expanded'), 'false');
    await toggle.click();
    const small = await page.evaluate(() =>
      Array.from(document.querySelectorAll('button, select, input:not([type="checkbox"])'))
        .filter((element) => element.getClientRects().length > 0)
        .filter((element) => element.getBoundingClientRect().height < 43.5)
        .map((element) => element.outerHTML.slice(0, 120)),
    );
    assert.deepEqual(small, []);
    await page.getByLabel('Address').fill(NOBODY);
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByText('No positions here').waitFor();
    assert.equal(await page.getByLabel('Address').isVisible(), false);
  },
  LONG_ONLY,
);

browserTest(
  'on paper it is light and whole, without what can only be clicked',
  async () => {
    const page = await open({ colorScheme: 'dark' });
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    const style = await page.evaluate(() => {
      const { backgroundColor, color } = getComputedStyle(document.body);
      return {
        backgroundColor,
        color,
        overflow: getComputedStyle(document.querySelector('.scroll') as Element).overflowX,
      };
    });
    const brightness = (color: string) =>
      (color.match(/\d+/g) ?? []).slice(0, 3).reduce((sum, part) => sum + Number(part), 0);
    assert.ok(brightness(style.backgroundColor) > 600, style.backgroundColor);
    assert.ok(brightness(style.color) < 200, style.color);
    assert.equal(style.overflow, 'visible');
    assert.equal(await page.getByRole('button', { name: 'What if…' }).isVisible(), false);
    // The headings of the columns can be clicked too, but say what is below them.
    assert.equal(await page.getByText('Funding received').first().isVisible(), true);
    const pdf = await page.pdf({ format: 'A4' });
    assert.equal(pdf.subarray(0, 5).toString(), '%PDF-');
  },
  LONG_ONLY,
);

browserTest(
  'it draws as often as the person chose, which is kept',
  async () => {
    const page = await open({ paceMs: 0 });
    const pace = page.getByLabel('New figures');
    assert.equal(await pace.inputValue(), '1000');
    const addresses: string[] = [];
    page.on('websocket', (socket) => addresses.push(new URL(socket.url()).search));
    await pace.selectOption('every 5 seconds');
    await page.locator('[data-field="connection"]', { hasText: 'pushed' }).waitFor();
    assert.deepEqual(addresses, ['?interval=5000&compress=true']);
    await page.reload();
    await page.locator('tr[data-coin="BTC"]').waitFor();
    assert.equal(await pace.inputValue(), '5000');
  },
  LONG_ONLY,
);
