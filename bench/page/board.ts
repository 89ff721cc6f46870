/**
 * Measures what a board of 500 live accounts costs the browser, compared with an empty board: late
 * frames, how busy the page is, and its longest task. A task that takes less processor time than a
 * frame lasts makes no frame late by itself. On a busy machine, frames are late because no
 * processor is free.
 *
 *   npm run bench:board              the rounds of the two take turns
 *   npm run bench:board -- --quick   fewer and shorter rounds
 */

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Browser, CDPSession, Page } from 'playwright-core';
import { Roster } from '../../src/simulator/roster.ts';
import { launch } from '../../test/browser/browser.ts';
import { start } from '../../tools/harness/program.ts';
import { spreadOf } from '../frame/measure.ts';
import { formatSpread, printTable } from '../frame/report.ts';

const SEED = '11';
const ACCOUNTS = 500;
const VIEWPORT = { width: 1440, height: 900 };
const RUN_MS_MAX = 900_000;
const FULL = { rounds: 5, warmUpMs: 8_000, measuredMs: 8_000 };
const QUICK = { rounds: 2, warmUpMs: 5_000, measuredMs: 4_000 };

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const scale = values.quick ? QUICK : FULL;

interface Round {
  readonly frames: number;
  readonly dropped: number;
  readonly longestMs: number;
  /** The processor time of the longest task of the page's main thread, in milliseconds. */
  readonly taskMs: number;
  /** The processor time of the page's main thread, in per cent of the time. */
  readonly busy: number;
  readonly rowsPerSecond: number;
}

/** Opens a page with the board of these users, in a separate browser context. */
async function openBoard(browser: Browser, url: string, users: readonly string[]): Promise<Page> {
  const page = await (await browser.newContext({ viewport: VIEWPORT })).newPage();
  await page.goto(url);
  await page.getByRole('link', { name: 'Board' }).click();
  if (users.length === 0) return page;
  await page.getByLabel(/^Addresses/).fill(users.join('\n'));
  await page.getByRole('button', { name: /^Add \d/ }).click();
  const known = page.getByText(`Sum of ${users.length}`, { exact: false });
  await known.waitFor();
  return page;
}

/** Returns the timestamps of the frames, and the number of rows that have changed meanwhile. */
function countFrames(page: Page, ms: number) {
  return page.evaluate(async (measuredMs) => {
    let changes = 0;
    const table = document.querySelector('.board');
    const rowsOf = (records: readonly MutationRecord[]) =>
      new Set(records.map(({ target }) => target.parentElement?.closest('tbody tr'))).size;
    const observer = new MutationObserver((records) => {
      changes += rowsOf(records);
    });
    if (table !== null) observer.observe(table, { characterData: true, subtree: true });
    const times: number[] = [];
    await new Promise<void>((resolve) => {
      const note = (time: number) => {
        times.push(time);
        if (time - times[0] < measuredMs) requestAnimationFrame(note);
        else resolve();
      };
      requestAnimationFrame(note);
    });
    observer.disconnect();
    return { times, changes };
  }, ms);
}

/** Returns the processor time of the page's main thread so far, in seconds. */
async function readBusySeconds(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics');
  return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0;
}

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** The processor time in microseconds. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** Returns the processor time of the longest task of the pages' main threads, in milliseconds. */
function findLongestTaskMs(trace: Buffer): number {
  const { traceEvents } = JSON.parse(trace.toString()) as { traceEvents: TraceEvent[] };
  const threadOf = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`;
  const mainThreads = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(threadOf),
  );
  const tasks = traceEvents.filter(
    (event) => event.name === 'ThreadControllerImpl::RunTask' && mainThreads.has(threadOf(event)),
  );
  return Math.max(0, ...tasks.map(({ tdur = 0 }) => tdur)) / 1000;
}

/**
 * Returns the longest task. It is traced after the frames were counted, because a trace takes time,
 * too.
 */
async function traceLongestTaskMs(page: Page): Promise<number> {
  const browser = page.context().browser();
  await browser?.startTracing(page, { categories: ['toplevel'] });
  await sleep(scale.measuredMs);
  const trace = await browser?.stopTracing();
  return trace === undefined ? 0 : findLongestTaskMs(trace);
}

/** The time of a frame at 60 frames a second. */
const FRAME_MS = 1000 / 60;

async function measure(page: Page): Promise<Round> {
  await page.bringToFront();
  await sleep(scale.warmUpMs);
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const busyBefore = await readBusySeconds(session);
  const { times, changes } = await countFrames(page, scale.measuredMs);
  const busySeconds = (await readBusySeconds(session)) - busyBefore;
  const gaps = times.slice(1).map((time, index) => time - times[index]);
  const seconds = (times[times.length - 1] - times[0]) / 1000;
  return {
    frames: gaps.length / seconds,
    dropped: gaps.reduce((sum, gap) => sum + Math.max(0, Math.round(gap / FRAME_MS) - 1), 0),
    longestMs: Math.max(...gaps),
    taskMs: await traceLongestTaskMs(page),
    busy: (100 * busySeconds) / seconds,
    rowsPerSecond: changes / seconds,
  };
}

function printRounds(rounds: ReadonlyMap<string, readonly Round[]>): void {
  const titles = [
    'board',
    'frames/s',
    'dropped',
    'longest frame ms',
    'longest task ms',
    'busy %',
    'rows/s',
  ];
  const rows = Array.from(rounds, ([name, measured]) => {
    const spread = (pick: (round: Round) => number, digits: number) =>
      formatSpread(spreadOf(measured.map(pick)), digits);
    return [
      name,
      spread(({ frames }) => frames, 1),
      spread(({ dropped }) => dropped, 0),
      spread(({ longestMs }) => longestMs, 1),
      spread(({ taskMs }) => taskMs, 1),
      spread(({ busy }) => busy, 1),
      spread(({ rowsPerSecond }) => rowsPerSecond, 0),
    ];
  });
  printTable(titles, rows);
}

const flags = ['--port', '0', '--seed', SEED, '--accounts', String(ACCOUNTS)];
const demo = start(['demo', ...flags], { PERPINFO_OVERLOAD_DELAY: '60000' }, RUN_MS_MAX);
try {
  await demo.untilWritten('Ctrl-C');
  const url = /dashboard (\S+)/.exec(demo.stdout)?.[1] ?? '';
  const roster = new Roster({ seed: SEED, userCount: ACCOUNTS, startsWithAllUsers: false });
  const users = Array.from({ length: ACCOUNTS }, (_, index) => roster.user(index).text);
  const browser = await launch();
  const rounds = new Map<string, Round[]>([
    ['empty', []],
    [`${ACCOUNTS} accounts`, []],
  ]);
  for (let round = 0; round < scale.rounds; round++) {
    for (const [name, measured] of rounds) {
      const page = await openBoard(browser, url, name === 'empty' ? [] : users);
      measured.push(await measure(page));
      await page.context().close();
    }
  }
  await browser.close();
  printRounds(rounds);
} finally {
  demo.child.kill('SIGTERM');
  await once(demo.child, 'close');
}
