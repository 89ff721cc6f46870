/** The page over hours and with many rows: its memory does not grow, and it does not stutter. */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { formatAddress } from '../../src/exact/address.ts';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { nextBlock } from '../../src/ledger/hash-chain.ts';
import type { ChainPoint } from '../../src/ledger/ledger.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { createPlaces, start } from '../../tools/harness/program.ts';
import { createKey, makeLedger, RunningService, until } from '../../tools/harness/running.ts';
import { browserTest, openPage, useBrowser } from '../browser/browser.ts';
import { firstBlock, formatBlock, type Held, USER } from '../browser/small-ledger.ts';
import { LONG_ONLY } from '../scale.ts';

const place = createPlaces();
useBrowser();

const RUN_MS_MAX = 150_000;

/** Starts a service on these blocks, and returns the page's address and a function that appends more. */
async function serveFeed(context: TestContext, lines: readonly string[], user: string) {
  const data = await makeLedger(place(), lines);
  const { secret } = await createKey(data);
  const flags = ['--port', '0', '--admin-port', '0', '--max-age', '0', '--overload-delay', '60000'];
  // The page has to see every batch.
  const push = ['--push-interval', '0'];
  const service = new RunningService(
    start(['serve', '--data', data, ...flags, ...push], {}, RUN_MS_MAX),
  );
  context.after(async () => void (await service.stop()));
  await until('the service to listen', () => service.workerPids.length > 0);
  const ledger = await openEmbeddedLedgerWriter(data);
  context.after(() => ledger.close());
  let point: ChainPoint = await ledger.head();
  const append = async (further: readonly string[]) => {
    const blocks = further.map((line) => {
      const block = nextBlock(point, Buffer.from(line));
      point = block;
      return block;
    });
    await ledger.append(blocks);
  };
  return { url: `http://127.0.0.1:${service.port}/#key=${secret}&users=${user}`, append };
}

/** Ten hours of blocks, one every ten seconds of simulated time. */
const BLOCKS = 3_600;
const FIRST_BLOCKS = 100;
const INTERVAL_MS = 10_000;
/** Blocks per batch and the pause after it: ten hours take about a minute. */
const BATCH = 4;
const PAUSE_MS = 30;
/** Speeds up the page's timers, so that it sees every batch. */
const HASTE = 50;
const LOOK_EVERY = 70;
/** While states are pushed the page asks for little: about 360 answers arrive, of several KB each. */
const ANSWERS_MIN = 200;
/** Far less than the answers of one of those hours. */
const GROWTH_BYTES_MAX = 1_000_000;

async function hasten(page: Page): Promise<void> {
  await page.addInitScript((haste) => {
    const { setTimeout: after, setInterval: every } = window;
    window.setTimeout = ((run: () => void, ms = 0) => after(run, ms / haste)) as typeof setTimeout;
    window.setInterval = ((run: () => void, ms = 0) =>
      every(run, ms / haste)) as typeof setInterval;
  }, HASTE);
}

/** Used heap after a garbage collection. */
async function heapBytes(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize;
}

