/** The page in all its states, checked by axe-core. */

import assert from 'node:assert/strict';
import { after } from 'node:test';
import { createPlaces } from '../../../tools/harness/program.ts';
import { createKey, makeLedger, startService } from '../../../tools/harness/running.ts';
import { ALSO_LONG, LONG_ONLY, scale } from '../../scale.ts';
import { browserTest, openPage, untilConnected, useBrowser } from '../browser.ts';
import { startDemo } from '../running-demo.ts';
import { firstBlock, USER } from '../small-ledger.ts';
import { assertAccessible } from './axe.ts';

const place = createPlaces();
useBrowser();
const demo = await startDemo({ after }, place());

const SCHEMES = ['light', 'dark'] as const;
/** In the long run, the other combinations. */
const WIDTHS = scale({ light: [], dark: [390] }, { light: [390, 1440], dark: [1440] });

for (const colorScheme of SCHEMES) {
  for (const width of WIDTHS[colorScheme]) {
    browserTest(
      `no violations: ${colorScheme}, ${width} pixels wide`,
      async () => {
        const viewport = { width, height: 900 };
        const page = await openPage(demo.url, { colorScheme, viewport });
        await page.locator('tbody tr').first().waitFor();
        await assertAccessible(page);
        // With stakes instead of positions, and the question behind a panel.
        const toggle = page.getByRole('button', { name: 'Other account or dex…' });
        if (await toggle.isVisible()) await toggle.click();
        await page.getByLabel('Address').fill(demo.users.at(-1) ?? '');
        await page.keyboard.press('Enter');
        await page.locator('tr[data-validator]').first().waitFor();
        await assertAccessible(page);
        await page.getByRole('button', { name: 'curl for Stakes' }).click();
        await page.getByRole('dialog').waitFor();
        await assertAccessible(page);
      },
      ALSO_LONG,
    );
  }
}

for (const colorScheme of SCHEMES.slice(0, scale(1, 2))) {
  browserTest(
    `no violations: ${colorScheme}, without a key and with a wrong one`,
    async () => {
      const { origin } = new URL(demo.url);
      const page = await openPage(origin, {
        expected: /status of 401|\/ws\?.*' failed/,
        colorScheme,
      });
      await page.getByLabel('Endpoint key').fill('wrong');
      await assertAccessible(page);
      await page.keyboard.press('Enter');
      await page.getByText('This key does not work').waitFor();
      await assertAccessible(page);
    },
    ALSO_LONG,
  );

  browserTest(
    `no violations: ${colorScheme}, with stale data`,
    async (context) => {
      const data = await makeLedger(place(), [firstBlock({ time: Date.now() - 60_000 })]);
      const { secret } = await createKey(data);
      const service = await startService(context, { data });
      const url = `http://127.0.0.1:${service.port}/#key=${secret}&users=${USER}`;
      const expected = /status of (422|503)|\/ws\?.*' failed/;
      const page = await openPage(url, { expected, colorScheme });
      await page.locator('section.is-old tbody tr').first().waitFor();
      await assertAccessible(page);
    },
    LONG_ONLY,
  );
}

browserTest(
  'everything can be reached and used by the keyboard alone',
  async (context) => {
    // Not the demo, whose accounts may have closed all their positions.
    const data = await makeLedger(place(), [firstBlock({ time: Date.now() })]);
    const { secret } = await createKey(data);
    const { port } = await startService(context, { data, flags: ['--max-age', '0'] });
    const page = await openPage(`http://127.0.0.1:${port}/#key=${secret}&users=${USER}`);
    await untilConnected(page);
    await page.locator('tbody tr').first().waitFor();
    const wanted = new Set([
      'Forget key',
      'user',
      'Show',
      'curl for Account',
      'PnL (ROE)',
      'Table of positions',
    ]);
    const reached: string[] = [];
    for (let step = 0; step < 60 && wanted.size > 0; step++) {
      await page.keyboard.press('Tab');
      const label = await page.evaluate(() => {
        const element = document.activeElement;
        const text = element?.getAttribute('aria-label') ?? element?.textContent ?? '';
        return element?.id || text.trim();
      });
      reached.push(label);
      wanted.delete(label);
    }
    assert.deepEqual([...wanted], [], `not among ${reached.join()}`);
  },
  LONG_ONLY,
);
