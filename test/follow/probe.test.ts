/** A probe of the stub exchange, and of servers whose answers are wrong. */

import assert from 'node:assert/strict';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { parseAddress } from '../../src/exact/address.ts';
import { QUESTION_TYPES } from '../../src/info/question-types.ts';
import { PUBLIC_WEIGHTS } from '../../src/info/upstream-weights.ts';
import { PROBE_BUDGET, type ProbeRun, probeServer } from '../../src/upstream/probe/open-probe.ts';
import { listProbeTypes, makeProbeQuestion } from '../../src/upstream/probe/probe-questions.ts';
import {
  formatReport,
  type ProbeReport,
  type QuestionRow,
} from '../../src/upstream/probe/probe-report.ts';
import { RunningStub } from '../../tools/harness/running-stub.ts';
import { makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';
import { Truth } from '../../tools/stub-exchange/truth.ts';
import {
  json,
  plain,
  type Respond,
  type ScriptedServer,
  startServer,
} from './client/scripted-server.ts';

const KEY = 'a-vendors-secret-key';
const OTHER = `0x${'ab'.repeat(20)}`;

interface Choice extends Partial<Omit<ProbeRun, 'settings'>> {
  readonly user?: string;
  readonly probeTime?: number;
  readonly showUser?: boolean;
}

function probe(base: string, choice: Choice = {}): Promise<ProbeReport> {
  const { user, probeTime = 1_000, showUser = false, ...rest } = choice;
  const probedUser = user === undefined ? undefined : parseAddress(user);
  const upstream = new URL(`${base}/${KEY}`);
  return probeServer({
    settings: { upstream, upstreamHeader: undefined, probedUser, probeTime, showUser },
    budget: Number.POSITIVE_INFINITY,
    signal: new AbortController().signal,
    progress: () => undefined,
    ...rest,
  });
}

const PROBE_TIME_MAX = 30_000;

/** Probes for longer and longer until enough was asked: a busy machine takes its time. */
async function probeUntil(
  isEnough: (report: ProbeReport) => boolean,
  base: string,
  choice: Choice,
): Promise<ProbeReport> {
  for (let probeTime = choice.probeTime ?? 1_000; ; probeTime *= 3) {
    const report = await probe(base, { ...choice, probeTime });
    if (isEnough(report) || probeTime >= PROBE_TIME_MAX) return report;
  }
}

function hasAccounts({ accounts }: ProbeReport): boolean {
  return accounts.length > 0;
}

function hasAskedAll({ questions }: ProbeReport): boolean {
  return questions.every(({ answered }) => answered !== 'not asked');
}

function rowOf(report: ProbeReport, type: string): QuestionRow {
  const row = report.questions.find(({ question }) => question.type === type);
  assert.ok(row !== undefined, type);
  return row;
}

/** Without the handshakes of the push connection. */
function questionsOf({ seen }: ScriptedServer): string[] {
  return seen.map(({ body }) => body).filter((body) => body !== '');
}

async function startStub(t: TestContext): Promise<{ stub: RunningStub; user: string }> {
  const file = path.join(await makeTemporaryFolder(t), 'truth.ndjson');
  const stub = await RunningStub.start(t, { file, limit: 0 });
  const [user] = new Truth(file).users;
  return { stub, user };
}

/** What the stub leaves out of its lists, as the exchange may. */
const ODD: Readonly<Record<string, readonly string[]>> = {
  allPerpMetas: ['[]', '[].marginTables'],
};

test('a probe names what a server has, and finds the form of its own dialect right', async (t) => {
  const { stub, user } = await startStub(t);
  const report = await probeUntil(hasAskedAll, stub.url, { user, probeTime: 5_000 });
  for (const type of ['perpDexs', 'allPerpMetas', 'clearinghouseState', 'meta', 'allMids']) {
    const { answered, form, unreadable, ms } = rowOf(report, type);
    const paths = form?.differences.map(({ path: place }) => place);
    assert.deepEqual([answered, paths, unreadable], ['yes', ODD[type] ?? [], undefined], type);
    assert.ok(ms !== undefined && ms >= 0);
  }
  const unknown = rowOf(report, 'userFees');
  assert.deepEqual([unknown.answered, unknown.status], ['no', 422]);
  const channels = report.subscriptions.map(({ subscription: { type } }) => type);
  const marks = ['fastAssetCtxs', 'allDexsAssetCtxs', 'trades', 'trades'];
  assert.deepEqual(channels, [...marks, 'clearinghouseState', 'allDexsClearinghouseState']);
  const [fast] = report.subscriptions;
  assert.ok(
    fast.isConfirmed && fast.frames > 0 && (fast.marksFirst ?? 0) > 0,
    JSON.stringify(fast),
  );
  assert.equal(fast.fault, undefined);
  assert.ok((report.ages.byClock?.count ?? 0) > 0);
  assert.ok(report.accounts.length > 0);
  for (const { differing, reason, amounts } of report.accounts) {
    assert.deepEqual([differing, reason, amounts.strange], [[], undefined, []]);
  }
  assert.ok(report.isComplete);
  const text = formatReport(report);
  for (const secret of [KEY, user, user.slice(2)]) {
    assert.ok(!(text + JSON.stringify(report)).includes(secret), secret);
  }
  assert.match(text, /^clearinghouseState +yes +ok +\d+ +-?\d+$/m);
});

test('only the listed questions are asked, and never more than the budget in a minute', async (t) => {
  const server = await startServer(t, json([]));
  const report = await probe(server.base, { budget: PROBE_BUDGET });
  const asked = questionsOf(server).map((body) => JSON.parse(body).type as string);
  assert.ok(asked.length > 0 && asked.every((type) => listProbeTypes().includes(type)));
  const weight = asked.reduce((sum, type) => sum + PUBLIC_WEIGHTS.maxOf(type), 0);
  assert.ok(weight <= PROBE_BUDGET && weight === report.weight.spent, String(weight));
  assert.equal(report.questions.at(-1)?.answered, 'not asked');
  const known = QUESTION_TYPES.map(({ type }) => type);
  assert.deepEqual(
    listProbeTypes().filter((type) => !known.includes(type)),
    [],
  );
  assert.ok(!listProbeTypes().includes('fileSnapshot'));
});

test('forwarded types whose fields are known are asked last, those with long answers are not', () => {
  const types = listProbeTypes();
  assert.equal(new Set(types).size, types.length);
  const derived = types.slice(types.indexOf('userRole') + 1);
  for (const type of ['userDexAbstraction', 'subAccounts2', 'activeAssetData', 'vaultSummaries']) {
    assert.ok(derived.includes(type), type);
  }
  for (const type of [
    'userFills',
    'orderStatus',
    'vaultDetails',
    'tokenDetails',
    'maxBuilderFee',
  ]) {
    assert.ok(!types.includes(type), type);
  }
  const subject = { user: OTHER, coin: 'BTC', nowMs: 7_200_000 };
  for (const type of derived) {
    const question = makeProbeQuestion(type, subject);
    assert.ok(question !== undefined, type);
  }
});

const SUMMARY = {
  accountValue: '1e3',
  totalNtlPos: '0.0',
  totalRawUsd: '0.12345678901',
  totalMarginUsed: 0,
};

test('members that are missing, of another form or unknown are named by their paths', async (t) => {
  const account = {
    marginSummary: SUMMARY,
    crossMarginSummary: null,
    withdrawable: '0.0',
    assetPositions: [{ type: 'hedged' }, { type: 'oneWay', position: [] }],
    time: Date.now(),
    spare: 1,
  };
  const respond: Respond = (response, seen) => {
    const isAccount = seen.body.includes('"clearinghouseState"');
    json(isAccount ? account : { a: [null] })(response, seen);
  };
  const server = await startServer(t, respond);
  const report = await probeUntil(hasAccounts, server.base, { user: OTHER });
  const { form } = rowOf(report, 'clearinghouseState');
  const found = form?.differences.map(({ path: place, got }) => `${place}: ${got}`);
  assert.deepEqual(found, [
    'crossMaintenanceMarginUsed: nothing',
    'marginSummary.accountValue: "1e3"',
    'marginSummary.totalMarginUsed: 0',
    'crossMarginSummary: null',
    'assetPositions[].position: nothing',
    'assetPositions[].type: "hedged"',
  ]);
  assert.deepEqual(form?.additional, ['spare']);
  assert.notEqual(rowOf(report, 'perpDexs').unreadable, undefined);
  const [{ reason }] = report.accounts;
  assert.notEqual(reason, undefined);
  assert.match(formatReport(report), /marginSummary\.accountValue: got "1e3", expected/);
});

test('amounts that no double of an amount is printed as are listed', async (t) => {
  const { stub, user } = await startStub(t);
  const question = { type: 'clearinghouseState', user, dex: '' };
  const told = await fetch(`${stub.url}/info`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(question),
  });
  const account = (await told.json()) as { marginSummary: Record<string, string> };
  account.marginSummary['accountValue'] = '1.0000001';
  await stub.fix(question, account);
  const report = await probeUntil(hasAccounts, stub.url, { user });
  const [{ amounts }] = report.accounts;
  assert.deepEqual(amounts.strange, [{ path: 'marginSummary.accountValue', got: '"1.0000001"' }]);
});

