/** Describes the events that bring the ledger's dexes and markets up to the directory. */

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

/** The upstream's lists that differ from those of the ledger. */
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

/** The JSON of the event that has recorded the text. */
function dexesText(list: string | undefined): string {
  return `{"type":"dexes","list":${list}}`;
}

function universeText(dex: string, meta: string | undefined): string {
  return `{"type":"universe","dex":${JSON.stringify(dex)},"meta":${meta}}`;
}

interface MarketChanges {
  /** Events may name dexes that `describeNewDexes` lists. */
  readonly events: readonly WireEvent[];
  /** New coins without a price yet. The ledger has no market without a price. */
  readonly waiting: readonly string[];
}

/**
 * Markets that are new or have new terms. A new market needs a price; a known market keeps its
 * price.
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
