/** Which blocks changed a position, and why: events without an effect, and images of the state, are no reason. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isImage } from '../../src/archive/records/archive-range.ts';
import { parseAddress } from '../../src/exact/address.ts';
import { appendAll, NO_SNAPSHOTS } from '../../tools/harness/data-directory.ts';
import { createPlaces, succeed } from '../../tools/harness/program.ts';
import { archiveOnce, makeArchive, withArchive } from './archived.ts';

const place = createPlaces();
const USER = `0x${'a'.repeat(40)}`;
const OTHER = `0x${'b'.repeat(40)}`;
const MARKET = {
  ...{ type: 'market', dex: '', coin: 'BTC', szDecimals: 2, onlyIsolated: false },
  ...{ marginTiers: [{ lowerBound: '0.0', maxLeverage: 10 }], markPx: '1000.0' },
};

const of = (type: string, fields: object) => ({ type, user: USER, coin: 'BTC', ...fields });
const leverage = (value: number) => of('leverage', { mode: 'isolated', value });
const fill = (sz: string) => of('fill', { side: 'B', sz, px: '1000.0', fee: '0.0' });
const moveMargin = (amount: string) => of('isolatedMargin', { amount });
const fund = (amount: string) => ({ type: 'funding', coin: 'BTC', payments: [[USER, amount]] });
const marks = { type: 'marks', prices: { BTC: '1001.0' } };
const transfer = (user: string) => ({ type: 'transfer', user, dex: '', amount: '5000.0' });
/** An account whose first time of funding and cash are as the blocks before have left them. */
const replace = (rawUsd: string) => ({
  ...{ type: 'account', user: USER, dex: '', rawUsd: '3500.0' },
  positions: [
    {
      ...{ coin: 'BTC', szi: '1.0', entryNtl: '1000.0' },
      leverage: { type: 'isolated', value: 5, rawUsd },
      cumFunding: { allTime: '2.0', sinceOpen: '2.0', sinceChange: '2.0' },
    },
  ],
});

/** The events of each block from the second one on, and what they say of the position. */
const BLOCKS: readonly [events: readonly object[], causes: readonly string[] | undefined][] = [
  [
    [transfer(USER), leverage(4), fill('1.0')],
    ['fill', 'leverage'],
  ],
  [[marks], undefined],
  [[leverage(4)], undefined],
  [[leverage(5)], ['leverage']],
  [[moveMargin('0.0')], undefined],
  [[moveMargin('25.0'), leverage(5)], ['isolatedMargin']],
  [[fund('0.0')], undefined],
  [[fund('2.0'), moveMargin('0.0')], ['funding']],
  [[replace('-700.0')], ['account']],
  [[replace('-700.0')], undefined],
  [[transfer(OTHER)], undefined],
  [[fill('0.5'), fund('0.0'), leverage(5)], ['fill']],
];
const EVENTS = [[MARKET], ...BLOCKS.map(([events]) => events)];
const lines = EVENTS.map((events, index) =>
  JSON.stringify({ height: index + 1, time: 1_758_556_800_000 + index * 1000, events }),
);
const EXPECTED = BLOCKS.flatMap(([, causes], index) =>
  causes === undefined ? [] : [{ height: index + 2, causes: [...causes] }],
);

/** The changes that an archive has from a height on. */
function listChanges(data: string, from = 1): Promise<{ height: number; causes: string[] }[]> {
  return withArchive(data, (history) => {
    const account = { user: parseAddress(USER) ?? assert.fail(), dexIndex: 0 };
    const changes = history.positionChanges(account, 0, { from, to: lines.length });
    return [...changes].flatMap((change) =>
      change === undefined ? [] : [{ height: change.height, causes: [...change.causes] }],
    );
  });
}

test('an event that leaves a position as it was is no cause of a change', async () => {
  const data = await makeArchive(lines);
  assert.deepEqual(await listChanges(data), EXPECTED);
});

/** Drops what is older than the last snapshot. */
async function prune(data: string): Promise<void> {
  await succeed(['prune', '--data', data, '--keep-blocks', '1']);
}

test('an archive that begins with an image of the state, or goes on with one, has no change at it', async () => {
  const data = place();
  await appendAll(data, lines.slice(0, 6), { snapshotEvery: 5, snapshotKeep: 1 });
  await prune(data);
  await archiveOnce(data);
  await appendAll(data, lines.slice(6, 11), { snapshotEvery: 5, snapshotKeep: 1 });
  await prune(data);
  await appendAll(data, lines.slice(11), NO_SNAPSHOTS);
  await archiveOnce(data);
  await withArchive(data, (_history, { range }) => {
    assert.deepEqual([range.first, range.gaps], [5, [[7, 9]]]);
  });
  assert.deepEqual(
    await listChanges(data),
    EXPECTED.filter(({ height }) => height > 10),
  );
});

test('what an earlier version has noted as changed in an image is no change either', () => {
  const range = { ledgerId: '', head: { height: 50, hash: Buffer.alloc(0) } };
  const heightsOf = (rest: { first: number; firstImage?: number; gaps: [number, number][] }) =>
    Array.from({ length: 50 }, (_, index) => index + 1).filter((height) =>
      isImage({ ...range, ...rest }, height),
    );
  assert.deepEqual(heightsOf({ first: 20, gaps: [[31, 39]] }), [20, 40]);
  assert.deepEqual(heightsOf({ first: 20, firstImage: 0, gaps: [] }), []);
  assert.deepEqual(heightsOf({ first: 20, firstImage: 20, gaps: [[31, 30]] }), [20, 31]);
  assert.deepEqual(heightsOf({ first: 1, gaps: [] }), []);
});
