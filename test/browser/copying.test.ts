/** Figures and addresses are copied with all their digits, by pointer and keyboard, or saved. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after } from 'node:test';
import type { Page } from 'playwright-core';
import { createPlaces } from '../../tools/harness/program.ts';
import { makeLedger } from '../../tools/harness/running.ts';
import { LONG_ONLY } from '../scale.ts';
import { browserTest, openPage, type PageOptions, useBrowser } from './browser.ts';
import { assertAccessible } from './screens/axe.ts';
import { FILE_MS_MAX, screenTest } from './screens/every-screen.ts';
import { delegation, formatBlock, USER, VALIDATORS } from './small-ledger.ts';
import { serveSmall } from './small-service.ts';

const place = createPlaces();
useBrowser();
/** So that the value of 0.5 has more decimals than the page shows. */
const MARKS = { type: 'marks', prices: { BTC: '86000.2469' } };
const EXPLORER = 'https://explorer.example/address/{address}?tab=perps';
const { url, secret, data } = await serveSmall(
  { after },
  {
    data: place(),
    events: [MARKS, delegation(VALIDATORS[0], '12.50000001', 0)],
    flags: ['--explorer-url', EXPLORER],
    runMsMax: FILE_MS_MAX,
  },
);
const BTC_VALUE = '43000.12345';

async function open(options: PageOptions = {}): Promise<Page> {
  const permissions = ['clipboard-read', 'clipboard-write'];
  const page = await openPage(url, { permissions, ...options });
  await page.locator('tr[data-coin="BTC"]').waitFor();
  return page;
}

const readClipboard = (page: Page) => page.evaluate(() => navigator.clipboard.readText());

/** What the page says that it has copied is on the clipboard. */
async function assertCopied(page: Page, text: string): Promise<void> {
  await page.locator('.notice', { hasText: `Copied ${text}` }).waitFor();
  assert.equal(await page.locator('.notice').getAttribute('role'), 'status');
  assert.equal(await readClipboard(page), text);
}

browserTest('a click on a figure copies all its digits, and they can be read', async () => {
  const page = await open();
  const value = page.locator('tr[data-coin="BTC"] [data-field="positionValue"]');
  assert.equal(await value.innerText(), '43,000.12');
  await value.click();
  await assertCopied(page, BTC_VALUE);
  const roe = page.locator('tr[data-coin="ETH"] [data-field="returnOnEquity"]');
  await roe.click();
  await assertCopied(page, (await roe.getAttribute('title')) ?? '');
  await page.locator('[data-field="sumAmount"]').click();
  await assertCopied(page, '12.50000001');
  // What is no figure is not copied.
  await page.locator('tr[data-coin="BTC"] [data-field="side"]').click();
  // Nor is a figure of which somebody selects a part.
  const box = await page.locator('[data-field="accountValue"]').boundingBox();
  assert.ok(box);
  await page.mouse.move(box.x + 2, box.y + box.height / 2);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.up();
  assert.notEqual(await page.evaluate(() => getSelection()?.toString()), '');
  assert.equal(await readClipboard(page), '12.50000001');
});

browserTest(
  'the address is copied, without the clipboard API too, and looked up',
  async () => {
    const page = await open({
      async prepare(opened) {
        await opened.addInitScript(() => {
          const { clipboard } = navigator;
          Object.assign(globalThis, { readText: () => clipboard.readText() });
          Object.defineProperty(navigator, 'clipboard', { value: undefined });
        });
      },
    });
    const copy = page.getByRole('button', { name: 'Copy the address that is shown' });
    await copy.press('Enter');
    await page.locator('.notice', { hasText: `Copied ${USER}` }).waitFor();
    const text = await page.evaluate(() =>
      (globalThis as unknown as { readText(): Promise<string> }).readText(),
    );
    assert.equal(text, USER);
    assert.ok(await copy.evaluate((button) => button === document.activeElement));
    const link = page.getByRole('link', { name: 'Explorer' });
    const names = ['href', 'rel', 'target'];
    assert.deepEqual(await Promise.all(names.map((name) => link.getAttribute(name))), [
      EXPLORER.replace('{address}', USER),
      'noopener noreferrer',
      '_blank',
    ]);
  },
  LONG_ONLY,
);

/** What the button of the focused row says. */
const focusedRow = (page: Page) => page.evaluate(() => document.activeElement?.textContent);

