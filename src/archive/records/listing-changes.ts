/**
 * Dexes, markets, the margin tiers of single positions, the modes of accounts, the auction, and the
 * lists of another server change seldom. The archive stores their changes as JSON, and a reader
 * loads all changes into memory.
 */

import { formatAddress } from '../../exact/address.ts';
import type { RecordedAuction } from '../../state/auction.ts';
import { type TierTerms, tierTermsOf } from '../../state/markets/margin-tiers.ts';
import {
  createMarket,
  type Dex,
  MarketBook,
  type MarketTerms,
  termsOf,
} from '../../state/markets/markets.ts';
import { TierTables } from '../../state/markets/tier-tables.ts';
import {
  type DescribedUniverses,
  decodeUniverses,
  describeUniverses,
  NO_UNIVERSES,
  type Universes,
} from '../../state/markets/universe.ts';
import {
  type DescribedAuction,
  decodeAuction,
  describeAuction,
} from '../../state/snapshot/snapshot.ts';
import type { StateView } from '../../state/state.ts';
import type { ArchiveTables } from './archive-tables.ts';
import { DamagedRecord, packJson, unpackJson } from './record-encoding.ts';

/** The changes of a block. Absent members have not changed. */
interface ListingChange {
  dexes?: readonly Dex[];
  /** The index and the terms of each new or changed market. */
  markets?: readonly (readonly [index: number, terms: MarketTerms])[];
  /** The new margin tables of single positions, and the number of these tables before the block. */
  tierTables?: { readonly after: number; readonly added: readonly (readonly TierTerms[])[] };
  auction?: { recorded: DescribedAuction };
  isPartial?: boolean;
  universes?: DescribedUniverses;
  /** The modes that the block has set, by address. */
  modes?: readonly (readonly [address: string, mode: string])[];
}

export interface KeptListing {
  readonly height: number;
  /** The dexes and markets. Their mark prices are not the marks at the height. */
  readonly markets: MarketBook;
  readonly auction: RecordedAuction;
  readonly isPartial: boolean;
  readonly universes: Universes;
}

interface KeptMode {
  readonly height: number;
  readonly mode: string;
}

/** Values that a block may change and whose height of change the state does not store. */
interface ListedBefore {
  readonly isPartial: boolean;
  /** The number of margin tables of single positions. */
  readonly tierTables: number;
}

export function listedIn({ isPartial, markets }: StateView): ListedBefore {
  return { isPartial, tierTables: markets.tierTables.count };
}

/**
 * Returns the record of the change that the block at the state's height has made; returns undefined
 * if there is no change. With `isWhole`, returns the record of the whole listing.
 */
export function findListingChange(
  state: StateView,
  before: ListedBefore,
  isWhole = false,
): Buffer | undefined {
  const { markets, height } = state;
  const isNew = (changedAt: number) => isWhole || changedAt === height;
  const change: ListingChange = {};
  if (isNew(markets.dexesChangedAt)) change.dexes = markets.dexes;
  const changed: [number, MarketTerms][] = [];
  for (let index = 0; index < markets.markets.length; index++) {
    if (isNew(markets.termsChangedAt(index)))
      changed.push([index, termsOf(markets.markets[index])]);
  }
  if (changed.length > 0) change.markets = changed;
  const after = isWhole ? 0 : before.tierTables;
  if (markets.tierTables.count > after) {
    change.tierTables = { after, added: markets.tierTables.all.slice(after).map(tierTermsOf) };
  }
  if (isNew(state.auctionChangedAt)) change.auction = { recorded: describeAuction(state.auction) };
  if (isWhole || state.isPartial !== before.isPartial) change.isPartial = state.isPartial;
  const universes = selectUniverses(state.universes, isNew);
  if (universes !== undefined) change.universes = universes;
  const moded = isWhole ? state.modes.listAddresses() : state.modes.listChangedAt(height);
  if (moded.length > 0) change.modes = moded.map((row) => describeMode(state, row));
  return Object.keys(change).length === 0 ? undefined : packJson(change, height);
}

function describeMode({ addresses, modes }: StateView, row: number): readonly [string, string] {
  return [formatAddress(addresses.addressOf(row)), modes.find(row) ?? ''];
}

/**
 * Returns the lists of another server that a block has changed; returns undefined if it has changed
 * none.
 */
