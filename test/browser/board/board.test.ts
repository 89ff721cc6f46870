/** The board and its labels, as a person uses them. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { createPlaces } from '../../../tools/harness/program.ts';
import { createKey, makeLedger, startService, until } from '../../../tools/harness/running.ts';
import { LONG_ONLY } from '../../scale.ts';
import { toUnits, writeDecimal, writeRounded } from '../account/exact.ts';
import {
  exposureOf,
  nearestOf,
  positionsOf,
  type States,
  totalOf,
  verdictOf,
} from '../account/naive-account.ts';
import { browserTest, openPage, useBrowser } from '../browser.ts';
import { startDemo } from '../running-demo.ts';
import { assertAccessible } from '../screens/axe.ts';
import { screenTest } from '../screens/every-screen.ts';
import {
  delegation,
  firstBlock,
  formatBlock,
  NOBODY,
  OTHER,
  USER,
  VALIDATORS,
} from '../small-ledger.ts';
import { edit, openBoard, readRows, rowOf, type ShownRow, untilKnown } from './board-page.ts';

const place = createPlaces();
useBrowser();
const demo = await startDemo({ after }, place());

const DAY_MS = 86_400_000;

interface ServeOptions {
  /** When the first block is; now if it does not matter. */
  readonly time?: number;
  readonly budget?: string;
}

/** A service on a small ledger, without a place in its address. */
async function serve(
  context: TestContext,
  events: readonly object[] = [],
  { time = Date.now(), ...terms }: ServeOptions = {},
) {
  const data = await makeLedger(place(), [firstBlock({ time, events })]);
  const { secret } = await createKey(data, terms);
  const service = await startService(context, { data, flags: ['--max-age', '0'] });
  const origin = `http://127.0.0.1:${service.port}`;
  return { data, secret, origin, url: `${origin}/#key=${secret}&users=${USER}` };
}

browserTest(
  'a pasted list is read, what is bad is named, and the figures are summed',
  async (context) => {
    const stakes = [
      delegation(VALIDATORS[0], '12.5', Date.now() + 2 * DAY_MS),
      delegation(VALIDATORS[1], '7.5', Date.now() + DAY_MS - 60_000),
    ];
    const { url } = await serve(context, stakes);
    const page = await openPage(url);
    await page.getByRole('link', { name: 'Board' }).click();
    const list = page.getByLabel(/^Addresses/);
    await list.fill(`${USER} Main desk\n0x12 broken\n${NOBODY},Nobody\n${USER}`);
    await page.getByText('line 2: “0x12 broken” has no address').waitFor();
    await page.getByText('An address is named again').waitFor();
    await page.getByRole('button', { name: 'Add 2 accounts' }).click();
    const [first, second] = await untilKnown(page, 2);
    // The worst is first; the other one has nothing.
    assert.deepEqual([first.user, second.user], [USER, NOBODY]);
    assert.equal(first.texts['value'], '65,600.00');
    assert.deepEqual([first.texts['long'], first.texts['short']], ['58,000.00', '12,400.00']);
    assert.deepEqual(
      [first.texts['net'], first.texts['unrealizedPnl']],
      ['45,600.00', '+1,100.00'],
    );
    assert.deepEqual([second.texts['risk'], second.texts['nearest']], ['nothing at risk', 'none']);
    await until('the stakes', async () => {
      return /^in 23 h 5\d min$/.test((await readRows(page))[0].texts['unlock']);
    });
    await until('the sum', async () => {
      const sums = page.locator('.board tfoot');
      return (
        (await sums.getByText('Sum of 2').count()) === 1 &&
        (await sums.innerText()).includes('65,600.00')
      );
    });
    assert.equal(await page.locator('[data-field="sumHeights"]').innerText(), 'height 1');
    await rowOf(page, USER).getByRole('button', { name: 'Edit Main desk' }).click();
    await page
      .getByRole('dialog')
      .getByText(/^Of height 1, /)
      .waitFor();
  },
  LONG_ONLY,
);

browserTest(
  'the figures of every row are those of the ledger at its height',
  async () => {
    const page = await openBoard(demo.url, demo.users.join('\n'));
    await untilKnown(page, demo.users.length);
    await until('all stakes', async () =>
      (await readRows(page)).every(({ stakes }) => stakes.height + stakes.accountTime > 0),
    );
    const seen = new Set<number>();
    for (let round = 0; round < 2; round++) {
      const rows = await until('a new height', async () => {
        const found = await readRows(page);
        return found.some(({ height, accountTime }) => !seen.has(height || accountTime)) && found;
      });
      for (const row of rows) {
        seen.add(row.height || row.accountTime);
        await assertExact(row);
        await assertUnlock(row);
      }
    }
  },
  LONG_ONLY,
);

