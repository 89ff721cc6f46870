/** The past over HTTP: moments, series, CSV, tags, refusals; the same on both transports. */

import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { archiveFolder } from '../../src/archive/records/archive-tables.ts';
import { formatAddress } from '../../src/exact/address.ts';
import { OWN_TYPES } from '../../src/info/question-types.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { createPlaces, joinLines, run, succeed } from '../../tools/harness/program.ts';
import { connectPush } from '../../tools/harness/push-client.ts';
import {
  type Answer,
  type Client,
  createKey,
  makeLedger,
  type RunningService,
  startService,
  until,
} from '../../tools/harness/running.ts';
import { LONG_ONLY } from '../scale.ts';
import { Witness } from './witness.ts';

const place = createPlaces();
const BLOCKS = 400;
const ACCOUNTS = 20;

const simulator = createSimulator({ seed: 'past', accounts: ACCOUNTS });
const lines = Array.from({ length: BLOCKS }, () => simulator.next());
const times = lines.map((line) => JSON.parse(line).time as number);
const [user] = [...Array(ACCOUNTS).keys()].map((index) =>
  formatAddress(simulator.state.addresses.addressOf(index + 1)),
);

const FLAGS = ['--max-age', '0'];

let data: string;
let secret: string;
const clients: Client[] = [];
let pushPort: number;
const cleanups: (() => Promise<void> | void)[] = [];

before(async () => {
  data = await makeLedger(place(), lines);
  ({ secret } = await createKey(data));
  await succeed(['archive', '--data', data, '--once']);
  for (const further of [[], ['--no-fast-lane']]) {
    const cleanup = { after: (clean: () => Promise<void> | void) => void cleanups.push(clean) };
    const service = await startService(cleanup, { data, flags: [...FLAGS, ...further] });
    clients.push(service.connect());
    pushPort = service.port;
  }
});

after(async () => {
  for (const clean of cleanups) await clean();
});

/** The same answer from both transports. */
async function ask(body: object, headers: Record<string, string> = {}): Promise<Answer> {
  const asked = {
    method: 'POST',
    path: `/${secret}/info`,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  };
  return same(await Promise.all(clients.map((client) => client.send(asked))));
}

async function get(query: string, headers: Record<string, string> = {}): Promise<Answer> {
  const asked = { path: `/${secret}/info?${query}`, headers };
  return same(await Promise.all(clients.map((client) => client.send(asked))));
}

function same(answers: readonly Answer[]): Answer {
  for (const answer of answers) delete answer.headers['date'];
  assert.deepEqual(answers[1], answers[0]);
  return answers[0];
}

test('a moment is answered as it was, by height and by time', async () => {
  const body = { type: 'clearinghouseState', user };
  const witness = new Witness('past', [body], 1);
  witness.lookAtAll(lines);
  for (const height of [1, 7, 100, 255, 256, 257, BLOCKS]) {
    const answer = await ask({ ...body, atHeight: height });
    assert.equal(answer.status, 200, answer.body);
    assert.equal(answer.headers['ledger-height'], String(height));
    assert.equal(answer.headers['ledger-time'], String(times[height - 1]));
    assert.equal(answer.body, witness.answerOf(height));
    const last = times.lastIndexOf(times[height - 1]) + 1;
    // A time after the last block has not been: later blocks may still come before it.
    const later = last === BLOCKS ? 0 : 1;
    const byTime = await ask({ ...body, atTime: times[height - 1] + later });
    assert.equal(byTime.headers['ledger-height'], String(last));
    assert.equal(byTime.body, witness.answerOf(last));
  }
});

test('an answer of the past may be cached for good', async () => {
  const query = `type=clearinghouseState&user=${user}&atHeight=100`;
  const first = await get(query);
  assert.equal(first.headers['cache-control'], 'private, max-age=31536000, immutable');
  const tag = String(first.headers['etag']);
  assert.match(tag, /^"[\w-]+-clearinghouseState-at-100"$/);
  const again = await get(query, { 'if-none-match': tag });
  assert.deepEqual([again.status, again.body, again.headers['etag']], [304, '', tag]);
  const byTime = await get(`type=delegations&user=${user}&atTime=${times[100] - 1}`);
  assert.match(String(byTime.headers['cache-control']), /immutable/);
});

