/** The past, on a service with an archive: the chart's points are its rows, and a moment is its answers. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Page } from 'playwright-core';
import { createPlaces } from '../../../tools/harness/program.ts';
import { createKey, makeLedger, startService, until } from '../../../tools/harness/running.ts';
import { archiveOnce } from '../../archive/archived.ts';
import { LONG_ONLY } from '../../scale.ts';
import { browserTest, openPage, type PageOptions, untilConnected, useBrowser } from '../browser.ts';
import { readPanels } from '../page-figures.ts';
import { assertAccessible } from '../screens/axe.ts';
import { FILE_MS_MAX, screenTest } from '../screens/every-screen.ts';
import { delegation, firstBlock, formatBlock, METALS, USER, VALIDATORS } from '../small-ledger.ts';
import { serveSmall } from '../small-service.ts';
import { sumUnits, toUnits, writeDecimal } from './exact.ts';

const place = createPlaces();
useBrowser();

const BLOCK_MS = 10_000;
const BLOCKS = 400;
/** The ledger has no blocks for half an hour after this one. */
const BEFORE_GAP = 200;
const GAP_MS = 1_800_000;
const START_MS = Date.now() - BLOCKS * BLOCK_MS - GAP_MS - 60_000;
const TRANSFERS = new Map([
  [50, { dex: '', amount: '1000.5' }],
  [120, { dex: 'xyz', amount: '300.25' }],
  [300, { dex: '', amount: '-250.125' }],
]);

/** Somebody whose margin is taken away, and whose position is closed in two steps. */
const VICTIM = `0x${'7'.repeat(40)}`;
const transferOf = (amount: string) => ({ type: 'transfer', user: VICTIM, dex: '', amount });
const tradeOf = (side: 'A' | 'B', sz: string) => ({
  ...{ type: 'fill', user: VICTIM, coin: 'BTC', side, sz, px: '86000.0', fee: '0.0' },
});
const LIQUIDATION = new Map<number, object[]>([
  [140, [transferOf('1000.0'), tradeOf('B', '0.1')]],
  [160, [transferOf('-995.0')]],
  [170, [tradeOf('A', '0.06')]],
  [180, [tradeOf('A', '0.04')]],
]);

const timeOf = (height: number) =>
  START_MS + (height - 1) * BLOCK_MS + (height > BEFORE_GAP ? GAP_MS : 0);

function block(height: number): string {
  const wave = (height * 37) % 101;
  const prices = { BTC: `${86_000 + wave}.0`, 'xyz:GOLD': `100.${wave % 10}` };
  const transfer = TRANSFERS.get(height);
  return formatBlock(height, timeOf(height), [
    { type: 'marks', prices },
    ...(transfer === undefined ? [] : [{ type: 'transfer', user: USER, ...transfer }]),
    ...(LIQUIDATION.get(height) ?? []),
    ...(height === 100 ? [delegation(VALIDATORS[0], '77.0', timeOf(height) + 60_000)] : []),
  ]);
}

const lines = [
  firstBlock({ time: START_MS, events: METALS }),
  ...Array.from({ length: BLOCKS - 1 }, (_, index) => block(index + 2)),
];
const data = await makeLedger(place(), lines);
const { secret } = await createKey(data, { budget: '100000/min' });
await archiveOnce(data);
const service = await startService(
  { after },
  { data, flags: ['--max-age', '0'], runMsMax: FILE_MS_MAX },
);
const origin = `http://127.0.0.1:${service.port}`;
const url = `${origin}/#key=${secret}&users=${USER}`;

async function ask(question: object) {
  const { status, body } = await service.connect().ask(secret, question);
  assert.equal(status, 200, body);
  return JSON.parse(body);
}

test('the health of the service tells what the archive holds', LONG_ONLY, async () => {
  const { archive } = JSON.parse((await service.once({ path: '/health' })).body);
  const [firstTime, lastTime] = [timeOf(1), timeOf(BLOCKS)];
  assert.deepEqual(archive, { first: 1, firstTime, last: BLOCKS, lastTime });
});

interface SeriesQuestion {
  readonly type: string;
  readonly dex: string;
  readonly from: number;
  readonly to: number;
  readonly step: number;
}

/** A page, and the questions about a time series that it has asked. */
async function openWatched(options: PageOptions = {}, address = url) {
  const asked: SeriesQuestion[] = [];
  const page = await openPage(address, {
    ...options,
    async prepare(page) {
      page.on('request', (request) => {
        const question = request.method() === 'POST' ? request.postDataJSON() : {};
        if (question.type === 'accountHistory') asked.push(question);
      });
    },
  });
  return { page, asked };
}

const chartOf = (page: Page) => page.locator('figure[data-source="archive"]');

async function readChart(page: Page) {
  return chartOf(page).evaluate((figure) => {
    const { points, gaps, step } = (figure as HTMLElement).dataset;
    const titleOf = (field: string) =>
      figure.querySelector(`[data-field="${field}"]`)?.getAttribute('title');
    return {
      points: Number(points),
      gaps: Number(gaps),
      step: Number(step),
      change: titleOf('valueChange'),
      profit: titleOf('profitChange'),
      transfers: Array.from(figure.querySelectorAll('[data-transfer]'), (element) =>
        element.getAttribute('data-transfer'),
      ),
      marks: Array.from(figure.querySelectorAll('.chart:first-of-type .chart-mark')).length,
    };
  });
}

