/** When a limit of an account is crossed. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { runs, SEED_NOTE } from '../../../tools/harness/seed.ts';
import {
  judgeThresholds,
  type Measured,
  readThreshold,
  type ThresholdName,
  type Thresholds,
} from '../../../web/src/figures/alarms.ts';
import { boardFiguresOf } from '../../../web/src/figures/board-figures.ts';
import { accountState } from './account-state.ts';
import { position } from './position.ts';

interface Wish {
  /** Hundredths of a per cent; undefined without a liquidation price. */
  readonly distance?: number | undefined;
  /** Per cent. */
  readonly ratio?: number;
  /** Cents. */
  readonly value?: number;
  readonly ageMs?: number;
  readonly isKnown?: boolean;
}

const cents = (count: number): string =>
  `${Math.floor(count / 100)}.${String(count % 100).padStart(2, '0')}`;

function measure({
  distance,
  ratio = 0,
  value = 100_000,
  ageMs = 0,
  isKnown = true,
}: Wish): Measured {
  if (!isKnown) return { figures: undefined, ageMs };
  const liquidationPx = distance === undefined ? null : cents(10_000 - distance);
  const positions = [position('BTC', '1.0', '100.0', { liquidationPx })];
  // In hundredths of a cent, so that the ratio is exact.
  const maintenance = `${Math.floor((value * ratio) / 10_000)}.${String((value * ratio) % 10_000).padStart(4, '0')}`;
  const state = accountState({ value: cents(value), maintenance, positions });
  return { figures: boardFiguresOf([['', state]]), ageMs };
}

function wordsOf(
  thresholds: Thresholds,
  wish: Wish,
  raised: readonly ThresholdName[] = [],
): string[] {
  return judgeThresholds(thresholds, measure(wish), raised).map(({ words }) => words);
}

test('a figure that is just beyond its limit is not shown as the limit', () => {
  const state = accountState({ value: '999.996', maintenance: '0.0', positions: [] });
  const measured = { figures: boardFiguresOf([['', state]]), ageMs: 0 };
  const [{ words }] = judgeThresholds({ value: '1000' }, measured, []);
  assert.equal(words, 'value 999.99, below your 1,000');
});

test('a figure beyond its limit is marked, in words', () => {
  const limits = { distance: '5', marginRatio: '80', value: '1000', age: '30' };
  assert.deepEqual(
    wordsOf(limits, { distance: 500, ratio: 79, value: 100_000, ageMs: 29_999 }),
    [],
  );
  assert.deepEqual(wordsOf(limits, { distance: 499, ratio: 80, value: 99_999, ageMs: 65_000 }), [
    'BTC 4.99 % to liquidation, below your 5 %',
    '80.00 % of the cross margin used, over your 80 %',
    'value 999.99, below your 1,000',
    'data is 1 min 05 s old, over your 30 s',
  ]);
});

test('the mark of an account names the limit without the figure that moves', () => {
  const limits = { distance: '5', marginRatio: '80', value: '1000', age: '30' };
  const all = { distance: 1, ratio: 99, value: 1, ageMs: 99_000 };
  const marks = judgeThresholds(limits, measure(all), []).map(({ mark }) => mark);
  assert.deepEqual(marks, [
    'distance to liquidation below 5 %',
    'cross margin used over 80 %',
    'value below 1,000',
    'age of the data over 30 s',
  ]);
  const [{ mark }] = judgeThresholds({ distance: '5' }, measure({ distance: 505 }), ['distance']);
  assert.equal(mark, 'distance to liquidation was below 5 %');
});

test('an alarm holds until the figure is back by a margin', () => {
  const limits = { distance: '5' };
  assert.deepEqual(wordsOf(limits, { distance: 505 }), []);
  assert.deepEqual(wordsOf(limits, { distance: 505 }, ['distance']), [
    'BTC 5.05 % to liquidation, was below your 5 %',
  ]);
  assert.deepEqual(wordsOf(limits, { distance: 510 }, ['distance']), []);
});