async function assertExact(row: ShownRow): Promise<void> {
  const { user, height, texts, complete, dayStart } = row;
  const states: States = await demo.answerOf(row, { type: 'allDexsClearinghouseState', user });
  const value = totalOf(states, ({ marginSummary }) => marginSummary.accountValue);
  const positions = positionsOf(states);
  const figures = { value: toUnits(value), ...exposureOf(positions) };
  const nearest = nearestOf(positions);
  for (const [name, units] of Object.entries({
    ...figures,
    ...(nearest && { loss: nearest.loss }),
  })) {
    assert.equal(complete[name], writeDecimal(units), `${name} of ${user} at ${height}`);
    if (name !== 'unrealizedPnl') assert.equal(texts[name], writeRounded(units, 2));
  }
  assert.equal(texts['nearest'], nearest ? `${nearest.coin} ${nearest.distance}` : 'none');
  const { word, cause } = verdictOf(states);
  assert.deepEqual([texts['risk'], texts['cause']], [word, cause]);
  if (dayStart !== '') {
    assert.equal(complete['change'], writeDecimal(figures.value - toUnits(dayStart)));
  }
}

/** Moments of which it is not known whether the page or the test came to them first. */
const CLOCKS_APART_MS = 10_000;

/** The next unlock is that of the delegations at the height that the row has them from. */
async function assertUnlock({ user, texts, stakes }: ShownRow): Promise<void> {
  const { unlockTime } = stakes;
  const asked: { lockedUntilTimestamp: number }[] = await demo.answerOf(stakes, {
    type: 'delegations',
    user,
  });
  const times = asked.map(({ lockedUntilTimestamp }) => lockedUntilTimestamp);
  const nextAfter = (ms: number) => Math.min(...times.filter((time) => time > ms));
  const nowMs = Date.now();
  const next = [nowMs - CLOCKS_APART_MS, nowMs + CLOCKS_APART_MS].map(nextAfter);
  if (unlockTime > 0) {
    assert.ok(next.includes(unlockTime), `${unlockTime} of ${times}`);
    assert.match(texts['unlock'], /^in \d/);
  } else {
    assert.ok(next.includes(Number.POSITIVE_INFINITY), `none of ${times}`);
    assert.equal(texts['unlock'], times.length === 0 ? '–' : 'unlocked');
  }
}

browserTest(
  'rows hold still while figures move, and the order is in the address',
  async () => {
    const page = await openBoard(demo.url, demo.users.join('\n'));
    await untilKnown(page, demo.users.length);
    const { origin } = new URL(demo.url);
    const heading = page.getByRole('columnheader', { name: 'Profit' });
    await heading.getByRole('button').click();
    await page.waitForURL(`${origin}/#board&sort=-pnl`);
    assert.equal(await heading.getAttribute('aria-sort'), 'descending');
    const order = (await readRows(page)).map(({ user }) => user);
    const marked = await page.evaluate(() => {
      const rows = document.querySelectorAll('.board tbody tr');
      for (const row of rows) row.setAttribute('data-seen', 'yes');
      return rows.length;
    });
    const heights = new Set<number>();
    const later = await until('three heights', async () => {
      const rows = await readRows(page);
      return heights.add(Math.max(...rows.map(({ height }) => height))).size > 2 && rows;
    });
    assert.deepEqual(
      later.map(({ user }) => user),
      order,
    );
    assert.equal(await page.locator('.board tr[data-seen="yes"]').count(), marked);
    await page.reload();
    await untilKnown(page, demo.users.length);
    assert.equal(await heading.getAttribute('aria-sort'), 'descending');
  },
  LONG_ONLY,
);

browserTest(
  'a row opens its account, by a click and by the keyboard, and Back comes back',
  async (context) => {
    const { url, origin } = await serve(context);
    const page = await openBoard(url, `${USER} Main desk\n${NOBODY}`);
    await untilKnown(page, 2);
    await rowOf(page, USER).locator('[data-field="long"]').click();
    await page.waitForURL(`${origin}/#user=${USER}`);
    await page.locator('tr[data-coin="BTC"]').waitFor();
    assert.match(await page.title(), /Main desk 65,600\.00 · perpinfo$/);
    await page.goBack();
    await page.waitForURL(`${origin}/#board`);
    await untilKnown(page, 2);
    await rowOf(page, NOBODY).getByRole('link').press('Enter');
    await page.waitForURL(`${origin}/#user=${NOBODY}`);
    await page.getByText('No positions').waitFor();
    await page.goBack();
    await page.goBack();
    await page.goForward();
    await page.waitForURL(`${origin}/#board`);
    await page.getByRole('heading', { name: 'Board' }).waitFor();
  },
  LONG_ONLY,
);

