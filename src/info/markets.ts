/**
 * The markets of a dex and their prices, which clients ask for before they ask for accounts. The ledger
 * holds terms and mark prices only: other figures (volumes, funding rates, oracle prices) are null
 * where the interface allows it, and zero elsewhere.
 */

import { formatUnits } from '../exact/decimal.ts';
import { allTermsChangedAt, marketsChangedAt, termsChangedAt } from '../state/changed-at.ts';
import type { Market } from '../state/markets.ts';
import type { StateView } from '../state/state.ts';
import { dexField, requireDex } from './dex-field.ts';
import {
  formatMarginTable,
  marginTableExample,
  marginTableId,
  marginTableSchema,
} from './margin-tables.ts';
import type { RequestType } from './request.ts';
import { alwaysNull, amount, anyText, listOf, object, tuple, wholeNumber, zero } from './schema.ts';

const WEIGHT = 20;

/** The markets of a dex, in order, each with its index in the list of all markets. */
function marketsOf(state: StateView, dexIndex: number): (readonly [number, Market])[] {
  return [...state.markets.markets.entries()].filter(([, market]) => market.dexIndex === dexIndex);
}

function formatMarkPrice({ markets }: StateView, marketIndex: number): string {
  const { priceDecimals } = markets.markets[marketIndex];
  return formatUnits(markets.markPrice(marketIndex), priceDecimals);
}

export function formatMeta(state: StateView, dexIndex: number): string {
  const tables = new Map<number, string>();
  const universe = marketsOf(state, dexIndex).map(([marketIndex, market]) => {
    const tableId = marginTableId(market, marketIndex);
    tables.set(tableId, `[${tableId},${formatMarginTable(market)}]`);
    return (
      `{"szDecimals":${market.sizeDecimals},"name":"${market.coin}"` +
      `,"maxLeverage":${market.tiers[0].maxLeverage},"marginTableId":${tableId}` +
      `${market.onlyIsolated ? ',"onlyIsolated":true' : ''}}`
    );
  });
  return (
    `{"universe":[${universe.join(',')}],"marginTables":[${[...tables.values()].join(',')}]` +
    ',"collateralToken":0}'
  );
}

/** The contexts of a dex's markets, in the order of its meta. */
export function formatContexts(state: StateView, dexIndex: number): string {
  const contexts = marketsOf(state, dexIndex).map(([index]) => formatContext(state, index));
  return `[${contexts.join(',')}]`;
}

function formatContext(state: StateView, marketIndex: number): string {
  return (
    '{"funding":"0.0","openInterest":"0.0","prevDayPx":"0.0","dayNtlVlm":"0.0","premium":null' +
    `,"oraclePx":"0.0","markPx":"${formatMarkPrice(state, marketIndex)}","midPx":null` +
    ',"impactPxs":null,"dayBaseVlm":"0.0"}'
  );
}

export const metaSchema = object({
  universe: listOf(
    object(
      {
        szDecimals: wholeNumber,
        name: anyText,
        maxLeverage: wholeNumber,
        marginTableId: wholeNumber,
      },
      { onlyIsolated: { const: true } },
    ),
  ),
  marginTables: listOf(tuple(wholeNumber, marginTableSchema)),
  collateralToken: { const: 0 },
});

export const contextSchema = object({
  funding: zero,
  openInterest: zero,
  prevDayPx: zero,
  dayNtlVlm: zero,
  premium: alwaysNull,
  oraclePx: zero,
  markPx: amount,
  midPx: alwaysNull,
  impactPxs: alwaysNull,
  dayBaseVlm: zero,
});

export const metaExample = {
  universe: [
    { szDecimals: 5, name: 'BTC', maxLeverage: 40, marginTableId: 1001 },
    { szDecimals: 0, name: 'MOG', maxLeverage: 3, marginTableId: 3, onlyIsolated: true },
  ],
  marginTables: [
    [1001, marginTableExample],
    [3, { description: '', marginTiers: [{ lowerBound: '0.0', maxLeverage: 3 }] }],
  ],
  collateralToken: 0,
};

const contextExample = {
  funding: '0.0',
  openInterest: '0.0',
  prevDayPx: '0.0',
  dayNtlVlm: '0.0',
  premium: null,
  oraclePx: '0.0',
  markPx: '97300.0',
  midPx: null,
  impactPxs: null,
  dayBaseVlm: '0.0',
};

export const contextsExample = [contextExample, { ...contextExample, markPx: '0.009348' }];

const dexFields = { dex: dexField };

export const meta: RequestType<typeof dexFields> = {
  type: 'meta',
  summary: 'The markets of a dex: names, decimals, leverage and margin tables.',
  weight: WEIGHT,
  fields: dexFields,
  answerSchema: metaSchema,
  example: { question: { type: 'meta' }, answer: metaExample },
  validate(state, { dex }) {
    requireDex(state, dex);
  },
  changedAt: (state, { dex }) => termsChangedAt(state, requireDex(state, dex)),
  answer: (state, { dex }) => formatMeta(state, requireDex(state, dex)),
};

export const metaAndAssetCtxs: RequestType<typeof dexFields> = {
  type: 'metaAndAssetCtxs',
  summary:
    'The markets of a dex, and their mark prices; figures the ledger lacks are null or zero.',
  weight: WEIGHT,
  fields: dexFields,
  answerSchema: tuple(metaSchema, listOf(contextSchema)),
  example: {
    question: { type: 'metaAndAssetCtxs' },
    answer: [metaExample, contextsExample],
  },
  validate(state, { dex }) {
    requireDex(state, dex);
  },
  changedAt: (state, { dex }) => marketsChangedAt(state, requireDex(state, dex)),
  answer(state, { dex }) {
    const dexIndex = requireDex(state, dex);
    return `[${formatMeta(state, dexIndex)},${formatContexts(state, dexIndex)}]`;
  },
};

export const allPerpMetas: RequestType<Record<string, never>> = {
  type: 'allPerpMetas',
  summary: 'The markets of every dex, in the order of the dexes.',
  weight: WEIGHT,
  fields: {},
  answerSchema: listOf(metaSchema),
  example: { question: { type: 'allPerpMetas' }, answer: [metaExample] },
  changedAt: allTermsChangedAt,
  answer(state) {
    const metas = state.markets.dexes.map((_, dexIndex) => formatMeta(state, dexIndex));
    return `[${metas.join(',')}]`;
  },
};

/** Clients expect pushed prices of the first dex without the field. */
const midsFields = { dex: { ...dexField, omitsFallback: true } };

export const allMids: RequestType<typeof midsFields> = {
  type: 'allMids',
  summary:
    "The price of each of a dex's markets: the mark price, as the ledger holds no order book.",
  weight: WEIGHT,
  fields: midsFields,
  answerSchema: { type: 'object', additionalProperties: amount },
  example: { question: { type: 'allMids' }, answer: { BTC: '97300.0', MOG: '0.009348' } },
  pushedAs: 'mids',
  validate(state, { dex }) {
    requireDex(state, dex);
  },
  changedAt: (state, { dex }) => marketsChangedAt(state, requireDex(state, dex)),
  answer(state, { dex }) {
    const prices = marketsOf(state, requireDex(state, dex)).map(
      ([index, { coin }]) => `"${coin}":"${formatMarkPrice(state, index)}"`,
    );
    return `{${prices.join(',')}}`;
  },
};
