/** On every screen: the board's rows, sums and order, and the limits of an account. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after } from 'node:test';
import { createPlaces } from '../../../tools/harness/program.ts';
import { makeLedger, until } from '../../../tools/harness/running.ts';
import { LONG_ONLY } from '../../scale.ts';
import { edit, openBoard, readRows, rowOf, untilKnown } from '../board/board-page.ts';
import { assertRaised, stubNotifications } from '../board/stubbed-notices.ts';
import { useBrowser } from '../browser.ts';
import {
  accountOf,
  delegation,
  formatBlock,
  METALS,
  NOBODY,
  OTHER,
  USER,
  VALIDATORS,
} from '../small-ledger.ts';
import { serveSmall } from '../small-service.ts';
import { assertInSight, assertTone, FILE_MS_MAX, screenTest } from './every-screen.ts';

const place = createPlaces();
useBrowser();

/** Worth 20,000. */
const LONG_ONE = accountOf(OTHER, '-11000.0', [{ coin: 'ETH', szi: '10.0', entryNtl: '31000.0' }]);
const UNLOCK_MS = Date.now() + 86_400_000 * 20.5;
const { url, origin, data } = await serveSmall(
  { after },
  {
    data: place(),
    events: [...METALS, LONG_ONE, delegation(VALIDATORS[0], '5.0', UNLOCK_MS)],
    runMsMax: FILE_MS_MAX,
  },
);
let height = 1;

async function move(prices: Record<string, string>): Promise<void> {
  height += 1;
  await makeLedger(data, [formatBlock(height, Date.now() + height, [{ type: 'marks', prices }])]);
}

const LIST = `${OTHER} Reserve\n${USER} Main desk\n${NOBODY}`;
const EXPECTED = {
  value: '66,300.00',
  risk: 'at risk',
  cause: 'xyz:GOLD isolated, 4.6 % to liquidation',
  nearest: 'xyz:GOLD 4.6 %',
  loss: '461.54',
  long: '68,000.00',
  short: '12,400.00',
  net: '55,600.00',
  unrealizedPnl: '+1,100.00',
};

screenTest(
  '13. a row has all figures of its account, moves by push, and opens it; the sum',
  async (screen) => {
    const page = await openBoard(url, LIST, { ...screen, expected: /status of 422/ });
    await untilKnown(page, 3);
    const rows = await until('the riskiest to be first', async () => {
      const found = await readRows(page);
      return found[0].user === USER && found;
    });
    assert.deepEqual(
      rows.map(({ user }) => user),
      [USER, OTHER, NOBODY],
    );
    const { texts } = rows[0];
    for (const [name, text] of Object.entries(EXPECTED)) {
      assert.equal(texts[name], text, name);
      await assertInSight(rowOf(page, USER).locator(`[data-field="${name}"]`));
    }
    await assertTone(rowOf(page, USER).locator('[data-field="risk"]'), screen, 'loss');
    const unlock = rowOf(page, USER).locator('[data-field="unlock"]');
    await unlock.getByText(/^in 20 d /).waitFor();
    await assertInSight(unlock);
    const change = rowOf(page, USER).locator('[data-field="change"]');
    await until('the day', async () => (await change.getAttribute('data-start')) === '66300.0');
    await move({ BTC: '86500.0' });
    await until('the change', async () => (await change.innerText()) === '+250.00');
    await assertTone(change, screen, 'gain');
    await assertInSight(change);
    const sum = page.locator('.board tfoot');
    await sum.getByText('86,550.00').waitFor();
    await sum.getByText('Sum of 3').waitFor();
    await assertInSight(sum.locator('[data-field="sumValue"]'));
    await move({ BTC: '86000.0' });
    await until('the change back', async () => (await change.innerText()) === '0.00');
    await rowOf(page, USER).locator('[data-field="long"]').click();
    await page.waitForURL(`${origin}/#user=${USER}`);
    await page.locator('tr[data-coin="BTC"]').waitFor();
    await page.goBack();
    await page.waitForURL(`${origin}/#board`);
    await untilKnown(page, 3);
  },
  LONG_ONLY,
);

screenTest(
  '13. any column sorts, rows hold still, and the board is a file',
  async (screen) => {
    const page = await openBoard(url, LIST, { ...screen, expected: /status of 422/ });
    await untilKnown(page, 3);
    const usersOf = async () => (await readRows(page)).map(({ user }) => user);
    await page.getByRole('columnheader', { name: 'Value' }).getByRole('button').click();
    await page.waitForURL(`${origin}/#board&sort=-value`);
    assert.deepEqual(await usersOf(), [USER, OTHER, NOBODY]);
    await page.getByRole('columnheader', { name: 'Value' }).getByRole('button').click();
    await until('the other way', async () => (await usersOf())[0] === NOBODY);
    assert.deepEqual(await usersOf(), [NOBODY, OTHER, USER]);
    // Worth more than the next one, its row stays where it is until somebody wants it otherwise.
    await move({ ETH: '10000.0' });
    await rowOf(page, OTHER).getByText('89,000.00', { exact: true }).first().waitFor();
    const sortAgain = page.getByRole('button', { name: 'Sort again' });
    await sortAgain.waitFor();
    assert.deepEqual(await usersOf(), [NOBODY, OTHER, USER]);
    await sortAgain.click();
    await until('the new order', async () => (await usersOf())[2] === OTHER);
    await move({ ETH: '3100.0' });
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save as file' }).click();
    const { accounts } = JSON.parse(readFileSync(await (await download).path(), 'utf8'));
    assert.deepEqual(
      accounts.map(({ address, label }: { address: string; label: string }) => [address, label]),
      [
        [OTHER, 'Reserve'],
        [USER, 'Main desk'],
        [NOBODY, ''],
      ],
    );
  },
  LONG_ONLY,
);

screenTest(
  '14. a limit that is crossed is shown, in the title and icon, and told with a sound',
  async (screen) => {
    const page = await openBoard(url, LIST, {
      ...screen,
      ...{ expected: /status of 422/, prepare: stubNotifications },
    });
    await untilKnown(page, 3);
    await page.getByRole('button', { name: 'Notify me' }).click();
    await page.getByText('Notifications are on').waitFor();
    await edit(page, USER, { 'Account value below': '60,000' });
    const marks = page.locator('[data-alarm]');
    assert.equal(await marks.count(), 0);
    await move({ BTC: '72000.0' });
    await assertRaised(page, {
      ...{ name: 'value', mark: 'value below 60,000' },
      reported: /^Main desk: value 59,300\.00, below your 60,000$/,
    });
    await assertInSight(marks.first());
    await rowOf(page, USER).getByRole('link').click();
    const words = page.getByRole('alert').getByText('value below 60,000');
    await assertInSight(words);
    await move({ BTC: '86000.0' });
    await marks.first().waitFor({ state: 'detached' });
    assert.doesNotMatch(await page.title(), /⚑/);
  },
  LONG_ONLY,
);
