/** The tab of the page, its title and its icon: never reassuring without a reason. */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Page, Route } from 'playwright-core';
import { createPlaces } from '../../tools/harness/program.ts';
import { makeLedger, until } from '../../tools/harness/running.ts';
import { LONG_ONLY } from '../scale.ts';
import { openStoredBoard } from './board/stored-board.ts';
import { browserTest, openPage, untilConnected, useBrowser } from './browser.ts';
import { letHide, setHidden } from './hiding.ts';
import { formatBlock, METALS, NOBODY, USER } from './small-ledger.ts';
import { serveSmall } from './small-service.ts';

const place = createPlaces();
useBrowser();

const levelOf = (page: Page) => page.locator('link[rel="icon"]').getAttribute('data-level');

function untilLevel(page: Page, level: string): Promise<unknown> {
  return until(`an icon of level ${level}`, async () => (await levelOf(page)) === level);
}

/** A service, and a function that appends a block to its ledger. */
async function serve(context: TestContext) {
  const { url, data } = await serveSmall(context, { data: place() });
  let height = 1;
  const append = async (...events: object[]) => {
    height++;
    await makeLedger(data, [formatBlock(height, Date.now(), events)]);
  };
  return { url, append };
}

/** Gold is 10 % and 4.6 % from the liquidation of its position at these marks. */
const gold = (price: string) => ({ type: 'marks', prices: { 'xyz:GOLD': price } });
const [WATCHED, ENDANGERED] = [gold('106.0'), gold('100.0')];

browserTest(
  'the tab of a board tells of its worst account',
  async (context) => {
    const { url, append } = await serve(context);
    const page = await openStoredBoard(url, [NOBODY, USER], { expected: /status of 422/ });
    await untilLevel(page, 'safe');
    assert.equal(await page.title(), 'Board of 2 · perpinfo');
    await append(...METALS, WATCHED);
    await untilLevel(page, 'watch');
    assert.equal(await page.title(), '! Board of 2 · perpinfo');
    // The account's own tab has the same mark.
    await page.locator(`tr[data-user="${USER}"] a`).click();
    await until('the account', async () => /^! 0xababab/.test(await page.title()));
    assert.equal(await levelOf(page), 'watch');
    await page.goBack();
    await append(ENDANGERED);
    await untilLevel(page, 'danger');
    assert.equal(await page.title(), '‼ Board of 2 · perpinfo');
  },
  LONG_ONLY,
);

browserTest(
  'the icon says nothing before there is an answer',
  async (context) => {
    const { url } = await serve(context);
    const held: Route[] = [];
    let isHeld = true;
    const prepare = async (opened: Page) => {
      await opened.route('**/info', async (route) => {
        if (isHeld) held.push(route);
        else await route.continue();
      });
    };
    const page = await openPage(url, { prepare });
    await untilConnected(page);
    assert.equal(await levelOf(page), 'unknown');
    assert.equal(await page.title(), 'perpinfo');
    isHeld = false;
    for (const route of held) await route.continue();
    await untilLevel(page, 'safe');
  },
  LONG_ONLY,
);

browserTest(
  'a hidden board draws nothing but its tab, and everything when it is seen',
  async (context) => {
    const { url, append } = await serve(context);
    const page = await openStoredBoard(url, [NOBODY, USER], {
      expected: /status of 422/,
      prepare: letHide,
    });
    const risk = page.locator(`tr[data-user="${USER}"] [data-field="risk"]`);
    await untilLevel(page, 'safe');
    assert.equal(await risk.innerText(), 'healthy');
    await setHidden(page, true);
    await append(...METALS);
    await untilLevel(page, 'danger');
    assert.equal(await page.title(), '‼ Board of 2 · perpinfo');
    assert.equal(await risk.innerText(), 'healthy');
    await setHidden(page, false);
    await risk.getByText('at risk').waitFor();
  },
  LONG_ONLY,
);
