/** On every screen: the page warns where it must, says how fresh it is, and does not contradict itself. */

import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Page } from 'playwright-core';
import { createPlaces } from '../../../tools/harness/program.ts';
import { makeLedger, until } from '../../../tools/harness/running.ts';
import { LONG_ONLY } from '../../scale.ts';
import { fieldText, openPage, useBrowser } from '../browser.ts';
import { accountOf, formatBlock, METALS, NOBODY, OTHER, USER } from '../small-ledger.ts';
import { serveSmall } from '../small-service.ts';
import {
  assertInSight,
  assertTone,
  FILE_MS_MAX,
  screenTest,
  unfoldChooser,
} from './every-screen.ts';

const place = createPlaces();
useBrowser();

const funded = (coin: string, szi: string, entryNtl: string, paid: string) => ({
  ...{ coin, szi, entryNtl, leverage: { type: 'cross', value: 10 } },
  cumFunding: { allTime: paid, sinceOpen: paid, sinceChange: paid },
});
/** Who has gained 0.004 on one position and lost 0.001 on the other, and received and paid funding. */
const TINY = {
  ...{ type: 'account', user: OTHER, dex: '', rawUsd: '90000.0' },
  positions: [
    funded('BTC', '0.5', '42999.996', '-12.5'),
    funded('ETH', '-4.0', '12399.999', '3.25'),
  ],
};
const runMsMax = FILE_MS_MAX;
const standing = await serveSmall(
  { after },
  { data: place(), events: [...METALS, TINY, accountOf(NOBODY, '-25.0', [])], runMsMax },
);
const moving = await serveSmall({ after }, { data: place(), runMsMax });
const stopped = await serveSmall(
  { after },
  { data: place(), time: Date.now() - 60_000, flags: ['--max-age', '10000'], runMsMax },
);
const OTHER_URL = standing.url.replace(/users=.*/, `users=${OTHER}`);

let height = 1;
let timeMs = Date.now();

/** A block of so much later. */
async function append(laterMs: number, ...events: object[]): Promise<void> {
  height += 1;
  timeMs += laterMs;
  await makeLedger(moving.data, [formatBlock(height, timeMs, events)]);
}

const LIMIT_MS = 600_000;

screenTest(
  '1. the verdict names the worst of all dexes, also in the title and the icon',
  async (screen) => {
    const page = await openPage(`${standing.url}`, screen);
    const account = page.locator('section.panel-account');
    const verdict = account.locator('[data-field="verdict"]');
    await verdict.waitFor();
    const says = async () => {
      assert.equal(await verdict.innerText(), 'at risk');
      const cause = account.locator('[data-field="cause"]');
      assert.equal(await cause.innerText(), 'xyz:GOLD isolated, 4.6 % to liquidation');
      for (const each of [verdict, cause]) await assertInSight(each);
      assert.match(await page.title(), /^‼ /);
      assert.equal(await page.locator('link[rel="icon"]').getAttribute('data-level'), 'danger');
    };
    await says();
    await assertTone(verdict, screen, 'loss');
    await assertInSight(account.getByText('“at risk” from 80 % of the cross margin'));
    // Also where a dex is chosen whose positions are far from liquidation.
    await unfoldChooser(page);
    await page.locator('input[name="dex"][value="first"]').check();
    await page.locator('tr[data-coin="xyz:GOLD"]').waitFor({ state: 'detached' });
    await says();
    await page.goto(OTHER_URL);
    await verdict.getByText('healthy').waitFor();
    await assertTone(verdict, screen, 'gain');
    await page.locator('link[rel="icon"][data-level="safe"]').waitFor({ state: 'attached' });
    // Who has no positions may still owe something.
    await page.goto(OTHER_URL.replace(OTHER, NOBODY));
    const owed = account.locator('[data-field="cause"]');
    await owed.getByText('the account value is negative').waitFor();
    assert.equal(await verdict.innerText(), 'at risk');
    await assertTone(verdict, screen, 'loss');
    await page.locator('link[rel="icon"][data-level="danger"]').waitFor({ state: 'attached' });
  },
  LONG_ONLY,
);

/** Answers of /health as the test wants them; undefined leaves them unanswered. */
async function scriptHealth(page: Page, change: () => object | undefined): Promise<void> {
  await page.route('**/health', async (route) => {
    const changed = change();
    if (changed === undefined) return;
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), ...changed } });
  });
}

screenTest(
  '3. freshness: amber before the limit, by push as well as by /health',
  async (screen) => {
    // Its service has no limit of its own.
    let health: object | undefined = { lagMs: 0, maxAgeMs: LIMIT_MS };
    const page = await openPage(moving.url, {
      ...screen,
      expected: /status of 422/,
      prepare: (opened) => scriptHealth(opened, () => health),
    });
    const link = page.locator('.freshness .link');
    const connection = page.locator('[data-field="connection"]');
    await connection.getByText('live, pushed', { exact: true }).waitFor();
    await page.locator('section.panel-account [data-field="accountValue"]').waitFor();
    await assertTone(link, screen, 'gain');
    const lagMs = 0.6 * LIMIT_MS;
    health = { lagMs, maxAgeMs: LIMIT_MS };
    await page.locator('.link-aging').waitFor();
    assert.equal(await connection.innerText(), 'live, pushed');
    await assertTone(link, screen, 'warn');
    await assertInSight(connection);
    // From here on HTTP hangs, and pushed states alone tell how fresh the ledger is.
    health = undefined;
    await append(lagMs, { type: 'marks', prices: { BTC: `${86_000 + height}.0` } });
    await page.locator('.link-live').waitFor();
    assert.equal(await fieldText(page, 'height'), `${height}`);
    assert.equal(await connection.innerText(), 'live, pushed');
    await assertTone(link, screen, 'gain');
    await assertInSight(page.locator('[data-field="age"]'));
  },
  LONG_ONLY,
);

