/**
 * A recorded account whose positions have other tiers than their markets: a child vault of HLP, with a
 * maximum leverage of 50 and a maintenance margin of 1 % on all of its 175 coins.
 */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { before, test } from 'node:test';
import { answerQuestion } from '../../src/info/read-question.ts';
import { PROJECT } from '../../tools/harness/paths.ts';
import { stateOf } from './states.ts';

const FILE = path.join(PROJECT, 'test/recorded/corpus/hlp-child.json');
const USER = `0x${'c0'.repeat(20)}`;
const OWN_TIERS = [{ lowerBound: '0.0', maxLeverage: 50 }];
const RATIO_TOLERANCE = 1e-9;

interface Listed {
  readonly name: string;
  readonly szDecimals: number;
  readonly maxLeverage: number;
}

interface Position {
  readonly coin: string;
  readonly szi: string;
  readonly leverage: { readonly type: 'cross'; readonly value: number };
  readonly positionValue: string;
  readonly unrealizedPnl: string;
  readonly liquidationPx: string | null;
  readonly maxLeverage: number;
  readonly cumFunding: Readonly<Record<string, string>>;
}

interface Account {
  readonly crossMarginSummary: { readonly totalRawUsd: string };
  readonly crossMaintenanceMarginUsed: string;
  readonly assetPositions: readonly { readonly position: Position }[];
}

const recorded: {
  readonly meta: { readonly universe: readonly Listed[] };
  readonly clearinghouseState: Account;
} = JSON.parse(readFileSync(FILE, 'utf8'));
const { clearinghouseState: theirs } = recorded;
const positions = theirs.assetPositions.map(({ position }) => position);
const listed = new Map(recorded.meta.universe.map((market) => [market.name, market]));

/** The amount that the exchange printed as the nearest double. */
const roundTo = (decimals: number, value: number | string) => Number(value).toFixed(decimals);

function marketOf({ coin, szi, positionValue }: Position): object {
  const { szDecimals, maxLeverage } = listed.get(coin) ?? assert.fail(coin);
  const markPx = roundTo(6 - szDecimals, Number(positionValue) / Math.abs(Number(szi)));
  const marginTiers = [{ lowerBound: '0.0', maxLeverage }];
  return { type: 'market', dex: '', coin, szDecimals, marginTiers, onlyIsolated: false, markPx };
}

function positionOf(position: Position): object {
  const { coin, szi, leverage, positionValue, unrealizedPnl, cumFunding } = position;
  const { szDecimals } = listed.get(coin) ?? assert.fail(coin);
  const gain = Math.sign(Number(szi)) * Number(unrealizedPnl);
  const funding = Object.entries(cumFunding).map(([name, paid]) => [name, roundTo(6, paid)]);
  return {
    coin,
    szi: roundTo(szDecimals, szi),
    entryNtl: roundTo(6, Number(positionValue) - gain),
    leverage: { type: leverage.type, value: leverage.value },
    cumFunding: Object.fromEntries(funding),
  };
}

/** The account as the ledger answers it, with or without tiers of its own. */
function answerWith(further: object): Account {
  const account = {
    ...{ type: 'account', user: USER, dex: '' },
    rawUsd: roundTo(6, theirs.crossMarginSummary.totalRawUsd),
    positions: positions.map((position) => ({ ...positionOf(position), ...further })),
  };
  const state = stateOf([...positions.map(marketOf), account]);
  return JSON.parse(answerQuestion(state, { type: 'clearinghouseState', user: USER }));
}

let ours: Account;
before(() => {
  ours = answerWith({ marginTiers: OWN_TIERS });
});

test('the recording has other tiers than its markets', () => {
  assert.equal(positions.length, 175);
  assert.ok(positions.every(({ maxLeverage }) => maxLeverage === 50));
  assert.notEqual(
    answerWith({}).crossMaintenanceMarginUsed,
    roundTo(6, theirs.crossMaintenanceMarginUsed),
  );
});

test('the maintenance margin of the account is the recorded one, to the millionth', () => {
  const { crossMaintenanceMarginUsed } = ours;
  assert.equal(
    roundTo(6, crossMaintenanceMarginUsed),
    roundTo(6, theirs.crossMaintenanceMarginUsed),
  );
});

test('each position has the recorded maxLeverage and liquidation price', () => {
  const different = ours.assetPositions.filter(({ position }) => {
    const same = positions.find(({ coin }) => coin === position.coin) ?? assert.fail(position.coin);
    return position.maxLeverage !== 50 || !isSamePrice(position, same);
  });
  assert.deepEqual(different, []);
});

function isSamePrice({ liquidationPx: own }: Position, { liquidationPx }: Position): boolean {
  if (own === null || liquidationPx === null) return own === liquidationPx;
  const difference = Math.abs(Number(own) - Number(liquidationPx));
  return difference <= RATIO_TOLERANCE * Number(liquidationPx);
}
