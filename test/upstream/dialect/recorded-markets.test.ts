/**
 * The recorded markets of the real exchange, followed: what clients get equals the recording in every
 * member that it has, from the ledger, from a replay, from a snapshot, from a query in another process,
 * from the archive at a past height, and at the numbers of clients.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parseBlock } from '../../../src/events/event.ts';
import type { HistoryView } from '../../../src/info/archive/history-view.ts';
import { askAtMoment } from '../../../src/info/archive-question.ts';
import { answerQuestion, parseQuestion } from '../../../src/info/read-question.ts';
import { RequestError } from '../../../src/info/request-error.ts';
import { applyBlock } from '../../../src/state/fold.ts';
import { createState, type State, type StateView } from '../../../src/state/state.ts';
import { readMetaAndAssetCtxs } from '../../../src/upstream/dialect/mark-answers.ts';
import { readAllPerpMetas, readPerpDexs } from '../../../src/upstream/dialect/market-answers.ts';
import { createDirectory } from '../../../src/upstream/dialect/market-directory.ts';
import { PendingChanges } from '../../../src/upstream/follower/blocks/pending-changes.ts';
import { appendAll, NO_SNAPSHOTS } from '../../../tools/harness/data-directory.ts';
import { PROJECT } from '../../../tools/harness/paths.ts';
import { createPlaces, succeed } from '../../../tools/harness/program.ts';
import { makeArchive, withArchive } from '../../archive/archived.ts';
import { ManualClock } from '../../follow/manual-clock.ts';
import { restoreFromSnapshot } from '../../state/restored-state.ts';
import { append, mustRead, TIME } from '../follower/ledgers.ts';

type Row = Record<string, unknown>;

const place = createPlaces();

const RECORDED = JSON.parse(
  readFileSync(path.join(PROJECT, 'test/recorded/real-markets-01.json'), 'utf8'),
);

/** The recording leaves out who has deployed a dex. */
const DEPLOYER = `0x${'d0'.repeat(20)}`;
const PERP_DEXS: readonly (Row | null)[] = RECORDED.perpDexs.data.map((dex: Row | null) =>
  dex === null
    ? null
    : { ...dex, deployer: DEPLOYER, assetToStreamingOiCap: [[dex['name'], '1.0']] },
);

/** Where the recording has left out a market, one with its name and nothing special. */
const META_MAIN = {
  universe: RECORDED.meta_main.universeNames.map((name: string, place: number) => {
    const kept = RECORDED.meta_main.universe.find(
      ({ index }: { index: number }) => index === place,
    );
    return kept?.entry ?? { szDecimals: 1, name, maxLeverage: 3, marginTableId: 3 };
  }),
  marginTables: RECORDED.meta_main.marginTables,
  collateralToken: RECORDED.meta_main.collateralToken,
};
const META_PARA = RECORDED.meta_para.data;
/** The tokens of the other dexes, which differ. */
const TOKENS = [0, 0, 360, 360, 235, 360, 268, 268, 0, 360, 0];
const ALL_METAS = PERP_DEXS.map((dex, place) => {
  if (place === 0) return META_MAIN;
  if (dex?.['name'] === 'para') return META_PARA;
  const universe = [
    { szDecimals: 2, name: `${dex?.['name']}:ONE`, maxLeverage: 5, marginTableId: 5 },
  ];
  return { universe, marginTables: [], collateralToken: TOKENS[place] };
});

const PARA_CONTEXTS: readonly { index: number; context: Row }[] =
  RECORDED.metaAndAssetCtxs_para.contexts;