browserTest('by keyboard: one tab stop for all rows, arrows, Enter, and all digits', async () => {
  const page = await open();
  const stops = page.locator('table.positions button[data-row][tabindex="0"]');
  assert.equal(await page.locator('table.positions button[data-row]').count(), 4);
  assert.equal(await stops.count(), 1);
  await page.getByRole('columnheader', { name: 'Liquidation' }).getByRole('button').focus();
  await page.keyboard.press('Tab');
  assert.equal(await focusedRow(page), 'BTC');
  const path: (string | null | undefined)[] = [];
  for (const key of ['ArrowUp', 'ArrowDown', 'End', 'ArrowDown', 'Home', 'ArrowDown']) {
    await page.keyboard.press(key);
    path.push(await focusedRow(page));
  }
  assert.deepEqual(path, ['BTC', 'ETH', 'Sum', 'Sum', 'BTC', 'ETH']);
  // Away and back: the table remembers the row.
  await page.keyboard.press('Tab');
  await page.keyboard.press('Shift+Tab');
  assert.equal(await focusedRow(page), 'ETH');
  assert.equal(await stops.count(), 1);
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'BTC: all digits' });
  assert.equal(await dialog.locator('[data-digits="Value"]').innerText(), BTC_VALUE);
  await dialog.getByRole('button', { name: 'Copy Value' }).press('Enter');
  await dialog.getByRole('status').getByText('copied').waitFor();
  assert.equal(await readClipboard(page), BTC_VALUE);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.equal(await focusedRow(page), 'BTC');
});

browserTest(
  'what is in the dialog stands still while the table goes on',
  async () => {
    const page = await open();
    await page.locator('tr[data-coin="SOL"] button').click();
    const mark = page.getByRole('dialog').locator('[data-digits="Mark"]');
    assert.equal(await mark.innerText(), '150.0');
    await makeLedger(data, [
      formatBlock(2, Date.now(), [{ type: 'marks', prices: { SOL: '151.5' } }]),
    ]);
    const moved = page.locator('tr[data-coin="SOL"] [data-field="mark"]', { hasText: '151.5' });
    await moved.waitFor();
    assert.equal(await mark.innerText(), '150.0');
  },
  LONG_ONLY,
);

screenTest(
  '10. all digits of every panel',
  async (screen) => {
    const { width, height } = screen.viewport;
    const page = await open(screen);
    const openers = {
      ETH: page.locator('tr[data-coin="ETH"] button'),
      Stake: page.locator(`button[data-row="${VALIDATORS[0]}"]`),
      Account: page.getByRole('button', { name: 'All digits of Account' }),
    };
    await page.locator('[data-field="accountValue"]').click();
    for (const [name, opener] of Object.entries(openers)) {
      const target = await opener.boundingBox();
      if (width < 680) assert.ok(target && target.height >= 44 && target.width >= 44);
      await opener.click();
      const dialog = page.getByRole('dialog', { name: `${name}: all digits` });
      const box = await dialog.boundingBox();
      assert.ok(box && box.x >= 0 && box.x + box.width <= width, JSON.stringify(box));
      const copy = await dialog.getByRole('button', { name: /^Copy/ }).first().boundingBox();
      if (width < 680) assert.ok(copy && copy.height >= 44 && copy.width >= 44);
      if (name === 'Account') await assertAccessible(page);
      // A click beside the dialog closes it, one into it does not.
      await page.mouse.click(box.x + 5, height / 2);
      assert.equal(await dialog.count(), 1);
      await page.mouse.click(width / 2, 3);
      await dialog.waitFor({ state: 'detached' });
    }
  },
  LONG_ONLY,
);

browserTest(
  'a selection that ends beside a dialog leaves it open',
  async () => {
    const page = await open();
    await page.getByRole('button', { name: 'curl for Account' }).click();
    const dialog = page.getByRole('dialog');
    const box = await dialog.boundingBox();
    assert.ok(box);
    await page.mouse.move(box.x + 60, box.y + 80);
    await page.mouse.down();
    await page.mouse.move(box.x - 30, box.y + 80);
    await page.mouse.up();
    assert.equal(await dialog.count(), 1);
    await page.mouse.click(box.x - 30, box.y + 80);
    await dialog.waitFor({ state: 'detached' });
    // The focus is back where it was.
    const name = await page.evaluate(() => document.activeElement?.textContent);
    assert.equal(name, 'curl for Account');
  },
  LONG_ONLY,
);

browserTest('positions are saved as CSV, with the digits of the endpoint', async () => {
  const page = await open();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'CSV of the positions' }).click(),
  ]);
  const name = download.suggestedFilename();
  assert.match(
    name,
    new RegExp(`^positions-${USER}-height-\\d+-\\d{4}-\\d\\d-\\d\\dT\\d\\d-\\d\\d-\\d\\dZ\\.csv$`),
  );
  await page.locator('.notice', { hasText: `Saved ${name}` }).waitFor();
  const rows = readFileSync(await download.path(), 'utf8').split('\r\n');
  const header = rows[0].split(',');
  assert.deepEqual(
    rows.slice(1, -1).map((row) => row.split(',')[header.indexOf('coin')]),
    ['BTC', 'ETH', 'SOL'],
  );
  assert.equal(rows[1].split(',')[header.indexOf('positionValue')], BTC_VALUE);
  assert.equal(rows.join().includes(secret), false);
});
