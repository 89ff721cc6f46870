/** The stub and the exchange cannot drift apart: the stub's forms are those of the recorded answers. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { inflateRawSync } from 'node:zlib';
import { formatAddress } from '../../../src/exact/address.ts';
import { createSimulator } from '../../../src/simulator/simulator.ts';
import { createState } from '../../../src/state/state.ts';
import { PROJECT } from '../../../tools/harness/paths.ts';
import {
  DialectAnswers,
  type Json,
  type Question,
} from '../../../tools/stub-exchange/dialect-answers.ts';
import { printDouble } from '../../../tools/stub-exchange/printed-doubles.ts';
import { deflate } from '../../../tools/stub-exchange/push-messages.ts';
import { TruthLines } from '../../../tools/stub-exchange/truth-lines.ts';
import { collectForms, findDeviations } from './answer-forms.ts';

const START_MS = Date.UTC(2026, 8, 13, 12);
const BLOCKS = 100;

function load(name: string): Json {
  const file = path.join(PROJECT, 'test/recorded', `${name}.json`);
  return JSON.parse(readFileSync(file, 'utf8'));
}

const [first, second, third] = ['01', '02', '03'].map((n) => load(`real-account-${n}`).answers);
const marketMaker = load('real-user-01').answers;
const recordedMarkets = load('real-markets-01');
const unified = load('unified-01');

const simulator = createSimulator({ seed: 'forms', accounts: 100, startTimeMs: START_MS });
const truth = new TruthLines(simulator, { state: createState() });
for (let block = 0; block < BLOCKS || !truth.isSetUp; block++) truth.next(START_MS + block * 1000);

const answers = new DialectAnswers({ unknownTypes: [] });
const users = Array.from({ length: truth.state.addresses.table.rowCount - 1 }, (_, row) =>
  formatAddress(truth.state.addresses.addressOf(row + 1)),
);

function ask(question: Question): Json {
  const reply = answers.answer(truth.state, question);
  assert.ok(reply.kind === 'answer', reply.kind);
  return JSON.parse(JSON.stringify(reply.json));
}

function askForAll(type: string): Json[] {
  return users.map((user) => ask({ type, user }));
}

function assertSameForms(stub: Json[], recorded: Json[], cut: readonly string[] = []): void {
  const comparison = { stub: collectForms(stub), recorded: collectForms(recorded), cut };
  assert.deepEqual(findDeviations(comparison), []);
}

test('another name, order, kind or printing of a member is a deviation', () => {
  const recorded = collectForms([{ px: '1.5', sz: null, oid: 1 }, { px: '2.0' }]);
  const compare = (json: Json) => findDeviations({ stub: collectForms([json]), recorded });
  assert.deepEqual(compare({ px: '0.25', sz: null, oid: 7 }), []);
  assert.deepEqual(compare({ px: '0.250', sz: null, oid: 7 }), ['.px: text, recorded decimal']);
  assert.deepEqual(compare({ sz: null, px: '1.0', oid: 7 }), [
    'the answer: sz px in the wrong order',
  ]);
  assert.deepEqual(compare({ sz: null, oid: 7 }), [
    'the answer: px is missing',
    '.px: only recorded',
  ]);
  assert.deepEqual(compare({ px: '1.0', oid: 7, side: 'B' }), [
    '.side: not recorded',
    '.sz: only recorded',
  ]);
});

/** Whole answers, of accounts of all sizes. */
const RECORDED_ACCOUNTS: Json[] = [
  first.clearinghouseState.data,
  first.clearinghouseState_xyz.data,
  second.clearinghouseState_a.data,
  second.clearinghouseState_b.data,
  marketMaker.clearinghouseState_para.data,
  unified.answers[0],
];

test('accounts of the stub have the form of those that were recorded', () => {
  const dexes = ['', 'abc', 'idx'];
  const stub = dexes.flatMap((dex) =>
    users.map((user) => ask({ type: 'clearinghouseState', user, dex })),
  );
  assertSameForms(stub, RECORDED_ACCOUNTS);
});

/** The amounts of an account, without prices and ratios. */
function listAmounts({ marginSummary, crossMarginSummary, ...account }: Json): string[] {
  const positions = account.assetPositions.flatMap(({ position }: Json) => [
    ...[position.szi, position.positionValue, position.unrealizedPnl, position.marginUsed],
    ...Object.values(position.cumFunding),
    position.leverage.rawUsd ?? '0.0',
  ]);
  const { crossMaintenanceMarginUsed, withdrawable } = account;
  const sums = [marginSummary, crossMarginSummary].flatMap((summary) => Object.values(summary));
  return [...sums, crossMaintenanceMarginUsed, withdrawable, ...positions];
}

test('every recorded amount is the text that the stub prints for it', () => {
  const amounts = RECORDED_ACCOUNTS.flatMap(listAmounts);
  const noisy = amounts.filter((text) => /\.\d{7,}$/.test(text));
  assert.ok(noisy.length >= 13, `${noisy.length} amounts show the noise of a double`);
  for (const text of amounts) assert.equal(printDouble(Number(text).toFixed(6)), text);
});