/** The followed ledger; its blocks are appended to `lines`. */
function follow(lines: string[] = []): State {
  const ledger = createState();
  const clock = new ManualClock();
  const pending = new PendingChanges(ledger, { lineBytesMax: 1 << 20, marksEveryMs: 1_000, clock });
  write(ledger, pending, lines);
  const dexes = mustRead(readPerpDexs(PERP_DEXS));
  const metas = mustRead(readAllPerpMetas(ALL_METAS, dexes));
  const directory = createDirectory(ledger, { dexes, metas });
  assert.deepEqual(directory.skipped, []);
  pending.setDirectory(directory);
  const contexts = META_PARA.universe.map(
    (_row: Row, place: number) => PARA_CONTEXTS.find(({ index }) => index === place)?.context ?? {},
  );
  const read = readMetaAndAssetCtxs([META_PARA, contexts], 'para', directory);
  const { prices, skipped } = mustRead(read);
  assert.deepEqual(skipped, []);
  pending.setPrices(new Map([...prices, ['BTC', 600_001], ['SOL', 15_012]]));
  write(ledger, pending, lines);
  clock.advance(10_000);
  write(ledger, pending, lines);
  return ledger;
}

function write(ledger: State, pending: PendingChanges, lines: string[]): void {
  for (;;) {
    const block = pending.takeBlock(ledger, TIME);
    if (block === undefined) return;
    assert.ok(block.line.length <= 1 << 20);
    const { events } = JSON.parse(block.line.toString());
    lines.push(lineOf(ledger.height + 1, events));
    append(ledger, events);
    block.applied(ledger.height);
  }
}

function lineOf(height: number, events: readonly unknown[]): string {
  return JSON.stringify({ height, time: TIME, events });
}

/** As a replica that starts without a snapshot. */
function replay(lines: readonly string[]): State {
  const replica = createState();
  for (const line of lines) applyBlock(replica, parseBlock(line));
  return replica;
}

const LINES: string[] = [];
const LEDGER = follow(LINES);
const STATES: ReadonlyMap<string, State> = new Map([
  ['the ledger', LEDGER],
  ['a replay', replay(LINES)],
  ['a snapshot', restoreFromSnapshot(LEDGER)],
]);

function askState(state: StateView, type: string, fields: Row = {}) {
  return JSON.parse(answerQuestion(state, { type, ...fields }));
}

for (const [name, state] of STATES) {
  const ask = (type: string, fields: Row = {}) => askState(state, type, fields);

  test(`from ${name}: meta is the recorded answer, in its order, with all of its members`, () => {
    assert.deepEqual(ask('meta', { dex: 'para' }), META_PARA);
    const { universe, ...rest } = ask('meta');
    const { universe: entries, universeNames, marginTables, collateralToken } = RECORDED.meta_main;
    assert.deepEqual(rest, { marginTables, collateralToken });
    assert.deepEqual(
      universe.map(({ name }: Row) => name),
      universeNames,
    );
    for (const { index, entry } of entries) assert.deepEqual(universe[index], entry);
    assert.equal(answerQuestion(state, { type: 'meta', dex: 'para' }), JSON.stringify(META_PARA));
  });

  test(`from ${name}: perpDexs and allPerpMetas are the recorded answers, place by place`, () => {
    assert.deepEqual(ask('perpDexs'), PERP_DEXS);
    assert.deepEqual(ask('allPerpMetas'), ALL_METAS);
  });

  test(`from ${name}: the contexts have the recorded places and marks, and null for what the ledger lacks`, () => {
    const [meta, contexts] = ask('metaAndAssetCtxs', { dex: 'para' });
    assert.deepEqual(meta, META_PARA);
    assert.equal(contexts.length, META_PARA.universe.length);
    for (const { index, context } of PARA_CONTEXTS) {
      assert.equal(contexts[index].markPx, context['markPx']);
      assert.deepEqual([contexts[index].midPx, contexts[index].funding], [null, null]);
    }
  });

  test(`from ${name}: mids are those of markets that are traded`, () => {
    const mids = Object.keys(ask('allMids', { dex: 'para' }));
    const traded = PARA_CONTEXTS.filter(({ index }) => !META_PARA.universe[index].isDelisted);
    assert.deepEqual(
      mids,
      traded.map(({ index }) => META_PARA.universe[index].name),
    );
  });

  test(`from ${name}: a table is found by each number that a recorded universe names`, () => {
    for (const [id, table] of RECORDED.meta_main.marginTables) {
      assert.deepEqual(ask('marginTable', { id }), table);
    }
    for (const { marginTableId: id } of META_PARA.universe) {
      const marginTiers = [{ lowerBound: '0.0', maxLeverage: id }];
      assert.deepEqual(ask('marginTable', { id }), { description: '', marginTiers });
    }
    assert.throws(() => ask('marginTable', { id: 57 }), RequestError);
  });

  test(`from ${name}: the numbers of markets that clients compute are those of the recording`, () => {
    const numbers = new Map<string, number>();
    for (const [dex, { universe }] of ask('allPerpMetas').entries()) {
      for (const [place, { name }] of universe.entries()) {
        numbers.set(name, dex === 0 ? place : 100_000 + 10_000 * dex + place);
      }
    }
    assert.deepEqual(
      ['BTC', 'SOL', 'kDOGS', 'para:TOTAL2', 'para:TREAD'].map((name) => numbers.get(name)),
      [0, 5, 141, 180_000, 180_034],
    );
  });
}