test('a time that another block may still have is asked about again', async () => {
  const query = `type=delegations&user=${user}&atTime=${times[BLOCKS - 1]}`;
  const first = await get(query);
  const tag = String(first.headers['etag']);
  const again = await get(query, { 'if-none-match': tag });
  assert.deepEqual([first.status, again.status], [200, 304]);
  for (const { headers } of [first, again]) {
    assert.equal(headers['cache-control'], 'private, no-cache');
  }
});

test('many accounts are answered as they were, in their order, however long that is', async () => {
  const users = Array.from({ length: 1000 }, () => user);
  const { body: account } = await ask({ type: 'clearinghouseState', user, atHeight: 100 });
  const { status, headers, body } = await ask({
    type: 'batchClearinghouseStates',
    users,
    atHeight: 100,
  });
  assert.deepEqual([status, headers['ledger-height']], [200, '100']);
  const states = users.map((each) => `["${each}",${account}]`).join(',');
  assert.equal(body, `{"successful_states":[${states}],"failed_wallets":[]}`);
});

test('no cache keeps what no tag tells the age of', async () => {
  const series = await get(`type=accountHistory&user=${user}&step=60000`);
  assert.deepEqual(
    [series.status, series.headers['etag'], series.headers['cache-control']],
    [200, undefined, 'private, no-store'],
  );
  const posted = await ask({ type: 'accountHistory', user, step: 60_000 });
  assert.equal(posted.headers['cache-control'], undefined);
});

test('no history has a tag, not even as of a moment', async () => {
  for (const { type } of OWN_TYPES.filter((request) => 'shares' in request)) {
    const fields = `user=${user}&coin=BTC&step=60000&atHeight=${BLOCKS}`;
    const { status, headers } = await get(`type=${type}&${fields}`);
    assert.deepEqual([status, headers['etag']], [200, undefined], type);
  }
});

const REFUSALS: readonly [body: object, status: number, code: string, field?: string][] = [
  [{ type: 'delegations', user, atHeight: BLOCKS + 1 }, 422, 'unknown_height', 'atHeight'],
  [{ type: 'delegations', user, atTime: 5 }, 422, 'unknown_height', 'atTime'],
  [{ type: 'delegations', user, atTime: 8e15 }, 422, 'unknown_height', 'atTime'],
  [{ type: 'delegations', user, atHeight: 0 }, 422, 'invalid_field', 'atHeight'],
  [{ type: 'delegations', user, atHeight: '7' }, 422, 'invalid_field', 'atHeight'],
  [{ type: 'delegations', user, atHeight: 1, atTime: 1 }, 422, 'invalid_field', 'atTime'],
  [{ type: 'clearinghouseState', user, dex: 'none', atHeight: 9 }, 422, 'unknown_dex', 'dex'],
  [{ type: 'accountHistory', user, step: 0 }, 422, 'invalid_field', 'step'],
  [{ type: 'accountHistory', user, step: 1, to: times[0] + 1e9 }, 422, 'invalid_field', 'step'],
  [{ type: 'accountHistory', user, from: 9, to: 5 }, 422, 'invalid_field', 'to'],
  [{ type: 'accountHistory', user, format: 'xml' }, 422, 'invalid_field', 'format'],
  [{ type: 'accountHistory', user, dex: 'none' }, 422, 'unknown_dex', 'dex'],
  [{ type: 'accountHistory' }, 422, 'missing_field', 'user'],
  [{ type: 'positionHistory', user, coin: 'NONE' }, 422, 'invalid_field', 'coin'],
  [{ type: 'portfolio', user, format: 'csv' }, 422, 'invalid_field', 'format'],
];

test('a bad question about the past is refused with the field to blame', async () => {
  for (const [body, status, code, field] of REFUSALS) {
    const answer = await ask(body);
    const refusal = JSON.parse(answer.body);
    assert.deepEqual(
      [answer.status, refusal.error, refusal.field],
      [status, code, field],
      answer.body,
    );
  }
});

