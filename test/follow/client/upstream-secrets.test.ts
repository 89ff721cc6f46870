/** No piece of the upstream's key gets out, whatever the upstream does with its own address. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { inspect } from 'node:util';
import { WebSocketServer } from 'ws';
import { readSettings } from '../../../src/config/read-settings.ts';
import { describeValue } from '../../../src/events/refusal.ts';
import { FEED_SETTINGS } from '../../../src/feed/settings.ts';
import { createState } from '../../../src/state/state.ts';
import type { ForwardOutcome, ItemOutcome } from '../../../src/upstream/channel/follower-client.ts';
import { readUpstreamAddress } from '../../../src/upstream/client/upstream-address.ts';
import type { FollowFeed } from '../../../src/upstream/follower/follow-feed.ts';
import { openFollowFeed } from '../../../src/upstream/follower/open-follow-feed.ts';
import { FOLLOW_SETTINGS } from '../../../src/upstream/settings.ts';
import { PROJECT } from '../../../tools/harness/paths.ts';
import { makeTemporaryFolder } from '../../../tools/harness/temporary-folder.ts';
import { plain } from './scripted-server.ts';
import { failureOf, openFixture, USER, untilSo } from './upstream-fixture.ts';

const KEY = 'Kq7/w+Zt0"mPé4~xV9bRs2';
const PATH = `/${encodeURIComponent(KEY)}`;
const PIECE_LENGTH = 6;
const SHOWN_LENGTH = 200;
const ADDRESS = readUpstreamAddress(new URL(`https://host${PATH}`));

/** The forms in which an upstream may repeat its key. */
const FORMS: Readonly<Record<string, string>> = {
  'as it is': KEY,
  'in upper case': KEY.toUpperCase(),
  'in lower case': KEY.toLowerCase(),
  'escaped for an address': encodeURIComponent(KEY),
  'escaped for an address, in lower case': encodeURIComponent(KEY).toLowerCase(),
  'escaped for an address twice': encodeURIComponent(encodeURIComponent(KEY)),
  'escaped for JSON': JSON.stringify(KEY).slice(1, -1),
  'escaped for JSON twice': JSON.stringify(JSON.stringify(KEY).slice(1, -1)).slice(1, -1),
  'escaped for JSON, each character': escapeEach(KEY),
  'escaped for HTML': KEY.replace('"', '&quot;').replace('+', '&#43;').replace('/', '&#x2F;'),
  'in the middle of its address': `http://host${PATH}/info?a=b`,
};
/** Around the places where texts are cut: at 60, 123 and 200 characters. */
const OFFSETS = [
  0,
  1,
  ...range(34, 62),
  ...range(120, 124),
  ...range(150, 202),
  ...range(8_188, 8_192),
];

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

function escapeEach(text: string): string {
  return text
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}

function assertNoPiece(shown: string, what: string): void {
  const plainer = decodeAll(shown).toLowerCase();
  const key = KEY.toLowerCase();
  for (const at of range(0, key.length - PIECE_LENGTH)) {
    const piece = key.slice(at, at + PIECE_LENGTH);
    assert.ok(!plainer.includes(piece), `${what}: ${piece} is in ${shown}`);
  }
}