type Row = readonly [number | null, number, ...(string | null)[]];
const [VALUE, NET_TRANSFERS] = [2, 8];

/** What the chart has to show of the rows of both dexes. */
async function expectChart(questions: readonly SeriesQuestion[]) {
  const lists: Row[][] = await Promise.all(questions.map(ask));
  const known = lists.map((rows) => rows.filter(([height]) => height !== null));
  const sumAt = (index: number, column: number) =>
    sumUnits(known.map((rows) => String(rows.at(index)?.[column])));
  const netAt = (index: number) => sumAt(index, NET_TRANSFERS);
  const profitAt = (index: number) => sumAt(index, VALUE) - netAt(index);
  const indexes = known[0].map((_, index) => index);
  const transfers = indexes.slice(1).map((index) => netAt(index) - netAt(index - 1));
  const moved = transfers.filter((units) => units !== 0n).reverse();
  return {
    points: known[0].length,
    gaps: 1,
    step: questions[0].step,
    change: writeDecimal(sumAt(-1, VALUE) - sumAt(0, VALUE)),
    profit: writeDecimal(profitAt(-1) - profitAt(0)),
    transfers: moved.map(writeDecimal),
    marks: moved.length,
  };
}

const lengthOf = ({ from, to }: SeriesQuestion) => to - from;

async function untilAsked(asked: readonly SeriesQuestion[], count: number): Promise<void> {
  await until(`${count} questions about a time series`, () => asked.length >= count);
}

browserTest(
  'the chart has the rows of the archive, and zooming asks for finer ones',
  async () => {
    const { page, asked } = await openWatched();
    await untilAsked(asked, 2);
    const expected = await expectChart(asked.slice(0, 2));
    assert.deepEqual(expected.transfers, ['-250.125', '300.25', '1000.5']);
    await until('the points', async () => (await readChart(page)).points === expected.points);
    assert.deepEqual(await readChart(page), expected);

    await page.getByRole('button', { name: 'Zoom in' }).click();
    await untilAsked(asked, 4);
    assert.equal(lengthOf(asked[2]), Math.round(lengthOf(asked[0]) / 2));
    const finer = await expectChart(asked.slice(2, 4));
    assert.ok(finer.step < expected.step);
    await until('the finer points', async () => (await readChart(page)).step === finer.step);
    assert.deepEqual(await readChart(page), finer);

    await page.keyboard.press('-');
    await until('the whole range', async () => (await readChart(page)).step === expected.step);
    const box = await page.locator('.chart .u-over').first().boundingBox();
    assert.ok(box);
    await page.mouse.move(box.x + box.width * 0.7, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.9, box.y + 30, { steps: 5 });
    await page.mouse.up();
    await untilAsked(asked, 8);
    const drawn = asked[6];
    const share = (time: number) => (time - asked[0].from) / lengthOf(asked[0]);
    assert.ok(Math.abs(share(drawn.from) - 0.7) < 0.02, `from ${share(drawn.from)}`);
    assert.ok(Math.abs(share(drawn.to) - 0.9) < 0.02, `to ${share(drawn.to)}`);
    await page.getByRole('button', { name: 'Whole range' }).click();
    await until('the whole range', async () => (await readChart(page)).step === expected.step);

    await page.getByRole('button', { name: '1 h', exact: true }).click();
    await page.waitForURL(/&span=hour$/);
    await until('an hour', () => lengthOf(asked[asked.length - 1]) === 3_600_000);
  },
  LONG_ONLY,
);

browserTest(
  'liquidations are marked in the chart, and told in words',
  async () => {
    const address = `${origin}/#key=${secret}&users=${VICTIM}&dex=`;
    const { page, asked } = await openWatched({}, address);
    const reported = chartOf(page).locator('[data-liquidation]');
    await until('two liquidations', async () => (await reported.count()) === 2);
    const words = await reported.allTextContents();
    assert.match(words[0], /^BTC liquidated from 0\.04 to 0\.0 at a mark of 86,0\d\d\.0, /);
    assert.match(words[1], /^BTC liquidated from 0\.1 to 0\.04 at a mark of 86,0\d\d\.0, /);
    const marks = chartOf(page).locator('.chart:first-of-type .chart-mark.liquidation');
    assert.deepEqual(
      await marks.evaluateAll((all) => all.map((mark) => mark.getAttribute('title'))),
      [...[words[1], words[0]]],
    );
    const places = await marks.evaluateAll((all) => all.map(({ style }) => parseFloat(style.left)));
    const { from, to } = asked[asked.length - 1];
    for (const [index, height] of [170, 180].entries()) {
      const share = ((timeOf(height) - from) / (to - from)) * 100;
      assert.ok(Math.abs(places[index] - share) < 1, `${places[index]} of ${share}`);
    }
    await chartOf(page).getByText('2 liquidations').click();
    await assertAccessible(page);
  },
  LONG_ONLY,
);

