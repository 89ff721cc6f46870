/** What the page does when a person uses it, and when something is wrong. */

import assert from 'node:assert/strict';
import { after, type TestContext } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { createPlaces, run } from '../../tools/harness/program.ts';
import { createKey, makeLedger, startService, until } from '../../tools/harness/running.ts';
import { ALSO_LONG, LONG_ONLY, scale } from '../scale.ts';
import { browserTest, fieldText, openPage, untilConnected, useBrowser } from './browser.ts';
import { placeOf, readPanels } from './page-figures.ts';
import { startDemo } from './running-demo.ts';
import {
  auction,
  delegation,
  firstBlock,
  formatBlock,
  METALS,
  NOBODY,
  USER,
  VALIDATORS,
} from './small-ledger.ts';
import { countStored } from './stored-points.ts';

const place = createPlaces();
useBrowser();
const demo = await startDemo({ after }, place());

/** A service on a small ledger, and a key of its own. */
async function serve(context: TestContext, events: readonly object[] = [], budget?: string) {
  const data = await makeLedger(place(), [firstBlock({ time: Date.now(), events })]);
  // Before the service starts, so that it knows the key when the page asks.
  const { id, secret } = await createKey(data, budget === undefined ? {} : { budget });
  const service = await startService(context, { data, flags: ['--max-age', '0'] });
  const url = `http://127.0.0.1:${service.port}/#key=${secret}&users=${USER}`;
  return { data, service, id, secret, url };
}

const panel = (page: Page, name: string): Locator => page.locator(`section.panel-${name}`);

async function forgetKey(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Forget key' }).click();
  await page.getByRole('button', { name: 'Forget it' }).click();
}

async function show(page: Page, user: string): Promise<void> {
  await page.getByLabel('Address').fill(user);
  await page.keyboard.press('Enter');
}

browserTest('the key is taken out of the address, kept, and forgotten', async () => {
  const page = await openPage(demo.url);
  const keyLink = new URLSearchParams(new URL(demo.url).hash.slice(1));
  const secret = keyLink.get('key') ?? '';
  const [user] = (keyLink.get('users') ?? '').split(',');
  const place = `${new URL(demo.url).origin}/#user=${user}`;
  await untilConnected(page);
  assert.equal(page.url(), place);
  assert.equal(await page.evaluate(() => history.length), 2);
  const isSomewhere = await page.evaluate((key) => document.body.innerHTML.includes(key), secret);
  assert.equal(isSomewhere, false);

  await page.reload();
  await panel(page, 'account').locator('[data-field="accountValue"]').waitFor();
  await forgetKey(page);
  await page.getByLabel('Endpoint key').waitFor();
  const stored = await page.evaluate(() => Object.values(localStorage).join(' '));
  assert.equal(stored.includes(secret), false);
  await page.reload();
  await page.getByLabel('Endpoint key').fill(secret);
  await page.getByRole('button', { name: 'Connect' }).click();
  await panel(page, 'account').locator('[data-field="accountValue"]').waitFor();

  // The same address again: only its fragment changes, so the page is not reloaded.
  await forgetKey(page);
  await page.goto(demo.url);
  await panel(page, 'account').locator('[data-field="accountValue"]').waitFor();
  assert.equal(page.url(), place);
});

browserTest('what is shown is in the address: it can be shared, and taken back', async () => {
  const page = await openPage(demo.url);
  await untilConnected(page);
  const { origin } = new URL(demo.url);
  const first = new URLSearchParams(new URL(page.url()).hash.slice(1)).get('user');
  await show(page, NOBODY);
  await page.waitForURL(`${origin}/#user=${NOBODY}`);
  await page.getByRole('button', { name: '7 d' }).click();
  await page.waitForURL(new RegExp(`/#user=${NOBODY}&(span=week|range=7d)$`));
  const link = page.url();
  await page.goBack();
  await page.waitForURL(`${origin}/#user=${first}`);
  await until('the first account', async () => {
    return (await page.getByLabel('Address').inputValue()) === first;
  });
  // The table is another one once the account's positions are there.
  await page.locator('tr[data-coin]').first().waitFor();
  await page.getByRole('button', { name: 'Liquidation' }).click();
  await page.waitForURL(`${origin}/#user=${first}&sort=liquidation`);
  await page.goForward();
  await page.waitForURL(link);
  await until('the account again', async () => {
    return (await page.getByLabel('Address').inputValue()) === NOBODY;
  });
  assert.equal(
    await page.getByRole('button', { name: '7 d' }).getAttribute('aria-pressed'),
    'true',
  );
});

