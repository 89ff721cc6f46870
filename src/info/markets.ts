/**
 * The exchange's dexes and markets, in the forms in which clients ask for them before they ask for
 * accounts. The ledger holds terms and mark prices; what else such an answer has, order books,
 * volumes, funding rates, oracles, is null where the interface allows it, and zero or empty elsewhere.
 */

import { USD_DECIMALS } from '../events/fields.ts';
import { describeValue } from '../events/refusal.ts';
import { formatUnits } from '../exact/decimal.ts';
import type { Dex, Market } from '../state/markets.ts';
import type { StateView } from '../state/state.ts';
import { ADDRESS_SCHEMA, dexField, type Field, type RequestType, requireDex } from './request.ts';
import { RequestError } from './request-error.ts';
import { amount, listOf, nothing, object, tuple, wholeNumber } from './schema.ts';

const WEIGHT = 20;

/**
 * The number of a market's margin table. A table with one tier has that tier's maximum leverage for
 * its number, as clients expect; one with several is its market's own, and numbered after it, so
 * that a number never comes to mean another market's table.
 */
const TIERED_TABLES_FROM = 1001;

function marginTableId(market: Market, marketIndex: number): number {
  return market.tiers.length === 1 ? market.tiers[0].maxLeverage : TIERED_TABLES_FROM + marketIndex;
}

function formatMarginTable({ tiers }: Market): string {
  const texts = tiers.map(
    ({ lowerBound, maxLeverage }) =>
      `{"lowerBound":"${formatUnits(lowerBound, USD_DECIMALS)}","maxLeverage":${maxLeverage}}`,
  );
  return `{"description":"","marginTiers":[${texts.join(',')}]}`;
}

/** The markets of a dex with their places in the list of all, in their order. */
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

/** The list of the contexts of a dex's markets, in the order of its meta. */
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

const marginTableSchema = object({
  description: { type: 'string' },
  marginTiers: listOf(object({ lowerBound: amount, maxLeverage: wholeNumber })),
});

export const metaSchema = object({
  universe: listOf(
    object(
      {
        szDecimals: wholeNumber,
        name: { type: 'string' },
        maxLeverage: wholeNumber,
        marginTableId: wholeNumber,
      },
      { onlyIsolated: { const: true } },
    ),
  ),
  marginTables: listOf(tuple(wholeNumber, marginTableSchema)),
  collateralToken: { const: 0 },
});

const zero = { const: '0.0' };
const none = { type: 'null' };

export const contextSchema = object({
  funding: zero,
  openInterest: zero,
  prevDayPx: zero,
  dayNtlVlm: zero,
  premium: none,
  oraclePx: zero,
  markPx: amount,
  midPx: none,
  impactPxs: none,
  dayBaseVlm: zero,
});

const marginTableExample = {
  description: '',
  marginTiers: [
    { lowerBound: '0.0', maxLeverage: 40 },
    { lowerBound: '150000000.0', maxLeverage: 20 },
  ],
};

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
  answer(state) {
    const metas = state.markets.dexes.map((_, dexIndex) => formatMeta(state, dexIndex));
    return `[${metas.join(',')}]`;
  },
};

/** Clients of this type take prices without a dex for those of the first one. */
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
  answer(state, { dex }) {
    const prices = marketsOf(state, requireDex(state, dex)).map(
      ([index, { coin }]) => `"${coin}":"${formatMarkPrice(state, index)}"`,
    );
    return `{${prices.join(',')}}`;
  },
};

/** ISO 8601, without a zone, as clients of this field expect it. */
const NEVER = '1970-01-01T00:00:00';

/** What the interface has of a dex that the ledger does not hold. */
const DEX_DETAILS = {
  oracleUpdater: null,
  feeRecipient: null,
  assetToStreamingOiCap: [],
  subDeployers: [],
  deployerFeeScale: '0.0',
  lastDeployerFeeScaleChangeTime: NEVER,
  assetToFundingMultiplier: [],
  assetToFundingInterestRate: [],
};

function formatDex({ name, fullName, deployer }: Dex): string {
  return JSON.stringify({ name, fullName, deployer, ...DEX_DETAILS });
}

const dexSchema = object({
  name: { type: 'string' },
  fullName: { type: 'string' },
  deployer: ADDRESS_SCHEMA,
  oracleUpdater: none,
  feeRecipient: none,
  assetToStreamingOiCap: nothing,
  subDeployers: nothing,
  deployerFeeScale: zero,
  lastDeployerFeeScaleChangeTime: { const: NEVER },
  assetToFundingMultiplier: nothing,
  assetToFundingInterestRate: nothing,
});

export const perpDexs: RequestType<Record<string, never>> = {
  type: 'perpDexs',
  summary: 'The perp dexes, in their order; the first one is null.',
  weight: WEIGHT,
  fields: {},
  answerSchema: listOf({ anyOf: [none, dexSchema] }),
  example: {
    question: { type: 'perpDexs' },
    answer: [
      null,
      {
        name: 'abc',
        fullName: 'Alphabet Commodities',
        deployer: '0x3898092b3dfd038e1e3e47bc3165ad77181d6b9e',
        ...DEX_DETAILS,
      },
    ],
  },
  answer({ markets }) {
    const [, ...deployed] = markets.dexes;
    return `[${['null', ...deployed.map(formatDex)].join(',')}]`;
  },
};

const tableIdField: Field<number> = {
  description: 'the number of a margin table, as meta gives it',
  schema: { type: 'integer', minimum: 1 },
  parse(name, value) {
    if (Number.isSafeInteger(value) && (value as number) > 0) return value as number;
    const message = `${name}: got ${describeValue(value)}, expected a whole number above 0`;
    throw new RequestError('invalid_field', message, name);
  },
  readTexts: ([text, ...others]) =>
    others.length === 0 && /^\d{1,15}$/.test(text) ? Number(text) : undefined,
};

const tableFields = { id: tableIdField };

function requireTable({ markets }: StateView, id: number): Market {
  const index = markets.markets.findIndex((market, place) => marginTableId(market, place) === id);
  if (index !== -1) return markets.markets[index];
  const message = `id: got ${id}, expected the marginTableId of a market, as meta gives it`;
  throw new RequestError('invalid_field', message, 'id');
}

export const marginTable: RequestType<typeof tableFields> = {
  type: 'marginTable',
  summary: "One margin table: the tiers of a market's leverage.",
  weight: WEIGHT,
  fields: tableFields,
  answerSchema: marginTableSchema,
  example: { question: { type: 'marginTable', id: 1001 }, answer: marginTableExample },
  validate(state, { id }) {
    requireTable(state, id);
  },
  answer: (state, { id }) => formatMarginTable(requireTable(state, id)),
};
