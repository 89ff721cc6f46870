/** What if marks moved: exact, marked as hypothetical, and gone by one click. */

import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Page } from 'playwright-core';
import { createPlaces } from '../../../tools/harness/program.ts';
import {
  type Cleanup,
  createKey,
  makeLedger,
  startService,
  until,
} from '../../../tools/harness/running.ts';
import { LONG_ONLY } from '../../scale.ts';
import { browserTest, fieldText, openPage, type PageOptions, useBrowser } from '../browser.ts';
import { readPanels } from '../page-figures.ts';
import { assertAccessible } from '../screens/axe.ts';
import { FILE_MS_MAX, screenTest } from '../screens/every-screen.ts';
import { firstBlock, formatBlock, METALS, NOBODY, USER } from '../small-ledger.ts';

const place = createPlaces();
useBrowser();

/** A small ledger, and the address of its page. */
async function serve(context: Cleanup, events = METALS) {
  const data = await makeLedger(place(), [firstBlock({ time: Date.now(), events })]);
  const { secret } = await createKey(data);
  const { port } = await startService(context, {
    ...{ data, flags: ['--max-age', '0'], runMsMax: FILE_MS_MAX },
  });
  return { data, url: `http://127.0.0.1:${port}/#key=${secret}&users=${USER}` };
}

/** For the tests that leave the ledger as it is. */
const standing = await serve({ after });

/** A page with the controls open. */
async function openWhatIf(url: string, options: PageOptions = {}): Promise<Page> {
  const page = await openPage(url, { ...options, expected: /status of 422/ });
  await page.locator('tr[data-coin="BTC"]').waitFor();
  await page.getByRole('button', { name: 'What if' }).click();
  return page;
}

const moveBy = async (page: Page, percent: string) => {
  await page.getByLabel('by per cent', { exact: true }).fill(percent);
  await page.locator('[data-field="hypotheticalValue"]').waitFor();
};

/** Complete figures of the rows, by coin. */
async function readRows(page: Page, ...fields: string[]) {
  const { rows } = (await readPanels(page))['positions'];
  return Object.entries(rows).map(([coin, row]) => [
    coin,
    ...fields.map((field) => row[field]?.complete),
  ]);
}

browserTest(
  'what is supposed is what the page shows when it happens',
  async (context) => {
    const { data, url: address } = await serve(context);
    const page = await openWhatIf(address);
    const [title, url] = [await page.title(), page.url()];
    const points = await page.locator('figure.chart-box').getAttribute('data-points');
    await moveBy(page, '-20.5');
    const expected = await readRows(page, 'hypotheticalMark', 'hypotheticalPnl');
    const { fields } = (await readPanels(page))['positions'];
    const outcomes = await readRows(page, 'hypotheticalOutcome');
    assert.deepEqual(outcomes, [
      ...['BTC', 'ETH', 'SOL'].map((coin) => [coin, 'stays']),
      ['xyz:GOLD', '✕ liquidated'],
    ]);
    assert.equal(fields['liquidatedCount'].text, '1 of 4');
    // Nothing of it is in the account, the title, the address or the chart.
    assert.equal(await fieldText(page, 'accountValue'), '66,300.00');
    assert.deepEqual([await page.title(), page.url()], [title, url]);
    assert.equal(await page.locator('figure.chart-box').getAttribute('data-points'), points);
    const prices = Object.fromEntries(expected.map(([coin, mark]) => [coin, mark]));
    await makeLedger(data, [formatBlock(2, Date.now() + 1, [{ type: 'marks', prices }])]);
    await until('the block', async () => (await readPanels(page))['positions'].height === 2);
    assert.deepEqual(await readRows(page, 'mark', 'unrealizedPnl'), expected);
    const value = page.locator('[data-field="accountValue"]');
    assert.equal(await value.getAttribute('title'), fields['hypotheticalValue'].complete);
    // The supposition went on from there.
    assert.notEqual(
      (await readPanels(page))['positions'].fields['hypotheticalValue'].complete,
      fields['hypotheticalValue'].complete,
    );
  },
  LONG_ONLY,
);

