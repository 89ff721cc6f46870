/** The lines of the README and of docs/guide/clients.md are pasted into a terminal beside a running demo. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { startCheckingProxy } from '../../tools/harness/checking-proxy.ts';
import { PROJECT } from '../../tools/harness/paths.ts';
import { Program, start } from '../../tools/harness/program.ts';
import { until } from '../../tools/harness/running.ts';
import { fencedBlocks, readDocument } from '../docs/documents.ts';
import { LONG_ONLY } from '../scale.ts';

const README = readDocument('README.md');
const CLIENTS = readDocument('docs/guide/clients.md');
const hasCurl = spawnSync('curl', ['--version']).status === 0;
const noCurl = hasCurl ? false : 'curl is not installed here';
/** What Node 20 needs to have the WebSocket of browsers. */
const WEB_SOCKET = 'WebSocket' in globalThis ? [] : ['--experimental-websocket'];

/** Modules are found from the project's own folder, as they are for someone who works in it. */
const folder = mkdtempSync(path.join(PROJECT, 'build/readme-'));
after(() => rmSync(folder, { recursive: true, force: true }));

// As someone starts it who has read no further; only the port may be taken here.
const demo = start(['demo', '--port', '0'], {}, 120_000);
after(async () => {
  demo.child.kill('SIGINT');
  await demo.ended;
});
await demo.untilWritten('Ctrl-C');
const [exported] = /^ {2}export BASE=\S+$/m.exec(demo.stdout) ?? [''];
const { port, pathname } = new URL(exported.slice(exported.indexOf('=') + 1));
const proxyPort = await startCheckingProxy({ after }, Number(port));
const base = `http://127.0.0.1:${proxyPort}${pathname}`;
await until('the demo to be fresh', async () => (await fetch(new URL('/health', base))).ok);

/** The fenced block of a language that holds a text. */
function blockWith(document: string, language: string, text: string): string {
  const found = fencedBlocks(document, language).find((block) => block.includes(text));
  assert.ok(found, `no ${language} with ${text}`);
  return found;
}

/** The same without its texts and numbers; null stands for a text that a position may not have. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])];
  if (value === null) return 'string';
  if (typeof value !== 'object') return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, shapeOf(part)]));
}

async function paste(command: readonly string[]): Promise<string> {
  const pasted = new Program(command, { BASE: base });
  pasted.child.stdin.end();
  const { code, stdout, stderr } = await pasted.ended;
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  return stdout;
}

/** Of the whole answer; the README's is trimmed. */
const SHAPE = shapeOf(
  JSON.parse(blockWith(readDocument('docs/reference/questions.md'), 'json', 'marginSummary')),
);

interface Account {
  readonly assetPositions: readonly unknown[];
}

/** Asks until the account has a position: the account trades, and may have none for a moment. */
async function askUntilPosition(ask: () => Promise<Account>): Promise<Account> {
  let account: Account = { assetPositions: [] };
  await until('a position', async () => {
    account = await ask();
    return account.assetPositions.length > 0;
  });
  return account;
}

test("the README's question, after the line of the demo, is answered", {
  skip: noCurl,
}, async () => {
  const command = ['bash', '-c', `${exported}\n${blockWith(README, 'sh', 'curl')}`];
  const account = await askUntilPosition(async () => JSON.parse(await paste(command)));
  assert.deepEqual(shapeOf(account), SHAPE);
});

/** Runs lines of the page as a module, then prints what one of its names holds. */
async function runModule(lines: string, shown: string): Promise<unknown> {
  const file = path.join(folder, 'lines.mjs');
  const print = `process.stdout.write(JSON.stringify(${shown}), () => process.exit());`;
  writeFileSync(file, `${lines}\n${print}\n`);
  const options = ['--disable-warning=ExperimentalWarning', ...WEB_SOCKET];
  return JSON.parse(await paste([process.execPath, ...options, file]));
}

test("the page's lines for the SDK get an account, and subscribe to it", async () => {
  const lines = blockWith(CLIENTS, 'ts', '@nktkas/hyperliquid');
  const account = await askUntilPosition(
    async () => (await runModule(lines, 'account')) as Account,
  );
  assert.deepEqual(shapeOf(account), SHAPE);
});

test("the page's lines for ccxt get positions over HTTP and over push", LONG_ONLY, async () => {
  const lines = blockWith(CLIENTS, 'ts', "from 'ccxt'");
  let [asked, pushed]: object[][] = [[], []];
  // For a moment the account may hold nothing.
  await until('positions', async () => {
    [asked, pushed] = (await runModule(lines, '[positions, pushed]')) as object[][];
    return asked.length > 0 && pushed.length > 0;
  });
  assert.deepEqual(Object.keys(pushed[0]), Object.keys(asked[0]));
});

const hasRequests = spawnSync('python3', ['-c', 'import requests']).status === 0;
const noRequests = hasRequests ? false : 'python3-requests is not installed here';

test("the page's lines for Python get an account", { skip: noRequests }, async () => {
  const print = 'import json\nprint(json.dumps(account))';
  const lines = `${blockWith(CLIENTS, 'python', 'requests')}\n${print}\n`;
  const account = await askUntilPosition(async () =>
    JSON.parse(await paste(['python3', '-c', lines])),
  );
  assert.deepEqual(shapeOf(account), SHAPE);
});

test("the page's and the API's lines for curl are answered", { skip: noCurl }, async () => {
  const lines = [CLIENTS, readDocument('docs/reference/http.md')].map((page) =>
    blockWith(page, 'sh', 'curl'),
  );
  for (const line of lines) {
    const answer = await paste(['bash', '-c', `${exported}\n${line}`]);
    assert.match(answer, /null|"currentGas"/);
  }
});
