/** Links to the page: to another browser, and cut off on their way. */

import assert from 'node:assert/strict';
import { after } from 'node:test';
import { createPlaces } from '../../tools/harness/program.ts';
import { LONG_ONLY } from '../scale.ts';
import { browserTest, openPage, useBrowser } from './browser.ts';
import { USER } from './small-ledger.ts';
import { serveSmall } from './small-service.ts';

useBrowser();
const { url, secret } = await serveSmall({ after }, { data: createPlaces()() });

browserTest(
  'a link with half an address says so, and the address bar what is shown',
  async () => {
    const page = await openPage(url);
    await page.locator('tr[data-coin="BTC"]').waitFor();
    await page.evaluate(() => {
      location.hash = '#user=0x12';
    });
    await page.getByText('Invalid link: “0x12” is not an address.').waitFor();
    assert.equal(new URL(page.url()).hash, `#user=${USER}`);
    await page.goto(`${new URL(url).origin}/#user=${USER.slice(0, 20)}`);
    await page.reload();
    await page.locator('tr[data-coin="BTC"]').waitFor();
    assert.equal(new URL(page.url()).hash, `#user=${USER}`);
  },
  LONG_ONLY,
);

browserTest(
  'a link that is shared shows the same in a browser that has never been here',
  async () => {
    const page = await openPage(url);
    await page.locator('tr[data-coin="BTC"]').waitFor();
    await page.getByRole('columnheader', { name: 'Value' }).getByRole('button').click();
    await page.getByRole('button', { name: '7 d' }).click();
    await page.waitForURL(new RegExp(`/#user=${USER}&range=7d&sort=-value$`));
    const link = page.url();
    const other = await openPage(link);
    await other.getByLabel('Endpoint key').fill(secret);
    await other.keyboard.press('Enter');
    await other.locator('tr[data-coin="BTC"]').waitFor();
    assert.equal(other.url(), link);
    const heading = other.getByRole('columnheader', { name: 'Value' });
    assert.equal(await heading.getAttribute('aria-sort'), 'descending');
    const coins = await other.locator('tr[data-coin] th').allInnerTexts();
    assert.deepEqual(coins, ['BTC', 'SOL', 'ETH']);
    const range = other.getByRole('button', { name: '7 d' });
    assert.equal(await range.getAttribute('aria-pressed'), 'true');
  },
  LONG_ONLY,
);