async function untilAt(page: Page, height: number): Promise<void> {
  await page.locator(`[data-field="moment"][data-at="${height}"][data-time]`).waitFor();
  await until(`the panels of height ${height}`, async () => {
    const panels = await readPanels(page);
    return ['account', 'positions', 'stakes', 'auction'].every(
      (name) => panels[name]?.height === height,
    );
  });
}

/** The figures of the page are those of the answers at the height. */
async function assertPast(page: Page, atHeight: number): Promise<void> {
  await untilAt(page, atHeight);
  const states = await ask({ type: 'allDexsClearinghouseState', user: USER, atHeight });
  const delegations = await ask({ type: 'delegations', user: USER, atHeight });
  const { account, positions, stakes } = await readPanels(page);
  const values = states.map(([, state]: [string, { marginSummary: { accountValue: string } }]) =>
    String(state.marginSummary.accountValue),
  );
  assert.equal(toUnits(account.fields['accountValue'].complete), sumUnits(values));
  for (const [, { assetPositions }] of states) {
    for (const { position } of assetPositions) {
      const row = positions.rows[position.coin];
      assert.equal(row['unrealizedPnl'].complete, position.unrealizedPnl);
    }
  }
  const shown = Object.entries(stakes.rows).map(([name, { amount }]) => [name, amount.complete]);
  assert.deepEqual(
    shown,
    delegations.map(({ validator, amount }: { validator: string; amount: string }) => [
      ...[validator, amount],
    ]),
  );
}

browserTest(
  'the slider shows the whole page as it was, marked as past, in the link',
  async () => {
    const { page, asked } = await openWatched();
    await untilConnected(page);
    const slider = page.getByLabel('Height that is shown');
    await slider.fill('120');
    await assertPast(page, 120);
    assert.equal(page.url(), `${origin}/#user=${USER}&at=120`);
    assert.match(await page.locator('[data-field="moment"]').innerText(), /^.*As it was at .*120$/);
    assert.equal(await page.locator('.time-slider output').innerText(), 'height 120');
    assert.equal(await page.locator('[data-field="connection"]').count(), 0);
    assert.equal(await page.getByRole('button', { name: 'What if' }).count(), 0);
    assert.match(await page.title(), /^\(past\) /);
    await until('the chart up to then', () => asked.at(-1)?.to === timeOf(120));
    await assertAccessible(page);

    await slider.press('ArrowLeft');
    await assertPast(page, 119);
    await page.getByRole('button', { name: 'One block later' }).click();
    await page.getByRole('button', { name: 'One block later' }).click();
    await assertPast(page, 121);
    const local = await page.evaluate((timeMs) => {
      const shifted = new Date(timeMs - new Date(timeMs).getTimezoneOffset() * 60_000);
      return shifted.toISOString().slice(0, 19);
    }, timeOf(90));
    await page.getByLabel('Date and time').fill(local);
    await page.getByLabel('Date and time').press('Enter');
    await assertPast(page, 90);

    await page.goBack();
    await untilConnected(page);
    assert.equal(page.url(), `${origin}/#user=${USER}`);
    await until('live figures', async () => (await readPanels(page))['account'].height === BLOCKS);
    await page.goForward();
    await assertPast(page, 90);
    await page.getByRole('button', { name: 'Back to live' }).click();
    await untilConnected(page);
    await until('live figures', async () => (await readPanels(page))['account'].height === BLOCKS);
  },
  LONG_ONLY,
);

/** A browser that has the key already. */
const withKey = (secret: string) => ({
  async prepare(page: Page) {
    await page.addInitScript(`localStorage.setItem('perpinfo.key', '${secret}')`);
  },
});

screenTest(
  'a link to a moment opens in the past',
  async (screen) => {
    const page = await openPage(`${origin}/#user=${USER}&at=250`, {
      ...screen,
      ...withKey(secret),
    });
    await assertPast(page, 250);
    await assertAccessible(page);
    const isWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    assert.equal(isWide, false, 'nothing is wider than the screen');
  },
  LONG_ONLY,
);

browserTest(
  'a moment that is not kept is refused in words, and live is one click away',
  async () => {
    const options = { ...withKey(secret), expected: /status of 422/ };
    const page = await openPage(`${origin}/#user=${USER}&at=4000`, options);
    await page.locator('.panel-account .problem', { hasText: 'heights 1 to 400' }).waitFor();
    assert.equal(await page.locator('[data-field="accountValue"]').count(), 0);
    await page.getByRole('button', { name: 'Back to live' }).click();
    await untilConnected(page);
    await page.locator('[data-field="accountValue"]').first().waitFor();
  },
  LONG_ONLY,
);

browserTest(
  'without an archive there is no slider, and the chart is as before',
  async (context) => {
    const plain = await serveSmall(context, { data: place() });
    const page = await openPage(plain.url, { expected: /status of 422/ });
    await untilConnected(page);
    await page.getByRole('button', { name: '15 min' }).waitFor();
    assert.equal(await page.getByLabel('Height that is shown').count(), 0);
    assert.equal(await chartOf(page).count(), 0);
  },
  LONG_ONLY,
);