test('what is unknown raises nothing, and ends nothing but by its age', () => {
  const limits = { distance: '5', age: '10' };
  const unknown = { isKnown: false, ageMs: 10_000 };
  assert.deepEqual(wordsOf(limits, unknown), ['data is 10 s old, over your 10 s']);
  assert.deepEqual(wordsOf(limits, { isKnown: false }, ['distance']), [
    'distance to liquidation unknown, was below your 5 %',
  ]);
});

test('an account without a liquidation price is below no distance', () => {
  assert.deepEqual(wordsOf({ distance: '5' }, {}, ['distance']), []);
});

test('an account whose cross margin is lost is over every limit', () => {
  const positions = [position('A', '1.0', '1.0')];
  const state = accountState({ value: '0.0', maintenance: '1.0', positions });
  const measured = { figures: boardFiguresOf([['', state]]), ageMs: 0 };
  const [{ words }] = judgeThresholds({ marginRatio: '500' }, measured, []);
  assert.equal(words, 'no cross margin left, over your 500 %');
});

test('limits are read as people type them', () => {
  const typed = ['5', ' 12.5 % ', '$1,000,000', '', '0', '-1', '1e3', 'five'];
  const read = ['5', '12.5', '1000000', '', undefined, undefined, undefined, undefined];
  assert.deepEqual(typed.map(readThreshold), read);
});

/** What is beyond its limit, by hand. */
function beyond(limits: Record<ThresholdName, number>, wish: Required<Wish>): ThresholdName[] {
  const isBeyond = {
    distance: wish.isKnown && wish.distance !== undefined && wish.distance < limits.distance * 100,
    marginRatio: wish.isKnown && wish.ratio >= limits.marginRatio,
    value: wish.isKnown && wish.value < limits.value * 100,
    age: wish.ageMs >= limits.age * 1000,
  };
  return (Object.keys(isBeyond) as ThresholdName[]).filter((name) => isBeyond[name]);
}

const whole = fc.integer({ min: 1, max: 99 });
const limits = fc.record({ distance: whole, marginRatio: whole, value: whole, age: whole });
const wish = fc.record({
  distance: fc.option(fc.integer({ min: 0, max: 9_999 }), { nil: undefined }),
  ratio: fc.integer({ min: 0, max: 120 }),
  value: fc.integer({ min: 1, max: 12_000 }),
  ageMs: fc.integer({ min: 0, max: 120_000 }),
  isKnown: fc.boolean(),
});

test(`no account beyond a limit is ever without its mark ${SEED_NOTE}`, () => {
  const property = fc.property(
    limits,
    fc.array(wish, { minLength: 1, maxLength: 8 }),
    (set, wishes) => {
      const thresholds = Object.fromEntries(
        Object.entries(set).map(([name, limit]) => [name, String(limit)]),
      );
      let raised: ThresholdName[] = [];
      for (const next of wishes) {
        const alarms = judgeThresholds(thresholds, measure(next), raised);
        const marked = alarms.map(({ name }) => name);
        for (const name of beyond(set, next)) assert.ok(marked.includes(name), name);
        // And nothing is marked that neither is beyond nor was.
        for (const { name, isBeyond } of alarms) {
          assert.equal(isBeyond, beyond(set, next).includes(name));
          assert.ok(isBeyond || raised.includes(name));
        }
        raised = marked;
      }
    },
  );
  fc.assert(property, runs(300));
});

test(`between two alarms of one limit the figure was back ${SEED_NOTE}`, () => {
  const near = fc.integer({ min: 480, max: 530 });
  const property = fc.property(fc.array(near, { maxLength: 30 }), (distances) => {
    let raised: ThresholdName[] = [];
    let isArmed = true;
    for (const distance of distances) {
      const marked = judgeThresholds({ distance: '5' }, measure({ distance }), raised);
      const hasFired = marked.length > 0 && raised.length === 0;
      assert.equal(hasFired, isArmed && distance < 500);
      if (hasFired) isArmed = false;
      if (distance >= 510) isArmed = true;
      raised = marked.map(({ name }) => name);
    }
  });
  fc.assert(property, runs(300));
});
