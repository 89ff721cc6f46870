/** What a question reads from the archive is counted: what it weighs depends on it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAddress } from '../../src/exact/address.ts';
import type { ArchiveQuestion } from '../../src/info/question.ts';
import { readQuestion } from '../../src/info/read-question.ts';
import { createPlaces } from '../../tools/harness/program.ts';
import { makeLedger } from '../../tools/harness/running.ts';
import { archiveOnce, withArchive } from './archived.ts';

const USER = `0x${'a'.repeat(40)}`;
const TIME = 1_758_556_800_000;
const market = (coin: string) => ({
  ...{ type: 'market', dex: '', coin, szDecimals: 2, onlyIsolated: false, markPx: '1000.0' },
  marginTiers: [{ lowerBound: '0.0', maxLeverage: 10 }],
});
const fill = (coin: string, side = 'B') => ({
  ...{ type: 'fill', user: USER, coin, side, sz: '1.0', px: '1000.0', fee: '0.0' },
});
const marks = (BTC: string) => [{ type: 'marks', prices: { BTC } }];

const BLOCKS = [
  [market('BTC'), market('ETH'), market('SOL')],
  [{ type: 'transfer', user: USER, dex: '', amount: '1000.0' }, fill('BTC'), fill('ETH')],
  [fill('BTC'), fill('BTC')],
  marks('990.0'),
  [fill('BTC', 'A'), fill('ETH', 'A')],
  marks('1010.0'),
];
const lines = BLOCKS.map((events, index) =>
  JSON.stringify({ height: index + 1, time: TIME + index * 1000, events }),
);
const place = createPlaces();

test('marks of open positions are counted each time, and changes as they are read', async () => {
  const data = await makeLedger(place(), lines);
  await archiveOnce(data);
  await withArchive(data, (history) => {
    let before = { ...history.reads };
    const take = () => {
      const { marks: marksNow, changes: changesNow } = history.reads;
      const read = { marks: marksNow - before.marks, changes: changesNow - before.changes };
      before = { ...history.reads };
      return read;
    };
    const user = parseAddress(USER) ?? assert.fail();
    const past = history.at(3);
    past.load({ kind: 'account', user, dexIndex: 0 });
    // The account and two positions, then the account and one.
    assert.deepEqual(take(), { marks: 2, changes: 5 });
    past.moveTo(4);
    assert.deepEqual(take(), { marks: 2, changes: 0 });
    past.revalueAt(5);
    assert.deepEqual(take(), { marks: 2, changes: 0 });
    // One position is closed now.
    past.moveTo(6);
    assert.deepEqual(take(), { marks: 1, changes: 3 });
    past.loadMarks();
    assert.deepEqual(take(), { marks: 3, changes: 0 });
    past.release();
    assert.equal(
      [...history.positionChanges({ user, dexIndex: 0 }, 0, { from: 1, to: 6 })].length,
      3,
    );
    assert.deepEqual(take(), { marks: 0, changes: 3 + 2 + 3 });
  });
});

test('the next height that changed an account is found, also from before the account', async () => {
  const data = await makeLedger(place(), lines);
  await archiveOnce(data);
  await withArchive(data, (history) => {
    const user = parseAddress(USER) ?? assert.fail();
    const account = { kind: 'account', user, dexIndex: 0 } as const;
    const next = [0, 1, 2, 3, 4, 5].map((height) => history.nextChange(account, height));
    assert.deepEqual(next, [2, 2, 3, 5, 5, undefined]);
    assert.equal(history.nextChange({ ...account, dexIndex: 1 }, 1), undefined);
    const stranger = parseAddress(`0x${'b'.repeat(40)}`) ?? assert.fail();
    assert.equal(history.nextChange({ ...account, user: stranger }, 1), undefined);
  });
});

/** What each step of an answer adds to the weight, in all. */
function surchargeOf(question: ArchiveQuestion, history: Parameters<ArchiveQuestion['answer']>[0]) {
  let surcharge = 0;
  const steps = question.answer(history);
  for (let step = steps.next(); step.done !== true; step = steps.next()) surcharge += step.value;
  return surcharge;
}

test('an account at a past height weighs 13, its open positions and the changes that are read', async () => {
  const data = await makeLedger(place(), lines);
  await archiveOnce(data);
  await withArchive(data, (history) => {
    for (const [atHeight, weight] of [
      [1, 13],
      [2, 13 + 2 / 16 + 3 / 32],
      [3, 13 + 2 / 16 + 5 / 32],
      [6, 13 + 1 / 16 + 8 / 32],
    ]) {
      const question = readQuestion({ type: 'clearinghouseState', user: USER, atHeight });
      assert.equal(2 + surchargeOf(question as ArchiveQuestion, history), weight, `at ${atHeight}`);
    }
  });
});
