/** The figures that people look for first. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { judgeThresholds } from '../../../web/src/figures/alarms.ts';
import { holdingsOf } from '../../../web/src/figures/all-dexes.ts';
import type { AccountState, Position, States } from '../../../web/src/figures/answers.ts';
import { boardFiguresOf } from '../../../web/src/figures/board-figures.ts';
import { headlineOf } from '../../../web/src/figures/headline.ts';
import { derive, sortKeys } from '../../../web/src/figures/position-figures.ts';
import { position } from './position.ts';

function account(accountValue: string, positions: readonly Position[]): AccountState {
  const totalNtlPos = '600.0';
  const summary = { accountValue, totalNtlPos, totalRawUsd: '0.0', totalMarginUsed: '0.0' };
  return {
    marginSummary: summary,
    crossMarginSummary: summary,
    crossMaintenanceMarginUsed: '0.0',
    withdrawable: '0.0',
    assetPositions: positions.map((held) => ({ type: 'oneWay', position: held })),
    time: 0,
  };
}

test('profit, leverage, exposure and the nearest liquidation are exact', () => {
  const state = account('400.0', [
    position('A', '2.0', '200.1', { unrealizedPnl: '-0.1', liquidationPx: '50.0' }),
    position('B', '-1.0', '400.3', { unrealizedPnl: '0.3', liquidationPx: '440.33' }),
    position('C', '1.0', '5.0'),
  ]);
  const { nearest, ...others } = headlineOf([['', state]]);
  assert.deepEqual(others, {
    unrealizedPnl: '0.2',
    leverage: '1.5',
    long: '205.1',
    short: '400.3',
    net: '-195.2',
  });
  assert.deepEqual(nearest, {
    coin: 'B',
    liquidationPx: '440.33',
    share: { units: 10n ** 39n, scale: 40 },
    distance: '10.0 %',
    loss: '40.03',
  });
});

test('over dexes, values are added before leverage is computed', () => {
  const first = account('400.0', [position('A', '2.0', '200.0', { liquidationPx: '50.0' })]);
  const second = account('-200.0', [position('x:B', '-1.0', '400.0', { liquidationPx: '410.0' })]);
  const { leverage, net, nearest } = headlineOf([
    ['', first],
    ['x', second],
  ]);
  assert.deepEqual(
    { leverage, net, coin: nearest?.coin, distance: nearest?.distance },
    { leverage: '6.0', net: '-200.0', coin: 'x:B', distance: '2.5 %' },
  );
});

test('an account without value has no leverage, and one without positions no liquidation', () => {
  const { leverage, nearest, net } = headlineOf([['', account('0.0', [])]]);
  assert.deepEqual(
    { leverage, nearest, net },
    { leverage: undefined, nearest: undefined, net: '0.0' },
  );
  assert.equal(headlineOf([['', account('-5.0', [])]]).leverage, undefined);
});

test('an isolated position without margin or price is the nearest, the first, and beyond any limit', () => {
  const isolated = { type: 'isolated', value: 5, rawUsd: '-250.0' };
  const lost = position('LOST', '2.0', '200.0', { leverage: isolated, marginUsed: '-50.0' });
  const state = account('400.0', [
    position('CROSS', '1.0', '5.0'),
    position('NEAR', '1.0', '100.0', { liquidationPx: '99.0' }),
    // With margin, no price liquidates it.
    position('BACKED', '1.0', '100.0', { leverage: isolated, marginUsed: '150.0' }),
    lost,
  ]);
  const states: States = [['', state]];
  assert.deepEqual(headlineOf(states).nearest, {
    ...{ coin: 'LOST', liquidationPx: '100.0', share: { units: 0n, scale: 0 } },
    ...{ distance: '0.0 %', loss: '0.0' },
  });
  assert.equal(derive(lost).distance?.tone, 'loss');
  const order = sortKeys(holdingsOf(states), { column: 'liquidation', isDescending: false });
  assert.deepEqual(
    order.map((key) => key.trim()),
    ['LOST', 'NEAR', 'CROSS', 'BACKED'],
  );
  const measured = { figures: boardFiguresOf(states), ageMs: 0 };
  const [alarm] = judgeThresholds({ distance: '0.5' }, measured, []);
  assert.equal(alarm?.words, 'LOST 0.00 % to liquidation, below your 0.5 %');
});
