/** On every screen: links, dexes, headline figures, sorting, what-if, layout, copying, and drawing. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after } from 'node:test';
import type { Page } from 'playwright-core';
import { createPlaces } from '../../../tools/harness/program.ts';
import { makeLedger, until } from '../../../tools/harness/running.ts';
import { LONG_ONLY } from '../../scale.ts';
import { fieldText, openPage, type PageOptions, useBrowser } from '../browser.ts';
import { letHide, setHidden } from '../hiding.ts';
import { readPanels } from '../page-figures.ts';
import { delegation, formatBlock, METALS, NOBODY, USER, VALIDATORS } from '../small-ledger.ts';
import { serveSmall } from '../small-service.ts';
import {
  assertInSight,
  assertTone,
  FILE_MS_MAX,
  type Screen,
  screenTest,
  unfoldChooser,
} from './every-screen.ts';

const place = createPlaces();
useBrowser();

const EXPLORER = 'https://explorer.example/address/{address}';
const runMsMax = FILE_MS_MAX;
const { url, origin, secret } = await serveSmall(
  { after },
  {
    data: place(),
    events: [...METALS, delegation(VALIDATORS[0], '12.50000001', 0)],
    ...{ flags: ['--explorer-url', EXPLORER], runMsMax },
  },
);
/** Gold is 26 % and 4.6 % from the liquidation of its position at these marks. */
const [CALM, RISKY] = ['130.0', '100.0'].map((price) => ({
  ...{ type: 'marks', prices: { 'xyz:GOLD': price } },
}));
const moving = await serveSmall({ after }, { data: place(), events: [...METALS, CALM], runMsMax });
let height = 1;

async function append(event: object): Promise<void> {
  height += 1;
  await makeLedger(moving.data, [formatBlock(height, Date.now() + height, [event])]);
}

async function open(screen: Screen, options: PageOptions = {}): Promise<Page> {
  const page = await openPage(url, { ...screen, ...options });
  await page.locator('tr[data-coin="xyz:GOLD"]').waitFor();
  return page;
}

const orderOf = async (page: Page) => (await readPanels(page))['positions'].order;
const sortBy = (page: Page, label: string) =>
  page.getByRole('columnheader', { name: label }).getByRole('button').click();
const chooseDex = async (page: Page, dex: string) => {
  await unfoldChooser(page);
  await page.locator(`input[name="dex"][value="${dex}"]`).check();
};

screenTest(
  '5. address, dex, sort and range are in the link, which can be shared; Back and Forward',
  async (screen) => {
    const page = await open(screen);
    const start = `${origin}/#user=${USER}`;
    assert.equal(page.url(), start);
    await chooseDex(page, 'first');
    await page.waitForURL(`${start}&dex=FIRST`);
    await sortBy(page, 'Value');
    await page.getByRole('button', { name: '7 d' }).click();
    await page.waitForURL(`${start}&dex=FIRST&range=7d&sort=-value`);
    const link = page.url();
    await page.goBack();
    await page.waitForURL(start);
    await page.locator('tr[data-coin="xyz:GOLD"]').waitFor();
    await page.goForward();
    await page.waitForURL(link);
    await page.locator('tr[data-coin="xyz:GOLD"]').waitFor({ state: 'detached' });
    const other = await openPage(link, screen);
    await other.getByLabel('Endpoint key').fill(secret);
    await other.keyboard.press('Enter');
    await other.locator('tr[data-coin="BTC"]').waitFor();
    assert.equal(other.url(), link);
    assert.deepEqual(await orderOf(other), ['BTC', 'SOL', 'ETH']);
    const range = other.getByRole('button', { name: '7 d' });
    assert.equal(await range.getAttribute('aria-pressed'), 'true');
    assert.equal(await other.locator('input[name="dex"][value="first"]').isChecked(), true);
  },
  LONG_ONLY,
);