browserTest(
  'a reload keeps the board, its labels and limits, and since when the day is counted',
  async (context) => {
    const { url, data } = await serve(context);
    const page = await openBoard(url, `${USER} Main desk`, { expected: /status of 422/ });
    await untilKnown(page, 1);
    await edit(page, USER, { 'Data older than': '90' });
    const change = rowOf(page, USER).locator('[data-field="change"]');
    await until('the day', async () => (await change.getAttribute('data-start')) === '65600.0');
    assert.match(
      await rowOf(page, USER).locator('[data-field="since"]').innerText(),
      /^since.\d{1,2}:\d\d(\s[AP]M)?$/,
    );
    await makeLedger(data, [
      formatBlock(2, Date.now(), [{ type: 'marks', prices: { BTC: '87000.0' } }]),
    ]);
    await until('the change', async () => (await change.innerText()) === '+500.00');
    // Starts of days are saved every other second.
    await page.waitForTimeout(2_500);
    await page.reload();
    await until(
      'the change after the reload',
      async () => (await change.innerText()) === '+500.00',
    );
    assert.equal(await rowOf(page, USER).getByRole('link').innerText(), 'Main desk');
    await rowOf(page, USER).getByRole('button', { name: /^Edit/ }).click();
    assert.equal(await page.getByLabel('Data older than').inputValue(), '90');
  },
  LONG_ONLY,
);

browserTest(
  'the board is saved as a file and read from one, without the key',
  async (context) => {
    const { url, secret } = await serve(context);
    const page = await openBoard(url, `${USER} Main desk\n${OTHER}`);
    await untilKnown(page, 2);
    await edit(page, USER, { 'Distance to liquidation below': '2.5 %' });
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save as file' }).click();
    const file = await (await download).path();
    const text = readFileSync(file, 'utf8');
    assert.equal(text.includes(secret), false);
    const [account] = JSON.parse(text).accounts;
    assert.deepEqual(account, {
      ...{ address: USER, label: 'Main desk', isOnBoard: true, thresholds: { distance: '2.5' } },
    });
    const fresh = await openPage(url);
    await fresh.getByRole('link', { name: 'Board' }).click();
    await fresh.getByLabel(/^Or a file/).setInputFiles({
      ...{ name: 'board.json', mimeType: 'application/json', buffer: Buffer.from(text) },
    });
    await fresh.getByRole('button', { name: 'Add 2 accounts' }).click();
    const rows = await untilKnown(fresh, 2);
    assert.deepEqual(new Set(rows.map(({ user }) => user)), new Set([USER, OTHER]));
    await rowOf(fresh, USER).getByRole('button', { name: 'Edit Main desk' }).click();
    assert.equal(await fresh.getByLabel('Distance to liquidation below').inputValue(), '2.5');
    assert.equal(fresh.url().includes('Main'), false);
  },
  LONG_ONLY,
);

