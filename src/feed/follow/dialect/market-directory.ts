/**
 * The markets that accounts may be read in: those of the ledger, and those that the upstream lists.
 *
 * They are kept as a state of their own, a scratch ledger that nobody is served from. So the
 * vocabulary itself decides which listings it can hold, a market can be read before it has a price,
 * and an account can be folded and valued before it is recorded.
 */

import { readEvent, type WireEvent } from '../../../events/event.ts';
import { USD_DECIMALS } from '../../../events/fields.ts';
import { BlockError, Refusal } from '../../../events/refusal.ts';
import { formatUnits } from '../../../exact/decimal.ts';
import { applyBlock } from '../../../state/fold.ts';
import type { Dex, Market } from '../../../state/markets.ts';
import { createState, type State, type StateView } from '../../../state/state.ts';
import { type DexListing, describeUpstreamMarket, type MetaListing } from './market-answers.ts';

/** What the upstream has and the ledger cannot hold. */
export interface SkippedListing {
  /** The dex or the coin. */
  readonly name: string;
  readonly reason: string;
}

interface UpstreamListing {
  readonly dexes: readonly DexListing[];
  /** By dex; one that has not been read is absent. */
  readonly metas: ReadonlyMap<string, MetaListing>;
}

/** Valid in every market, whatever its decimals. */
const ANY_PRICE = '1.0';
const FIRST_TOKEN = 0;

export class MarketDirectory {
  readonly #scratch: State;
  readonly #metas: ReadonlyMap<string, MetaListing>;
  readonly #universes: ReadonlyMap<string, readonly string[]>;
  readonly skipped: readonly SkippedListing[];

  constructor(scratch: State, { metas }: UpstreamListing, skipped: readonly SkippedListing[]) {
    this.#scratch = scratch;
    this.#metas = metas;
    this.#universes = new Map(
      [...metas].map(([dex, { universe }]) => [dex, universe.map(({ name }) => name)]),
    );
    this.skipped = skipped;
  }

  get dexes(): readonly Dex[] {
    return this.#scratch.markets.dexes;
  }

  get markets(): readonly Market[] {
    return this.#scratch.markets.markets;
  }

  findDex(name: string): number | undefined {
    return this.#scratch.markets.findDex(name);
  }

  find(coin: string): Market | undefined {
    const index = this.#scratch.markets.findMarket(coin);
    return index === undefined ? undefined : this.markets[index];
  }

  /** The coins of a dex in the upstream's order, skipped ones included; undefined if never read. */
  universeOf(dex: string): readonly string[] | undefined {
    return this.#universes.get(dex);
  }

  collateralTokenOf(dex: string): number {
    return this.#metas.get(dex)?.collateralToken ?? FIRST_TOKEN;
  }

  /**
   * Folds events of an account into the scratch ledger, and hands out the state to value it. Throws a
   * BlockError if they do not apply.
   */
  fold(events: readonly WireEvent[]): StateView {
    applyEvents(this.#scratch, events);
    return this.#scratch;
  }
}

function applyEvents(state: State, wires: readonly WireEvent[]): void {
  applyBlock(state, { height: state.height + 1, time: 0, events: wires.map(readEvent) });
}

/** A directory of what the ledger holds, for the time before the first answer. */
export function directoryOfLedger(ledger: StateView): MarketDirectory {
  return createDirectory(ledger, { dexes: [], metas: new Map() });
}

/** The ledger's markets with the upstream's terms, and those that the ledger does not have yet. */
export function createDirectory(ledger: StateView, listing: UpstreamListing): MarketDirectory {
  const scratch = createState();
  applyEvents(scratch, describeLedger(ledger));
  const skipped = [...addDexes(scratch, listing), ...addMarkets(scratch, listing)];
  return new MarketDirectory(scratch, listing, skipped);
}

function describeLedger({ markets }: StateView): WireEvent[] {
  const [, ...deployed] = markets.dexes;
  const listed = markets.markets.map((market) =>
    describeMarketTerms(markets.dexes[market.dexIndex].name, market, ANY_PRICE),
  );
  return [...deployed.map(describeDex), ...listed];
}

export function describeDex({ name, fullName, deployer }: Dex): WireEvent {
  return { type: 'perpDex', dex: name, fullName, deployer };
}

export function describeMarketTerms(dex: string, market: Market, markPx: string): WireEvent {
  const { coin, sizeDecimals, tiers, onlyIsolated } = market;
  const marginTiers = tiers.map(({ lowerBound, maxLeverage }) => ({
    lowerBound: formatUnits(lowerBound, USD_DECIMALS),
    maxLeverage,
  }));
  return { type: 'market', dex, coin, szDecimals: sizeDecimals, marginTiers, onlyIsolated, markPx };
}

function addDexes(scratch: State, { dexes }: UpstreamListing): SkippedListing[] {
  return dexes
    .filter(({ name }) => scratch.markets.findDex(name) === undefined)
    .flatMap(({ name, fullName, deployer }) =>
      addListing(scratch, name, { type: 'perpDex', dex: name, fullName, deployer }),
    );
}

function addMarkets(scratch: State, { metas }: UpstreamListing): SkippedListing[] {
  return [...metas].flatMap(([dex, { universe }]) => {
    if (scratch.markets.findDex(dex) === undefined) return []; // its dex is skipped already
    return universe.flatMap((listing) =>
      addListing(scratch, listing.name, describeUpstreamMarket(dex, listing, ANY_PRICE)),
    );
  });
}

/** Nothing, or why the listing is skipped. */
function addListing(scratch: State, name: string, event: WireEvent): SkippedListing[] {
  try {
    applyEvents(scratch, [event]);
    return [];
  } catch (error) {
    if (error instanceof Refusal) return [{ name, reason: error.message }];
    if (!(error instanceof BlockError)) throw error;
    const { cause } = error;
    return [{ name, reason: cause instanceof Error ? cause.message : error.message }];
  }
}