screenTest(
  '5. a label is in the title, with the value, and finds its address',
  async (screen) => {
    const page = await open(screen);
    await page.getByRole('button', { name: 'Label and limits' }).click();
    await page.getByLabel('Label', { exact: true }).fill('Main desk');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const name = page.locator('[data-field="accountName"]', { hasText: 'Main desk' });
    await assertInSight(name);
    assert.equal(await page.title(), '‼ Main desk 66,300.00 · perpinfo');
    await unfoldChooser(page);
    await page.getByLabel('Address').fill(NOBODY);
    await page.keyboard.press('Enter');
    await page.waitForURL(`${origin}/#user=${NOBODY}`);
    await unfoldChooser(page);
    await page.getByLabel('Address').fill('main DESK');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${origin}/#user=${USER}`);
    await name.waitFor();
  },
  LONG_ONLY,
);

screenTest(
  '6. all dexes at once, and a dex is a filter',
  async (screen) => {
    const page = await open(screen);
    const ALL = ['BTC', 'ETH', 'SOL', 'xyz:GOLD'];
    assert.deepEqual(await orderOf(page), ALL);
    assert.equal(await fieldText(page, 'accountValue'), '66,300.00');
    assert.equal(await fieldText(page, 'sumValue'), '80,400.00');
    for (const [coin, dex] of [
      ['BTC', 'first'],
      ['xyz:GOLD', 'xyz'],
    ]) {
      const cell = page.locator(`tr[data-coin="${coin}"] [data-field="dex"]`);
      assert.equal(await cell.innerText(), dex);
      await assertInSight(cell);
    }
    await chooseDex(page, 'xyz');
    await page.locator('tr[data-coin="BTC"]').waitFor({ state: 'detached' });
    assert.deepEqual(await orderOf(page), ['xyz:GOLD']);
    assert.equal(await fieldText(page, 'accountValue'), '700.00');
    assert.equal(await page.locator('.panel-account .tag').first().innerText(), 'dex xyz');
    await chooseDex(page, 'first');
    await page.locator('tr[data-coin="BTC"]').waitFor();
    assert.deepEqual(await orderOf(page), ALL.slice(0, 3));
    assert.equal(await fieldText(page, 'accountValue'), '65,600.00');
  },
  LONG_ONLY,
);

/** Of the small ledger with its two dexes. */
const HEADLINE = {
  accountValue: '66,300.00',
  unrealizedPnl: '+1,100.00',
  accountLeverage: '1.21×',
  long: '68,000.00',
  short: '12,400.00',
  net: '55,600.00',
  nearestLiquidation: 'xyz:GOLD, 4.6 %',
};

screenTest(
  '7. headline figures',
  async (screen) => {
    const page = await open(screen);
    const shown = Object.keys(HEADLINE).map((name) => [
      name,
      page.locator(`.panel-account dl.stats [data-field="${name}"]`),
    ]);
    for (const [name, figure] of shown as [keyof typeof HEADLINE, ReturnType<Page['locator']>][]) {
      assert.equal(await figure.innerText(), HEADLINE[name], name);
      await assertInSight(figure);
    }
    await assertTone(
      page.locator('.panel-account dl.stats [data-field="unrealizedPnl"]'),
      screen,
      'gain',
    );
  },
  LONG_ONLY,
);

screenTest(
  '8. sorting by liquidation starts with the riskiest; what-if is exact, marked, and ends',
  async (screen) => {
    const page = await open(screen);
    await sortBy(page, 'Liquidation');
    await page.waitForURL(/&sort=liquidation$/);
    assert.equal((await orderOf(page))[0], 'xyz:GOLD');
    await page.getByRole('button', { name: 'What if' }).click();
    await page.getByLabel('by per cent', { exact: true }).fill('-20.5');
    const banner = page.getByText('Hypothetical: all marks −20.5 %.');
    await assertInSight(banner);
    const { rows, fields } = (await readPanels(page))['positions'];
    const outcomes = Object.entries(rows).map(([coin, row]) => [
      ...[
        coin,
        row['hypotheticalMark'].text,
        row['hypotheticalPnl'].text,
        row['hypotheticalOutcome'].text,
      ],
    ]);
    assert.deepEqual(Object.fromEntries(outcomes.map(([coin, ...rest]) => [coin, rest])), {
      BTC: ['68,370.0', '−7,815.00', 'stays'],
      ETH: ['2,464.5', '+2,642.00', 'stays'],
      SOL: ['119.25', '−3,075.00', 'stays'],
      'xyz:GOLD': ['79.5', '−2,050.00', '✕ liquidated'],
    });
    // Less 11,398 in all.
    assert.equal(fields['hypotheticalValue'].text, '54,902.00');
    assert.equal(fields['liquidatedCount'].text, '1 of 4');
    await assertInSight(page.locator('[data-field="hypotheticalValue"]'));
    await assertInSight(
      page.locator('tr[data-coin="xyz:GOLD"] [data-field="hypotheticalOutcome"]'),
    );
    assert.equal(await fieldText(page, 'accountValue'), '66,300.00');
    await page.getByRole('button', { name: 'Reset' }).click();
    await banner.waitFor({ state: 'detached' });
    assert.equal(await page.locator('[data-field^="hypothetical"]').count(), 0);
  },
  LONG_ONLY,
);