test('neither a key that a server repeats nor an address is in the report', async (t) => {
  // What is shown of a refusal ends within the key, so that it must be taken out before.
  const echo = `${'x'.repeat(180)}/${KEY}/info of ${OTHER} ${OTHER}`;
  const server = await startServer(t, plain(422, echo));
  const report = await probe(server.base, { user: OTHER });
  const written = JSON.stringify(report) + formatReport(report);
  assert.ok(!written.includes(KEY.slice(0, 8)), written.slice(0, 2_000));
  assert.ok(!written.toLowerCase().includes(OTHER.slice(2, 12)));
  const shown = await probe(server.base, { user: OTHER, showUser: true });
  assert.ok(JSON.stringify(shown).includes(OTHER));
});

test('a server that refuses with 429 is asked less, and the report counts it', async (t) => {
  const server = await startServer(t, json(null, 429));
  const report = await probe(server.base, { budget: PROBE_BUDGET });
  const asked = questionsOf(server).length;
  assert.equal(report.limits.status429, asked);
  assert.ok(asked > 0 && asked <= 3, String(asked));
});

test('a probe that is stopped gives the report so far, whatever is in flight', async (t) => {
  const server = await startServer(t, () => undefined);
  const stop = new AbortController();
  const running = probe(server.base, { probeTime: 60_000, signal: stop.signal });
  setTimeout(() => stop.abort(), 200);
  const report = await running;
  assert.equal(report.isComplete, false);
  assert.ok(report.questions.every(({ answered }) => answered === 'not asked'));
  assert.match(formatReport(report), /stopped early/);
  assert.match(formatReport(report), /no subscriptions: no markets could be read/);
});

test('answers of any form end no probe', async (t) => {
  const bodies: readonly Respond[] = [
    json(null),
    json([null, [], {}, 1]),
    json(JSON.parse(`${'['.repeat(500)}${']'.repeat(500)}`)),
    json(Array.from({ length: 50_000 }, () => ({ name: 1 }))),
    plain(200, 'no json'),
    json(null, 500),
    (response) => void response.socket?.resetAndDestroy(),
  ];
  let next = 0;
  const server = await startServer(t, (response, seen) =>
    bodies[next++ % bodies.length](response, seen),
  );
  for (let run = 0; run < 3; run++) {
    const report = await probe(server.base, { user: OTHER, probeTime: 2_000 });
    assert.ok(report.isComplete && formatReport(report).length > 0);
  }
});
