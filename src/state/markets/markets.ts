/**
 * Perp dexes and their markets: names, margin tiers, mark prices.
 *
 * The definitions of dexes and markets are few and rarely change. They are immutable objects in
 * lists, and a block copies the lists before it changes them. Mark prices change often and are in a
 * table.
 */

import type { EventOf } from '../../events/event.ts';
import { readUnits, USD_DECIMALS } from '../../events/fields.ts';
import { prefixRefusal, Refusal } from '../../events/refusal.ts';
import { formatAddress } from '../../exact/address.ts';
import { marketOfTerms, OWN_TIERS, tierTableOfTerms } from '../tables/columns.ts';
import { Table } from '../tables/table.ts';
import { createTiers } from './margin-formulas.ts';
import {
  areSameTiers,
  checkTiers,
  type MarginTier,
  type TierTerms,
  tierTermsOf,
} from './margin-tiers.ts';
import { TierTables } from './tier-tables.ts';

export interface Dex {
  readonly name: string;
  readonly fullName: string;
  /** The deployer in lower case; undefined for the first dex, which has no deployer. */
  readonly deployer: string | undefined;
}

export interface MarketTerms {
  readonly coin: string;
  /** Index into the list of dexes. */
  readonly dexIndex: number;
  readonly sizeDecimals: number;
  readonly tiers: readonly TierTerms[];
  readonly onlyIsolated: boolean;
}

export interface Market extends MarketTerms {
  readonly priceDecimals: number;
  readonly tiers: readonly MarginTier[];
}

const FIRST_DEX: Dex = { name: '', fullName: '', deployer: undefined };
/** A position packs its market's index into 20 bits. */
const MARKET_COUNT_MAX = 2 ** 20;

/** The columns of the table of mark prices. The row of a market is its index plus one. */
export const MARK_PRICE = 0;
/** The heights of the last change of the mark price, and of the market's terms. */
export const MARK_CHANGED_AT = 1;
export const TERMS_CHANGED_AT = 2;
/**
 * Row 0 is reserved: its TERMS_CHANGED_AT is the height of the last change of the list of dexes.
 */
const DEXES_ROW = 0;

export function createMarket(terms: MarketTerms): Market {
  const { coin, dexIndex, sizeDecimals, onlyIsolated } = terms;
  const priceDecimals = USD_DECIMALS - sizeDecimals;
  const tiers = createTiers(terms.tiers);
  return { coin, dexIndex, sizeDecimals, tiers, onlyIsolated, priceDecimals };
}

/** The terms that a market was created from. */
export function termsOf({
  coin,
  dexIndex,
  sizeDecimals,
  tiers,
  onlyIsolated,
}: Market): MarketTerms {
  return { coin, dexIndex, sizeDecimals, tiers: tierTermsOf(tiers), onlyIsolated };
}

/** A coin on dex "xyz" is named "xyz:NAME"; on the first dex its name has no colon. */
function checkCoinOfDex(coin: string, dex: string): void {
  const colon = coin.indexOf(':');
  const prefix = colon === -1 ? '' : coin.slice(0, colon);
  if (prefix === dex) return;
  throw new Refusal('coin', coin, dex === '' ? 'a coin without a colon' : `${dex}:NAME`);
}

export function areSameTerms(before: MarketTerms, after: MarketTerms): boolean {
  const { dexIndex, onlyIsolated, tiers } = after;
  return (
    before.dexIndex === dexIndex &&
    before.onlyIsolated === onlyIsolated &&
    areSameTiers(before.tiers, tiers)
  );
}

/** A price as an event gives it. */
interface GivenMark {
  readonly field: string;
  /** The index of the market. */
  readonly index: number;
  readonly text: unknown;
}

interface Listings {
  readonly dexes: Dex[];
  readonly markets: Market[];
}

