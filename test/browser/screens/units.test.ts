/** How amounts and times are said: units and the zone once, and no gain or loss as nothing. */

import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { createPlaces } from '../../../tools/harness/program.ts';
import { until } from '../../../tools/harness/running.ts';
import { LONG_ONLY } from '../../scale.ts';
import { openBoard, rowOf, untilKnown } from '../board/board-page.ts';
import { browserTest, openPage, useBrowser } from '../browser.ts';
import { accountOf, delegation, type Held, OTHER, USER, VALIDATORS } from '../small-ledger.ts';
import { serveSmall } from '../small-service.ts';

const place = createPlaces();
useBrowser();

const ONCE = ['USDC', 'the network’s token', 'Asia/Tokyo'];
/** 2033-05-18 03:33:20 UTC, which is 12:33:20 in Tokyo. */
const UNLOCK_MS = 2_000_000_000_000;

async function assertSaidOnce(page: Page): Promise<void> {
  const text = await page.locator('body').innerText();
  const footer = await page.locator('footer').innerText();
  for (const words of ONCE) {
    assert.equal(text.split(words).length, 2, `${words}: ${text}`);
    assert.ok(footer.includes(words), footer);
  }
}

browserTest(
  'units and the time zone are said once, on the account’s page and on the board',
  async (context) => {
    const events = [delegation(VALIDATORS[0], '5.0', UNLOCK_MS)];
    const { url } = await serveSmall(context, { data: place(), events });
    const options = { timezoneId: 'Asia/Tokyo', locale: 'en-GB' };
    const page = await openPage(url, options);
    await page.locator('tr[data-coin="BTC"]').waitFor();
    await page.locator('tr[data-validator]').waitFor();
    await assertSaidOnce(page);
    const board = await openBoard(url, USER, options);
    await untilKnown(board, 1);
    await assertSaidOnce(board);
    // And times are those of the zone.
    const unlock = rowOf(board, USER).locator('[data-field="unlock"]');
    await until('the stakes', async () => (await unlock.getAttribute('title')) !== null);
    assert.match((await unlock.getAttribute('title')) ?? '', /18 May 2033.*12:33:20/);
  },
  LONG_ONLY,
);

/** 0.004 is gained on the first, and 0.001 lost on the second. */
const TINY: readonly Held[] = [
  { coin: 'BTC', szi: '0.5', markPx: '86000.0', entryNtl: '42999.996' },
  { coin: 'ETH', szi: '-4.0', markPx: '3100.0', entryNtl: '12399.999' },
];

browserTest(
  'a fraction of a cent is a gain or a loss, on the account’s page and on the board',
  async (context) => {
    const loser = accountOf(OTHER, '20000.0', [
      { coin: 'ETH', szi: '-4.0', entryNtl: '12399.999' },
    ]);
    const { url } = await serveSmall(context, { data: place(), holdings: TINY, events: [loser] });
    const page = await openPage(url);
    const says = async (at: Page, selector: string) => {
      const figure = at.locator(`${selector}`);
      await figure.waitFor();
      const tone = /\b(gain|loss)\b/.exec((await figure.getAttribute('class')) ?? '')?.[0];
      return [await figure.innerText(), tone];
    };
    const ofRow = (coin: string) => `tr[data-coin="${coin}"] [data-field="unrealizedPnl"]`;
    assert.deepEqual(await says(page, ofRow('BTC')), ['+<0.01', 'gain']);
    assert.deepEqual(await says(page, ofRow('ETH')), ['−<0.01', 'loss']);
    const account = '.panel-account [data-field="unrealizedPnl"]';
    assert.deepEqual(await says(page, account), ['+<0.01', 'gain']);
    assert.deepEqual(await says(page, '.panel-positions [data-field="sumPnl"]'), [
      '+<0.01',
      'gain',
    ]);
    const board = await openBoard(url, `${USER}\n${OTHER}`);
    await untilKnown(board, 2);
    const ofUser = (user: string) => `tr[data-user="${user}"] [data-field="unrealizedPnl"]`;
    assert.deepEqual(await says(board, ofUser(USER)), ['+<0.01', 'gain']);
    assert.deepEqual(await says(board, ofUser(OTHER)), ['−<0.01', 'loss']);
  },
  LONG_ONLY,
);
