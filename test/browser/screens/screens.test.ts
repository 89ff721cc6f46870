/** The page on a phone, a tablet, a desk, a wall and paper; and how often it draws. */

import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Page } from 'playwright-core';
import { createPlaces } from '../../../tools/harness/program.ts';
import type { Cleanup } from '../../../tools/harness/running.ts';
import { LONG_ONLY } from '../../scale.ts';
import { browserTest, openPage, type PageOptions, useBrowser } from '../browser.ts';
import { delegation, type Held, METALS, NOBODY, USER, VALIDATORS } from '../small-ledger.ts';
import { serveSmall } from '../small-service.ts';

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

/** Amounts of millions, as wide as those of a large account. */
const MILLIONS: readonly Held[] = [
  { coin: 'BTC', szi: '50.25', markPx: '86000.0', entryNtl: '4200000.0' },
  { coin: 'ETH', szi: '-400.75', markPx: '3100.0', entryNtl: '1250000.0' },
  { coin: 'DOGE', szi: '-373118.0', markPx: '0.1964', entryNtl: '73300.0' },
];

/** The page of a large account; all marks fall there, if that is hypothetical. */
async function openMillions(context: Cleanup, isHypothetical: boolean): Promise<Page> {
  const large = await serveSmall(context, { data: place(), holdings: MILLIONS, events: METALS });
  const page = await openPage(large.url);
  await page.locator('tr[data-coin="BTC"]').waitFor();
  if (isHypothetical) await moveMarksDown(page);
  return page;
}

async function moveMarksDown(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'What if' }).click();
  await page.getByRole('button', { name: '−20 %' }).click();
  await page.locator('[data-field="hypotheticalValue"]').waitFor();
}

/** The room that it has, and what it needs, once it has settled. */
const measureTable = (page: Page) =>
  page.locator('.positions-room').evaluate(async (room) => {
    for (let frame = 0; frame < 8; frame++) await new Promise(requestAnimationFrame);
    return [room.clientWidth, room.scrollWidth];
  });

const DESKS = [1181, 1236, 1280, 1366, 1440, 1600, 1680, 1920, 2560];

for (const isHypothetical of [false, true]) {
  browserTest(
    `no column of the positions is cut on a desk${isHypothetical ? ', also while marks are moved' : ''}`,
    async (context) => {
      const page = await openMillions(context, isHypothetical);
      const cut: string[] = [];
      for (const width of DESKS) {
        await page.setViewportSize({ width, height: 900 });
        const [room, needed] = await measureTable(page);
        if (needed > room) cut.push(`${width}: ${room}/${needed}`);
      }
      assert.deepEqual(cut, []);
    },
    isHypothetical ? {} : LONG_ONLY,
  );
}

const isTable = (element: Element) => getComputedStyle(element).display === 'table';

/** Where what it shows ends, and where the element itself does. */
const endsOf = (page: Page, selector: string) =>
  page.locator(selector).evaluateAll((elements) =>
    elements.map((element) => {
      const content = document.createRange();
      content.selectNodeContents(element);
      return [content.getBoundingClientRect().right, element.getBoundingClientRect().right];
    }),
  );

browserTest(
  'amounts that are too wide for a table make cards, which stay until there is room for it',
  async (context) => {
    const page = await openMillions(context, false);
    const table = page.locator('.positions');
    const isTableAt = async (width: number) => {
      await page.setViewportSize({ width, height: 900 });
      await measureTable(page);
      return table.evaluate(isTable);
    };
    assert.equal(await isTableAt(1440), true);
    assert.equal(await isTableAt(1280), false);
    assert.equal(await isTableAt(1300), false);
    assert.equal(await isTableAt(1440), true);
  },
  LONG_ONLY,
);

browserTest(
  'the sum of the profits is below the profits',
  async () => {
    const page = await open();
    for (const width of [1280, 1366, 1440, 1600, 1920]) {
      await page.setViewportSize({ width, height: 900 });
      assert.equal(await page.locator('.positions').evaluate(isTable), true, `${width}`);
      const rows = await endsOf(page, 'tbody [data-field="unrealizedPnl"]');
      const [[sum]] = await endsOf(page, '[data-field="sumPnl"]');
      assert.equal(rows.length, 4);
      for (const [profit] of rows)
        assert.ok(Math.abs(profit - sum) < 1, `${width}: ${rows}, ${sum}`);
    }
  },
  LONG_ONLY,
);

browserTest(
  'on a card every figure ends at the right, and none is painted alone',
  async () => {
    const page = await open(screen(390));
    await moveMarksDown(page);
    const card = 'tr[data-coin="xyz:GOLD"]';
    for (const width of [390, 600, 768, 1100]) {
      await page.setViewportSize({ width, height: 900 });
      const cells = await endsOf(page, `${card} > td[data-label]`);
      assert.equal(cells.length, 13);
      for (const [content, cell] of cells) assert.ok(Math.abs(content - cell) < 1, `${cells}`);
    }
    await page.locator(card).hover();
    const styles = await page.locator(card).evaluate((row) => {
      const styleOf = (selector: string) =>
        getComputedStyle(row.querySelector(selector) as Element);
      const { backgroundColor } = styleOf('[data-field="szi"]');
      return {
        backgroundColor,
        name: styleOf('th').boxShadow,
        card: getComputedStyle(row).boxShadow,
      };
    });
    assert.equal(styles.backgroundColor, 'rgba(0, 0, 0, 0)');
    // What would be liquidated is marked beside its name, not across it.
    assert.equal(styles.name, 'none');
    assert.notEqual(styles.card, 'none');
    const headings = await page
      .locator('.positions thead .hypothetical')
      .evaluateAll((all) => all.map((heading) => getComputedStyle(heading).clipPath));
    assert.deepEqual(headings, Array(3).fill('inset(50%)'));
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
  'what comes and goes in the header moves nothing below it',
  async () => {
    const page = await open();
    const input = page.getByLabel('Address');
    const show = async (typed: string) => {
      await input.fill(typed);
      await page.keyboard.press('Enter');
    };
    for (const width of [1440, 1181, 768]) {
      await page.setViewportSize({ width, height: 900 });
      const measure = async () => (await page.locator('.top').boundingBox())?.height;
      const height = await measure();
      await show(NOBODY);
      await page.getByText('No positions here').waitFor();
      assert.equal(await page.getByRole('list', { name: 'Recent' }).isVisible(), true);
      assert.equal(await measure(), height, `${width}, with recent addresses`);
      await show('nobody whose name is so long that it fills more than a line of the header');
      const problem = page.getByText('is not an address');
      await problem.waitFor();
      assert.equal(await measure(), height, `${width}, with an error`);
      await input.fill('');
      await problem.waitFor({ state: 'detached' });
      await show(USER);
      await page.locator('tr[data-coin="BTC"]').waitFor();
      const [dexes, address] = await Promise.all(
        ['.dexes', '.address'].map(async (part) => page.locator(part).boundingBox()),
      );
      assert.equal(dexes?.x, address?.x, 'the dexes have a line of their own');
    }
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