/** Elements with text that end beyond the right edge of the page. */
function findCut(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const root = document.documentElement;
    const wide = root.scrollWidth > root.clientWidth ? [`the page: ${root.scrollWidth}`] : [];
    const beyond = Array.from(document.querySelectorAll('main td, main th, main dd, .top *'))
      .filter((element) => element.getClientRects().length > 0 && element.textContent !== '')
      .filter((element) => element.closest('thead') === null)
      .filter((element) => element.getBoundingClientRect().right > root.clientWidth + 1);
    return [...wide, ...beyond.map((element) => element.outerHTML.slice(0, 120))];
  });
}

/** Those that are too low for a thumb. */
function findSmallTargets(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    Array.from(document.querySelectorAll('button, select, input:not([type="checkbox"])'))
      .filter((element) => element.getClientRects().length > 0)
      .filter((element) => element.getBoundingClientRect().height < 43.5)
      .map((element) => element.outerHTML.slice(0, 120)),
  );
}

/** The tops of a card's lines, in the order in which a person looks for them. */
async function topsOf(page: Page, coin: string): Promise<number[]> {
  const fields = ['side', 'unrealizedPnl', 'liquidationPx', 'szi'];
  const boxes = fields.map((field) =>
    page.locator(`tr[data-coin="${coin}"] [data-field="${field}"]`).boundingBox(),
  );
  return (await Promise.all(boxes)).map((box) => box?.y ?? Number.NaN);
}

screenTest(
  '9. nothing is cut, cards where the table does not fit, and paper is light and whole',
  async (screen) => {
    const page = await open(screen);
    assert.deepEqual(await findCut(page), []);
    const isPhone = screen.size === 'phone';
    assert.equal(await page.getByLabel('Address').isVisible(), !isPhone);
    const tops = await topsOf(page, 'ETH');
    const isCard = tops.every((top, index) => index === 0 || top > tops[index - 1]);
    assert.equal(isCard, screen.size !== 'desktop', `${tops}`);
    await unfoldChooser(page);
    if (isPhone) assert.deepEqual(await findSmallTargets(page), []);
    await page.emulateMedia({ media: 'print', colorScheme: screen.colorScheme });
    const [paper, ink] = await page.evaluate(() => {
      const { backgroundColor, color } = getComputedStyle(document.body);
      return [backgroundColor, color].map((text) =>
        (text.match(/\d+/g) ?? []).slice(0, 3).reduce((sum, part) => sum + Number(part), 0),
      );
    });
    assert.ok(paper > 600 && ink < 200, `${paper} ${ink}`);
    assert.deepEqual(await findCut(page), []);
    assert.equal(await page.getByRole('button', { name: 'What if…' }).isVisible(), false);
    for (const coin of await orderOf(page)) {
      assert.ok(await page.locator(`tr[data-coin="${coin}"] [data-field="szi"]`).isVisible(), coin);
    }
  },
  LONG_ONLY,
);

const readClipboard = (page: Page) => page.evaluate(() => navigator.clipboard.readText());

async function assertCopied(page: Page, text: string): Promise<void> {
  await page.locator('.notice', { hasText: `Copied ${text}` }).waitFor();
  assert.equal(await readClipboard(page), text);
}