browserTest(
  'one coin alone moves, by the slider and by the keyboard',
  async () => {
    const page = await openWhatIf(standing.url);
    await page.getByLabel('Move', { exact: true }).selectOption('ETH');
    const slider = page.getByRole('slider', { name: 'Move by per cent' });
    await slider.press('End');
    await page.getByText('Hypothetical: the mark of ETH +200 %.').waitFor();
    assert.deepEqual(await readRows(page, 'hypotheticalMark'), [
      ...[
        ['BTC', '86000.0'],
        ['ETH', '9300.0'],
        ['SOL', '150.0'],
        ['xyz:GOLD', '100.0'],
      ],
    ]);
    // 4 short by 6,200 more each.
    assert.equal(await fieldText(page, 'hypotheticalChange'), '−24,800.00');
    await slider.press('Home');
    await page.getByText('Hypothetical: the mark of ETH −90 %.').waitFor();
    // On a dex that does not have the coin, nothing is hypothetical.
    await page.locator('input[name="dex"][value="xyz"]').check();
    await page.getByText('Hypothetical').waitFor({ state: 'detached' });
  },
  LONG_ONLY,
);

browserTest(
  'it ends by a click, by Escape, with the account, and by a reload',
  async () => {
    const page = await openWhatIf(standing.url);
    const banner = page.getByText('Hypothetical');
    const untilGone = async () => {
      await banner.waitFor({ state: 'detached' });
      assert.equal(await page.locator('.hypothetical, [data-field^="hypothetical"]').count(), 0);
    };
    await page.getByRole('button', { name: '−20 %' }).click();
    await banner.waitFor();
    await page.getByRole('button', { name: 'Reset' }).click();
    await untilGone();
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('type')), 'range');
    await moveBy(page, '+5');
    // What cannot be meant changes nothing.
    await page.getByLabel('by per cent', { exact: true }).fill('-95');
    await page.getByText('from −90 to 200').waitFor();
    await page.getByText('Hypothetical: all marks +5 %.').waitFor();
    // Escape closes a dialog first.
    await page.getByRole('button', { name: 'curl for Positions' }).click();
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByText('Hypothetical: all marks +5 %.').waitFor();
    await page.keyboard.press('Escape');
    await untilGone();
    await moveBy(page, '5');
    await page.getByLabel('Address').fill(NOBODY);
    await page.keyboard.press('Enter');
    await page.getByText('No positions here').waitFor();
    await page.goBack();
    await page.locator('tr[data-coin="BTC"]').waitFor();
    assert.equal(await page.getByRole('slider').count(), 0);
    await page.getByRole('button', { name: 'What if' }).click();
    await moveBy(page, '5');
    await page.reload();
    await page.locator('tr[data-coin="BTC"]').waitFor();
    await untilGone();
  },
  LONG_ONLY,
);

browserTest(
  'collateral that the answer does not tell is not left out silently',
  async (context) => {
    const collateral = { type: 'collateral', user: USER, dex: '', amount: '5000.0' };
    const loss = { type: 'transfer', user: USER, dex: '', amount: '-55000.0' };
    const page = await openWhatIf((await serve(context, [collateral, loss])).url);
    await moveBy(page, '-30');
    const outcomes = await readRows(page, 'hypotheticalOutcome');
    assert.deepEqual(
      outcomes.map(([, outcome]) => outcome),
      ['? liquidated', '? liquidated', '? liquidated'],
    );
    await page.getByText('collateral from outside of the account backs them').waitFor();
  },
  LONG_ONLY,
);

screenTest(
  '8. what-if has no violations, and all in sight',
  async (screen) => {
    const { width } = screen.viewport;
    const page = await openWhatIf(standing.url, screen);
    await moveBy(page, '-20');
    const scroll = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(scroll <= width, `${scroll} > ${width}`);
    const outcome = page.locator('tr[data-coin="xyz:GOLD"] [data-field="hypotheticalOutcome"]');
    const { x = width, width: size = 0 } = (await outcome.boundingBox()) ?? {};
    assert.ok(x + size <= width, 'the outcome is in sight without scrolling');
    if (screen.size === 'phone') await assertLargeTargets(page);
    await assertAccessible(page);
  },
  LONG_ONLY,
);

/** A thumb needs 44 pixels. */
async function assertLargeTargets(page: Page): Promise<void> {
  const controls = page.locator('.what-if :is(button, input, select), .what-if-open');
  const heights = await controls.evaluateAll((elements) =>
    elements.map((element) => element.getBoundingClientRect().height),
  );
  assert.ok(heights.length >= 12 && heights.every((height) => height >= 44), heights.join());
}
