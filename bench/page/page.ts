/**
 * Measures what an open page costs: processor time of the whole browser, bytes from the service,
 * and memory. The pages are an account with 32 positions and a board of 500 accounts, both with ten
 * blocks a second in which every mark price moves, and an empty tab. All pages are open at the same
 * time, each in a separate browser. They need not take turns, because processor time is counted for
 * each process.
 *
 *   npm run bench:page                     two minutes
 *   npm run bench:page -- --minutes 60     with a line every ten minutes
 *   npm run bench:page -- --beside DIR     the page of another checkout's build, too
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { launch } from '../../test/browser/browser.ts';
import { childrenOf } from '../../tools/harness/processes.ts';
import { cpuSecondsOfTree, rssAnonMegabytesOfTree } from '../frame/process-usage.ts';
import { atMost, type Goal, printGoals, printTable } from '../frame/report.ts';
import { type RunningWriter, startWriter } from '../load/writer.ts';
import { buildLedger, usersOf } from '../servers/dataset.ts';
import { createKey, PATIENCE } from '../servers/exchange.ts';
import { type RunningServer, startPerpinfo } from '../servers/servers.ts';

const HOST = '127.0.0.1';
const VIEWPORT = { width: 1440, height: 900 };
const POSITIONS = 32;
const ACCOUNTS = 50;
const BOARD_ACCOUNTS = 500;
const BOARD_POSITIONS = 4;
const WARM_UP_MS = 15_000;
const SAMPLE_MINUTES = 10;
/** The timeout of the page, for a machine that other programs keep busy. */
const PATIENCE_MS = 180_000;

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '2' }, beside: { type: 'string' } },
});

/** A ledger with a writer, and a service that answers from it. */
interface ServedLedger {
  readonly writer: RunningWriter;
  readonly server: RunningServer;
  readonly secret: string;
  readonly users: readonly string[];
}

/** Forwards a service's bytes to a browser, and counts the bytes. */
class CountingProxy {
  bytes = 0;
  readonly #server = createServer((client) => {
    const service = connect(this.#servicePort, HOST);
    service.on('data', (chunk) => {
      this.bytes += chunk.length;
    });
    client.pipe(service).pipe(client);
    client.on('error', () => service.destroy());
    service.on('error', () => client.destroy());
  });
  readonly #servicePort: number;

  constructor(servicePort: number) {
    this.#servicePort = servicePort;
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, HOST, resolve));
    return `http://${HOST}:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
  }
}

/** The resources that a page has used so far. */
interface Usage {
  readonly timeMs: number;
  readonly cpuSeconds: number;
  readonly bytes: number;
  readonly heapMegabytes: number;
  readonly browserMegabytes: number;
}

/** A page in a separate browser. */
class OpenPage {
  readonly name: string;
  readonly usages: Usage[] = [];
  readonly #page: Page;
  readonly #browser: Browser;
  readonly #pid: number;
  readonly #proxy: CountingProxy | undefined;

  private constructor(name: string, page: Page, pid: number, proxy: CountingProxy | undefined) {
    this.name = name;
    this.#page = page;
    this.#browser = page.context().browser() as Browser;
    this.#pid = pid;
    this.#proxy = proxy;
  }

  static async open(name: string, ledger?: ServedLedger): Promise<OpenPage> {
    const before = new Set(childrenOf(process.pid));
    const browser = await launch();
    const pid = childrenOf(process.pid).find((child) => !before.has(child)) ?? 0;
    const page = await (await browser.newContext({ viewport: VIEWPORT })).newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const proxy = ledger && new CountingProxy(ledger.server.port);
    if (ledger !== undefined && proxy !== undefined) {
      await page.goto(`${await proxy.listen()}/#key=${ledger.secret}&users=${ledger.users[0]}`);
    }
    return new OpenPage(name, page, pid, proxy);
  }

  async showPositions(): Promise<void> {
    const rows = this.#page.locator('tr[data-coin]');
    await rows.nth(POSITIONS - 1).waitFor();
  }

  async showBoard(users: readonly string[]): Promise<void> {
    const page = this.#page;
    await page.getByRole('link', { name: 'Board' }).click();
    await page.getByLabel(/^Addresses/).fill(users.join('\n'));
    await page.getByRole('button', { name: /^Add \d/ }).click();
    await page.getByText(`Sum of ${users.length}`, { exact: false }).waitFor();
  }

  async measure(): Promise<void> {
    const heapMegabytes = await this.#page.evaluate(() => {
      const scope = globalThis as unknown as {
        gc(): void;
        performance: { memory: { usedJSHeapSize: number } };
      };
      scope.gc();
      return scope.performance.memory.usedJSHeapSize / 1e6;
    });
    this.usages.push({
      timeMs: performance.now(),
      cpuSeconds: cpuSecondsOfTree(this.#pid),
      bytes: this.#proxy?.bytes ?? 0,
      heapMegabytes,
      browserMegabytes: rssAnonMegabytesOfTree(this.#pid),
    });
  }

  async close(): Promise<void> {
    await this.#browser.close();
    this.#proxy?.close();
  }
}