screenTest(
  '10. figures and addresses are copied by click and keyboard, positions saved as CSV',
  async (screen) => {
    const page = await open(screen, { permissions: ['clipboard-read', 'clipboard-write'] });
    await page.locator('[data-field="sumAmount"]').click();
    await assertCopied(page, '12.50000001');
    await page.locator('tr[data-coin="ETH"] button').press('Enter');
    const dialog = page.getByRole('dialog', { name: 'ETH: all digits' });
    await assertInSight(dialog);
    await dialog.getByRole('button', { name: 'Copy Value' }).press('Enter');
    await dialog.getByRole('status').getByText('copied').waitFor();
    assert.equal(await readClipboard(page), '12400.0');
    // A click beside it closes it.
    await page.mouse.click(screen.viewport.width / 2, 3);
    await dialog.waitFor({ state: 'detached' });
    await unfoldChooser(page);
    await page.getByRole('button', { name: 'Copy the address that is shown' }).press('Enter');
    await assertCopied(page, USER);
    const link = page.getByRole('link', { name: 'Explorer' });
    assert.equal(await link.getAttribute('href'), EXPLORER.replace('{address}', USER));
    await assertInSight(link);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV of the positions' }).click(),
    ]);
    const [header, ...rows] = readFileSync(await download.path(), 'utf8')
      .trim()
      .split('\r\n')
      .map((line) => line.split(','));
    const column = (name: string) => rows.map((row) => row[header.indexOf(name)]);
    assert.deepEqual(column('coin'), ['BTC', 'ETH', 'SOL', 'xyz:GOLD']);
    assert.deepEqual(column('positionValue'), ['43000.0', '12400.0', '15000.0', '10000.0']);
  },
  LONG_ONLY,
);

screenTest(
  '10. the key form takes the addresses that the service hands out',
  async (screen) => {
    const page = await openPage(origin, screen);
    const input = page.getByLabel('Endpoint key');
    await input.fill(`http://other.example/${secret}/info`);
    await page.keyboard.press('Enter');
    const problem = page.getByRole('alert').getByText('This is an address of http://other.exam');
    await problem.waitFor();
    await assertInSight(problem);
    for (const address of [`${origin}/${secret}/info`, `${origin}/${secret}/`, url]) {
      await input.fill(address);
      await page.keyboard.press('Enter');
      await page.getByRole('button', { name: 'Forget key' }).click();
      await page.getByRole('button', { name: 'Forget it' }).click();
      await until('the focus in the form', () =>
        page.evaluate(() => document.activeElement?.id === 'key'),
      );
    }
  },
  LONG_ONLY,
);

screenTest(
  '12. a hidden page draws nothing but its title; the pace is as chosen, and push compressed',
  async (screen) => {
    const page = await openPage(moving.url, {
      ...screen,
      ...{ expected: /status of 422/, prepare: letHide },
    });
    await page.locator('[data-field="connection"]', { hasText: 'pushed' }).waitFor();
    await page.locator('tr[data-coin="SOL"]').waitFor();
    await setHidden(page, true);
    await page.evaluate(() => {
      const counted = globalThis as unknown as { draws: number };
      counted.draws = 0;
      const root = document.getElementById('root') as Element;
      const options = { characterData: true, childList: true, subtree: true, attributes: true };
      new MutationObserver(() => counted.draws++).observe(root, options);
    });
    const before = await fieldText(page, 'accountValue');
    assert.match(await page.title(), /^0xabab/);
    await append(RISKY);
    await page.waitForFunction(() => document.title.startsWith('‼ '));
    const draws = () => page.evaluate(() => (globalThis as unknown as { draws: number }).draws);
    assert.equal(await draws(), 0);
    assert.equal(await fieldText(page, 'accountValue'), before);
    await setHidden(page, false);
    await until('the new value', async () => (await fieldText(page, 'accountValue')) !== before);
    assert.ok((await draws()) > 0);
    await append(CALM);
    const addresses: string[] = [];
    page.on('websocket', (socket) => addresses.push(new URL(socket.url()).search));
    await page.getByLabel('New figures').selectOption('every 5 seconds');
    await until('another socket', () => addresses.length > 0);
    assert.deepEqual(addresses, ['?interval=5000&compress=true']);
  },
  LONG_ONLY,
);
