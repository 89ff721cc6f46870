/** The page of a service that follows another perpinfo: which one, whether it is healthy, and all ages. */

import assert from 'node:assert/strict';
import { after, type TestContext } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { Page } from 'playwright-core';
import { createPlaces } from '../../tools/harness/program.ts';
import { makeLedger, startService, until } from '../../tools/harness/running.ts';
import { followPerpinfo } from '../follow/perpinfo-upstream.ts';
import { LONG_ONLY } from '../scale.ts';
import { browserTest, fieldText, openPage, untilConnected, useBrowser } from './browser.ts';
import { readPanels, type ShownPanel } from './page-figures.ts';
import { RunningDemo, startDemo } from './running-demo.ts';
import { assertAccessible } from './screens/axe.ts';
import { delegation, firstBlock, NOBODY, USER, VALIDATORS } from './small-ledger.ts';

const place = createPlaces();
/** On a busy machine an account may take longer to be read than a question waits: the page asks again. */
const EXPECTED = { expected: /status of 50[23]/ };
useBrowser();
const upstream = await startDemo({ after }, place());
const origin = `http://127.0.0.1:${upstream.port}`;
const follower = await followPerpinfo({ after }, upstream, place(), '--follow-budget', '6000');
const address = `http://127.0.0.1:${follower.service.port}/#key=${follower.secret}`;

const panel = (page: Page, name: string) => page.locator(`section.panel-${name}`);

async function show(page: Page, user: string): Promise<void> {
  await page.getByLabel('Address').fill(user);
  await page.keyboard.press('Enter');
}

/** A panel of the page that is from the ledger, and has been read. */
async function untilRead(page: Page, name: string) {
  return until(`the panel ${name}`, async () => {
    const shown = (await readPanels(page))[name];
    return shown !== undefined && shown.height > 0 && shown.accountTime > 0 && shown;
  });
}

/** A small ledger as the upstream, its follower, and the address of the follower's page. */
async function followSmall(context: TestContext, events: readonly object[]) {
  const data = await makeLedger(place(), [firstBlock({ time: Date.now(), events })]);
  const { port } = await startService(context, { data, flags: ['--max-age', '0'] });
  const { service, secret } = await followPerpinfo(context, { port, data }, place());
  return `http://127.0.0.1:${service.port}/#key=${secret}`;
}

browserTest(
  'any address typed in is read from the upstream and shown, with its age',
  async () => {
    const page = await openPage(address, EXPECTED);
    await untilConnected(page);
    const last = upstream.users[upstream.users.length - 1];
    for (const user of upstream.users) {
      await show(page, user);
      const stakes = await untilRead(page, 'stakes');
      const reported: { validator: string; amount: string }[] = await upstream.answerOf(
        { ...stakes, height: 0 },
        { type: 'delegations', user },
      );
      assert.deepEqual(
        stakes.order.map((validator) => [validator, stakes.rows[validator]['amount'].complete]),
        reported.map(({ validator, amount }) => [validator, amount]),
      );
    }
    // Once all dexes were read at one time: the oldest is the one that the page names.
    await until('the positions of all dexes', async () => {
      const { positions } = await readPanels(page);
      return positions.accountTime > 0 && isDeepStrictEqual(...(await readSizes(positions, last)));
    });
    assert.match(await panel(page, 'positions').innerText(), /read \d\.\d s ago/);
  },
  LONG_ONLY,
);

interface Held {
  readonly position: { readonly coin: string; readonly szi: string };
}

type States = readonly (readonly [dex: string, { readonly assetPositions: readonly Held[] }])[];

/** Coins and sizes on all dexes: as they are shown, and as the upstream had them when it was read. */
async function readSizes({ rows, order, accountTime }: ShownPanel, user: string) {
  const question = { type: 'allDexsClearinghouseState', user };
  const reported: States = await upstream.answerOf({ accountTime, height: 0 }, question);
  const held = reported.flatMap(([, { assetPositions }]) => assetPositions);
  return [
    order.map((coin) => [coin, rows[coin]['szi'].complete]),
    held.map(({ position: { coin, szi } }) => [coin, szi]),
  ] as const;
}

browserTest(
  'an address that the upstream has never seen is empty, once it was read',
  async () => {
    const page = await openPage(address, EXPECTED);
    await untilConnected(page);
    await show(page, NOBODY);
    await panel(page, 'positions').getByText('No positions here.', { exact: true }).waitFor();
    assert.ok((await untilRead(page, 'account')).accountTime > 0);
    await panel(page, 'stakes').getByText('Nothing is delegated').waitFor();
  },
  LONG_ONLY,
);

