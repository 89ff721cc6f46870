/** The board on paper: light and whole, also what is out of sight on the screen. */

import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Page } from 'playwright-core';
import { createPlaces } from '../../../tools/harness/program.ts';
import { until } from '../../../tools/harness/running.ts';
import { LONG_ONLY } from '../../scale.ts';
import { browserTest, useBrowser } from '../browser.ts';
import { USER } from '../small-ledger.ts';
import { serveSmall } from '../small-service.ts';
import { openStoredBoard } from './stored-board.ts';

useBrowser();
const { url } = await serveSmall({ after }, { data: createPlaces()() });

const COUNT = 200;
const others = Array.from(
  { length: COUNT - 1 },
  (_, index) => `0x${String(index).padStart(40, '0')}`,
);

/** Those whose figures are not on the page. */
function findMissing(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    Array.from(document.querySelectorAll<HTMLElement>('.board tbody tr'))
      .filter((row) => row.querySelector('[data-field="value"]')?.textContent === '–')
      .map(({ dataset }) => dataset['user'] ?? ''),
  );
}

/** What would be cut off on paper, and what is not drawn there at all. */
function findCut(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const boxes = Array.from(document.querySelectorAll<HTMLElement>('.panel-board, .board-scroll'));
    const cells = Array.from(document.querySelectorAll<HTMLElement>('.board tbody td, .board th'));
    const values = cells.flatMap((cell) => cell.querySelector('[data-field="value"]') ?? []);
    const cut = [...boxes, ...cells].filter(
      ({ scrollWidth, clientWidth, scrollHeight, clientHeight }) =>
        scrollWidth > clientWidth || scrollHeight > clientHeight,
    );
    const unseen = values.filter(
      (value) => !value.checkVisibility({ contentVisibilityAuto: true }),
    );
    return [...cut, ...unseen].map(({ outerHTML }) => outerHTML.slice(0, 120));
  });
}

/** What has a background that is not light. */
function findDark(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    Array.from(document.querySelectorAll('body, .panel-board, .panel-board *'))
      .filter((element) => element.checkVisibility())
      .filter((element) => {
        const { backgroundColor } = getComputedStyle(element);
        const [red, green, blue, opacity = 1] = (backgroundColor.match(/[\d.]+/g) ?? []).map(
          Number,
        );
        return opacity > 0 && red + green + blue < 600;
      })
      .map(({ outerHTML }) => outerHTML.slice(0, 120)),
  );
}

browserTest(
  'on paper the board has every row with its figures, in light colours',
  async () => {
    const page = await openStoredBoard(url, [USER, ...others], {
      colorScheme: 'dark',
      expected: /status of 422/,
    });
    const sum = page.locator('.board tfoot').getByText(`Sum of ${COUNT}`, { exact: false });
    await until('all accounts', async () =>
      (await sum.innerText()).startsWith(`Sum of ${COUNT}\n`),
    );
    // Rows out of sight are drawn when somebody prints, before the browser lays out the paper.
    assert.notEqual((await findMissing(page)).length, 0);
    await page.evaluate(() => void dispatchEvent(new Event('beforeprint')));
    assert.deepEqual(await findMissing(page), []);
    await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
    for (const width of [1440, 794]) {
      await page.setViewportSize({ width, height: 900 });
      assert.deepEqual(await findCut(page), [], `${width} pixels`);
      assert.deepEqual(await findDark(page), [], `${width} pixels`);
      const heading = page.getByRole('columnheader', { name: 'Nearest liquidation' });
      assert.equal(await heading.isVisible(), width === 1440);
      assert.equal(await page.getByRole('button', { name: /^Edit/ }).first().isVisible(), false);
    }
  },
  LONG_ONLY,
);
