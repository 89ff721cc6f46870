/** Questions in the query of a GET: answered as a POST's, and not sent again while they say the same. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatAddress } from '../../src/exact/address.ts';
import { createSimulator } from '../../src/feed/simulator/simulator.ts';
import { withoutTime } from '../../src/http/answer-tag.ts';
import { answerQuestion } from '../../src/info/registry.ts';
import type { StateView } from '../../src/state/state.ts';
import { createPlaces } from '../cli/program.ts';
import { openSteppedLedger } from '../push/stepped-ledger.ts';
import { type Answer, type Client, createKey, startService } from '../service/running.ts';

const place = createPlaces();
const STRANGER = '0x00000000000000000000000000000000000000aa';

interface Poller {
  readonly client: Client;
  readonly key: string;
}

type Question = Readonly<Record<string, string | number | readonly string[]>>;

function queryFor(question: Question): string {
  const pairs = Object.entries(question).map(([name, value]): [string, string] => [
    name,
    String(value),
  ]);
  return new URLSearchParams(pairs).toString();
}

function poll({ client, key }: Poller, question: Question, tag?: string): Promise<Answer> {
  const headers = tag === undefined ? {} : { 'If-None-Match': tag };
  return client.send({ path: `/${key}/info?${queryFor(question)}`, headers });
}

function tagOf({ headers }: Answer): string {
  assert.match(headers.etag ?? '', /^W\/"[\w-]{22}"$/);
  return headers.etag ?? '';
}

const simulator = createSimulator({ seed: 'polling', accounts: 20 });
const lines = Array.from({ length: 120 }, () => simulator.next());
const START = 60;

/** Somebody with a position, whose account so changes with every mark. */
function findTrader(state: StateView): string {
  for (let row = 1; ; row++) {
    const user = formatAddress(state.addresses.addressOf(row));
    if (answerQuestion(state, { type: 'clearinghouseState', user }).includes('"coin"')) return user;
  }
}

async function start(context: { after(clean: () => Promise<void> | void): void }, budget?: string) {
  const folder = place();
  const ledger = await openSteppedLedger(context, folder);
  for (const line of lines.slice(0, START)) await ledger.append(line);
  const { secret: key } = await createKey(folder, budget === undefined ? {} : { budget });
  const service = await startService(context, { data: folder, flags: ['--max-age', '0'] });
  await service.untilCaughtUp(START);
  const user = findTrader(ledger.state);
  return { ledger, service, client: service.connect(), key, user };
}

test('a GET answers as a POST does, for every kind of field', async (context) => {
  const { client, key, user } = await start(context);
  const questions: Question[] = [
    { type: 'clearinghouseState', user },
    { type: 'clearinghouseState', user: user.toUpperCase().replace('X', 'x'), dex: 'abc' },
    { type: 'delegations', user },
    { type: 'perpDeployAuctionStatus' },
    { type: 'perpDeployAuctionStatus', unknown: 'ignored' },
    { type: 'marginTable', id: 1001 },
    { type: 'batchClearinghouseStates', users: [user, 'nobody', STRANGER], dex: 'ALL_DEXES' },
  ];
  for (const question of questions) {
    const polled = await poll({ client, key }, question);
    const posted = await client.ask(key, question);
    assert.deepEqual([polled.status, polled.body], [200, posted.body]);
    for (const name of ['ledger-height', 'ledger-time', 'content-type', 'content-length']) {
      assert.equal(polled.headers[name], posted.headers[name], name);
    }
    assert.equal(polled.headers['cache-control'], 'private, no-cache');
    assert.equal(posted.headers.etag, undefined);
  }
});

test('the tag changes exactly when the answer does, its time left aside', async (context) => {
  const { ledger, client, key, user } = await start(context);
  const questions: Question[] = [
    { type: 'clearinghouseState', user },
    { type: 'clearinghouseState', user: STRANGER },
    { type: 'allDexsClearinghouseState', user },
    { type: 'delegations', user },
    { type: 'perpDeployAuctionStatus' },
    { type: 'exchangeStatus' },
    { type: 'perpDexs' },
  ];
  const last = await Promise.all(questions.map((question) => poll({ client, key }, question)));
  const outcomes = new Set<string>();
  for (const line of lines.slice(START)) {
    await ledger.append(line);
    await client.ask(key, questions[1], { 'Ledger-Min-Height': ledger.state.height });
    for (const [index, question] of questions.entries()) {
      const posted = await client.ask(key, question);
      const polled = await poll({ client, key }, question, tagOf(last[index]));
      const isSame = withoutTime(posted.body) === withoutTime(last[index].body);
      assert.equal(polled.status, isSame ? 304 : 200, `${queryFor(question)}`);
      assert.equal(tagOf(polled) === tagOf(last[index]), isSame);
      assert.equal(polled.body, isSame ? '' : posted.body);
      assert.equal(polled.headers['ledger-height'], String(ledger.state.height));
      assert.equal(polled.headers['ledger-time'], String(ledger.state.time));
      outcomes.add(`${question['type']} ${polled.status}`);
      if (!isSame) last[index] = polled;
    }
  }
  assert.ok(outcomes.has('clearinghouseState 200') && outcomes.has('clearinghouseState 304'));
  assert.ok(outcomes.has('exchangeStatus 304') && !outcomes.has('exchangeStatus 200'));
});