export class MarketBook {
  #dexes: Dex[];
  #markets: Market[];
  /**
   * The lists before the current block. The current lists are the same objects until their first
   * change.
   */
  #committed: Listings;
  /** The current block's lists, while they are hidden. */
  #hidden: Listings;
  readonly #marks: Table;
  /** The margin tiers of positions whose tiers differ from those of their market. */
  readonly tierTables: TierTables;
  #indexByDex = new Map<string, number>();
  #indexByCoin = new Map<string, number>();

  constructor(
    dexes: Dex[] = [FIRST_DEX],
    markets: Market[] = [],
    marks = new Table(),
    tierTables = new TierTables(),
  ) {
    this.#dexes = dexes;
    this.#markets = markets;
    this.#committed = { dexes, markets };
    this.#hidden = this.#committed;
    this.#marks = marks;
    this.tierTables = tierTables;
    for (const [index, { name }] of dexes.entries()) this.#indexByDex.set(name, index);
    for (const [index, { coin }] of markets.entries()) this.#indexByCoin.set(coin, index);
  }

  /**
   * Returns the same dexes and markets with other marks. Both books share their indexes, so neither
   * may be written to.
   */
  withMarks(marks: Table): MarketBook {
    const book = new MarketBook([], [], marks, this.tierTables);
    book.#show({ dexes: this.#dexes, markets: this.#markets });
    book.#indexByDex = this.#indexByDex;
    book.#indexByCoin = this.#indexByCoin;
    return book;
  }

  get dexes(): readonly Dex[] {
    return this.#dexes;
  }

  /** The markets in order of their first `market` event. */
  get markets(): readonly Market[] {
    return this.#markets;
  }

  /** The margin tiers of a position with these terms: its own tiers, or those of its market. */
  tiersOf(terms: number): readonly MarginTier[] {
    return terms < OWN_TIERS
      ? this.#markets[marketOfTerms(terms)].tiers
      : this.tierTables.at(tierTableOfTerms(terms));
  }

  /** The mark prices, for a snapshot. */
  get marks(): Table {
    return this.#marks;
  }

  markPrice(marketIndex: number): number {
    return this.#marks.get(marketIndex + 1, MARK_PRICE);
  }

  markChangedAt(marketIndex: number): number {
    return this.#marks.get(marketIndex + 1, MARK_CHANGED_AT);
  }

  /** The height of the last change of a market's mark price or terms. */
  changedAt(marketIndex: number): number {
    return Math.max(
      this.#marks.get(marketIndex + 1, MARK_CHANGED_AT),
      this.#marks.get(marketIndex + 1, TERMS_CHANGED_AT),
    );
  }

  termsChangedAt(marketIndex: number): number {
    return this.#marks.get(marketIndex + 1, TERMS_CHANGED_AT);
  }

  get dexesChangedAt(): number {
    return this.#marks.get(DEXES_ROW, TERMS_CHANGED_AT);
  }

  findDex(name: string): number | undefined {
    const index = this.#indexByDex.get(name);
    // The index already contains the dexes of a hidden block.
    return index !== undefined && index < this.dexes.length ? index : undefined;
  }

  findMarket(coin: string): number | undefined {
    const index = this.#indexByCoin.get(coin);
    return index !== undefined && index < this.markets.length ? index : undefined; // as in findDex
  }

  requireDex(name: string): number {
    const index = this.findDex(name);
    if (index === undefined) throw new Refusal('dex', name, 'a known dex');
    return index;
  }

  requireMarket(coin: string): number {
    const index = this.#indexByCoin.get(coin);
    if (index === undefined) throw new Refusal('coin', coin, 'a known coin');
    return index;
  }

  /** Returns the lists for writing. A block copies the lists at its first change. */
  #writableLists(): Listings {
    const { dexes, markets } = this.#committed;
    if (this.#dexes === dexes) this.#show({ dexes: [...dexes], markets: [...markets] });
    return { dexes: this.#dexes, markets: this.#markets };
  }

  #show({ dexes, markets }: Listings): void {
    this.#dexes = dexes;
    this.#markets = markets;
  }

