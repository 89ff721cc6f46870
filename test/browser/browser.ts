/** Chromium, and pages in it that fail their test on an error. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, type TestContext, type TestOptions, test } from 'node:test';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
  type Response,
} from 'playwright-core';
import { checkFrame, checkResponse } from '../../tools/harness/answer-checks.ts';

/** The first is Chromium without its windows, which starts in half the time. */
const PROGRAMS = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];
const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // For the test that measures memory.
  '--enable-precise-memory-info',
  '--js-flags=--expose-gc',
];
const PATIENCE_MS = 20_000;
/** Tests wait for figures: the sooner they are shown, the better. */
const QUICK_PACE_MS = 250;

const program = PROGRAMS.find((file) => existsSync(file));
const MISSING = `no Chromium here (looked for ${PROGRAMS.join(', ')}); on Debian: apt-get install chromium-headless-shell`;

let browser: Browser | undefined;

export async function launch(): Promise<Browser> {
  assert.ok(program, MISSING);
  return chromium.launch({ executablePath: program, args: ARGUMENTS, timeout: PATIENCE_MS });
}

/** Starts the browser before the tests of a file and ends it after them. */
export function useBrowser(): void {
  before(async () => {
    if (program !== undefined) browser = await launch();
  });
  after(() => browser?.close());
}

type Limits = Pick<TestOptions, 'skip' | 'only' | 'timeout'>;

const TEST_MS = 120_000;

/** A test in the browser. Without a browser it is skipped, or fails where the variable CI is set. */
export function browserTest(
  name: string,
  run: (context: TestContext) => Promise<void>,
  { skip = false, only = false, timeout = TEST_MS }: Limits = {},
): void {
  const isMissing = program === undefined && !process.env['CI'];
  const options = { skip: skip || (isMissing && MISSING), only, timeout };
  test(name, options, async (context) => {
    try {
      await run(context);
    } finally {
      // Pages are closed before the services behind them stop.
      await Promise.all(opened.splice(0).map((pages) => pages.close()));
    }
    assert.deepEqual(wrong.splice(0), []);
  });
}

const opened: BrowserContext[] = [];
/** Errors in consoles and requests to other origins. */
const wrong: string[] = [];

/** Errors that the browser logs for failed requests; a test lists those it provokes. */
const REPORT = /Failed to load resource|WebSocket connection to/;

/** On a busy machine a service may be behind its ledger for a moment. */
const LATE = /status of 503 .*\/health\)$/;

export interface PageOptions extends BrowserContextOptions {
  /** Logged errors that the test provokes. */
  readonly expected?: RegExp | undefined;
  /** How often the page shows new figures, in milliseconds; 0 for as often as it does at first. */
  readonly paceMs?: number;
  /** Runs before the page is loaded. */
  prepare?(page: Page): Promise<void>;
}

/** A page that fails its test on an error in the console or a request to another origin. */
export async function openPage(
  url: string,
  { expected, prepare, paceMs = QUICK_PACE_MS, ...options }: PageOptions = {},
): Promise<Page> {
  assert.ok(browser, MISSING);
  const pages = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  opened.push(pages);
  const page = await pages.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const { origin, host } = new URL(url);
  page.on('console', (message) => {
    const text = `${message.text()} (${message.location().url})`;
    const isExpected = REPORT.test(text) && (LATE.test(text) || (expected?.test(text) ?? false));
    if (message.type() === 'error' && !isExpected) wrong.push(text);
  });
  page.on('pageerror', (error) => wrong.push(`${error.stack}`));
  page.on('request', (request) => {
    const isOwn = request.url().startsWith('data:') || new URL(request.url()).origin === origin;
    if (!isOwn) wrong.push(`a request to ${request.url()}`);
  });
  page.on('response', (response) => void checkAnswerTo(response));
  page.on('websocket', (socket) => {
    if (new URL(socket.url()).host !== host) wrong.push(`a socket to ${socket.url()}`);
    socket.on('framereceived', ({ payload }) => {
      note(() => checkFrame(JSON.parse(String(payload))));
    });
  });
  if (paceMs > 0) await page.addInitScript(`localStorage.setItem('perpinfo.pace', ${paceMs})`);
  await prepare?.(page);
  await page.goto(url);
  return page;
}

/** Notes an answer that does not fit the schema of its type. */
async function checkAnswerTo(response: Response): Promise<void> {
  const request = response.request();
  const { pathname, search } = new URL(response.url());
  if (!pathname.endsWith('/info')) return;
  // The page may be closed before the body is there.
  const body = await response.text().catch(() => '');
  note(() =>
    checkResponse({
      ...{ method: request.method(), path: pathname + search, body },
      ...{ requestBody: request.postData() ?? '', status: response.status() },
      contentType: response.headers()['content-type'],
    }),
  );
}

function note(check: () => void): void {
  try {
    check();
  } catch (error) {
    wrong.push(String(error));
  }
}

/** The text of a field of the page. */
export function fieldText(page: Page, name: string): Promise<string> {
  return page.locator(`[data-field="${name}"]`).first().innerText();
}

export async function untilConnected(page: Page): Promise<void> {
  await page.locator('[data-field="connection"]', { hasText: 'live' }).waitFor();
}
