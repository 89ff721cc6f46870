/** Limits that people set for an account: marked, in the title and the icon, and reported. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { createPlaces } from '../../../tools/harness/program.ts';
import { makeLedger, until } from '../../../tools/harness/running.ts';
import { LONG_ONLY } from '../../scale.ts';
import { browserTest, useBrowser } from '../browser.ts';
import { formatBlock, type Held, NOBODY, USER } from '../small-ledger.ts';
import { serveSmall } from '../small-service.ts';
import { edit, openBoard, rowOf, untilKnown } from './board-page.ts';
import { assertRaised, readHeard, readShown, stubNotifications } from './stubbed-notices.ts';

const place = createPlaces();
useBrowser();

/** Much less than the limit of an age. */
const BLOCK_MS = 300;

/** A page with notifications on, and limits for the user of the small ledger. */
async function openLimited(url: string, limits: Record<string, string>): Promise<Page> {
  const page = await openBoard(url, `${USER} Main desk\n${NOBODY}`, {
    expected: /ERR_|status of 422|\/ws\?.*' failed/,
    prepare: stubNotifications,
  });
  await untilKnown(page, 2);
  await page.getByRole('button', { name: 'Notify me' }).click();
  await page.getByText('Notifications are on').waitFor();
  await edit(page, USER, limits);
  return page;
}

async function assertQuiet(page: Page): Promise<void> {
  assert.equal(await page.locator('[data-alarm]').count(), 0);
  assert.doesNotMatch(await page.title(), /⚑/);
  assert.deepEqual(await readShown(page), []);
}

browserTest(
  'a limit that is crossed is marked, and told once, until it is crossed again',
  async (context) => {
    const { url, data } = await serveSmall(context, { data: place() });
    const options = { expected: /status of 422/, prepare: stubNotifications };
    const page = await openBoard(url, `${USER} Main desk\n${NOBODY}`, options);
    await untilKnown(page, 2);
    await page.getByRole('button', { name: 'Notify me' }).click();
    await page.getByText('Notifications are on').waitFor();
    await edit(page, USER, { 'Account value below': '60,000' });
    let height = 1;
    /** BTC is half of a coin: the value moves by half of it. */
    const move = async (price: string) => {
      height++;
      const marks = { type: 'marks', prices: { BTC: price } };
      await makeLedger(data, [formatBlock(height, Date.now(), [marks])]);
    };
    const mark = rowOf(page, USER).locator('[data-alarm="value"]');
    assert.equal(await mark.count(), 0);
    await move('74000.0');
    await mark.getByText('value below 60,000').waitFor();
    const reported = 'Main desk: value 59,600.00, below your 60,000';
    assert.deepEqual(
      await until('the notice', async () => {
        const shown = await readShown(page);
        return shown.length > 0 && shown;
      }),
      [reported],
    );
    assert.deepEqual(await readHeard(page), [880, 1_175]);
    assert.match(await page.title(), /^⚑ 1 /);
    assert.match(
      (await page.locator('link[rel="icon"]').getAttribute('data-level')) ?? '',
      /alarm$/,
    );
    // Hardly back, below again, and a reload: all one crossing.
    await move('75000.0');
    await mark.getByText('value was below 60,000').waitFor();
    await move('65600.0');
    await mark.getByText('value below 60,000').waitFor();
    assert.deepEqual(await readShown(page), [reported]);
    await page.reload();
    await mark.getByText('value below 60,000').waitFor();
    assert.deepEqual(await readShown(page), []);
    await move('78000.0');
    await mark.waitFor({ state: 'detached' });
    assert.doesNotMatch(await page.title(), /⚑/);
    // On the account's own page too.
    await rowOf(page, USER).getByRole('link').click();
    await move('70000.0');
    const words = page.getByRole('alert').getByText('value below 60,000');
    await words.waitFor();
    assert.deepEqual(await readShown(page), ['Main desk: value 57,600.00, below your 60,000']);
  },
  LONG_ONLY,
);

browserTest(
  'notifications that are blocked or missing are said to be',
  async (context) => {
    const { url } = await serveSmall(context, { data: place() });
    const states = [
      ['denied', 'Notifications are blocked'],
      [undefined, 'Notifications are not available'],
    ] as const;
    for (const [permission, words] of states) {
      const page = await openBoard(url, USER, {
        prepare: async (opened) => {
          await opened.addInitScript((given) => {
            if (given === undefined) Reflect.deleteProperty(globalThis, 'Notification');
            else Object.assign(globalThis, { Notification: { permission: given } });
          }, permission);
        },
      });
      await page.getByText(words).waitFor();
      assert.equal(await page.getByRole('button', { name: 'Notify me' }).count(), 0);
    }
  },
  LONG_ONLY,
);

/** Each as a limit, and the mark of ETH at which it is crossed. */
const CROSSED = [
  {
    name: 'distance',
    label: 'Distance to liquidation below',
    limit: '10',
    mark: 'distance to liquidation below 10 %',
    reported: /^Main desk: ETH 6\.04 % to liquidation, below your 10 %$/,
  },
  {
    name: 'marginRatio',
    label: 'Cross margin used over',
    limit: '25',
    mark: 'cross margin used over 25 %',
    reported: /^Main desk: 28\.75 % of the cross margin used, over your 25 %$/,
  },
];

/** Worth 7,600 at 3,100, and 1,600 at 4,600, of which maintenance takes a fortieth of 18,400. */
const SHORT: readonly Held[] = [
  { coin: 'ETH', szi: '-4.0', markPx: '3100.0', entryNtl: '12500.0' },
];

for (const { name, label, limit, mark, reported } of CROSSED) {
  browserTest(
    `a limit is reported when it is crossed: ${mark}`,
    async (context) => {
      const { url, data } = await serveSmall(context, { data: place(), holdings: SHORT });
      const page = await openLimited(url, { [label]: limit });
      await assertQuiet(page);
      const marks = { type: 'marks', prices: { ETH: '4600.0' } };
      await makeLedger(data, [formatBlock(2, Date.now(), [marks])]);
      await assertRaised(page, { name, mark, reported });
    },
    LONG_ONLY,
  );
}

/** A block every now and then, until the function that is returned is called. */
function keepAppending(data: string): () => Promise<void> {
  let isOn = true;
  const append = async () => {
    for (let height = 2; isOn; height++) {
      await makeLedger(data, [formatBlock(height, Date.now(), [])]);
      await sleep(BLOCK_MS);
    }
  };
  const appended = append();
  return () => {
    isOn = false;
    return appended;
  };
}

browserTest(
  'data that gets old is reported, though nothing arrives any more',
  async (context) => {
    const { url, data, service } = await serveSmall(context, { data: place() });
    const end = keepAppending(data);
    context.after(end);
    const page = await openLimited(url, { 'Data older than': '5' });
    const height = page.locator('[data-field="height"]');
    const first = await height.innerText();
    await until('a later height', async () => (await height.innerText()) !== first);
    await assertQuiet(page);
    await service.stop();
    await assertRaised(page, {
      ...{ name: 'age', mark: 'age of the data over 5 s' },
      reported: /^Main desk: data is \d+ s old, over your 5 s$/,
    });
  },
  LONG_ONLY,
);
