/** How the page is given its key, and how it forgets it. */

import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Page } from 'playwright-core';
import { createPlaces } from '../../tools/harness/program.ts';
import { until } from '../../tools/harness/running.ts';
import { LONG_ONLY } from '../scale.ts';
import { openStoredBoard } from './board/stored-board.ts';
import { browserTest, openPage, useBrowser } from './browser.ts';
import { assertAccessible } from './screens/axe.ts';
import { FILE_MS_MAX, screenTest } from './screens/every-screen.ts';
import { NOBODY, USER } from './small-ledger.ts';
import { serveSmall } from './small-service.ts';
import { countStored } from './stored-points.ts';

const place = createPlaces();
useBrowser();
const { url, origin, secret } = await serveSmall(
  { after },
  { data: place(), runMsMax: FILE_MS_MAX },
);

const focusedId = (page: Page) => page.evaluate(() => document.activeElement?.id);
const readStored = (page: Page) =>
  page.evaluate(() => Object.values(localStorage).join(' ') + location.href);

async function askToForget(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Forget key' }).click();
  await page.getByRole('dialog', { name: 'Forget the key?' }).waitFor();
}

browserTest('the form takes an address with the key, and says what is wrong', async () => {
  const page = await openPage(origin);
  let asked = 0;
  page.on('request', (request) => {
    if (request.method() === 'POST') asked++;
  });
  const input = page.getByLabel('Endpoint key');
  await until('the focus in the form', async () => (await focusedId(page)) === 'key');
  await input.fill(`http://other.example/${secret}/info`);
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('This is an address of http://other.example,').waitFor();
  assert.equal(await input.getAttribute('aria-invalid'), 'true');
  assert.equal(await focusedId(page), 'key');
  await input.fill('');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('Enter a key first.').waitFor();
  assert.equal(asked, 0);
  assert.equal((await readStored(page)).includes(secret), false);
  await input.fill(`${origin}/${secret}/info`);
  await page.keyboard.press('Enter');
  await page.getByLabel('Address').fill(USER);
  await page.keyboard.press('Enter');
  await page.locator('tr[data-coin="BTC"]').waitFor();
});

screenTest(
  '10. forgetting the key asks first',
  async (screen) => {
    const { viewport } = screen;
    const page = await openPage(url, screen);
    await page.locator('tr[data-coin="BTC"]').waitFor();
    const dialog = page.getByRole('dialog');
    const ways = [
      () => page.getByRole('button', { name: 'Keep it' }).click(),
      () => page.keyboard.press('Escape'),
      () => page.mouse.click(viewport.width / 2, 3),
    ];
    for (const keep of ways) {
      await askToForget(page);
      await keep();
      await dialog.waitFor({ state: 'detached' });
      const focused = await page.evaluate(() => document.activeElement?.textContent);
      assert.equal(focused, 'Forget key');
    }
    assert.ok((await readStored(page)).includes(secret));
    await askToForget(page);
    await assertAccessible(page);
    await page.getByRole('button', { name: 'Forget it' }).click();
    await until('the focus in the form', async () => (await focusedId(page)) === 'key');
    const stored = await readStored(page);
    assert.equal(stored.includes(secret), false);
    // The addresses were to be kept.
    assert.ok(stored.includes(USER));
  },
  LONG_ONLY,
);

/** The ledger stands still, so nothing is kept by itself. */
function storePoint(page: Page): Promise<void> {
  return page.evaluate(
    () =>
      new Promise<void>((resolve, reject) => {
        const request = indexedDB.open('perpinfo', 1);
        request.onerror = () => reject(request.error);
        request.onsuccess = () => {
          const values = request.result.transaction('values', 'readwrite').objectStore('values');
          values.put({ account: 'a', range: '7 d', time: Date.now(), value: '1.0' });
          values.transaction.oncomplete = () => resolve();
        };
      }),
  );
}

browserTest(
  'the addresses and their charts are forgotten too, if that is wanted',
  async () => {
    const page = await openPage(url);
    await page.locator('tr[data-coin="BTC"]').waitFor();
    await storePoint(page);
    assert.equal(await countStored(page), 1);
    await askToForget(page);
    await page.getByLabel('Forget the addresses').check();
    await page.getByRole('button', { name: 'Forget it' }).click();
    await page.getByLabel('Endpoint key').waitFor();
    assert.equal((await readStored(page)).includes(USER), false);
    assert.equal(new URL(page.url()).hash, '');
    await until('the charts to be gone', async () => (await countStored(page)) === 0);
    await page.getByLabel('Endpoint key').fill(secret);
    await page.keyboard.press('Enter');
    await page.getByText('Enter an address above').waitFor();
    assert.equal(await page.locator('.chip').count(), 0);
  },
  LONG_ONLY,
);

browserTest(
  'of a key that does not work one thing is said on the board too',
  async () => {
    const users = [USER, NOBODY];
    const page = await openStoredBoard(url.replace(/key=[^&]+/, 'key=nothing'), users, {
      expected: /status of 401|\/ws\?.*' failed/,
    });
    await page.getByText('This key does not work').waitFor();
    // Longer than it takes until something is asked without push.
    await page.waitForTimeout(3_000);
    assert.equal(await page.locator('.board tbody tr').count(), users.length);
    assert.equal(await page.getByRole('alert').getByText(/./).count(), 1);
    assert.equal(await page.getByText(/asking…/i).count(), 0);
    assert.equal(await page.locator('.board [data-field="note"]').count(), 0);
    await page.getByLabel('Endpoint key').fill(secret);
    await page.keyboard.press('Enter');
    await page.locator(`tr[data-user="${USER}"]`).getByText('healthy').waitFor();
  },
  LONG_ONLY,
);
