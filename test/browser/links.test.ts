/** Links to the page that were cut off on their way. */

import assert from 'node:assert/strict';
import { after } from 'node:test';
import { createPlaces } from '../cli/program.ts';
import { LONG_ONLY } from '../scale.ts';
import { browserTest, openPage, useBrowser } from './browser.ts';
import { USER } from './small-ledger.ts';
import { serveSmall } from './small-service.ts';

useBrowser();
const { url } = await serveSmall({ after }, { data: createPlaces()() });

browserTest(
  'a link with half an address says so, and the address bar what is shown',
  async () => {
    const page = await openPage(url);
    await page.locator('tr[data-coin="BTC"]').waitFor();
    await page.evaluate(() => {
      location.hash = '#user=0x12';
    });
    await page.getByText('The link leads nowhere: “0x12” is no address.').waitFor();
    assert.equal(new URL(page.url()).hash, `#user=${USER}`);
    await page.goto(`${new URL(url).origin}/#user=${USER.slice(0, 20)}`);
    await page.reload();
    await page.locator('tr[data-coin="BTC"]').waitFor();
    assert.equal(new URL(page.url()).hash, `#user=${USER}`);
  },
  LONG_ONLY,
);