  applyPerpDex({ dex, fullName, deployer }: EventOf<'perpDex'>, height: number): void {
    if (this.#indexByDex.has(dex)) throw new Refusal('dex', dex, 'a new dex');
    const { dexes } = this.#writableLists();
    this.#indexByDex.set(dex, dexes.length);
    dexes.push({ name: dex, fullName, deployer: formatAddress(deployer) });
    this.#marks.set(DEXES_ROW, TERMS_CHANGED_AT, height);
  }

  applyMarket(event: EventOf<'market'>, height: number): void {
    const dexIndex = this.requireDex(event.dex);
    checkCoinOfDex(event.coin, event.dex);
    checkTiers(event.marginTiers);
    const terms = {
      coin: event.coin,
      dexIndex,
      sizeDecimals: event.szDecimals,
      tiers: event.marginTiers,
      onlyIsolated: event.onlyIsolated,
    };
    const index = this.#putMarket(terms, height);
    this.#setMark({ field: 'markPx', index, text: event.markPx }, height);
  }

  /**
   * Adds the market, or replaces the terms of an existing market; returns the index of the market.
   */
  #putMarket(terms: MarketTerms, height: number): number {
    const index = this.#indexByCoin.get(terms.coin);
    if (index !== undefined) {
      this.#replaceTerms(index, terms, height);
      return index;
    }
    const { markets } = this.#writableLists();
    if (markets.length === MARKET_COUNT_MAX) {
      throw new Refusal('coin', terms.coin, `at most ${MARKET_COUNT_MAX} markets`);
    }
    this.#indexByCoin.set(terms.coin, markets.length);
    this.#marks.set(this.#marks.addRow(), TERMS_CHANGED_AT, height);
    return markets.push(createMarket(terms)) - 1;
  }

  #replaceTerms(index: number, terms: MarketTerms, height: number): void {
    const before = this.#markets[index];
    if (terms.sizeDecimals !== before.sizeDecimals) {
      const expected = `${before.sizeDecimals}, which cannot change`;
      throw new Refusal('szDecimals', terms.sizeDecimals, expected);
    }
    if (areSameTerms(before, terms)) return;
    this.#writableLists().markets[index] = createMarket(terms);
    this.#marks.set(index + 1, TERMS_CHANGED_AT, height);
  }

  applyMarks({ prices }: EventOf<'marks'>, height: number): void {
    for (const { coin, price } of prices) {
      const index = this.#indexByCoin.get(coin);
      if (index === undefined) throw new Refusal('prices', coin, 'a known coin');
      try {
        this.#setMark({ field: coin, index, text: price }, height);
      } catch (error) {
        throw error instanceof Refusal ? prefixRefusal('prices', error) : error;
      }
    }
  }

  /** Setting a mark to the same price again does not count as a change. */
  #setMark({ field, index, text }: GivenMark, height: number): void {
    const price = readUnits(field, text, this.markets[index].priceDecimals);
    if (price <= 0) throw new Refusal(field, text, 'a price above 0');
    if (price === this.markPrice(index)) return;
    this.#marks.set(index + 1, MARK_PRICE, price);
    this.#marks.set(index + 1, MARK_CHANGED_AT, height);
  }

  /** Until `reveal`, reads return the committed values. */
  hide(): void {
    this.#hidden = { dexes: this.#dexes, markets: this.#markets };
    this.#show(this.#committed);
    this.#marks.hide();
  }

  reveal(): void {
    this.#show(this.#hidden);
    this.#marks.reveal();
  }

  commit(): void {
    this.#committed = { dexes: this.#dexes, markets: this.#markets };
    this.#marks.commit();
    this.tierTables.commit();
  }

  rollback(): void {
    const { dexes, markets } = this.#committed;
    for (const { name } of this.dexes.slice(dexes.length)) this.#indexByDex.delete(name);
    for (const { coin } of this.markets.slice(markets.length)) this.#indexByCoin.delete(coin);
    this.#show(this.#committed);
    this.#marks.rollback();
    this.tierTables.rollback();
  }
}