test('a series is the figures of each moment, as JSON and as CSV', async () => {
  const step = 60_000;
  const answer = await ask({ type: 'accountHistory', user, step });
  const rows = JSON.parse(answer.body) as [number, number, ...string[]][];
  assert.ok(rows.length > 50, `${rows.length} rows`);
  for (const [height, time, value, notional, margin, withdrawable] of rows) {
    const moment = await ask({ type: 'clearinghouseState', user, atHeight: height });
    const { marginSummary, ...account } = JSON.parse(moment.body);
    assert.equal(time, times[height - 1]);
    assert.deepEqual(
      [value, notional, margin, withdrawable],
      [
        ...[marginSummary.accountValue, marginSummary.totalNtlPos],
        ...[marginSummary.totalMarginUsed, account.withdrawable],
      ],
    );
  }
  const csv = await ask({ type: 'accountHistory', user, step }, { accept: 'text/csv' });
  assert.match(String(csv.headers['content-type']), /^text\/csv/);
  const [head, ...texts] = csv.body.split('\r\n').slice(0, -1);
  assert.equal(head.split(',').length, rows[0].length);
  assert.deepEqual(
    texts.map((text) => text.split(',')),
    rows.map((row) => row.map(String)),
  );
  assert.equal((await ask({ type: 'accountHistory', user, step, format: 'csv' })).body, csv.body);
});

test('a post over a WebSocket is answered about the past as a request is', async (context) => {
  const client = await connectPush(context, { port: pushPort, key: secret });
  const post = async (payload: object): Promise<PostResponse> => {
    client.send({ method: 'post', id: 7, request: { type: 'info', payload } });
    return ((await client.next('post')) as { response: PostResponse }).response;
  };
  const account = { type: 'clearinghouseState', user };
  for (const moment of [{ atHeight: 100 }, { atTime: times[99] }]) {
    const { body } = await ask({ ...account, ...moment });
    const data = JSON.parse(body);
    const payload = { type: account.type, data, height: 100, time: times[99] };
    assert.deepEqual(await post({ ...account, ...moment }), { type: 'info', payload });
  }
  const series = { type: 'accountHistory', user, step: 60_000 };
  const end = { height: BLOCKS, time: times[BLOCKS - 1] };
  for (const format of ['json', 'csv']) {
    const { body } = await ask({ ...series, format });
    const data = format === 'csv' ? body : JSON.parse(body);
    const expected = { type: 'info', payload: { type: series.type, data, ...end } };
    assert.deepEqual(await post({ ...series, format }), expected);
  }
  const many = { type: 'batchClearinghouseStates', users: Array(400).fill(user), atHeight: 100 };
  const { body } = await ask(many);
  const payload = { type: many.type, data: JSON.parse(body), height: 100, time: times[99] };
  assert.deepEqual(await post(many), { type: 'info', payload });
  const refused = await post({ ...account, atHeight: BLOCKS + 1 });
  assert.match(String(refused.payload), /^unknown_height: atHeight: .*heights 1 to 400/);
  client.subscribe({ ...account, atHeight: 100 });
  assert.match(String(await client.next('error')), /the past is not pushed/);
});

interface PostResponse {
  readonly type: string;
  readonly payload: unknown;
}

test('a format that the question names wins over the one that the client accepts', async () => {
  const accept = { accept: 'text/csv' };
  const given = await get(`type=accountHistory&user=${user}&step=60000&format=json`, accept);
  assert.match(String(given.headers['content-type']), /^application\/json/);
  const chosen = await get(`type=accountHistory&user=${user}&step=60000`, accept);
  assert.match(String(chosen.headers['content-type']), /^text\/csv/);
  const unwanted = { accept: 'text/csv;q=0, application/json' };
  const refused = await get(`type=accountHistory&user=${user}&step=60000`, unwanted);
  assert.match(String(refused.headers['content-type']), /^application\/json/);
});

test('only a question in an address has a tag, and a star is no tag of the past', async () => {
  const query = `type=clearinghouseState&user=${user}&atHeight=100`;
  const { headers, body } = await get(query);
  const tag = String(headers['etag']);
  assert.equal((await get(query, { 'if-none-match': tag })).status, 304);
  assert.equal((await get(query, { 'if-none-match': '*' })).status, 200);
  assert.equal((await get(`${query}&dex=nope`, { 'if-none-match': '*' })).status, 422);
  const question = { type: 'clearinghouseState', user, atHeight: 100 };
  const posted = await ask(question, { 'if-none-match': tag });
  assert.deepEqual([posted.status, posted.headers['etag'], posted.body], [200, undefined, body]);
});