async function columnOf(page: Page, field: string): Promise<number[]> {
  const { rows, order } = (await readPanels(page))['positions'];
  return order.map((coin) => Number(rows[coin][field].complete));
}

const ascending = (values: readonly number[]) => values.toSorted((a, b) => a - b);

browserTest(
  'a column sorts descending, ascending, and back',
  async (context) => {
    const { url } = await serve(context);
    const page = await openPage(url);
    const heading = page.getByRole('columnheader', { name: 'Value' });
    const asGiven = ['BTC', 'ETH', 'SOL'];
    await page.locator('tr[data-coin="BTC"]').waitFor();
    await heading.getByRole('button').click();
    const values = await columnOf(page, 'positionValue');
    assert.deepEqual(values, ascending(values).reverse());
    assert.notDeepEqual((await readPanels(page))['positions'].order, asGiven);
    assert.equal(await heading.getAttribute('aria-sort'), 'descending');
    // By the keyboard too.
    await heading.getByRole('button').press('Enter');
    assert.deepEqual(await columnOf(page, 'positionValue'), ascending(values));
    assert.equal(await heading.getAttribute('aria-sort'), 'ascending');
    await heading.getByRole('button').press('Enter');
    assert.deepEqual((await readPanels(page))['positions'].order, asGiven);
  },
  LONG_ONLY,
);

browserTest('rows keep their place and their elements while figures move', async () => {
  const page = await openPage(demo.url);
  await page.locator('tbody tr').first().waitFor();
  await page.getByRole('columnheader', { name: 'PnL' }).getByRole('button').click();
  // In one step: a position may open at any moment.
  const marked = await page.evaluate(() => {
    const rows = document.querySelectorAll<HTMLElement>('section.panel-positions tbody tr');
    for (const row of rows) row.setAttribute('data-seen', 'yes');
    return Array.from(rows, ({ dataset }) => dataset['coin'] ?? '');
  });
  const places = new Set([placeOf((await readPanels(page))['positions'])]);
  const later = await until('two new answers', async () => {
    const { positions } = await readPanels(page);
    return places.add(placeOf(positions)).size > 2 && positions;
  });
  const kept = later.order.filter((coin) => marked.includes(coin));
  // A position that was opened or closed meanwhile may change the order.
  if (kept.length === marked.length && kept.length === later.order.length) {
    assert.deepEqual(later.order, marked);
  }
  const seen = await page.locator('section.panel-positions tr[data-seen="yes"]').count();
  assert.equal(seen, kept.length);
});

browserTest(
  'an address that the ledger has never seen is empty, not an error',
  async (context) => {
    const { url } = await serve(context);
    const page = await openPage(url);
    await untilConnected(page);
    await show(page, NOBODY);
    await panel(page, 'positions').getByText('No positions here').waitFor();
    await panel(page, 'account').getByText('nothing at risk').waitFor();
    await panel(page, 'stakes').getByText('Nothing is delegated').waitFor();
    assert.equal(await fieldText(page, 'accountValue'), '0.00');
    assert.equal(await page.getByRole('alert').filter({ hasText: /./ }).count(), 0);
  },
  LONG_ONLY,
);

browserTest(
  'of a key that does not work one thing is said',
  async (context) => {
    const { url, service } = await serve(context);
    const page = await openPage(url.replace(/key=[^&]+/, 'key=nothing'), {
      expected: /ERR_|status of 401|\/ws\?.*' failed/,
    });
    await page.getByText('This key does not work').waitFor();
    await service.stop();
    await page.waitForTimeout(3_000);
    assert.equal(await page.getByRole('alert').getByText(/./).count(), 1);
    assert.equal(await page.getByText('Asking…').count(), 0);
  },
  LONG_ONLY,
);