async function startLedger(
  accounts: number,
  positionsPerAccount: number,
  main?: string,
): Promise<ServedLedger> {
  const folder = mkdtempSync(path.join(tmpdir(), 'perpinfo-page-'));
  folders.push(folder);
  const { state } = await buildLedger(folder, accounts, positionsPerAccount);
  const secret = await createKey(folder);
  const writer = await startWriter(folder);
  const server = await startPerpinfo(folder, {
    workers: 1,
    flags: PATIENCE,
    ...(main && { main }),
  });
  return { writer, server, secret, users: usersOf(state) };
}

/**
 * Returns the share of a core in per cent, and the kilobytes a second, between two measurements.
 */
function rates(from: Usage, to: Usage): { cpu: number; kilobytes: number } {
  const seconds = (to.timeMs - from.timeMs) / 1000;
  return {
    cpu: (100 * (to.cpuSeconds - from.cpuSeconds)) / seconds,
    kilobytes: (to.bytes - from.bytes) / 1000 / seconds,
  };
}

function printUsages(pages: readonly OpenPage[]): void {
  const rows = pages.flatMap(({ name, usages }) =>
    usages.slice(1).map((usage, index) => {
      const { cpu, kilobytes } = rates(usages[index], usage);
      const minutes = (usage.timeMs - usages[0].timeMs) / 60_000;
      return [
        name,
        minutes.toFixed(0),
        cpu.toFixed(1),
        kilobytes.toFixed(1),
        usage.heapMegabytes.toFixed(1),
        usage.browserMegabytes.toFixed(0),
      ];
    }),
  );
  printTable(['page', 'minute', '% of a core', 'KB/s', 'heap MB', 'browser MB'], rows);
}

function goalsOf({ usages }: OpenPage): Goal[] {
  const { cpu, kilobytes } = rates(usages[0], usages[usages.length - 1]);
  return [
    atMost(`${POSITIONS} positions: % of a core`, 5, [cpu]),
    atMost(`${POSITIONS} positions: KB/s`, 10, [kilobytes]),
  ];
}

const folders: string[] = [];
const ledgers: ServedLedger[] = [];
const pages: OpenPage[] = [];

async function openAll(): Promise<void> {
  ledgers.push(await startLedger(ACCOUNTS, POSITIONS));
  ledgers.push(await startLedger(BOARD_ACCOUNTS, BOARD_POSITIONS));
  const [account, board] = ledgers;
  pages.push(await OpenPage.open('empty tab'));
  pages.push(await OpenPage.open(`${POSITIONS} positions`, account));
  await pages[1].showPositions();
  pages.push(await OpenPage.open(`board of ${BOARD_ACCOUNTS}`, board));
  await pages[2].showBoard(board.users.slice(0, BOARD_ACCOUNTS));
  if (values.beside === undefined) return;
  ledgers.push(await startLedger(ACCOUNTS, POSITIONS, path.join(values.beside, 'dist', 'main.js')));
  pages.push(await OpenPage.open(`${POSITIONS} positions, ${values.beside}`, ledgers[2]));
  await pages[3].showPositions();
}

async function measureAll(): Promise<void> {
  for (const page of pages) await page.measure();
}

try {
  await openAll();
  await sleep(WARM_UP_MS);
  await measureAll();
  const minutes = Number(values.minutes);
  for (let passed = 0; passed < minutes; ) {
    const next = Math.min(SAMPLE_MINUTES, minutes - passed);
    await sleep(next * 60_000);
    passed += next;
    await measureAll();
    console.log(`\n${passed} of ${minutes} minutes`);
    printUsages(pages);
  }
  printGoals(goalsOf(pages[1]));
} finally {
  for (const page of pages) await page.close();
  for (const { writer, server } of ledgers) {
    await server.stop();
    await writer.stop();
  }
  for (const folder of folders) rmSync(folder, { recursive: true });
}
