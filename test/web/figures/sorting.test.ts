import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ColumnName, derive, sortKeys } from '../../../web/src/figures/position-figures.ts';
import { position } from './position.ts';

const POSITIONS = [
  position('B', '-3.0', '90.0', { unrealizedPnl: '-5.0', liquidationPx: '33.0' }),
  position('A', '100.0', '9.0', { unrealizedPnl: '10.0', liquidationPx: '0.08' }),
  position('C', '20.0', '400.0', { unrealizedPnl: '9.5' }),
];

const HOLDINGS = POSITIONS.map((held) => ({ dex: '', position: held }));

const order = (column: ColumnName, isDescending: boolean) =>
  sortKeys(HOLDINGS, { column, isDescending }).join('').replaceAll(' ', '');

test('columns sort by their figure, not by its text', () => {
  assert.deepEqual(sortKeys(HOLDINGS, undefined), [' B', ' A', ' C']);
  assert.equal(order('coin', false), 'ABC');
  assert.equal(order('value', false), 'ABC');
  assert.equal(order('value', true), 'CBA');
  assert.equal(order('pnl', true), 'ACB');
  assert.equal(order('size', true), 'ACB');
  assert.equal(order('mark', true), 'BCA');
  assert.equal(order('side', false), 'ACB');
});

test('equals keep their order; what has no figure is last either way', () => {
  assert.equal(order('leverage', true), 'BAC');
  assert.equal(order('liquidation', false), 'BAC');
  assert.equal(order('liquidation', true), 'ABC');
});

test('a coin on two dexes is two rows, which sort by their dex', () => {
  const [held] = POSITIONS;
  const holdings = ['xyz', '', 'abc'].map((dex) => ({ dex, position: held }));
  assert.deepEqual(sortKeys(holdings, undefined), ['xyz B', ' B', 'abc B']);
  const sort = { column: 'dex', isDescending: false } as const;
  assert.deepEqual(sortKeys(holdings, sort), [' B', 'abc B', 'xyz B']);
});

test('mark and distance are derived exactly', () => {
  assert.deepEqual(derive(POSITIONS[0]), {
    mark: '30.0',
    distance: { text: '10.0 %', share: 0.2, tone: 'warn' },
  });
  assert.deepEqual(derive(POSITIONS[1]).distance?.text, '11.1 %');
  const far = position('E', '-1.0', '10.0', { liquidationPx: '110.0' });
  assert.equal(derive(far).distance?.text, '> 999 %');
  assert.deepEqual(derive(POSITIONS[2]), { mark: '20.0', distance: undefined });
  const past = position('D', '1.0', '10.0', { liquidationPx: '11.0' });
  assert.deepEqual(derive(past).distance, { text: '−10.0 %', share: 0, tone: 'loss' });
});