test('amounts of the stub show the noise of a double as often as they are large', () => {
  const amounts = askForAll('clearinghouseState').flatMap(listAmounts);
  const large = amounts.filter((text) => Math.abs(Number(text)) >= 1e6);
  const noisy = large.filter((text) => /\.\d{7,}$/.test(text));
  assert.ok(noisy.length >= large.length / 3, `${noisy.length} of ${large.length}`);
});

test('spot answers of the stub have the form of those that were recorded, in every mode', () => {
  const recorded = [
    marketMaker.spotClearinghouseState.data,
    unified.answers[1],
    third.unified.spotClearinghouseState.data,
    third.outcomes.spotClearinghouseState.data,
    third.portfolioMargin.spotClearinghouseState.data,
  ];
  assertSameForms(askForAll('spotClearinghouseState'), recorded);
});

test('modes and roles have the words that were recorded', () => {
  const modes = new Set(askForAll('userAbstraction'));
  for (const [recorded] of [
    [marketMaker.userAbstraction.data],
    [unified.userAbstraction],
    [third.portfolioMargin.userAbstraction],
  ]) {
    assert.ok(modes.delete(recorded), recorded);
  }
  assert.deepEqual([...modes].sort(), ['dexAbstraction', 'disabled']);
  assert.deepEqual(ask({ type: 'userRole', user: users[0] }), marketMaker.userRole.data);
});

/** Each with the members in the order of a whole answer; the main one lacks most of its markets. */
function listRecordedMetas(): Json[] {
  const { universe, marginTables, collateralToken } = recordedMarkets.meta_main;
  const entries = universe.map(({ entry }: Json) => entry);
  return [recordedMarkets.meta_para.data, { universe: entries, marginTables, collateralToken }];
}

test('markets of the stub have the form of those that were recorded', () => {
  // That an element is null, and a dex without tables, is known from clients' schemas only.
  const metas = ask({ type: 'allPerpMetas' }).filter((meta: Json) => meta?.marginTables);
  assertSameForms(metas, listRecordedMetas());
  for (const meta of [...metas, ...listRecordedMetas()]) {
    const listed = new Set(meta.marginTables.map(([number]: [number]) => number));
    assert.ok(listed.has(50));
    for (const { marginTableId } of meta.universe) {
      assert.ok(marginTableId < 50 || listed.has(marginTableId), `table ${marginTableId}`);
    }
  }
});

test('contexts of the stub have the form of those that were recorded', () => {
  const recorded = ['metaAndAssetCtxs_para', 'metaAndAssetCtxs_para_later'].flatMap((name) =>
    recordedMarkets[name].contexts.map(({ context }: Json) => context),
  );
  const stub = ['', 'abc', 'idx'].flatMap((dex) => ask({ type: 'metaAndAssetCtxs', dex })[1]);
  assertSameForms(stub, recorded);
});

test('dexes of the stub have the form of those that were recorded', () => {
  const cut = ['deployer', 'assetTo', 'subDeployers', 'deployerFeeScale', 'lastDeployerFeeScale'];
  const cutPaths = cut.map((name) => `[].${name}`);
  assertSameForms([ask({ type: 'perpDexs' })], [recordedMarkets.perpDexs.data], cutPaths);
});

test('lists of a user have the form of those that were recorded', () => {
  const user = users[0];
  for (const [type, name] of [
    ['userFillsByTime', 'userFillsByTime'],
    ['userFunding', 'userFunding'],
    ['frontendOpenOrders', 'frontendOpenOrders_para'],
  ]) {
    assertSameForms([ask({ type, user })], [marketMaker[name].data]);
  }
});

/** Cut to a few coins by those who recorded them. */
const RECORDED_FRAMES = [
  'q1ZyCnFWsqpWyk0syg6oULJSsjC1MDTRM1DSUcrNTIGLGOqZKtXqKDkYGpijqLY00rM0sURSDBYAq1U2NLGwMEBRbaBn' +
    'aAgUNUVSDxcC6qiorLKKiIwyNEDVZWxoaGaO4iKgiLkByEW1AA==',
  'q1ZyCnFWsqpWys1MCahQslKyMLUwNNIzVarVUXIwNDAHSyUWZYPlLI30LMEyGZV5iVauIR4oskYmBgZ6lko6MKPySnNy' +
    'amsB',
];

function inflate(frame: string): Json {
  return JSON.parse(inflateRawSync(Buffer.from(frame, 'base64')).toString());
}

test('frames of prices have the form of those that were recorded', () => {
  const { markets } = answers;
  const recorded = RECORDED_FRAMES.map(inflate);
  const changed = { ...markets.prices(truth.state, new Set(['BTC'])), '@107': { markPx: '92.95' } };
  const stub = [markets.prices(truth.state), changed].map((prices) => inflate(deflate(prices)));
  const pricesOf = (frames: Json[]) => frames.flatMap((frame) => Object.values(frame));
  const comparison = {
    stub: collectForms(pricesOf(stub)),
    recorded: collectForms(pricesOf(recorded)),
  };
  assert.deepEqual(findDeviations(comparison), []);
});

test('fills of a node and of an answer have the same members', () => {
  const [fill] = ask({ type: 'userFillsByTime', user: users[0] });
  const known = new Set(load('fills-01').fills.flatMap((one: Json) => Object.keys(one)));
  const missing = Object.keys(fill).filter((name) => !known.has(name));
  assert.deepEqual(missing, ['hash', 'cloid']);
});