/** Another way than that of the code under test: by what Node itself decodes. */
function decodeAll(text: string): string {
  const quoted = text.replaceAll(/\\+u([\da-f]{4})/gi, (_, code) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
  const percent = (_: string, code: string) => String.fromCharCode(Number.parseInt(code, 16));
  const once = quoted.replaceAll(/%25/g, '%').replaceAll(/%c3%a9/gi, 'é');
  return once
    .replaceAll(/%([\da-f]{2})/gi, percent)
    .replaceAll('&quot;', '"')
    .replaceAll('&#43;', '+')
    .replaceAll('&#x2F;', '/')
    .replaceAll('\\', '');
}

for (const [form, text] of Object.entries(FORMS)) {
  test(`the key ${form} is hidden at every place of a text, also where the text was cut`, () => {
    for (const offset of OFFSETS) {
      const echo = `${'.'.repeat(offset)}${text}${'.'.repeat(90)}`;
      // Hidden first, then cut: of what was cut first, a few characters would be left.
      assert.equal(ADDRESS.show(echo), ADDRESS.redact(echo).slice(0, SHOWN_LENGTH));
      assertNoPiece(ADDRESS.show(echo), `shown at ${offset}`);
      assertNoPiece(ADDRESS.redact(describeValue(echo)), `described at ${offset}`);
      assert.match(ADDRESS.redact(echo), /^\.*(http:\/\/host\/)?\*\*\*(\/info\?a=b)?\.{90}$/);
    }
    for (const length of range(0, text.length)) {
      assertNoPiece(ADDRESS.redact(text.slice(0, length)), `cut at ${length}`);
      assertNoPiece(ADDRESS.redact(text.slice(length)), `cut before ${length}`);
    }
  });

  test(`an answer that repeats the key ${form} is refused`, async (t) => {
    if (/twice|HTML/.test(form)) return t.skip('a text in the answer, hidden where it is shown');
    const body = `{"name":"${text.includes('\\') ? text : text.replace('"', '\\"')}"}`;
    const answer = (response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(body);
    };
    const { upstream } = await openFixture(t, answer, { path: PATH });
    const failure = await failureOf(upstream.ask(ACCOUNT, ASKED));
    assert.equal(failure.message, 'the response repeats the key of the request');
    assert.equal(failure.kind, 'malformed');
  });
}

const ACCOUNT = { type: 'clearinghouseState', user: USER };
const ASKED = { priority: 'asked' } as const;

test('words and numbers that an answer has by chance do not count as the key', () => {
  for (const path of ['hyperliquid', '000000000000000000000000', `0x${'1f'.repeat(20)}`]) {
    const address = readUpstreamAddress(new URL(`https://host/${path}`));
    assert.equal(address.containsKey(Buffer.from(`{"a":"${path}"}`)), false, path);
  }
});

/** What is said of an upstream in our own words, or in those of the HTTP client. */
function listFixedMessages(): string[] {
  const folder = path.join(PROJECT, 'src/upstream');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const sources = files.filter((name) => name.endsWith('.ts'));
  const messages = sources.flatMap((name) =>
    Array.from(
      readFileSync(path.join(folder, name), 'utf8').matchAll(
        /new UpstreamError\(\s*'\w+',\s*(['`])(.*?)\1/gs,
      ),
      ([, , message]) => message.replaceAll(/\$\{[^}]*\}/g, '5'),
    ),
  );
  return [...messages, 'Headers Overflow Error', 'other side closed', 'Connect Timeout Error'];
}

test('the words of our own messages stay, whatever is in the path', () => {
  const messages = listFixedMessages();
  assert.ok(messages.length > 8, messages.join());
  for (const message of messages) {
    for (const word of message.match(/[a-z]{6,}/gi) ?? []) {
      const { redact, show } = readUpstreamAddress(new URL(`https://host/${word}-and-more/a`));
      assert.equal(redact(message), message);
      // What an upstream writes has no words of our own.
      assert.equal(show(message), message.replaceAll(word, '***'));
      for (const echo of [`/${word}`, `${word}-and-more`, `${word}/`, `x${word}`, `${word}=1`]) {
        assert.match(redact(`got ${echo}, expected another`), /\*{3}/, echo);
      }
    }
  }
});

test('an upstream with too long headers is said to have them, also where its path says so', async (t) => {
  const long = (response: ServerResponse) => {
    response.writeHead(200, { 'x-long': 'a'.repeat(40_000) });
    response.end('{}');
  };
  const { upstream } = await openFixture(t, long, { path: '/big-headers-overflow' });
  assert.equal((await failureOf(upstream.ask(ACCOUNT, ASKED))).message, 'Headers Overflow Error');
});

test('an error has no cause and no stack with what the upstream sent', async (t) => {
  const { server, upstream, log } = await openFixture(t, plain(500, KEY), { path: PATH });
  const garbage = (response: ServerResponse) => {
    response.socket?.end(`HTTP/1.1 2${KEY}0 ${KEY}\r\n${KEY}\r\n\r\n`);
  };
  const half = (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(`{"a":${KEY.slice(0, 12)}`);
  };
  for (const respond of [plain(404, KEY), plain(500, KEY), garbage, half]) {
    server.respond = respond;
    const failure = await failureOf(upstream.ask(ACCOUNT, ASKED));
    assertNoPiece(inspect(failure, { depth: 9, showHidden: true }), failure.message);
    assertNoPiece(inspect([upstream.health, log], { depth: 9 }), 'health');
  }
});

/** An upstream that repeats its address in every place that it has. */
async function startEcho(t: TestContext): Promise<{ readonly url: string; count: number }> {
  const forms = Object.values(FORMS);
  const next = () => {
    const offset = OFFSETS[(echo.count * 7) % OFFSETS.length];
    const form = forms[echo.count++ % forms.length];
    return `${'.'.repeat(offset)}${form}`;
  };
  const server = createServer((request, response) => {
    request.resume();
    answerWith(response, next(), echo.count);
  });
  const push = new WebSocketServer({ server });
  push.on('connection', (socket) => {
    for (const channel of ['error', 'trades', 'allMids', 'webData2', next()]) {
      socket.send(JSON.stringify({ channel, data: next() }));
      socket.send(JSON.stringify({ channel, data: [{ coin: next(), user: next() }] }));
    }
    // A reason has at most 123 bytes.
    socket.close(4_001, Buffer.from(next().slice(-60)).subarray(0, 123).toString('ascii'));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const client of push.clients) client.terminate();
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const echo = { url: `http://127.0.0.1:${port}${PATH}`, count: 0 };
  return echo;
}

function answerWith(response: ServerResponse, text: string, count: number): void {
  const header = Buffer.from(text)
    .toString('latin1')
    .replaceAll(/[^\x20-\x7e]/g, '');
  const status = [200, 404, 422, 500, 429, 200, 200][count % 7];
  const type = count % 5 === 0 ? header : 'application/json';
  response.writeHead(status, header.slice(0, 100), { 'content-type': type, 'retry-after': header });
  const bodies = [
    text,
    JSON.stringify({ error: text }),
    JSON.stringify([{ name: text, universe: [{ name: text, szDecimals: text }] }, text]),
    JSON.stringify({ marginSummary: { accountValue: text }, assetPositions: [text], time: text }),
  ];
  response.end(bodies[count % 4]);
}

function settingsOf(folder: string) {
  const flags = { data: folder, forward: 'true', 'follow-budget': '0', 'follow-wait': '300' };
  const settings = { ...FEED_SETTINGS, ...FOLLOW_SETTINGS };
  return readSettings(settings, new Map(Object.entries(flags)), {});
}

async function run(feed: FollowFeed, signal: AbortSignal): Promise<void> {
  const start = { height: 0, time: 0, state: createState() };
  try {
    for await (const blocks of feed.blocks(start, signal))
      assertNoPiece(inspect(blocks), 'a block');
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

test('an upstream that repeats its address everywhere shows no piece of it', async (t) => {
  const echo = await startEcho(t);
  const shown: string[] = [];
  const log = (line: string) => void shown.push(line);
  const settings = settingsOf(await makeTemporaryFolder(t));
  const feed = await openFollowFeed(new URL(echo.url), settings, { info: log, warn: log });
  const stop = new AbortController();
  const running = run(feed, stop.signal);
  await untilSo('the first questions', () => echo.count > 20);
  for (let round = 0; round < 60; round++) {
    const user = `0x${round.toString(16).padStart(40, '0')}`;
    const outcomes = await Promise.all([
      feed.forward({ type: 'openOrders', user }, user),
      feed.forward({ type: 'userFills', user }, user),
      feed.readItem({ kind: 'account', user, dex: '' }, 0, user),
    ]);
    shown.push(JSON.stringify(outcomes.map(withText)), JSON.stringify(feed.status()));
  }
  stop.abort();
  await running;
  assert.ok(shown.length > 120);
  for (const text of shown) assertNoPiece(text, 'shown');
});

/** The bytes of an answer as a text. */
function withText(outcome: ItemOutcome | ForwardOutcome): object {
  return outcome.outcome === 'answered' ? { text: outcome.bytes.toString() } : outcome;
}
