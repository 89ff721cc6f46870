/**
 * The markets of a dex and their prices, which clients ask for before they ask for accounts. A ledger
 * that follows another server has that server's own lists. Of other figures (volumes, funding rates,
 * oracle prices) the ledger holds none: of a followed server they are null, else null where the
 * interface allows it, and zero elsewhere.
 */

import { formatUnits } from '../exact/decimal.ts';
import { allTermsChangedAt, marketsChangedAt, termsChangedAt } from '../state/changed-at.ts';
import type { StateView } from '../state/state.ts';
import { toAscii } from './ascii-json.ts';
import { dexField, requireDex, requireLists } from './dex-field.ts';
import {
  formatMarginTable,
  marginTableExample,
  marginTableId,
  marginTableSchema,
} from './margin-tables.ts';
import type { RequestType } from './request.ts';
import { RequestError } from './request-error.ts';
import {
  alwaysNull,
  amount,
  anyText,
  anythingElse,
  listOf,
  object,
  orNull,
  tuple,
  wholeNumber,
  zero,
} from './schema.ts';

const WEIGHT = 20;

/** Indexes of a dex's markets in clients' order; undefined where the ledger has no such market. */
function placesOf(state: StateView, dexIndex: number): readonly (number | undefined)[] {
  const { markets, universes } = state;
  const isOfDex = (index: number) => markets.markets[index].dexIndex === dexIndex;
  const universe = universes.byDex.get(dexIndex);
  if (universe === undefined) return [...markets.markets.keys()].filter(isOfDex);
  return universe.markets.map((listed) => {
    const index = listed === undefined ? undefined : markets.findMarket(listed.coin);
    return index !== undefined && isOfDex(index) ? index : undefined;
  });
}

/** The index of a dex, or a RequestError; on a partial ledger also if no market of it was read. */
export function requireMarkets(state: StateView, dex: string): number {
  const dexIndex = requireDex(state, dex);
  if (!state.isPartial || state.universes.byDex.has(dexIndex)) return dexIndex;
  if (placesOf(state, dexIndex).length > 0) return dexIndex;
  throw new RequestError('not_ready', `the markets of dex "${dex}" have not been read yet`, 'dex');
}

function formatMarkPrice({ markets }: StateView, marketIndex: number): string {
  const { priceDecimals } = markets.markets[marketIndex];
  return formatUnits(markets.markPrice(marketIndex), priceDecimals);
}

/** The followed server's own answer, or what the ledger knows of its markets. */
export function formatMeta(state: StateView, dexIndex: number): string {
  const universe = state.universes.byDex.get(dexIndex);
  return universe === undefined ? formatOwnMeta(state, dexIndex) : toAscii(universe.text);
}

function formatOwnMeta(state: StateView, dexIndex: number): string {
  const tables = new Map<number, string>();
  const universe = placesOf(state, dexIndex).flatMap((marketIndex) => {
    if (marketIndex === undefined) return [];
    const market = state.markets.markets[marketIndex];
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
  const isFollowed = state.universes.byDex.has(dexIndex);
  const format = isFollowed ? formatFollowedContext : formatOwnContext;
  const contexts = placesOf(state, dexIndex).map((index) =>
    format(index === undefined ? 'null' : `"${formatMarkPrice(state, index)}"`),
  );
  return `[${contexts.join(',')}]`;
}

/** What the ledger does not know of a followed server is null: the server has it. */
function formatFollowedContext(markPrice: string): string {
  return (
    '{"funding":null,"openInterest":null,"prevDayPx":null,"dayNtlVlm":null,"premium":null' +
    `,"oraclePx":null,"markPx":${markPrice},"midPx":null,"impactPxs":null,"dayBaseVlm":null}`
  );
}

function formatOwnContext(markPrice: string): string {
  return (
    '{"funding":"0.0","openInterest":"0.0","prevDayPx":"0.0","dayNtlVlm":"0.0","premium":null' +
    `,"oraclePx":"0.0","markPx":${markPrice},"midPx":null,"impactPxs":null,"dayBaseVlm":"0.0"}`
  );
}

const ownMetaSchema = object({
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

/** A followed server may have further fields, which are passed on. */
export const metaSchema: typeof ownMetaSchema = { anyOf: [ownMetaSchema, anythingElse] };

export const contextSchema = object({
  funding: orNull(zero),
  openInterest: orNull(zero),
  prevDayPx: orNull(zero),
  dayNtlVlm: orNull(zero),
  premium: alwaysNull,
  oraclePx: orNull(zero),
  markPx: orNull(amount),
  midPx: alwaysNull,
  impactPxs: alwaysNull,
  dayBaseVlm: orNull(zero),
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
    requireMarkets(state, dex);
  },
  changedAt: (state, { dex }) => termsChangedAt(state, requireMarkets(state, dex)),
  answer: (state, { dex }) => formatMeta(state, requireMarkets(state, dex)),
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
    requireMarkets(state, dex);
  },
  changedAt: (state, { dex }) => marketsChangedAt(state, requireMarkets(state, dex)),
  answer(state, { dex }) {
    const dexIndex = requireMarkets(state, dex);
    return `[${formatMeta(state, dexIndex)},${formatContexts(state, dexIndex)}]`;
  },
};

/** Indexes of dexes by place in the answer of perpDexs; undefined where it names no dex of the ledger. */
function listPlaces({ markets, universes }: StateView): (number | undefined)[] {
  if (universes.dexes === undefined) return [...markets.dexes.keys()];
  return universes.dexes.names.map((name) =>
    name === undefined ? undefined : markets.findDex(name),
  );
}

/** A place without a dex has no markets. */
function formatMetaAt(state: StateView, dexIndex: number | undefined): string {
  if (dexIndex !== undefined) return formatMeta(state, dexIndex);
  return '{"universe":[],"marginTables":[],"collateralToken":0}';
}

export const allPerpMetas: RequestType<Record<string, never>> = {
  type: 'allPerpMetas',
  summary: 'The markets of every dex, in the order of the dexes.',
  weight: WEIGHT,
  fields: {},
  answerSchema: listOf(metaSchema),
  example: { question: { type: 'allPerpMetas' }, answer: [metaExample] },
  validate: requireLists,
  changedAt(state) {
    requireLists(state);
    return allTermsChangedAt(state);
  },
  answer(state) {
    requireLists(state);
    return `[${listPlaces(state)
      .map((dexIndex) => formatMetaAt(state, dexIndex))
      .join(',')}]`;
  },
};

/** Indexes of markets that have a price to trade at: a delisted one has only its last mark. */
function listTraded(state: StateView, dexIndex: number): number[] {
  const listed = state.universes.byDex.get(dexIndex)?.markets;
  return placesOf(state, dexIndex).flatMap((index, place) =>
    index === undefined || listed?.[place]?.isDelisted === true ? [] : index,
  );
}

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
    requireMarkets(state, dex);
  },
  changedAt: (state, { dex }) => marketsChangedAt(state, requireMarkets(state, dex)),
  answer(state, { dex }) {
    const prices = listTraded(state, requireMarkets(state, dex)).map(
      (index) => `"${state.markets.markets[index].coin}":"${formatMarkPrice(state, index)}"`,
    );
    return `{${prices.join(',')}}`;
  },
};