browserTest(
  'ten simulated hours do not make the page grow',
  async (context) => {
    const simulator = createSimulator({ seed: 'long', accounts: 40, intervalMs: INTERVAL_MS });
    const lines = Array.from({ length: BLOCKS }, () => simulator.next());
    const user = formatAddress(simulator.state.addresses.addressOf(3));
    const { url, append } = await serveFeed(context, lines.slice(0, FIRST_BLOCKS), user);
    let answers = 0;
    const prepare = async (page: Page) => {
      page.on('response', () => answers++);
      page.on('websocket', (socket) => socket.on('framereceived', () => answers++));
      await hasten(page);
    };
    // The health of a service that is just taking a batch may be "behind".
    const page = await openPage(url, { prepare, expected: /status of 503 .*\/health/ });
    const looks: number[] = [];
    for (let batch = 0; FIRST_BLOCKS + batch * BATCH < BLOCKS; batch++) {
      const from = FIRST_BLOCKS + batch * BATCH;
      await append(lines.slice(from, from + BATCH));
      await sleep(PAUSE_MS);
      if (batch % LOOK_EVERY === 0) looks.push(await heapBytes(page));
    }
    await until('the last height', async () => {
      const text = await page.locator('[data-field="height"]').innerText();
      return text === BLOCKS.toLocaleString('en');
    });
    looks.push(await heapBytes(page));
    context.diagnostic(`heap in KB: ${looks.map((bytes) => Math.round(bytes / 1024)).join(' ')}`);
    context.diagnostic(`${answers} answers`);
    assert.ok(answers > ANSWERS_MIN, `${answers} answers`);
    // By the middle the value chart has all its points, so nothing may grow after it.
    const settled = looks.slice(looks.length / 2);
    const growth = Math.min(...settled.slice(-3)) - Math.min(...settled.slice(0, 3));
    assert.ok(growth < GROWTH_BYTES_MAX, `${growth} bytes more`);
  },
  LONG_ONLY,
);

const HOLDINGS: readonly Held[] = Array.from({ length: 200 }, (_, index) => ({
  coin: `C${index}`,
  szi: index % 2 === 0 ? '100.0' : '-100.0',
  markPx: `${100 + index}.0`,
  entryNtl: `${(100 + index) * 100}.0`,
}));

/** All marks move. */
function formatMarks(height: number): string {
  const prices = HOLDINGS.map(({ coin }, index) => {
    return [coin, `${100 + index}.${(height * 7 + index) % 10_000}`];
  });
  const marks = { type: 'marks', prices: Object.fromEntries(prices) };
  return formatBlock(height, Date.now(), [marks]);
}

/** A person notices a longer pause. */
const LONG_TASK_MS_MAX = 200;
const WINDOW_MS = 4_000;
/** Other load only makes tasks longer, so the best window counts. */
const WINDOWS_MAX = 8;

function watchLongTasks(page: Page): Promise<{ tasks: number[]; updates: number }> {
  return page.evaluate(async (watchedMs) => {
    const tasks: number[] = [];
    const heights = new Set<string | null>();
    const observer = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) tasks.push(Math.round(duration));
    });
    observer.observe({ type: 'longtask' });
    const panel = document.querySelector('section.panel-positions');
    const look = setInterval(() => heights.add(panel?.getAttribute('data-height') ?? null), 50);
    await new Promise((resolve) => setTimeout(resolve, watchedMs));
    observer.disconnect();
    clearInterval(look);
    return { tasks, updates: heights.size };
  }, WINDOW_MS);
}

browserTest(
  '200 positions update without a stutter that a person would see',
  async (context) => {
    const first = firstBlock({ time: Date.now(), holdings: HOLDINGS });
    const { url, append } = await serveFeed(context, [first], USER);
    const page = await openPage(url);
    await until('200 rows', async () => (await page.locator('tr[data-coin]').count()) === 200);
    let isOver = false;
    const feeding = (async () => {
      for (let height = 2; !isOver; height++) {
        await append([formatMarks(height)]);
        await sleep(100);
      }
    })();
    await page.waitForTimeout(1_000);
    const longest: number[] = [];
    do {
      const { tasks, updates } = await watchLongTasks(page);
      context.diagnostic(`${updates} updates, long tasks in ms: ${tasks.join(' ') || 'none'}`);
      assert.ok(updates >= 2, `${updates} updates`);
      longest.push(Math.max(0, ...tasks));
    } while (Math.min(...longest) >= LONG_TASK_MS_MAX && longest.length < WINDOWS_MAX);
    isOver = true;
    await feeding;
    assert.ok(Math.min(...longest) < LONG_TASK_MS_MAX, `the longest in each: ${longest.join()}`);
  },
  LONG_ONLY,
);
