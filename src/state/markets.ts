/**
 * Perp dexes and their markets: names, margin tiers, mark prices.
 *
 * Definitions are few and rarely change: they are immutable objects in lists that are copied on write,
 * once per block. Mark prices change constantly and live in a table.
 */

import type { EventOf } from '../events/event.ts';
import { readUnits, USD_DECIMALS } from '../events/fields.ts';
import { prefixRefusal, Refusal } from '../events/refusal.ts';
import { formatAddress } from '../exact/address.ts';
import {
  add,
  divideFloor,
  type Exact,
  formatUnits,
  greatestCommonDivisor,
  multiply,
} from '../exact/decimal.ts';
import { Table } from './table.ts';

export interface Dex {
  readonly name: string;
  readonly fullName: string;
  /** In lower case; undefined for the first dex, which has no deployer. */
  readonly deployer: string | undefined;
}

/** A margin tier as an event gives it. */
export interface TierTerms {
  readonly lowerBound: number;
  readonly maxLeverage: number;
}

/**
 * The maintenance margin of a position value x in this tier is x / (2 * maxLeverage) - deduction.
 * The deduction makes the margin continuous across tiers. It is an exact fraction in lowest terms.
 */
export interface MarginTier extends TierTerms {
  readonly deductionNumerator: Exact;
  readonly deductionDenominator: Exact;
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
const TIER_COUNT_MAX = 100;
/** A position packs its market's index into 20 bits. */
const MARKET_COUNT_MAX = 2 ** 20;

/** The columns of a mark's row; a market's row is its index plus one. */
export const MARK_PRICE = 0;
/** The heights of the last change of the mark price, and of the market's terms. */
export const MARK_CHANGED_AT = 1;
export const TERMS_CHANGED_AT = 2;
/** Row 0 is no market's: its TERMS_CHANGED_AT is that of the list of dexes. */
const DEXES_ROW = 0;

/** deduction(i) = deduction(i-1) + lowerBound(i) * (1 / 2m(i) - 1 / 2m(i-1)), with m = maxLeverage */
function addDeduction(previous: MarginTier, terms: TierTerms): MarginTier {
  const stepNumerator = multiply(terms.lowerBound, previous.maxLeverage - terms.maxLeverage);
  const stepDenominator = 2 * terms.maxLeverage * previous.maxLeverage;
  const numerator = add(
    multiply(previous.deductionNumerator, stepDenominator),
    multiply(stepNumerator, previous.deductionDenominator),
  );
  const denominator = multiply(previous.deductionDenominator, stepDenominator);
  const divisor = greatestCommonDivisor(numerator, denominator);
  return createTier(terms, divideFloor(numerator, divisor), divideFloor(denominator, divisor));
}

/** All tiers are created here, so that they share one hidden class and reads stay monomorphic. */
function createTier(
  { lowerBound, maxLeverage }: TierTerms,
  deductionNumerator: Exact,
  deductionDenominator: Exact,
): MarginTier {
  return { lowerBound, maxLeverage, deductionNumerator, deductionDenominator };
}

export function createMarket(terms: MarketTerms): Market {
  const tiers: MarginTier[] = [];
  for (const tier of terms.tiers) {
    const previous = tiers.at(-1);
    tiers.push(previous === undefined ? createTier(tier, 0, 1) : addDeduction(previous, tier));
  }
  const { coin, dexIndex, sizeDecimals, onlyIsolated } = terms;
  const priceDecimals = USD_DECIMALS - sizeDecimals;
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
  const given = tiers.map(({ lowerBound, maxLeverage }) => ({ lowerBound, maxLeverage }));
  return { coin, dexIndex, sizeDecimals, tiers: given, onlyIsolated };
}

function checkTiers(tiers: readonly TierTerms[]): void {
  if (tiers.length === 0 || tiers.length > TIER_COUNT_MAX) {
    throw new Refusal('marginTiers', tiers, `1 to ${TIER_COUNT_MAX} tiers`);
  }
  tiers.forEach(({ lowerBound }, index) => {
    const isFirst = index === 0;
    if (isFirst ? lowerBound === 0 : lowerBound > tiers[index - 1].lowerBound) return;
    const shown = formatUnits(lowerBound, USD_DECIMALS);
    const expected = isFirst ? '0.0 in the first tier' : 'more than the lowerBound before it';
    throw new Refusal(`marginTiers[${index}].lowerBound`, shown, expected);
  });
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
    before.tiers.length === tiers.length &&
    before.tiers.every(
      ({ lowerBound, maxLeverage }, index) =>
        lowerBound === tiers[index].lowerBound && maxLeverage === tiers[index].maxLeverage,
    )
  );
}

/** A price as an event gives it. */
interface GivenMark {
  readonly field: string;
  /** The market's. */
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
  /** The lists before the current block; shared with the current ones until their first change. */
  #committed: Listings;
  /** The current block's lists, while they are hidden. */
  #hidden: Listings;
  readonly #marks: Table;
  #indexByDex = new Map<string, number>();
  #indexByCoin = new Map<string, number>();

  constructor(dexes: Dex[] = [FIRST_DEX], markets: Market[] = [], marks = new Table()) {
    this.#dexes = dexes;
    this.#markets = markets;
    this.#committed = { dexes, markets };
    this.#hidden = this.#committed;
    this.#marks = marks;
    for (const [index, { name }] of dexes.entries()) this.#indexByDex.set(name, index);
    for (const [index, { coin }] of markets.entries()) this.#indexByCoin.set(coin, index);
  }

  /** The same dexes and markets with other marks, sharing the indexes; neither may be written to. */
  withMarks(marks: Table): MarketBook {
    const book = new MarketBook([], [], marks);
    book.#show({ dexes: this.#dexes, markets: this.#markets });
    book.#indexByDex = this.#indexByDex;
    book.#indexByCoin = this.#indexByCoin;
    return book;
  }

  get dexes(): readonly Dex[] {
    return this.#dexes;
  }

  /** In order of their first `market` event. */
  get markets(): readonly Market[] {
    return this.#markets;
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
    // The index already has the dexes of a hidden block.
    return index !== undefined && index < this.dexes.length ? index : undefined;
  }

  findMarket(coin: string): number | undefined {
    const index = this.#indexByCoin.get(coin);
    return index !== undefined && index < this.markets.length ? index : undefined; // as findDex
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

  /** The lists for writing: copied at the first change of a block. */
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

  /** Adds the market, or replaces the terms of an existing one; returns its index. */
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

  /** A mark that is set to what it was has not changed. */
  #setMark({ field, index, text }: GivenMark, height: number): void {
    const price = readUnits(field, text, this.markets[index].priceDecimals);
    if (price <= 0) throw new Refusal(field, text, 'a price above 0');
    if (price === this.markPrice(index)) return;
    this.#marks.set(index + 1, MARK_PRICE, price);
    this.#marks.set(index + 1, MARK_CHANGED_AT, height);
  }

  /** Until `reveal`, reads return what was committed. */
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
  }

  rollback(): void {
    const { dexes, markets } = this.#committed;
    for (const { name } of this.dexes.slice(dexes.length)) this.#indexByDex.delete(name);
    for (const { coin } of this.markets.slice(markets.length)) this.#indexByCoin.delete(coin);
    this.#show(this.#committed);
    this.#marks.rollback();
  }
}
