/** A long table of positions: what is in sight is current, and so is all of it when it is taken along. */

import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Page } from 'playwright-core';
import { createPlaces } from '../../../tools/harness/program.ts';
import { makeLedger, until } from '../../../tools/harness/running.ts';
import { LONG_ONLY } from '../../scale.ts';
import { browserTest, openPage, untilConnected, useBrowser } from '../browser.ts';
import { readPanels } from '../page-figures.ts';
import { formatBlock, type Held } from '../small-ledger.ts';
import { serveSmall } from '../small-service.ts';

const COINS = Array.from({ length: 40 }, (_, index) => `C${index + 10}`);
const [TOP] = COINS;
const BOTTOM = COINS[COINS.length - 1];
const UPDATES = 6;

useBrowser();
const data = createPlaces()();
const holdings = COINS.map(
  (coin): Held => ({ coin, szi: '1.0', markPx: '101.0', entryNtl: '100.0' }),
);
const { url } = await serveSmall({ after }, { data, holdings, flags: [] });
let height = 1;

/** At each height all marks are a hundred more than it. */
const markAt = (one: number) => `${100 + one}.0`;

async function moveMarks(page: Page): Promise<void> {
  height += 1;
  const prices = Object.fromEntries(COINS.map((coin) => [coin, markAt(height)]));
  await makeLedger(data, [formatBlock(height, Date.now(), [{ type: 'marks', prices }])]);
  await until(
    'the new height',
    async () => (await readPanels(page))['positions'].height === height,
  );
}

const rowOf = (page: Page, coin: string) => page.locator(`tr[data-coin="${coin}"]`);

async function open(): Promise<Page> {
  const page = await openPage(url);
  await rowOf(page, BOTTOM).waitFor();
  await untilConnected(page);
  return page;
}

/** The marks of all rows, of which there should be one. */
async function marksOf(page: Page): Promise<string[]> {
  const { rows } = (await readPanels(page))['positions'];
  assert.equal(Object.keys(rows).length, COINS.length);
  return [...new Set(Object.values(rows).map(({ mark }) => mark.text))];
}

browserTest(
  'rows out of sight are drawn less often, and name the height they are of',
  async () => {
    const page = await open();
    await page.evaluate(() => {
      const counts: Record<string, number> = {};
      Object.assign(globalThis, { counts });
      for (const row of document.querySelectorAll<HTMLElement>('tr[data-coin]')) {
        const coin = row.dataset['coin'] ?? '';
        counts[coin] = 0;
        new MutationObserver(() => counts[coin]++).observe(row, {
          attributeFilter: ['data-height'],
        });
      }
    });
    for (let update = 0; update < UPDATES; update++) {
      await moveMarks(page);
      const { rows, olderRows } = (await readPanels(page))['positions'];
      assert.equal(rows[TOP]['mark'].text, markAt(height));
      for (const [coin, own] of Object.entries(olderRows)) {
        assert.equal(rows[coin]['mark'].text, markAt(own), coin);
      }
    }
    const drawn = await page.evaluate(() => ({
      ...(globalThis as unknown as { counts: Record<string, number> }).counts,
    }));
    assert.equal(drawn[TOP], UPDATES);
    assert.ok(drawn[BOTTOM] < UPDATES, `${drawn[BOTTOM]}`);
  },
  LONG_ONLY,
);

browserTest(
  'a row that comes into sight is current',
  async () => {
    const page = await open();
    await moveMarks(page);
    await rowOf(page, BOTTOM).scrollIntoViewIfNeeded();
    await rowOf(page, BOTTOM).getByText(markAt(height), { exact: true }).first().waitFor();
    await moveMarks(page);
    assert.equal(await rowOf(page, BOTTOM).getAttribute('data-height'), `${height}`);
  },
  LONG_ONLY,
);

browserTest(
  'whoever copies or prints the table gets all rows of one height',
  async () => {
    const page = await open();
    await moveMarks(page);
    await page.keyboard.press('Control+A');
    await page.keyboard.press('Control+C');
    assert.deepEqual(await marksOf(page), [markAt(height)]);
    await moveMarks(page);
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
    assert.deepEqual(await marksOf(page), [markAt(height)]);
  },
  LONG_ONLY,
);
