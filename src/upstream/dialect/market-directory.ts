/**
 * The markets that are known when an account is read: the ledger's markets, and the markets that
 * the upstream lists.
 *
 * The markets are stored in a separate state, a scratch ledger that answers no questions. The
 * scratch ledger has three uses: the parser and the fold of our events decide which listings can be
 * used; a market can be read before it has a price; and an account can be folded and valued before
 * it is recorded.
 */

import { type Event, readEvent, type WireEvent } from '../../events/event.ts';
import { BlockError, Refusal } from '../../events/refusal.ts';
import { applyBlock } from '../../state/fold.ts';
import type { Dex, Market } from '../../state/markets/markets.ts';
import { createState, type State, type StateView } from '../../state/state.ts';
import { describeTiers, readDistinctTables, type TierTable } from './margin-tables.ts';
import {
  type DexListings,
  describeUpstreamMarket,
  type MetaListing,
  NO_DEXES,
  type OddElement,
} from './market-answers.ts';

/** A dex or a market of the upstream that our events cannot describe. */
export interface SkippedListing {
  /** The dex or the coin. */
  readonly name: string;
  readonly reason: string;
}

interface UpstreamListing {
  readonly dexes: DexListings;
  /** The metas by dex. A dex whose meta was not read is absent. */
  readonly metas: ReadonlyMap<string, MetaListing>;
}

/** A price that is valid in every market, with any number of decimals. */
const ANY_PRICE = '1.0';
const FIRST_TOKEN = 0;
/** The maximum number of listings that are applied in one block. */
const BLOCK_LISTINGS = 500;

export class MarketDirectory {
  readonly #scratch: State;
  readonly #metas: ReadonlyMap<string, MetaListing>;
  readonly #universes: ReadonlyMap<string, readonly (string | undefined)[]>;
  /** The coins of all dexes whose metas were read. */
  readonly #names: ReadonlySet<string | undefined>;
  /**
   * The names of the dexes that the upstream lists, including skipped dexes; undefined if the list
   * was never read.
   */
  readonly dexNames: ReadonlySet<string> | undefined;
  readonly skipped: readonly SkippedListing[];
  /** The margin tables of all dexes, without duplicates. */
  readonly marginTables: readonly TierTable[];
  /** The upstream's lists, as events. */
  readonly lists: readonly ListEvent[];

