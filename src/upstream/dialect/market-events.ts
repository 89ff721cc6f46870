/**
 * Describes the events that make the ledger's dexes and markets equal to those of the directory.
 */

import type { WireEvent } from '../../events/event.ts';
import { formatUnits } from '../../exact/decimal.ts';
import { areSameTerms } from '../../state/markets/markets.ts';
import type { StateView } from '../../state/state.ts';
import type { Prices } from './mark-answers.ts';
import { describeDex, describeMarketTerms, type MarketDirectory } from './market-directory.ts';

export function describeNewDexes(ledger: StateView, directory: MarketDirectory): WireEvent[] {
  return directory.dexes
    .filter(({ name }) => ledger.markets.findDex(name) === undefined)
    .map(describeDex);
}

/** Returns the events for the upstream's lists that differ from those of the ledger. */
export function describeListChanges(
  { universes, markets }: StateView,
  { lists }: MarketDirectory,
): WireEvent[] {
  const changed = lists.filter(({ event, text }) => {
    const dex = event['dex'];
    if (typeof dex !== 'string') return text !== dexesText(universes.dexes?.text);
    const index = markets.findDex(dex);
    const recorded = index === undefined ? undefined : universes.byDex.get(index)?.text;
    return text !== universeText(dex, recorded);
  });
  return changed.map(({ event }) => event);
}

/** Returns the JSON of the event that recorded the list. */
function dexesText(list: string | undefined): string {
  return `{"type":"dexes","list":${list}}`;
}

function universeText(dex: string, meta: string | undefined): string {
  return `{"type":"universe","dex":${JSON.stringify(dex)},"meta":${meta}}`;
}

interface MarketChanges {
  /**
   * The events that add or change markets. They may name dexes that `describeNewDexes` must add
   * first.
   */
  readonly events: readonly WireEvent[];
  /** New coins that have no price yet. The ledger has no market without a price. */
  readonly waiting: readonly string[];
}

/**
 * Returns the events for markets that are new or have new terms. A new market needs a price from
 * `prices`; for a known market, the ledger's price is used if `prices` has none.
 */
export function describeMarketChanges(
  ledger: StateView,
  directory: MarketDirectory,
  prices: Prices,
): MarketChanges {
  const events: WireEvent[] = [];
  const waiting: string[] = [];
  for (const market of directory.markets) {
    const index = ledger.markets.findMarket(market.coin);
    if (index !== undefined && areSameTerms(ledger.markets.markets[index], market)) continue;
    const recorded = index === undefined ? undefined : ledger.markets.markPrice(index);
    const price = prices.get(market.coin) ?? recorded;
    if (price === undefined) {
      waiting.push(market.coin);
      continue;
    }
    const dex = directory.dexes[market.dexIndex].name;
    events.push(describeMarketTerms(dex, market, formatUnits(price, market.priceDecimals)));
  }
  return { events, waiting };
}