browserTest(
  'a CSV file of addresses and labels is read',
  async (context) => {
    const { url } = await serve(context);
    const page = await openPage(url);
    await page.getByRole('link', { name: 'Board' }).click();
    const csv = `label,address\r\n"Desk, main",${USER}\r\nReserve,${OTHER}\r\n`;
    await page.getByLabel(/^Or a file/).setInputFiles({
      ...{ name: 'accounts.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) },
    });
    const add = page.getByRole('button', { name: 'Add 2 accounts' });
    await add.waitFor();
    assert.equal(await page.locator('#list-findings').innerText(), '');
    await add.click();
    await untilKnown(page, 2);
    assert.equal(await rowOf(page, USER).getByRole('link').innerText(), 'Desk, main');
    assert.equal(await rowOf(page, OTHER).getByRole('link').innerText(), 'Reserve');
  },
  LONG_ONLY,
);

browserTest(
  'a label is shown wherever its address is, and finds it',
  async (context) => {
    const { url, origin } = await serve(context);
    const page = await openPage(url);
    await page.locator('tr[data-coin="BTC"]').waitFor();
    await page.getByRole('button', { name: 'Label and limits' }).click();
    await page.getByLabel('Label', { exact: true }).fill('Main desk');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('button', { name: 'Main desk', exact: true }).waitFor();
    assert.match(await page.title(), /^Main desk 65,600\.00 · perpinfo$/);
    assert.equal(
      await page.locator('#addresses option').first().getAttribute('label'),
      'Main desk',
    );
    assert.equal(page.url(), `${origin}/#user=${USER}`);
    await page.getByLabel('Address').fill(NOBODY);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${origin}/#user=${NOBODY}`);
    await page.getByLabel('Address').fill('main DESK');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${origin}/#user=${USER}`);
    await page.reload();
    await page.getByRole('button', { name: 'Main desk', exact: true }).waitFor();
  },
  LONG_ONLY,
);

browserTest(
  'without push the board asks for its accounts',
  async (context) => {
    const { url, data } = await serve(context, [delegation(VALIDATORS[0], '5.0', 1)]);
    const page = await openBoard(url, `${USER}\n${NOBODY}`, {
      expected: /status of 422/,
      prepare: async (opened) => {
        await opened.routeWebSocket(/\/ws(\?|$)/, (socket) => socket.close({ code: 1001 }));
      },
    });
    await untilKnown(page, 2);
    await makeLedger(data, [
      formatBlock(2, Date.now(), [{ type: 'marks', prices: { BTC: '87000.0' } }]),
    ]);
    await until('the next round', async () => {
      const row = (await readRows(page)).find(({ user }) => user === USER);
      return (
        row?.texts['value'] === '66,100.00' &&
        row.height === 2 &&
        row.texts['unlock'] === 'unlocked'
      );
    });
  },
  LONG_ONLY,
);

browserTest(
  'over midnight, the change is counted from the last value before it',
  async (context) => {
    const midnightMs = new Date().setHours(0, 0, 0, 0);
    const { url, data } = await serve(context, [], { time: midnightMs - 5_000 });
    const page = await openBoard(url, USER, { expected: /status of 422/ });
    await untilKnown(page, 1);
    const append = (height: number, time: number, price: string) =>
      makeLedger(data, [formatBlock(height, time, [{ type: 'marks', prices: { BTC: price } }])]);
    const untilChanged = (change: string, dayStart: string) =>
      until(`a change of ${change}`, async () => {
        const [row] = await readRows(page);
        return row.complete['change'] === change && row.dayStart === dayStart;
      });
    await append(2, midnightMs - 1_000, '87000.0');
    await untilChanged('500.0', '65600.0');
    await append(3, midnightMs + 1_000, '88000.0');
    await untilChanged('500.0', '66100.0');
    await append(4, midnightMs + 2_000, '86000.0');
    await untilChanged('-500.0', '66100.0');
  },
  LONG_ONLY,
);

browserTest(
  'a board that the key’s budget does not carry says so, and shows what it has',
  async (context) => {
    const { url } = await serve(context, [], { budget: '400/h' });
    const users = Array.from({ length: 40 }, (_, index) => `0x${String(index).padStart(40, '0')}`);
    const page = await openBoard(url, [USER, ...users].join('\n'), {
      expected: /status of (422|429)/,
    });
    await page.getByText(/^The key’s budget is spent: \d+ of 41 accounts so far/).waitFor();
    await rowOf(page, USER).getByText('65,600.00', { exact: true }).waitFor();
    const rows = await readRows(page);
    const known = rows.filter(({ texts }) => texts['value'] !== '–');
    assert.equal(rows.length, 41);
    assert.ok(known.length < 41, `${known.length} known`);
  },
  LONG_ONLY,
);

/** A board of two accounts, one of which is beyond a limit, without anything that is cut or unclear. */
async function assertFitting(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'Board' }).click();
  await page.getByLabel(/^Addresses/).fill(`${USER} Main desk\n${NOBODY}\n0x1`);
  await assertAccessible(page);
  await page.getByRole('button', { name: /^Add \d/ }).click();
  await untilKnown(page, 2);
  await edit(page, USER, { 'Account value below': '1000000' });
  await page.locator('[data-alarm="value"]').waitFor();
  await assertAccessible(page);
  assert.deepEqual(await findCut(page), []);
  await rowOf(page, USER).getByRole('button', { name: /^Edit/ }).click();
  await page.getByLabel('Data older than').fill('soon');
  await assertAccessible(page);
}

screenTest(
  '13. the board fits, and has no violations',
  async (screen, context) => {
    const { url } = await serve(context);
    await assertFitting(await openPage(url, screen));
  },
  LONG_ONLY,
);

browserTest(
  'the board fits a wall, and has no violations',
  async (context) => {
    const { url } = await serve(context);
    await assertFitting(await openPage(url, { viewport: { width: 2560, height: 900 } }));
  },
  LONG_ONLY,
);

/** What is wider than the screen, or than the cell that it is in. */
function findCut(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const root = document.documentElement;
    const wide = root.scrollWidth > innerWidth ? [`the page: ${root.scrollWidth}`] : [];
    const cells = Array.from(document.querySelectorAll<HTMLElement>('.board th, .board td'));
    const cut = cells.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth);
    return [...wide, ...cut.map(({ innerText }) => innerText)];
  });
}