  constructor(
    scratch: State,
    { dexes, metas }: UpstreamListing,
    { skipped, lists }: { skipped: readonly SkippedListing[]; lists: readonly ListEvent[] },
  ) {
    this.#scratch = scratch;
    this.lists = lists;
    this.#metas = metas;
    const named = dexes.dexes.flatMap((dex) => dex?.name ?? []);
    this.dexNames = dexes.json === undefined ? undefined : new Set(named);
    this.#universes = new Map(
      [...metas].map(([dex, { universe }]) => [dex, universe.map((market) => market?.name)]),
    );
    this.#names = new Set([...this.#universes.values()].flat());
    this.skipped = skipped;
    this.marginTables = readDistinctTables(
      [...metas.values()].flatMap(({ marginTables }) => marginTables),
    );
  }

  /** Returns true if the upstream lists the coin, even if our events cannot describe its market. */
  isListed(coin: string): boolean {
    return this.#names.has(coin);
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

  /**
   * Returns the coins of a dex in the upstream's order, including skipped coins; returns undefined
   * if the dex's meta was never read. An element without a coin is undefined in the list.
   */
  universeOf(dex: string): readonly (string | undefined)[] | undefined {
    return this.#universes.get(dex);
  }

  /**
   * Returns the markets of a dex that the upstream lists and that are traded, in the upstream's
   * order; returns none if the dex's meta was never read.
   */
  listTraded(dex: string): Market[] {
    const universe = this.#metas.get(dex)?.universe ?? [];
    const markets = universe.flatMap((listed) =>
      listed === undefined || listed.isDelisted ? [] : (this.find(listed.name) ?? []),
    );
    return markets.filter(({ dexIndex }) => dexIndex === this.findDex(dex));
  }

  collateralTokenOf(dex: string): number {
    return this.#metas.get(dex)?.collateralToken ?? FIRST_TOKEN;
  }

  /**
   * Folds events of an account into the scratch ledger, and returns the state to value the account.
   * Throws a BlockError if the events do not apply.
   */
  fold(events: readonly WireEvent[]): StateView {
    applyEvents(this.#scratch, events);
    return this.#scratch;
  }
}

function applyEvents(state: State, wires: readonly WireEvent[]): void {
  applyParsed(state, wires.map(readEvent));
}

function applyParsed(state: State, events: readonly Event[]): void {
  applyBlock(state, { height: state.height + 1, time: 0, events });
}

/** Returns a directory of the ledger's markets, for the time before the upstream has answered. */
export function directoryOfLedger(ledger: StateView): MarketDirectory {
  return createDirectory(ledger, { dexes: NO_DEXES, metas: new Map() });
}

/**
 * Returns a directory of the ledger's markets with the upstream's terms, and of the markets that
 * only the upstream has.
 */
export function createDirectory(ledger: StateView, listing: UpstreamListing): MarketDirectory {
  const scratch = createState();
  applyEvents(scratch, describeLedger(ledger));
  const skipped = [
    ...listing.dexes.odd,
    ...addDexes(scratch, listing),
    ...listOddOfMetas(listing),
    ...addMarkets(scratch, listing),
  ];
  const lists: ListEvent[] = [];
  for (const event of describeLists(scratch, listing)) {
    const refused = findEventFault(event);
    if (refused === undefined) lists.push({ event, text: JSON.stringify(event) });
    else skipped.push({ name: `the list ${event.type} ${event['dex'] ?? ''}`, reason: refused });
  }
  return new MarketDirectory(scratch, listing, { skipped, lists });
}

/**
 * An event with one of the upstream's lists, and the event's text, which is compared with the
 * ledger.
 */
export interface ListEvent {
  readonly event: WireEvent;
  readonly text: string;
}

function describeLists({ markets }: StateView, { dexes, metas }: UpstreamListing): WireEvent[] {
  const known = [...metas].filter(([dex]) => markets.findDex(dex) !== undefined);
  const universes = known.map(
    ([dex, { json }]) => ({ type: 'universe', dex, meta: json }) as const,
  );
  return dexes.json === undefined ? universes : [{ type: 'dexes', list: dexes.json }, ...universes];
}

function findEventFault(event: WireEvent): string | undefined {
  try {
    readEvent(event);
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
}

function listOddOfMetas({ metas }: UpstreamListing): OddElement[] {
  return [...metas].flatMap(([dex, { odd }]) =>
    odd.map(({ name, reason }) => ({ name: `${name} of dex "${dex}"`, reason })),
  );
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
  const marginTiers = describeTiers(tiers);
  return { type: 'market', dex, coin, szDecimals: sizeDecimals, marginTiers, onlyIsolated, markPx };
}

function addDexes(scratch: State, { dexes }: UpstreamListing): SkippedListing[] {
  const listings = dexes.dexes
    .filter((dex) => dex !== undefined)
    .filter(({ name }) => scratch.markets.findDex(name) === undefined)
    .map(
      ({ name, fullName, deployer }): NamedListing<WireEvent> => ({
        name,
        event: { type: 'perpDex', dex: name, fullName, deployer },
      }),
    );
  return addListings(scratch, listings);
}

function addMarkets(scratch: State, { metas }: UpstreamListing): SkippedListing[] {
  const listings = [...metas].flatMap(([dex, { universe }]) => {
    if (scratch.markets.findDex(dex) === undefined) return []; // its dex is skipped already
    return universe.flatMap((listing) =>
      listing === undefined
        ? []
        : { name: listing.name, event: describeUpstreamMarket(dex, listing, ANY_PRICE) },
    );
  });
  return addListings(scratch, listings);
}

interface NamedListing<E> {
  readonly name: string;
  readonly event: E;
}

/** Adds the listings that our events can describe; returns the others, and why they are skipped. */
function addListings(
  scratch: State,
  listings: readonly NamedListing<WireEvent>[],
): SkippedListing[] {
  const skipped: SkippedListing[] = [];
  const readable = listings.flatMap(({ name, event }): NamedListing<Event>[] => {
    try {
      return [{ name, event: readEvent(event) }];
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      skipped.push({ name, reason: error.message });
      return [];
    }
  });
  return [...skipped, ...applyListings(scratch, readable)];
}

/** Applies many listings in one block, because each block copies the list of markets. */
function applyListings(scratch: State, listings: readonly NamedListing<Event>[]): SkippedListing[] {
  const skipped: SkippedListing[] = [];
  let start = 0;
  while (start < listings.length) {
    const block = listings.slice(start, start + BLOCK_LISTINGS);
    const refused = applyUntilRefused(scratch, block);
    start += refused === undefined ? block.length : refused.index + 1;
    if (refused !== undefined) {
      skipped.push({ name: block[refused.index].name, reason: refused.reason });
    }
  }
  return skipped;
}

/**
 * Applies the events up to the first refused event, and returns the refusal; returns undefined if
 * no event is refused.
 */
function applyUntilRefused(
  scratch: State,
  listings: readonly NamedListing<Event>[],
): { readonly index: number; readonly reason: string } | undefined {
  const events = listings.map(({ event }) => event);
  try {
    applyParsed(scratch, events);
    return undefined;
  } catch (error) {
    if (!(error instanceof BlockError) || error.index === undefined) throw error;
    const { index, cause } = error;
    if (index > 0) applyParsed(scratch, events.slice(0, index));
    return { index, reason: cause instanceof Error ? cause.message : error.message };
  }
}
