/**
 * The markets of a dex and their prices. A ledger that follows another server has the lists of that
 * server. The ledger has no other figures, such as volumes, funding rates and oracle prices. On a
 * ledger that follows another server, these figures are null. On other ledgers they are null if the
 * interface allows null, or zero.
 */

import { formatUnits } from '../../exact/decimal.ts';
import type { StateView } from '../../state/state.ts';
import { requireDex } from '../fields/dex-field.ts';
import { RequestError } from '../request-error.ts';
import { toAscii } from '../writing/ascii-json.ts';
import { formatMarginTable, marginTableId } from './margin-table-answer.ts';

/**
 * Returns the indexes of a dex's markets in the order that clients use. An index is undefined if
 * the ledger does not have the market.
 */
export function marketPlaces(state: StateView, dexIndex: number): readonly (number | undefined)[] {
  const { markets, universes } = state;
  const isOfDex = (index: number) => markets.markets[index].dexIndex === dexIndex;
  const universe = universes.byDex.get(dexIndex);
  if (universe === undefined) return [...markets.markets.keys()].filter(isOfDex);
  return universe.markets.map((listed) => {
    const index = listed === undefined ? undefined : markets.findMarket(listed.coin);
    return index !== undefined && isOfDex(index) ? index : undefined;
  });
}

/**
 * Returns the index of a dex. Throws a RequestError if the dex is unknown, or if a partial ledger
 * has none of the dex's markets.
 */
export function requireMarkets(state: StateView, dex: string): number {
  const dexIndex = requireDex(state, dex);
  if (!state.isPartial || state.universes.byDex.has(dexIndex)) return dexIndex;
  if (marketPlaces(state, dexIndex).length > 0) return dexIndex;
  throw new RequestError('not_ready', `the markets of dex "${dex}" have not been read yet`, 'dex');
}

export function formatMarkPrice({ markets }: StateView, marketIndex: number): string {
  const { priceDecimals } = markets.markets[marketIndex];
  return formatUnits(markets.markPrice(marketIndex), priceDecimals);
}

/**
 * Returns the answer of the followed server; if there is none, returns the markets of the ledger.
 */
export function formatMeta(state: StateView, dexIndex: number): string {
  const universe = state.universes.byDex.get(dexIndex);
  return universe === undefined ? formatOwnMeta(state, dexIndex) : toAscii(universe.text);
}

function formatOwnMeta(state: StateView, dexIndex: number): string {
  const tables = new Map<number, string>();
  const universe = marketPlaces(state, dexIndex).flatMap((marketIndex) => {
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
  const contexts = marketPlaces(state, dexIndex).map((index) =>
    format(index === undefined ? 'null' : `"${formatMarkPrice(state, index)}"`),
  );
  return `[${contexts.join(',')}]`;
}

/**
 * Figures that the ledger does not have are null. Zero would be wrong, because the followed server
 * has these figures.
 */
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
