/** When a position may be liquidated: as soon as what backs it is less than its maintenance margin. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBlock } from '../../src/events/event.ts';
import { accountFigures } from '../../src/state/figures/figures.ts';
import { isLiquidatable } from '../../src/state/figures/liquidation.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState } from '../../src/state/state.ts';

const USER = `0x${'a'.repeat(40)}`;
const MARKET = {
  type: 'market',
  dex: '',
  coin: 'A',
  szDecimals: 0,
  marginTiers: [{ lowerBound: '0.0', maxLeverage: 10 }],
  onlyIsolated: false,
  markPx: '10.0',
};

interface Backing {
  readonly cash?: string;
  readonly collateral?: string;
  /** The raw USD of an isolated position. */
  readonly isolated?: string;
}

/** Of a long worth 100 dollars, with a maintenance margin of 5. */
function isLongLiquidatable({ cash = '0.0', collateral = '0.0', isolated }: Backing): boolean {
  const position = {
    coin: 'A',
    szi: '10.0',
    entryNtl: '100.0',
    leverage:
      isolated === undefined
        ? { type: 'cross', value: 10 }
        : { type: 'isolated', value: 10, rawUsd: isolated },
    cumFunding: { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' },
  };
  const events = [
    MARKET,
    { type: 'account', user: USER, dex: '', rawUsd: cash, positions: [position] },
    { type: 'collateral', user: USER, dex: '', amount: collateral },
  ];
  const state = createState();
  applyBlock(state, parseBlock(JSON.stringify({ height: 1, time: 0, events })));
  const figures = accountFigures(state, 1);
  return isLiquidatable(figures, figures.positions[0]);
}

const CASES: readonly [what: string, enough: Backing, tooLittle: Backing][] = [
  ['its own equity', { isolated: '-95.0' }, { isolated: '-95.000001', cash: '50.0' }],
  ["the account's equity", { cash: '-95.0' }, { cash: '-95.000001' }],
  [
    'collateral elsewhere',
    { cash: '-97.0', collateral: '2.0' },
    { cash: '-97.0', collateral: '1.999999' },
  ],
];

for (const [what, enough, tooLittle] of CASES) {
  test(`a position is backed by ${what} as long as that is its maintenance margin`, () => {
    assert.equal(isLongLiquidatable(enough), false);
    assert.equal(isLongLiquidatable(tooLittle), true);
  });
}
