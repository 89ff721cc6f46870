/** The commands of the README and of the guide to your own exchange are run, and their answers compared. */

import assert from 'node:assert/strict';
import { cpSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { MAIN, PROJECT } from '../../tools/harness/paths.ts';
import { Program } from '../../tools/harness/program.ts';
import { Client } from '../../tools/harness/running.ts';
import { makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';
import { fencedBlocks, readDocument } from './documents.ts';

const README = readDocument('README.md');
const OWN_EXCHANGE = readDocument('docs/guide/your-exchange.md');
const EXAMPLE = 'docs/examples/blocks.ndjson';

/** Runs lines of a document in a folder, with the built program for `npx perpinfo`. */
function startScript(folder: string, lines: string): Program {
  const script = lines.replaceAll('npx perpinfo', `"${process.execPath}" "${MAIN}"`);
  return new Program(['bash', '-c', `set -e -o pipefail\ncd "${folder}"\n${script}`]);
}

function blockWith(document: string, language: string, text: string): string {
  const block = fencedBlocks(document, language).find((each) => each.includes(text));
  assert.ok(block, `no ${language} with ${text}`);
  return block;
}

/** The part of an answer that is shown; the rest was trimmed. */
function trimTo(shown: unknown, answer: unknown): unknown {
  if (typeof shown !== 'object' || shown === null) return answer;
  if (Array.isArray(shown)) return (answer as unknown[]).map((item, at) => trimTo(shown[at], item));
  const members = Object.entries(shown).map(([name, value]) => {
    return [name, trimTo(value, (answer as Record<string, unknown>)[name])];
  });
  return Object.fromEntries(members);
}

test("the README's answer is the one that the page about commands asks for offline", async (context) => {
  const folder = await makeTemporaryFolder(context);
  const lines = blockWith(readDocument('docs/reference/commands.md'), 'sh', 'perpinfo simulate');
  const program = startScript(folder, lines);
  program.child.stdin.end();
  const { code, stdout, stderr } = await program.ended;
  assert.equal(code, 0, stderr);
  const answer = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
  const shown = JSON.parse(blockWith(README, 'json', 'marginSummary'));
  assert.deepEqual(shown, trimTo(shown, answer));
});

test("the README's question is the one that the page about commands asks", () => {
  const question = /'(\{.*\})'/.exec(blockWith(README, 'sh', 'curl'))?.[1] ?? '';
  assert.ok(readDocument('docs/reference/commands.md').includes(question));
});

test("the guide's three commands make a key, append blocks, and serve them", async (context) => {
  const folder = await makeTemporaryFolder(context);
  mkdirSync(path.join(folder, path.dirname(EXAMPLE)), { recursive: true });
  cpSync(path.join(PROJECT, EXAMPLE), path.join(folder, EXAMPLE));
  const lines = blockWith(OWN_EXCHANGE, 'sh', 'docs/examples').trim();
  assert.equal(lines.split('\n').length, 3);
  // The default ports may be taken here. With exec the service itself gets the signal.
  const served = lines.replace(
    'npx perpinfo serve',
    'exec npx perpinfo serve --port 0 --admin-port 0',
  );
  const service = startScript(folder, served);
  try {
    await service.untilWritten('"msg":"listening"');
    const [secret] = service.stdout.split('\n');
    const port = /"port":(\d+),"msg":"listening"/.exec(service.stdout)?.[1];
    const client = new Client(Number(port));
    const { body } = await client.ask(secret, { type: 'allMids' });
    client.close();
    assert.deepEqual(JSON.parse(body), { BTC: '86350.0' });
    assert.match(service.stdout, /^durable 3$/m);
  } finally {
    service.child.kill('SIGTERM');
  }
  assert.equal((await service.ended).code, 0);
});

test("the guide's block is the last of its example", () => {
  const shown = blockWith(OWN_EXCHANGE, 'json', 'height');
  const last = readDocument(EXAMPLE).trim().split('\n').at(-1) ?? '';
  assert.deepEqual(JSON.parse(shown), JSON.parse(last));
});

test('what the README changes in a client is in the page about clients', () => {
  const rows = [...README.matchAll(/^\| \[.*\]\(docs\/guide\/clients\.md#\w+\) \| `(.*)` \|$/gm)];
  assert.equal(rows.length, 3);
  for (const [, change] of rows)
    assert.ok(readDocument('docs/guide/clients.md').includes(change), change);
});

test("the README's figure is the one of the page about performance, rounded down", () => {
  const [, stated = ''] = /about (\d+,000) answers a second/.exec(README) ?? [];
  const page = readDocument('docs/internals/performance.md');
  const [, measured = ''] = /^\| perpinfo, random users \| ([\d,]+) \|/m.exec(page) ?? [];
  const [least, value] = [stated, measured].map((text) => Number(text.replace(',', '')));
  assert.ok(least > 0 && least <= value && value < least + 1000, `${stated}, ${measured}`);
});