test('any spelling of If-None-Match that names the tag is understood', async (context) => {
  const { client, key, user } = await start(context);
  const question = { type: 'clearinghouseState', user };
  const tag = tagOf(await poll({ client, key }, question));
  for (const header of [tag, tag.slice(2), `"other", ${tag}`, `${tag},W/"x"`, '*']) {
    const { status, headers, body } = await poll({ client, key }, question, header);
    assert.deepEqual([status, body], [304, ''], header);
    assert.equal(headers['content-length'], undefined);
    assert.equal(headers['access-control-allow-origin'], '*');
    assert.match(String(headers['access-control-expose-headers']), /\bETag\b/);
  }
  for (const header of ['"other"', tag.slice(3, -1), '', 'W/"']) {
    assert.equal((await poll({ client, key }, question, header)).status, 200, header);
  }
});

test('a HEAD has the headers of the GET and no body', async (context) => {
  const { client, key, user } = await start(context);
  const path = `/${key}/info?${queryFor({ type: 'clearinghouseState', user })}`;
  const [got, headed] = [await client.send({ path }), await client.send({ method: 'HEAD', path })];
  assert.deepEqual([headed.status, headed.body], [200, '']);
  for (const name of ['etag', 'content-length', 'ledger-height']) {
    assert.equal(headed.headers[name], got.headers[name], name);
  }
});

test('what is wrong with a GET is told as with a POST', async (context) => {
  const { client, key, user } = await start(context);
  const rows: [string, number, string, string | undefined][] = [
    [`/${key}/info`, 422, 'missing_field', 'type'],
    [`/${key}/info?`, 422, 'missing_field', 'type'],
    ['/nobody/info?type=meta', 401, 'unknown_key', 'key'],
    ['/info?type=meta', 401, 'unknown_key', 'key'],
    [`/${key}/info?user=${user}`, 422, 'missing_field', 'type'],
    [`/${key}/info?type=openOrders`, 422, 'unknown_type', 'type'],
    [`/${key}/info?type=meta&type=meta`, 422, 'invalid_field', 'type'],
    [`/${key}/info?type=delegations`, 422, 'missing_field', 'user'],
    [`/${key}/info?type=delegations&user=`, 422, 'invalid_address', 'user'],
    [`/${key}/info?type=delegations&user=%zz`, 422, 'invalid_address', 'user'],
    [`/${key}/info?type=delegations&user=${user}&user=${user}`, 422, 'invalid_field', 'user'],
    [`/${key}/info?type=meta&dex=nowhere`, 422, 'unknown_dex', 'dex'],
    [`/${key}/info?type=marginTable&id=one`, 422, 'invalid_field', 'id'],
    [`/${key}/info?type=marginTable&id=1&id=2`, 422, 'invalid_field', 'id'],
  ];
  for (const [path, status, code, field] of rows) {
    const answer = await client.send({ path });
    const { error, field: blamed } = JSON.parse(answer.body);
    assert.deepEqual([answer.status, error, blamed], [status, code, field], path);
  }
  const late = await client.send({
    path: `/${key}/info?type=meta`,
    headers: { 'Ledger-Min-Height': '999999' },
  });
  assert.deepEqual([late.status, JSON.parse(late.body).error], [503, 'behind']);
  const put = await client.send({ method: 'PUT', path: `/${key}/info?type=meta` });
  assert.deepEqual([put.status, put.headers.allow], [405, 'GET, HEAD, POST, OPTIONS']);
});

test('polling is charged as asking is', async (context) => {
  const { client, key, user } = await start(context, '43/h');
  const question = { type: 'clearinghouseState', user };
  const first = await poll({ client, key }, question);
  assert.equal(first.headers['ratelimit-remaining'], '41');
  const second = await poll({ client, key }, question, tagOf(first));
  assert.deepEqual([second.status, second.headers['ratelimit-remaining']], [304, '39']);
});
