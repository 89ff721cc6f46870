/** The figures that people look for first. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AccountState, Position } from '../../web/src/figures/answers.ts';
import { headlineOf } from '../../web/src/figures/headline.ts';
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
