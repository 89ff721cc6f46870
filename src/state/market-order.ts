/**
 * The lists of dexes and markets of another server in the state, and the order of markets that
 * results from these lists.
 */

import type { EventOf } from '../events/event.ts';
import { DexList, Universe } from './markets/universe.ts';
import type { State, StateView } from './state.ts';

export function applyDexes(state: State, { list }: EventOf<'dexes'>): void {
  const { dexes, byDex } = state.universes;
  if (dexes?.text === list) return;
  state.universes = { byDex, dexes: new DexList(list, state.height + 1) };
}

export function applyUniverse(state: State, { dex, meta }: EventOf<'universe'>): void {
  const dexIndex = state.markets.requireDex(dex);
  const { dexes, byDex } = state.universes;
  const before = byDex.get(dexIndex);
  if (before?.text === meta) return;
  const changedAt = state.height + 1;
  const orderBefore = orderMarkets(state, dexIndex).join();
  // The order depends on the text only.
  const unordered = new Universe(meta, { changedAt, orderedAt: before?.orderedAt ?? 0 });
  state.universes = { dexes, byDex: new Map(byDex).set(dexIndex, unordered) };
  if (orderMarkets(state, dexIndex).join() === orderBefore) return;
  const reordered = new Universe(meta, { changedAt, orderedAt: changedAt });
  state.universes = { dexes, byDex: new Map(byDex).set(dexIndex, reordered) };
}

/** The height at which the order of a dex's markets, as clients see it, last changed. */
export function orderChangedAt({ universes }: StateView, dexIndex: number): number {
  return universes.byDex.get(dexIndex)?.orderedAt ?? 0;
}

/**
 * The indexes of a dex's markets in the order of its universe. Markets that the universe does not
 * list come last, in our own order. Without a universe, all markets are in our own order.
 */
function orderMarkets({ markets, universes }: StateView, dexIndex: number): number[] {
  const indexes = [...markets.markets.keys()].filter(
    (index) => markets.markets[index].dexIndex === dexIndex,
  );
  const universe = universes.byDex.get(dexIndex);
  if (universe === undefined) return indexes;
  return sortByPlace(universe, indexes, (index) => markets.markets[index].coin);
}

/**
 * Returns a copy of the items, sorted by the place of the coin in the universe. Items whose coin is
 * not listed come last.
 */
export function sortByPlace<T>(
  universe: Universe,
  items: readonly T[],
  coinOf: (item: T) => string,
): T[] {
  const placed = items.map((item, index) => {
    const place = universe.placeOf(coinOf(item)) ?? universe.markets.length;
    return { item, place, index };
  });
  placed.sort((a, b) => a.place - b.place || a.index - b.index);
  return placed.map(({ item }) => item);
}

interface KnownOrder {
  readonly marketCount: number;
  readonly isOwn: boolean;
}

/**
 * A cache of `findReordering`: for a universe, its result, and the count of markets for which the
 * result is valid.
 */
const knownOrders = new WeakMap<Universe, KnownOrder>();

/**
 * Returns the universe of a dex if its order of the markets differs from the order of our own
 * indexes; otherwise returns undefined.
 */
export function findReordering(state: StateView, dexIndex: number): Universe | undefined {
  const universe = state.universes.byDex.get(dexIndex);
  if (universe === undefined) return undefined;
  const marketCount = state.markets.markets.length;
  let known = knownOrders.get(universe);
  if (known?.marketCount !== marketCount) {
    const order = orderMarkets(state, dexIndex);
    known = {
      marketCount,
      isOwn: order.every((each, place) => place === 0 || each > order[place - 1]),
    };
    knownOrders.set(universe, known);
  }
  return known.isOwn ? undefined : universe;
}
