/** An account over all its dexes, and a dex as a filter: links, charts, polling. */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { createPlaces } from '../../../tools/harness/program.ts';
import { createKey, makeLedger, startService, until } from '../../../tools/harness/running.ts';
import { LONG_ONLY } from '../../scale.ts';
import { browserTest, fieldText, openPage, useBrowser } from '../browser.ts';
import { readPanels } from '../page-figures.ts';
import { firstBlock, formatBlock, METALS, USER } from '../small-ledger.ts';

const place = createPlaces();
useBrowser();

/** A small ledger, by default with two dexes, and the address of its page. */
async function serve(context: TestContext, events = METALS) {
  const data = await makeLedger(place(), [firstBlock({ time: Date.now(), events })]);
  const { secret } = await createKey(data);
  const { port } = await startService(context, { data, flags: ['--max-age', '0'] });
  return { data, url: `http://127.0.0.1:${port}/#key=${secret}&users=${USER}` };
}

const choose = (page: Page, dex: string) =>
  page.locator(`input[name="dex"][value="${dex}"]`).check();

const coinsOn = async (page: Page) => (await readPanels(page))['positions'].order;

const ALL = ['BTC', 'ETH', 'SOL', 'xyz:GOLD'];

browserTest(
  'links: all dexes without dex=, one with it, the first by FIRST',
  async (context) => {
    const { url } = await serve(context);
    const page = await openPage(url);
    await page.locator('tr[data-dex="xyz"]').waitFor();
    assert.deepEqual(await coinsOn(page), ALL);
    const { origin } = new URL(url);
    const all = `${origin}/#user=${USER}`;
    assert.equal(page.url(), all);
    await choose(page, 'first');
    await page.waitForURL(`${all}&dex=FIRST`);
    assert.deepEqual(await coinsOn(page), ALL.slice(0, 3));
    assert.equal(await page.locator('[data-field="dex"]').count(), 0);
    await choose(page, 'xyz');
    await page.waitForURL(`${all}&dex=xyz`);
    await page.reload();
    await page.locator('tr[data-dex="xyz"]').waitFor();
    assert.deepEqual(await coinsOn(page), ALL.slice(3));
    assert.equal(await fieldText(page, 'accountValue'), '700.00');
    await page.goBack();
    await page.locator('tr[data-dex="xyz"]').waitFor({ state: 'detached' });
    assert.deepEqual(await coinsOn(page), ALL.slice(0, 3));
    await page.goto(`${all}&dex=nope`);
    await page.getByText('There is no dex “nope” here.').waitFor();
    await choose(page, 'all');
    await page.locator('tr[data-dex="xyz"]').waitFor();
    assert.equal(await fieldText(page, 'accountValue'), '66,300.00');
  },
  LONG_ONLY,
);

browserTest(
  'a ledger with one dex has no filter and no column for it',
  async (context) => {
    const { url } = await serve(context, []);
    const page = await openPage(url);
    await page.locator('tr[data-coin="BTC"]').waitFor();
    assert.equal(await page.locator('.dexes, [data-field="dex"], .panel-account .tag').count(), 0);
  },
  LONG_ONLY,
);

browserTest(
  'the chart is of what is shown, and each has its own',
  async (context) => {
    const { url, data } = await serve(context);
    const page = await openPage(url, { expected: /status of 422/ });
    const chart = page.locator('figure.chart-box');
    const untilPoints = (count: number) =>
      until(
        `${count} points`,
        async () => (await chart.getAttribute('data-points')) === `${count}`,
      );
    const append = (height: number, prices: object) =>
      makeLedger(data, [formatBlock(height, Date.now() + height, [{ type: 'marks', prices }])]);
    await untilPoints(1);
    await page.locator('[data-field="connection"]', { hasText: 'pushed' }).waitFor();
    await append(2, { BTC: '86002.0' });
    await untilPoints(2);
    assert.equal(await fieldText(page, 'valueChange'), '+1.00');
    await choose(page, 'xyz');
    await untilPoints(1);
    await append(3, { 'xyz:GOLD': '100.5' });
    await untilPoints(2);
    assert.equal(await fieldText(page, 'valueChange'), '+50.00');
    await choose(page, 'all');
    await until('both changes', async () => (await fieldText(page, 'valueChange')) === '+51.00');
  },
  LONG_ONLY,
);

browserTest(
  'without push all dexes are polled, by one question',
  async (context) => {
    const { url, data } = await serve(context);
    const asked = new Set<string>();
    const page = await openPage(url, {
      prepare: async (opened) => {
        await opened.routeWebSocket(/\/ws\?/, (route) => route.close({ code: 1001 }));
        opened.on('request', (request) => {
          if (request.method() === 'POST') asked.add(request.postDataJSON().type);
        });
      },
    });
    await page.locator('[data-field="connection"]', { hasText: 'live, polled' }).waitFor();
    const marks = { type: 'marks', prices: { 'xyz:GOLD': '98.0' } };
    await makeLedger(data, [formatBlock(2, Date.now() + 1_000, [marks])]);
    await page.locator('[data-field="accountValue"][title="66100.0"]').waitFor();
    await page.getByText('xyz:GOLD isolated, 2.7 % to liquidation').waitFor();
    assert.deepEqual([...asked].sort(), [
      ...['allDexsClearinghouseState', 'delegations', 'perpDeployAuctionStatus', 'perpDexs'],
    ]);
  },
  LONG_ONLY,
);