test('positions are in the order of the recorded universe, although the ledger has another', () => {
  const user = `0x${'a1'.repeat(20)}`;
  const coins = LEDGER.markets.markets.map(({ coin }) => coin);
  assert.deepEqual(
    coins.filter((coin) => ['BTC', 'SOL'].includes(coin)),
    ['BTC', 'SOL'],
  );
  const position = (coin: string) => ({
    coin,
    szi: '1.0',
    entryNtl: '10.0',
    leverage: { type: 'cross', value: 3 },
    cumFunding: { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' },
  });
  const positions = ['SOL', 'BTC'].map(position);
  const ledger = append(follow(), [{ type: 'account', user, dex: '', rawUsd: '1.0', positions }]);
  const listed = () =>
    JSON.parse(answerQuestion(ledger, { type: 'clearinghouseState', user })).assetPositions.map(
      (each: { position: Row }) => each.position['coin'],
    );
  assert.deepEqual(listed(), ['BTC', 'SOL']);
  const meta = { ...META_MAIN, universe: META_MAIN.universe.toReversed() };
  append(ledger, [{ type: 'universe', dex: '', meta }]);
  assert.deepEqual(listed(), ['SOL', 'BTC']);
});

test('another process answers the recorded lists from the same blocks, stored and in a snapshot', async () => {
  for (const policy of [NO_SNAPSHOTS, { snapshotEvery: 1 }]) {
    const data = place();
    await appendAll(data, LINES, policy);
    const question = JSON.stringify({ type: 'allPerpMetas' });
    const { stdout } = await succeed(['query', '--data', data, question]);
    assert.deepEqual(JSON.parse(stdout), ALL_METAS);
  }
});

test('after the list changed, the archive has the recorded list at the heights before', async () => {
  const universe = META_PARA.universe.toReversed();
  const later = { ...META_PARA, universe, collateralToken: 7 };
  const change = { type: 'universe', dex: 'para', meta: later };
  const data = await makeArchive([...LINES, lineOf(LEDGER.height + 1, [change])]);
  await withArchive(data, (history) => {
    assert.deepEqual(askPast(history, LEDGER.height, 'meta', { dex: 'para' }), META_PARA);
    assert.deepEqual(askPast(history, LEDGER.height + 1, 'meta', { dex: 'para' }), later);
    assert.deepEqual(askPast(history, LEDGER.height, 'allPerpMetas'), ALL_METAS);
    const [meta, contexts] = askPast(history, LEDGER.height, 'metaAndAssetCtxs', { dex: 'para' });
    assert.deepEqual(meta, META_PARA);
    for (const { index, context } of PARA_CONTEXTS) {
      assert.equal(contexts[index].markPx, context['markPx']);
    }
  });
});

function askPast(history: HistoryView, height: number, type: string, fields: Row = {}) {
  const steps = askAtMoment(parseQuestion({ type, ...fields }), { height }).answer(history);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return JSON.parse(String(step.value.body));
  }
}