test('opening value, transfers and profit add up to the closing value', async () => {
  const millionths = (text: string) => Math.round(Number(text) * 1e6);
  const rows = JSON.parse((await ask({ type: 'accountHistory', user, step: 60_000 })).body);
  const transferred = lines
    .flatMap((line) => JSON.parse(line).events)
    .filter((event) => event.type === 'transfer' && event.user === user && event.dex === '');
  const opening = rows[0];
  const closing = rows.at(-1);
  const sum = transferred.reduce((total, { amount }) => total + millionths(amount), 0);
  assert.equal(millionths(closing[8]) - millionths(opening[8]), sum);
});

test('a position is told block by block', async () => {
  const fills = lines.flatMap((line) => {
    const { height, events } = JSON.parse(line);
    return events
      .filter(
        (event: { type: string; user: string }) => event.type === 'fill' && event.user === user,
      )
      .map(({ coin }: { coin: string }) => ({ height, coin }));
  });
  assert.ok(fills.length > 0);
  const [{ coin }] = fills;
  const changes = JSON.parse((await ask({ type: 'positionHistory', user, coin })).body);
  const filled = changes.filter(({ causes }: { causes: string[] }) => causes.includes('fill'));
  const heights = [
    ...new Set(fills.filter((fill) => fill.coin === coin).map(({ height }) => height)),
  ];
  assert.deepEqual(
    filled.map(({ height }: { height: number }) => height),
    heights,
  );
  for (const change of changes) {
    const moment = await ask({ type: 'clearinghouseState', user, atHeight: change.height });
    const held = JSON.parse(moment.body).assetPositions.find(
      ({ position }: { position: { coin: string } }) => position.coin === coin,
    );
    assert.equal(change.szi, held?.position.szi ?? '0.0');
  }
});

test('a portfolio has all periods, and no profit at its start', async () => {
  const periods = JSON.parse((await ask({ type: 'portfolio', user })).body);
  const names = [
    'day',
    'week',
    'month',
    'allTime',
    'perpDay',
    'perpWeek',
    'perpMonth',
    'perpAllTime',
  ];
  assert.deepEqual(
    periods.map(([name]: [string]) => name),
    names,
  );
  for (const [, { accountValueHistory, pnlHistory, vlm }] of periods) {
    assert.equal(pnlHistory[0][1], '0.0');
    assert.equal(pnlHistory.length, accountValueHistory.length);
    assert.ok(Number(vlm) >= 0);
  }
});

test('the past is what query --at replays', LONG_ONLY, async () => {
  for (const height of [4, 199, BLOCKS]) {
    for (const question of [
      { type: 'clearinghouseState', user },
      { type: 'webData2', user },
      { type: 'metaAndAssetCtxs' },
    ]) {
      const at = ['--at', String(height)];
      const { stdout } = await succeed([
        ...['query', '--data', data, ...at, JSON.stringify(question)],
      ]);
      const { body } = await ask({ ...question, atHeight: height });
      assert.equal(stdout, `${body}\n`);
    }
  }
});

test('the commands say the same as the service', async () => {
  const { stdout } = await succeed(['history', '--data', data, '--user', user, '--step', '1min']);
  const csv = await ask({ type: 'accountHistory', user, step: 60_000, format: 'csv' });
  assert.equal(stdout, csv.body);
  const objects = await run([
    'history',
    '--data',
    data,
    '--user',
    user,
    '--step',
    '1min',
    '--format',
    'ndjson',
  ]);
  const [head, ...rows] = stdout.trimEnd().split('\r\n');
  const names = head.split(',');
  const told = objects.stdout.trimEnd().split('\n');
  assert.deepEqual(
    told.map((line) => Object.entries(JSON.parse(line)).map(([name, value]) => [name, `${value}`])),
    rows.map((row) => row.split(',').map((text, index) => [names[index], text])),
  );
});

test('the archive of another ledger is not answered from', async (context) => {
  const own = await makeLedger(place(), lines.slice(0, 50));
  const { secret: key } = await createKey(own);
  const other = createSimulator({ seed: 'other', accounts: ACCOUNTS });
  const foreign = await makeLedger(
    place(),
    Array.from({ length: 50 }, () => other.next()),
  );
  assert.equal((await run(['archive', '--data', foreign, '--once'])).code, 0);
  cpSync(archiveFolder(foreign), archiveFolder(own), { recursive: true });
  const service = await startService(context, { data: own, flags: FLAGS });
  await service.untilCaughtUp(50);
  const query = `type=clearinghouseState&user=${user}&atHeight=30`;
  const refused = await until('the archive to be found', async () => {
    const { status, body } = await service.connect().send({ path: `/${key}/info?${query}` });
    return status === 503 && body;
  });
  assert.match(String(refused), /it is not of this ledger: its block 50 is another one/);
});