screenTest(
  '3. what has not changed says since when, what has stopped says so in words',
  async (screen) => {
    let isPushed = false;
    const page = await openPage(moving.url, {
      ...screen,
      expected: /status of 422/,
      prepare: async (opened) => {
        opened.on('websocket', (socket) =>
          socket.on('framereceived', ({ payload }) => {
            isPushed ||= /^{"channel":"allDexsClearinghouseState"/.test(String(payload));
          }),
        );
      },
    });
    const origin = page.locator('section.panel-account .panel-head .height');
    await until('a push of the account', () => isPushed);
    const since = (await origin.innerText()).replace('unchanged since ', '');
    await append(10_000);
    await origin.getByText(`unchanged since ${since}`).waitFor();
    await assertInSight(origin);
    const late = await openPage(stopped.url, {
      ...screen,
      expected: /status of (422|503)|\/ws\?.*' failed/,
    });
    const message = late.getByRole('alert').getByText(/the newest block is of 2[-\d]+T[:\d]+Z/);
    await message.waitFor();
    await assertInSight(message);
    const words = await message.innerText();
    assert.match(words, /, more than 10 s ago/);
    assert.doesNotMatch(words, /\d{5}/);
    const connection = late.locator('[data-field="connection"]');
    assert.equal(await connection.innerText(), 'stale data');
    await assertTone(connection, screen, 'loss');
    await late.locator('section.panel-positions.is-old').waitFor();
    assert.match(await fieldText(late, 'age'), /^\d+ min \d\d s$/);
  },
  LONG_ONLY,
);

screenTest(
  '4. one message for a wrong key and for a bad address',
  async (screen) => {
    const page = await openPage(standing.url.replace(/key=[^&]+/, 'key=nothing'), {
      ...screen,
      expected: /status of 401|\/ws\?.*' failed/,
    });
    await page.getByText('This key does not work').waitFor();
    const alerts = page.getByRole('alert').getByText(/./);
    await assertInSight(alerts);
    assert.equal(await fieldText(page, 'connection'), 'key refused');
    // Longer than it takes until something would be asked again.
    await page.waitForTimeout(1_500);
    assert.equal(await alerts.count(), 1);
    assert.equal(await page.getByText(/asking…|cannot be reached/i).count(), 0);
    await page.getByLabel('Endpoint key').fill(standing.secret);
    await page.getByRole('button', { name: 'Connect' }).click();
    await page.locator('tr[data-coin="BTC"]').waitFor();
    await unfoldChooser(page);
    await page.getByLabel('Address').fill('0x12');
    await page.keyboard.press('Enter');
    const problem = page.getByText(
      '“0x12” is not an address, expected 0x and 40 hexadecimal digits',
    );
    await problem.waitFor();
    await assertInSight(problem);
    assert.equal(await alerts.count(), 1);
    assert.equal(await page.locator('tr[data-coin="BTC"]').count(), 1);
    await page.reload();
    await page.locator('tr[data-coin="BTC"]').waitFor();
    assert.equal(await page.getByLabel('Address').inputValue(), USER);
    assert.equal(await alerts.count(), 0);
  },
  LONG_ONLY,
);

screenTest(
  '4. a fraction of a cent, funding, units and the time zone',
  async (screen) => {
    const page = await openPage(OTHER_URL, { ...screen, timezoneId: 'Asia/Tokyo' });
    const expected = [
      { field: 'unrealizedPnl', coin: 'BTC', text: '+<0.01', tone: 'gain' },
      { field: 'unrealizedPnl', coin: 'ETH', text: '−<0.01', tone: 'loss' },
      { field: 'fundingReceived', coin: 'BTC', text: '+12.50', tone: 'gain' },
      { field: 'fundingReceived', coin: 'ETH', text: '−3.25', tone: 'loss' },
    ] as const;
    for (const { field, coin, text, tone } of expected) {
      const figure = page.locator(`tr[data-coin="${coin}"] [data-field="${field}"]`);
      assert.equal(await figure.innerText(), text);
      await assertTone(figure, screen, tone);
      await assertInSight(figure);
    }
    const sum = page.locator('.panel-account [data-field="unrealizedPnl"]');
    assert.equal(await sum.innerText(), '+<0.01');
    await assertTone(sum, screen, 'gain');
    // Cards say the word at the figure, the table above it.
    const word = page.locator('tr[data-coin="BTC"] [data-field="fundingReceived"]');
    const label = await word.evaluate((td) => getComputedStyle(td, '::before').content);
    assert.equal(label, screen.size === 'desktop' ? 'none' : '"Funding received"');
    assert.match((await word.getAttribute('title')) ?? '', /^12\.5 received since open/);
    const funding = page.locator('[data-field="sumFunding"]');
    assert.equal(await funding.innerText(), '+9.25');
    await assertTone(funding, screen, 'gain');
    assert.equal(await page.getByRole('columnheader', { name: 'Funding received' }).count(), 1);
    const text = await page.locator('body').innerText();
    for (const words of ['USDC', 'the network’s token', 'Asia/Tokyo']) {
      assert.equal(text.split(words).length, 2, `${words}: ${text}`);
    }
    await assertInSight(page.locator('footer span'));
  },
  LONG_ONLY,
);