browserTest(
  'the header names the upstream, the panel has what /health reports',
  async () => {
    const page = await openPage(`${address}&users=${NOBODY}`);
    await untilConnected(page);
    assert.equal(await fieldText(page, 'upstream'), `${origin} is healthy`);
    await untilRead(page, 'account');
    await until('the followed account', async () => (await fieldText(page, 'followed')) !== '0');
    for (const field of ['marksAge', 'marketsAge', 'medianAge', 'oldestAge', 'streamAge']) {
      await until(field, async () => /^\d/.test(await fieldText(page, field)));
    }
    // The page asks once a second, while further dexes are read.
    const report = await until('the same report', async () => {
      const { body } = await follower.health();
      const reported = body['follow'] as { followed: number; counters: { surprises: object } };
      return (await fieldText(page, 'followed')) === `${reported.followed}` && reported;
    });
    assert.match(await fieldText(page, 'budget'), /^[\d,]+ of 6,000\s*$/);
    assert.equal(
      (await fieldText(page, 'surprises')) === 'none',
      isEmpty(report.counters.surprises),
    );
  },
  LONG_ONLY,
);

const isEmpty = (object: object) => Object.keys(object).length === 0;

browserTest(
  'an account that the rules do not give is shown as the upstream’s own',
  async (context) => {
    // The upstream tells nobody what backs the account, and so its liquidation prices do not follow.
    const collateral = { type: 'collateral', user: USER, dex: '', amount: '5000.0' };
    const stake = delegation(VALIDATORS[0], '12.5', 1);
    const url = `${await followSmall(context, [collateral, stake])}&users=${USER}`;
    // The upstream's time stands still, which /health reports after a while.
    const page = await openPage(url, { expected: /status of 503/ });
    await page.locator('tr[data-coin="BTC"]').waitFor();
    for (const name of ['account', 'positions']) {
      await panel(page, name).getByText('the exchange’s own answer').waitFor();
      const { height, accountTime } = (await readPanels(page))[name];
      assert.ok(height === 0 && accountTime > 0, name);
    }
    assert.ok((await untilRead(page, 'stakes')).height > 0);
    await until('the count', async () =>
      /^liquidationPx \d/.test(await fieldText(page, 'mismatches')),
    );
    await page.getByRole('button', { name: 'curl for Account' }).click();
    await page.getByRole('dialog').getByText('The exchange’s own answer').waitFor();
    await assertAccessible(page);
  },
  LONG_ONLY,
);

browserTest(
  'an upstream that fails is named with the reason, until it is back',
  async (context) => {
    const data = place();
    const demo = await startDemo(context, data);
    const { port } = demo;
    const { service, secret } = await followPerpinfo(context, demo, place());
    const url = `http://127.0.0.1:${service.port}/#key=${secret}&users=${demo.users[0]}`;
    const page = await openPage(url, { expected: /status of 50[23]/ });
    const named = page.locator('[data-field="upstream"]');
    await named.getByText(`http://127.0.0.1:${port} is healthy`).waitFor();
    await page.locator('tr[data-coin]').first().waitFor();
    await demo.kill();
    await named.getByText(`http://127.0.0.1:${port} fails`).waitFor();
    await page.getByRole('alert').getByText('Data is stale').waitFor();
    assert.match((await panel(page, 'account').getAttribute('class')) ?? '', /is-old/);
    await show(page, NOBODY);
    await panel(page, 'account')
      .getByRole('alert')
      .getByText(/^50[23] /)
      .waitFor();
    await assertAccessible(page);
    const again = new RunningDemo(data, ['--port', `${port}`]);
    context.after(async () => {
      again.program.child.kill('SIGTERM');
      await again.program.ended;
    });
    await named.getByText(`http://127.0.0.1:${port} is healthy`).waitFor({ timeout: 40_000 });
    await panel(page, 'positions').getByText('No positions here.').waitFor({ timeout: 40_000 });
  },
  LONG_ONLY,
);

for (const width of [360, 1440]) {
  browserTest(
    `no violations, and nothing wider than ${width} pixels`,
    async () => {
      const viewport = { width, height: 800 };
      const page = await openPage(`${address}&users=${upstream.users[0]}`, { viewport });
      await page.locator('[data-field="budget"]').waitFor();
      await page.locator('tr[data-coin]').first().waitFor();
      const scroll = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(scroll <= width, `${scroll} > ${width}`);
      await assertAccessible(page);
    },
    LONG_ONLY,
  );
}