test('an archive that cannot be opened is said to be damaged, not to be missing', async (context) => {
  const own = await makeLedger(place(), lines.slice(0, 20));
  const { secret: key } = await createKey(own);
  mkdirSync(archiveFolder(own));
  writeFileSync(path.join(archiveFolder(own), 'data.mdb'), Buffer.alloc(8192, 7));
  const service = await startService(context, { data: own, flags: FLAGS });
  await service.untilCaughtUp(20);
  const question = { type: 'delegations', user, atHeight: 5 };
  const refused = await until('the archive to be looked at', async () => {
    const { status, body } = await service.connect().ask(key, question);
    return status === 503 && body;
  });
  assert.match(refused, /"error":"not_ready","message":"the archive cannot be read: .* is damaged/);
  const present = await service.connect().ask(key, { type: 'delegations', user });
  assert.equal(present.status, 200);
});

test('without an archive no past is answered, and with one soon', LONG_ONLY, async (context) => {
  const own = await makeLedger(place(), lines.slice(0, 50));
  const key = (await createKey(own)).secret;
  const asked = {
    path: `/${key}/info?type=delegations&user=${user}&atHeight=20`,
  };
  const without = await startService(context, { data: own, flags: FLAGS });
  const refused = await without.once(asked);
  assert.equal(refused.status, 422);
  assert.match(refused.body, /"error":"unknown_height".*there is no archive/);
  await without.stop();
  const keeping = await startService(context, { data: own, flags: [...FLAGS, '--archive'] });
  const answered = await until('the archive', async () => {
    const answer = await keeping.once(asked);
    if (answer.status === 200) return answer;
    assert.match(answer.body, /"error":"not_ready".*(?:is being built|replay)/);
    return undefined;
  });
  assert.equal(answered.headers['ledger-height'], '20');
  const input = joinLines(lines.slice(50));
  await run(['append', '--data', own, '--ahead-max', '0'], { input });
  await until('the archive to follow', async () => {
    const late = { path: `/${key}/info?type=delegations&user=${user}&atHeight=${BLOCKS}` };
    const { status } = await keeping.once(late);
    assert.ok([200, 422, 503].includes(status), String(status));
    return status === 200;
  });
  // Built again, it is found again.
  rmSync(archiveFolder(own), { recursive: true });
  await until('the archive to be built again', async () => {
    const { status } = await keeping.once(asked);
    return status === 200 && existsSync(archiveFolder(own));
  });
});

test('of two services that keep one archive, the later one writes until it ends', async (context) => {
  const own = await makeLedger(place(), lines.slice(0, 50));
  const key = (await createKey(own)).secret;
  const start = () => startService(context, { data: own, flags: [...FLAGS, '--archive'] });
  const untilHeld = (service: RunningService, height: number) =>
    until(`height ${height} in the archive`, async () => {
      const asked = { path: `/${key}/info?type=exchangeStatus&atHeight=${height}` };
      return (await service.once(asked)).status === 200;
    });
  let head = 50;
  const append = async () => {
    const input = joinLines(lines.slice(head, head + 1));
    const { code } = await run(['append', '--data', own, '--ahead-max', '0'], { input });
    assert.equal(code, 0);
    head++;
  };
  const WAITS = 'another process writes the archive: the archiver waits until that one has ended';
  const first = await start();
  await untilHeld(first, head);
  const second = await start();
  // It notices when it has something to write.
  await until('the first one to wait', async () => {
    await append();
    return first.log(WAITS).length > 0;
  });
  for (let count = 0; count < 2; count++) {
    await append();
    await untilHeld(second, head);
  }
  assert.deepEqual([first.log(WAITS).length, second.log(WAITS).length], [1, 0]);
  await second.stop();
  await append();
  await untilHeld(first, head);
  // So does one that only catches up, and has ended when it is looked for.
  await until('the first one to wait again', async () => {
    assert.equal((await run(['archive', '--data', own, '--once'])).code, 0);
    await append();
    return first.log(WAITS).length > 1;
  });
  await untilHeld(first, head);
  const FAILED = 'the archiver has ended: it is started again';
  assert.deepEqual([first.log(FAILED), second.log(FAILED)], [[], []]);
});
