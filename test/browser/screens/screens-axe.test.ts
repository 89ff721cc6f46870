/** On every screen, axe-core finds nothing: with dialogs open, with errors, in the past, on the board. */

import { after } from 'node:test';
import type { Page } from 'playwright-core';
import { createPlaces } from '../../../tools/harness/program.ts';
import { LONG_ONLY } from '../../scale.ts';
import { edit, openBoard, rowOf, untilKnown } from '../board/board-page.ts';
import { openPage, useBrowser } from '../browser.ts';
import { accountOf, delegation, METALS, NOBODY, OTHER, USER, VALIDATORS } from '../small-ledger.ts';
import { serveSmall } from '../small-service.ts';
import { assertAccessible } from './axe.ts';
import { FILE_MS_MAX, screenTest, unfoldChooser } from './every-screen.ts';

useBrowser();
const { url } = await serveSmall(
  { after },
  {
    data: createPlaces()(),
    events: [
      ...METALS,
      accountOf(OTHER, '-25.0', []),
      delegation(VALIDATORS[0], '1234567.12345678', Date.now() + 1e9),
    ],
    ...{ flags: ['--explorer-url', 'https://explorer.example/{address}'], runMsMax: FILE_MS_MAX },
  },
);

/** Opens a dialog by a button, looks at it, and closes it; what is behind it was looked at before. */
async function assertDialog(page: Page, button: ReturnType<Page['locator']>): Promise<void> {
  await button.click();
  await page.getByRole('dialog').waitFor();
  await assertAccessible(page, 'dialog');
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
}

screenTest(
  'no violations: the dialogs of an account, and what if',
  async (screen) => {
    const page = await openPage(url, screen);
    await page.locator('tr[data-coin="xyz:GOLD"]').waitFor();
    await page.locator('tr[data-validator]').waitFor();
    await assertAccessible(page);
    await assertDialog(page, page.locator('tr[data-coin="xyz:GOLD"] button'));
    await assertDialog(page, page.locator(`button[data-row="${VALIDATORS[0]}"]`));
    await assertDialog(page, page.getByRole('button', { name: 'All digits of Account' }));
    await assertDialog(page, page.getByRole('button', { name: 'curl for Positions' }));
    await assertDialog(page, page.getByRole('button', { name: 'Label and limits' }));
    await assertDialog(page, page.getByRole('button', { name: 'Forget key' }));
    await page.getByRole('button', { name: 'What if' }).click();
    await page.getByRole('button', { name: '−20 %' }).click();
    await page.locator('[data-field="hypotheticalValue"]').waitFor();
    await page.getByLabel('by per cent', { exact: true }).fill('-95');
    await page.getByText('from −90 to 200').waitFor();
    await assertAccessible(page);
  },
  LONG_ONLY,
);

screenTest(
  'no violations: a bad address, data that gets old, a question that is refused, no connection',
  async (screen) => {
    let state: 'fresh' | 'old' | 'gone' = 'fresh';
    const page = await openPage(url, {
      ...screen,
      expected: /ERR_|status of (422|500)|\/ws\?.*' failed/,
      async prepare(opened) {
        await opened.route('**/health', async (route) => {
          if (state === 'gone') return route.abort();
          const response = await route.fetch();
          const lagMs = state === 'old' ? 400_000 : 0;
          const json = { ...(await response.json()), lagMs, maxAgeMs: 600_000 };
          return route.fulfill({ response, json });
        });
        await opened.route('**/info', async (route) => {
          const { type } = route.request().postDataJSON();
          if (state === 'gone') return route.abort();
          if (type !== 'delegations') return route.continue();
          const json = { error: 'internal', message: 'something went wrong' };
          return route.fulfill({ status: 500, json });
        });
        // Without push, so that nothing says otherwise.
        await opened.routeWebSocket(/\/ws\?/, (socket) => socket.close({ code: 1001 }));
      },
    });
    await page.locator('.panel-stakes').getByText('500 internal').waitFor();
    await unfoldChooser(page);
    await page.getByLabel('Address').fill('nobody');
    await page.keyboard.press('Enter');
    await page.getByText('“nobody” is not an address').waitFor();
    state = 'old';
    await page.locator('.link-aging').waitFor();
    await assertAccessible(page);
    state = 'gone';
    await page.getByRole('alert').getByText('the service cannot be reached').waitFor();
    await page.locator('section.panel-account.is-old').waitFor();
    await assertAccessible(page);
  },
  LONG_ONLY,
);

screenTest(
  'no violations: the board, its dialogs, and an account that is owed for',
  async (screen) => {
    const page = await openBoard(url, `${USER} Main desk\n${NOBODY}\n${OTHER} Debtor`, screen);
    await untilKnown(page, 3);
    await edit(page, USER, { 'Distance to liquidation below': '10' });
    await page.locator('[data-alarm="distance"]').waitFor();
    await rowOf(page, OTHER).getByText('the account value is negative').waitFor();
    await assertAccessible(page);
    await assertDialog(page, page.getByRole('button', { name: 'Add accounts' }));
    await assertDialog(page, page.getByRole('button', { name: 'Limits for all' }));
    await assertDialog(page, rowOf(page, USER).getByRole('button', { name: /^Edit/ }));
    await rowOf(page, OTHER).getByRole('link').click();
    await page.locator('[data-field="cause"]', { hasText: 'is negative' }).waitFor();
    await assertAccessible(page);
  },
  LONG_ONLY,
);
