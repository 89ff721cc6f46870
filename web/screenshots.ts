/**
 * Takes the pictures of the README: the page on a simulated exchange from a fixed seed.
 *
 *   npm run screenshots
 */

import { once } from 'node:events';
import { mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { Roster } from '../src/simulator/roster.ts';
import { launch } from '../test/browser/browser.ts';
import { PROJECT } from '../tools/harness/paths.ts';
import { start } from '../tools/harness/program.ts';

const FOLDER = path.join(PROJECT, 'docs/images');
const SEED = '11';
/** Long enough for the line of the account value to have some shape. */
const WATCHED_MS = 30_000;
/** Until everything that a page asks for is drawn. */
const SETTLED_MS = 3_000;
const BYTES_MAX = 200_000;
const AUCTION_MS_MAX = 660_000;
const RUN_MS_MAX = 900_000;

interface Picture extends BrowserContextOptions {
  readonly name: string;
  /** Whose accounts are on the board, if that is what it shows, with their labels. */
  readonly board?: readonly string[];
  /** Shows the page as it was some time ago. */
  readonly isPast?: boolean;
}

const ACCOUNTS = 200;
const LABELS = ['Treasury', 'Market making', 'Basis', 'Vault A', 'Vault B', 'Hedges', 'Desk 7'];

function listAccounts(): string[] {
  const roster = new Roster({ seed: SEED, userCount: ACCOUNTS, startsWithAllUsers: false });
  return Array.from({ length: 11 }, (_, index) => {
    return `${roster.user(index).text} ${LABELS[index] ?? ''}`;
  });
}

const PICTURES: readonly Picture[] = [
  { name: 'dashboard-light', colorScheme: 'light', viewport: { width: 1280, height: 860 } },
  { name: 'dashboard-dark', colorScheme: 'dark', viewport: { width: 1280, height: 860 } },
  { name: 'dashboard-phone', colorScheme: 'light', viewport: { width: 390, height: 844 } },
  {
    name: 'dashboard-board',
    colorScheme: 'light',
    viewport: { width: 1280, height: 860 },
    board: listAccounts(),
  },
  {
    name: 'dashboard-past',
    colorScheme: 'light',
    viewport: { width: 1280, height: 860 },
    isPast: true,
  },
];

async function openAll(browser: Browser, url: string): Promise<Map<string, Page>> {
  const pages = new Map<string, Page>();
  for (const { name, board, isPast: _, ...options } of PICTURES) {
    const page = await (await browser.newContext(options)).newPage();
    await page.goto(url);
    if (board !== undefined) await fillBoard(page, board);
    pages.set(name, page);
  }
  return pages;
}

async function fillBoard(page: Page, accounts: readonly string[]): Promise<void> {
  await page.getByRole('link', { name: 'Board' }).click();
  await page.getByLabel(/^Addresses/).fill(accounts.join('\n'));
  await page.getByRole('button', { name: /^Add \d/ }).click();
}

/** Moves the slider to a height that is two thirds of the way. */
async function goBack(page: Page): Promise<void> {
  const slider = page.getByLabel('Height that is shown');
  const newest = Number(await slider.getAttribute('max'));
  await slider.fill(String(Math.round((newest * 2) / 3)));
  await page.getByRole('button', { name: 'Back to live' }).waitFor();
  await sleep(SETTLED_MS);
}

/** The simulated exchange holds an auction every ten minutes; between them there is less to see. */
async function untilAuction(browser: Browser, url: string): Promise<void> {
  const page = await browser.newPage();
  await page.goto(url);
  console.log('waiting until an auction runs, at most ten minutes');
  await page.locator('.auction-chart').waitFor({ timeout: AUCTION_MS_MAX });
  await page.close();
}

async function takePictures(browser: Browser, url: string): Promise<void> {
  await untilAuction(browser, url);
  const pages = await openAll(browser, url);
  await sleep(WATCHED_MS);
  mkdirSync(FOLDER, { recursive: true });
  for (const { name, isPast } of PICTURES) {
    const file = path.join(FOLDER, `${name}.png`);
    const page = pages.get(name) as Page;
    await page.bringToFront();
    if (isPast) await goBack(page);
    await page.screenshot({ path: file });
    const { size } = statSync(file);
    if (size > BYTES_MAX)
      throw new Error(`${file} has ${size} bytes, at most ${BYTES_MAX} are meant`);
    console.log(`${path.relative(PROJECT, file)}: ${size} bytes`);
  }
}

const demo = start(
  ['demo', '--port', '0', '--seed', SEED, '--accounts', String(ACCOUNTS)],
  {},
  RUN_MS_MAX,
);
try {
  await demo.untilWritten('Ctrl-C');
  const url = /dashboard (\S+)/.exec(demo.stdout)?.[1] ?? '';
  const browser = await launch();
  await takePictures(browser, url);
  await browser.close();
} finally {
  demo.child.kill('SIGTERM');
  await once(demo.child, 'close');
}