function selectUniverses(
  universes: Universes,
  isNew: (changedAt: number) => boolean,
): DescribedUniverses | undefined {
  const { dexes, byDex } = describeUniverses(universes);
  const changed = {
    dexes: dexes !== undefined && isNew(dexes.changedAt) ? dexes : undefined,
    byDex: byDex.filter(([, { changedAt }]) => isNew(changedAt)),
  };
  return changed.dexes === undefined && changed.byDex.length === 0 ? undefined : changed;
}

/** All listings of an archive, in order. */
export class KeptListings {
  readonly #tables: ArchiveTables;
  /** The tables of all heights: a number means the same table at every height. */
  readonly #tierTables = new TierTables();
  readonly #listings: KeptListing[];
  /** The heights at which the mode of an address has changed, in order, by address. */
  readonly #modes = new Map<string, KeptMode[]>();

  constructor(tables: ArchiveTables) {
    this.#tables = tables;
    const markets = new MarketBook(undefined, undefined, undefined, this.#tierTables);
    const universes = NO_UNIVERSES;
    this.#listings = [{ height: 0, markets, auction: undefined, isPartial: false, universes }];
  }

  /** Reads the changes that were written since the last call. */
  update(): void {
    const after = this.#last.height;
    for (const { key, value } of this.#tables.listings.getRange({ start: after + 1 })) {
      const change = unpackChange(value, key);
      addTierTables(this.#tierTables, change, key);
      this.#listings.push(applyChange(this.#last, key, change));
      for (const [address, mode] of change.modes ?? []) this.#noteMode(address, key, mode);
    }
  }

  #noteMode(address: string, height: number, mode: string): void {
    const kept = this.#modes.get(address) ?? [];
    kept.push({ height, mode });
    this.#modes.set(address, kept);
  }

  /** The addresses whose modes events have named, in the order of the first events. */
  modedAddresses(): Iterable<string> {
    return this.#modes.keys();
  }

  /** The mode of an address at a height; undefined if no event had named the mode. */
  modeAt(address: string, height: number): string | undefined {
    return this.#modes.get(address)?.findLast((kept) => kept.height <= height)?.mode;
  }

  get #last(): KeptListing {
    return this.#listings[this.#listings.length - 1];
  }

  /** The listing that was valid at a height. */
  at(height: number): KeptListing {
    let low = 0;
    let high = this.#listings.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (this.#listings[middle].height <= height) low = middle;
      else high = middle - 1;
    }
    return this.#listings[low];
  }
}

function unpackChange(record: Buffer, height: number): ListingChange {
  return unpackJson(record, height, `the listing of height ${height}`) as ListingChange;
}

function applyChange(before: KeptListing, height: number, change: ListingChange): KeptListing {
  const { auction, isPartial = before.isPartial } = change;
  return {
    height,
    markets: applyMarkets(before.markets, change, height),
    auction: auction === undefined ? before.auction : decodeAuction(auction.recorded),
    isPartial,
    universes: decodeUniverses(change.universes, before.universes),
  };
}

function applyMarkets(
  before: MarketBook,
  { dexes, markets }: ListingChange,
  height: number,
): MarketBook {
  if (dexes === undefined && markets === undefined) return before;
  const list = [...before.markets];
  for (const [index, terms] of markets ?? []) {
    if (index > list.length) {
      const what = `the listing of height ${height}`;
      throw new DamagedRecord(
        `${what} has no market ${list.length}: a record before it is missing`,
      );
    }
    list[index] = createMarket(terms);
  }
  // The first dex has no deployer, and JSON omits a member that is undefined.
  const named = dexes?.map(({ name, fullName, deployer }) => ({ name, fullName, deployer }));
  return new MarketBook(named ?? [...before.dexes], list, undefined, before.tierTables);
}

/**
 * Adds the margin tables of a change. A record of the whole listing repeats known tables, which are
 * not added again.
 */
function addTierTables(known: TierTables, { tierTables }: ListingChange, height: number): void {
  if (tierTables === undefined) return;
  for (const [index, terms] of tierTables.added.entries()) {
    const number = tierTables.after + index + 1;
    if (known.findOrAdd(terms) === number) continue;
    const what = `the listing of height ${height}`;
    throw new DamagedRecord(
      `${what} has another margin table ${number}: a record before it is missing`,
    );
  }
  known.commit();
}