browserTest(
  'an isolated position that has lost its margin is at risk',
  async (context) => {
    const leverage = { type: 'isolated', value: 10, rawUsd: '-40000.0' };
    const cumFunding = { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' };
    const position = { coin: 'SOL', szi: '100.0', entryNtl: '16000.0', leverage, cumFunding };
    // A short that owes cash: no price above zero liquidates it, so the service gives none.
    const owing = {
      ...{ coin: 'ETH', szi: '-1.0', entryNtl: '3000.0', cumFunding },
      leverage: { ...leverage, rawUsd: '-10.0' },
    };
    const positions = [position, owing];
    const { url } = await serve(context, [
      { type: 'account', user: NOBODY, dex: '', rawUsd: '50000.0', positions },
    ]);
    const page = await openPage(url);
    await untilConnected(page);
    await show(page, NOBODY.replace('0x', '0X').toUpperCase());
    await page.locator('tr[data-coin="SOL"]').waitFor();
    await panel(page, 'account').getByText('at risk', { exact: true }).waitFor();
    const row = page.locator('tr[data-coin="ETH"]');
    assert.equal(await row.locator('[data-field="liquidationPx"]').innerText(), 'none');
    assert.equal(await row.locator('[data-field="distance"]').innerText(), '! 0.0 %');
  },
  LONG_ONLY,
);

browserTest(
  'risk is judged over all dexes, in the panel, the title and the icon',
  async (context) => {
    const { url } = await serve(context, METALS);
    const page = await openPage(url);
    await untilConnected(page);
    const account = panel(page, 'account');
    // Also while a dex is shown whose positions are far from liquidation.
    await page.locator('input[name="dex"][value="first"]').check();
    await page.locator('tr[data-coin="xyz:GOLD"]').waitFor({ state: 'detached' });
    await page.locator('tr[data-coin="BTC"]').waitFor();
    await account.getByText('xyz:GOLD isolated, 4.6 % to liquidation').waitFor();
    assert.equal(await account.locator('.verdict').innerText(), 'at risk');
    await account.getByText('“at risk” from 80 % of the cross margin').waitFor();
    assert.match(await page.title(), /^‼ /);
    assert.equal(await page.locator('link[rel="icon"]').getAttribute('data-level'), 'danger');
  },
  LONG_ONLY,
);

browserTest(
  'a tab keeps its account, and forgets the key with the others',
  async (context) => {
    const { url } = await serve(context);
    const first = await openPage(url);
    await untilConnected(first);
    const second = await first.context().newPage();
    await second.goto(new URL(url).origin);
    await show(second, NOBODY);
    await panel(second, 'positions').getByText('No positions here').waitFor();
    await first.reload();
    await first.locator('tr[data-coin="BTC"]').waitFor();
    await forgetKey(second);
    await first.getByLabel('Endpoint key').waitFor();
  },
  LONG_ONLY,
);

browserTest('a revoked key greys the figures and asks for another one', async (context) => {
  const { url, data, id, secret, service } = await serve(context);
  const expected = /status of 4(01|22)|\/ws\?.*' failed/;
  const page = await openPage(url, { expected });
  await page.locator('tr[data-coin="BTC"]').waitFor();
  assert.equal((await run(['keys', 'revoke', '--data', data, id])).code, 0);
  const client = service.connect();
  const { body } = await until('the revocation', async () => {
    const answer = await client.ask(secret, { type: 'delegations', user: USER });
    return answer.status === 401 && answer;
  });
  await page.getByRole('alert').getByText(JSON.parse(body).message).waitFor();
  assert.equal(await page.getByRole('alert').getByText(/./).count(), 1);
  assert.equal(await page.getByText(/asking…/i).count(), 0);
  assert.match((await panel(page, 'account').getAttribute('class')) ?? '', /is-old/);
  assert.equal(await fieldText(page, 'connection'), 'key refused');
  const other = await createKey(data);
  await page.getByLabel('Endpoint key').fill(other.secret);
  await page.getByRole('button', { name: 'Connect' }).click();
  await page.locator('tr[data-coin="BTC"]').waitFor();
  assert.doesNotMatch((await panel(page, 'account').getAttribute('class')) ?? '', /is-old/);
});

browserTest(
  'the page notices that the service stops, and that it is back',
  async (context) => {
    const { url, data, service } = await serve(context);
    const page = await openPage(url, { expected: /ERR_|status of 422|\/ws\?.*' failed/ });
    await page.locator('tr[data-coin="BTC"]').waitFor();
    const { port } = service;
    await service.stop();
    await page.locator('[data-field="connection"]', { hasText: 'not connected' }).waitFor();
    await page.getByRole('alert').getByText('the service cannot be reached').waitFor();
    for (const name of ['account', 'positions', 'stakes', 'auction']) {
      assert.match((await panel(page, name).getAttribute('class')) ?? '', /is-old/, name);
    }
    assert.match(await page.title(), /^\(old\)/);
    await makeLedger(data, [formatBlock(2, Date.now(), [])]);
    await startService(context, { data, flags: ['--max-age', '0', '--port', String(port)] });
    await untilConnected(page);
    await until('the new height', async () => (await readPanels(page))['account'].height === 2);
    assert.doesNotMatch((await panel(page, 'account').getAttribute('class')) ?? '', /is-old/);
  },
  LONG_ONLY,
);

browserTest(
  'an outage is a gap in the chart, which a reload keeps',
  async (context) => {
    const { url, data, service } = await serve(context);
    const page = await openPage(url, { expected: /ERR_|status of 422|\/ws\?.*' failed/ });
    const chart = page.locator('figure.chart-box');
    const read = async () => {
      const names = ['data-points', 'data-gaps'];
      const [points, gaps] = await Promise.all(names.map((name) => chart.getAttribute(name)));
      return { points: Number(points), gaps: Number(gaps) };
    };
    await until('the first point', async () => (await read()).points === 1);
    const { port } = service;
    await service.stop();
    await page.locator('[data-field="connection"]', { hasText: 'not connected' }).waitFor();
    const marks = { type: 'marks', prices: { BTC: '60000.0' } };
    await makeLedger(data, [formatBlock(2, Date.now() + 20_000, [marks])]);
    await startService(context, { data, flags: ['--max-age', '0', '--port', String(port)] });
    await until('the gap', async () => (await read()).gaps === 1);
    assert.equal((await read()).points, 2);
    const change = await fieldText(page, 'valueChange');
    assert.match(change, /^[+−][\d,]+\.\d\d$/);
    await until('the point to be saved', async () => (await countStored(page)) > 0);
    await page.reload();
    await until('the gap after the reload', async () => (await read()).gaps === 1);
    assert.equal((await read()).points, 2);
    assert.equal(await fieldText(page, 'valueChange'), change);
    await page.getByRole('button', { name: '7 d' }).click();
    assert.deepEqual(await read(), { points: 2, gaps: 1 });
  },
  LONG_ONLY,
);

browserTest(
  'a spent budget is reported, and the page asks less often',
  async (context) => {
    const { url } = await serve(context, [], '20/min');
    const page = await openPage(url, { expected: /status of 4(22|29)|\/ws\?.*' failed/ });
    await page
      .getByRole('alert')
      .getByText(/^429 rate_limited budget: this question weighs/)
      .first()
      .waitFor();
    let asked = 0;
    page.on('request', (request) => {
      if (request.method() === 'POST') asked++;
    });
    await page.waitForTimeout(4_000);
    assert.ok(asked <= 8, `${asked} questions in four seconds`);
  },
  LONG_ONLY,
);

browserTest(
  'the auction: running, with its floor worked out',
  async (context) => {
    const startSeconds = Math.floor(Date.now() / 1000) - 300;
    const { url } = await serve(context, [auction(startSeconds, 600)]);
    const page = await openPage(url);
    await panel(page, 'auction').locator('canvas').first().waitFor();
    assert.equal(await fieldText(page, 'floorGas'), '500.0');
    assert.match(await panel(page, 'auction').innerText(), /Time left\s+[45] min/);
  },
  LONG_ONLY,
);

browserTest(
  'a countdown turns into "unlocked"',
  async (context) => {
    const unlock = Date.now() + 9_000;
    const { url, data } = await serve(context, [
      delegation(VALIDATORS[0], '12.5', Date.now() - 1000),
      delegation(VALIDATORS[1], '37.5', unlock),
    ]);
    const page = await openPage(url);
    const unlocks = page.locator('[data-field="unlock"]');
    await unlocks.first().waitFor();
    assert.deepEqual(await page.locator('[data-field="share"]').allInnerTexts(), [
      '25.00 %',
      '75.00 %',
    ]);
    assert.equal(await unlocks.first().innerText(), '✓ unlocked');
    assert.match(await unlocks.last().innerText(), /^in \d s$/);
    // The ledger's time decides, not the browser's clock.
    await makeLedger(data, [formatBlock(2, unlock, [])]);
    await unlocks.last().getByText('✓ unlocked').waitFor();
  },
  LONG_ONLY,
);

browserTest(
  'every panel shows its question and answer, and a curl line that works',
  async (context) => {
    const { url, service, secret } = await serve(context);
    const permissions = ['clipboard-read', 'clipboard-write'];
    const page = await openPage(url, { permissions });
    await page.locator('tr[data-coin="BTC"]').waitFor();
    const types: string[] = [];
    for (const title of ['Account', 'Positions', 'Stakes', 'Deployment auction']) {
      await page.getByRole('button', { name: `curl for ${title}` }).click();
      const dialog = page.getByRole('dialog');
      const shown = await dialog.innerText();
      assert.equal(shown.includes(secret), false, 'the key is not on the screen');
      await dialog.getByRole('button', { name: 'Copy as curl' }).click();
      await dialog.getByText('copied', { exact: true }).waitFor();
      const line = await page.evaluate(() => navigator.clipboard.readText());
      const [, address, body] = /^curl -s '([^']+)' -H '[^']+' -d '([^']+)'$/.exec(line) ?? [];
      assert.equal(address, `http://127.0.0.1:${service.port}/${secret}/info`);
      const { body: answer } = await service.connect().ask(secret, body);
      const answerShown = await dialog.locator('pre[data-answer]').innerText();
      assert.deepEqual(JSON.parse(answerShown), JSON.parse(answer));
      types.push(JSON.parse(body).type);
      await dialog.getByRole('button', { name: 'Copy the base address' }).click();
      const base = `http://127.0.0.1:${service.port}/${secret}/`;
      await until(
        'the base address',
        async () => base === (await page.evaluate(() => navigator.clipboard.readText())),
      );
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
    }
    const [account, stakes] = ['allDexsClearinghouseState', 'delegations'];
    assert.deepEqual(types, [account, account, stakes, 'perpDeployAuctionStatus']);
  },
  LONG_ONLY,
);

for (const width of scale([360, 1920], [390, 768])) {
  browserTest(
    `nothing is wider than a screen of ${width} pixels`,
    async () => {
      const viewport = { width, height: 800 };
      const page = await openPage(demo.url, { viewport });
      await page.locator('tbody tr').first().waitFor();
      const { scroll, screen } = await page.evaluate(() => ({
        scroll: document.documentElement.scrollWidth,
        screen: innerWidth,
      }));
      assert.ok(scroll <= screen, `${scroll} > ${screen}`);
      // Wider content scrolls in its own box, with the coin still visible.
      const region = page.getByRole('region', { name: 'Table of positions' });
      await region.evaluate((element) => element.scrollTo(10_000, 0));
      assert.ok(await page.locator('tbody th').first().isVisible());
    },
    ALSO_LONG,
  );
}
