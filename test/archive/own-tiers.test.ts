/** What the archive answers about positions with margin tiers of their own. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HistoryView } from '../../src/info/archive/history-view.ts';
import { askAtMoment } from '../../src/info/archive-question.ts';
import { parseQuestion } from '../../src/info/read-question.ts';
import { appendAll, NO_SNAPSHOTS } from '../../tools/harness/data-directory.ts';
import { createPlaces, run, succeed } from '../../tools/harness/program.ts';
import { archiveOnce, makeArchive, withArchive } from './archived.ts';

const place = createPlaces();
const USER = '0xa11ce00000000000000000000000000000000001';
const TIME = 1_758_556_800_000;
const MARKET_LEVERAGE = 3;

const MARKET = {
  ...{ type: 'market', dex: '', coin: 'BTC', szDecimals: 2, onlyIsolated: false, markPx: '100.0' },
  marginTiers: [{ lowerBound: '0.0', maxLeverage: MARKET_LEVERAGE }],
};

function accountWith(maxLeverage: number) {
  const position = {
    ...{ coin: 'BTC', szi: '10.0', entryNtl: '1000.0', leverage: { type: 'cross', value: 5 } },
    cumFunding: { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' },
    marginTiers: [{ lowerBound: '0.0', maxLeverage }],
  };
  return { type: 'account', user: USER, dex: '', rawUsd: '-800.0', positions: [position] };
}

function fill(side: 'A' | 'B', sz: string) {
  return { type: 'fill', user: USER, coin: 'BTC', side, sz, px: '100.0', fee: '0.0' };
}

/** Blocks, and the maxLeverage that the position has after each of them. */
const STEPS: readonly (readonly [events: readonly object[], maxLeverage: number])[] = [
  [[MARKET, accountWith(50)], 50],
  [[fill('B', '1.0')], 50],
  [[accountWith(10)], 10],
  [[fill('A', '5.0')], 10],
  [[accountWith(50)], 50],
  [[fill('A', '20.0')], MARKET_LEVERAGE],
  [[fill('A', '1.0')], MARKET_LEVERAGE],
  [[accountWith(25)], 25],
];
const LINES = STEPS.map(([events], index) =>
  JSON.stringify({ height: index + 1, time: TIME + index * 1000, events }),
);
const EXPECTED = STEPS.map(([, maxLeverage]) => maxLeverage);

/** The answer about a height. */
function answerAt(history: HistoryView, height: number) {
  const question = parseQuestion({ type: 'clearinghouseState', user: USER });
  const steps = askAtMoment(question, { height }).answer(history);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return JSON.parse(String(step.value.body));
  }
}

/** The maxLeverage of the position at each height from one on, as the archive has it. */
function readArchive(data: string, from = 1): Promise<number[]> {
  return withArchive(data, (history) =>
    EXPECTED.slice(from - 1).map((_, index) => {
      const [{ position }] = answerAt(history, from + index).assetPositions;
      return position.maxLeverage;
    }),
  );
}

test('each height has the tiers that the position had then', async () => {
  const data = await makeArchive(LINES);
  assert.deepEqual(await readArchive(data), EXPECTED);
  await withArchive(data, (history) => {
    assert.equal(answerAt(history, 1).assetPositions[0].position.liquidationPx, '80.8080808081');
  });
});

test('an archive that is written in three parts is the same, and is verified', async () => {
  const data = place();
  for (const [start, end] of [
    [0, 2],
    [2, 4],
    [4, LINES.length],
  ]) {
    await appendAll(data, LINES.slice(start, end), NO_SNAPSHOTS);
    await archiveOnce(data);
  }
  assert.deepEqual(await readArchive(data), EXPECTED);
  await succeed(['verify', '--data', data]);
});

test('an archive that begins with a snapshot has the tables of before', async () => {
  const data = place();
  await appendAll(data, LINES, { snapshotEvery: 4 });
  await run(['prune', '--data', data, '--keep-blocks', '4']);
  await archiveOnce(data);
  const first = await withArchive(data, (history) => history.range().first);
  assert.ok(first >= 4, `${first}`);
  assert.deepEqual(await readArchive(data, first), EXPECTED.slice(first - 1));
});

test('an archive with a gap has the tables from both ends of it', async () => {
  const data = await makeArchive(LINES.slice(0, 2), { snapshotEvery: 2, snapshotKeep: 1 });
  await appendAll(data, LINES.slice(2), { snapshotEvery: 2, snapshotKeep: 1 });
  await run(['prune', '--data', data, '--keep-blocks', '2']);
  await archiveOnce(data, { warn: () => undefined });
  const ends = await withArchive(data, (_, { range }) => range.gaps[0]);
  assert.equal(ends[0], 3);
  assert.deepEqual(await readArchive(data, ends[1] + 1), EXPECTED.slice(ends[1]));
});
