/**
 * Reads the upstream's lists of dexes and markets: `perpDexs`, `meta` of one dex, and
 * `allPerpMetas` of all dexes. Whether our events can describe a dex or a market is decided in
 * market-directory.ts.
 */

import type { WireEvent } from '../../events/event.ts';
import type { FieldReader } from '../../events/fields.ts';
import { describeValue, Refusal } from '../../events/refusal.ts';
import { type DialectError, readAnswer, readItems, readOpen } from './dialect.ts';

/** A dex as the upstream lists it; the values are not checked yet. */
interface DexListing {
  readonly name: string;
  readonly fullName: unknown;
  readonly deployer: unknown;
}

/**
 * An element of an answer that cannot be used. The element is skipped, and the rest of the answer
 * is used.
 */
export interface OddElement {
  /** The place of the element in the answer. */
  readonly name: string;
  readonly reason: string;
}

/** An answer of `perpDexs`. */
export interface DexListings {
  /** The dexes by their place in the answer; undefined for an element without the name of a dex. */
  readonly dexes: readonly (DexListing | undefined)[];
  readonly odd: readonly OddElement[];
  /** The unchanged answer; undefined if the upstream was not asked. */
  readonly json: readonly unknown[] | undefined;
}

/** A market as the upstream lists it; the values are not checked yet. */
interface MarketListing {
  readonly name: string;
  readonly szDecimals: unknown;
  /** The tiers of the market's margin table; undefined if the upstream does not list this table. */
  readonly tiers: readonly unknown[] | undefined;
  readonly onlyIsolated: boolean;
  /**
   * True if the market is no longer traded. Its element stays in the universe, so that the places
   * of other markets do not change.
   */
  readonly isDelisted: boolean;
}

/** The markets of a dex, in the order in which the upstream lists their contexts. */
export interface MetaListing {
  /**
   * The markets by their place in the answer; undefined for an element without the name of a
   * market.
   */
  readonly universe: readonly (MarketListing | undefined)[];
  /** The index of the spot token in which accounts of this dex are denominated. */
  readonly collateralToken: number;
  /** All margin tables of the dex, including unused tables. The tiers are not checked yet. */
  readonly marginTables: readonly (readonly unknown[])[];
  readonly odd: readonly OddElement[];
  /** The unchanged answer. */
  readonly json: unknown;
}

/** The first dex. Its name in the interface is "". */
const FIRST_DEX: DexListing = { name: '', fullName: '', deployer: undefined };
/** The list for a server that does not know the question `perpDexs`. */
export const ONLY_FIRST_DEX: DexListings = { dexes: [FIRST_DEX], odd: [], json: [null] };
/** The list before `perpDexs` was asked. */
export const NO_DEXES: DexListings = { dexes: [], odd: [], json: undefined };
/** The index of the spot token USDC. */
const FIRST_TOKEN = 0;
/**
 * A table number below this number needs no listed table: then the number is the maximum leverage
 * of a single tier.
 */
const TABLE_NUMBERS_FROM = 50;
/** Margin modes which mean that a market allows only isolated positions. */
const ISOLATED_MODES: readonly unknown[] = ['strictIsolated', 'noCross'];

/**
 * The maximum number of markets of all dexes. Exchanges have some hundred markets; many thousands
 * would block other work for too long.
 */
const MARKETS_MAX = 10_000;
const DEXES_MAX = 1_000;

/**
 * Returns the dexes in the answer's order. At place 0, `null` stands for the first dex; at another
 * place, `null` means that the place has no dex.
 */
export function readPerpDexs(json: unknown): DexListings | DialectError {
  return readAnswer(() => {
    const items = readItems(json, (item) => item);
    if (items.length > DEXES_MAX) throw new Refusal('', json, `at most ${DEXES_MAX} dexes`);
    const odd: OddElement[] = [];
    const dexes = items.map((item, place) => {
      if (item === null) return place === 0 ? FIRST_DEX : undefined;
      const dex = readOr(odd, `perpDexs[${place}]`, () => readDex(item));
      return place === 0 ? (dex ?? FIRST_DEX) : dex;
    });
    return { dexes, odd, json: items };
  });
}

function readDex(item: unknown): DexListing {
  return readOpen(item, (fields) => ({
    name: fields.text('name'),
    fullName: fields.take('fullName'),
    deployer: fields.take('deployer'),
  }));
}

/**
 * Returns the value that `read` returns. If `read` refuses the element, adds the element to `odd`
 * and returns undefined.
 */
function readOr<T>(odd: OddElement[], name: string, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    odd.push(describeOdd(name, error));
    return undefined;
  }
}

export function readMeta(json: unknown): MetaListing | DialectError {
  return readAnswer(() => readMetaFields(json));
}

/**
 * Returns the metas of all dexes by name. The answer has one meta for each place of `dexes`, or
 * only for the places that have a dex. A meta that cannot be read is added to `odd` and left out.
 */
export function readAllPerpMetas(
  json: unknown,
  { dexes }: DexListings,
  odd: OddElement[] = [],
): Map<string, MetaListing> | DialectError {
  return readAnswer(() => {
    const items = readItems(json, (item) => item);
    const named = dexes.filter((dex) => dex !== undefined);
    const places = items.length === dexes.length ? dexes : named;
    if (items.length !== places.length) {
      throw new Refusal('', json, `${dexes.length} metas, one for each dex`);
    }
    const metas = new Map<string, MetaListing>();
    for (const [place, dex] of places.entries()) {
      if (dex === undefined) continue;
      const meta = readOr(odd, `allPerpMetas[${place}]`, () => readMetaFields(items[place]));
      if (meta === undefined) continue;
      if (places.length < dexes.length || named.length < dexes.length) checkIsOf(dex, meta);
      metas.set(dex.name, meta);
    }
    checkCount(json, metas);
    if (metas.size === 0) throw new Refusal('', json, 'a meta that can be read');
    return metas;
  });
}

/**
 * Checks that a meta belongs to the dex. If a place has no dex, the metas after it may be at other
 * places than their dexes.
 */
function checkIsOf({ name }: DexListing, { universe }: MetaListing): void {
  const other = universe.find(
    (market) => market !== undefined && market.name.split(':').slice(0, -1).join() !== name,
  );
  if (other !== undefined) throw new Refusal('universe', other.name, `a coin of dex "${name}"`);
}

function checkCount(json: unknown, metas: ReadonlyMap<string, MetaListing>): void {
  const count = [...metas.values()].reduce((sum, { universe }) => sum + universe.length, 0);
  if (count > MARKETS_MAX) throw new Refusal('', json, `at most ${MARKETS_MAX} markets`);
}

/** Reads a meta, or the first part of `metaAndAssetCtxs`. Throws a Refusal if the form is wrong. */
export function readMetaFields(json: unknown): MetaListing {
  return readOpen(json, (fields) => {
    const odd: OddElement[] = [];
    const tables = readTables(fields, odd);
    const items = fields.list('universe', (item) => item);
    if (items.length > MARKETS_MAX) {
      throw new Refusal('universe', items, `at most ${MARKETS_MAX} markets`);
    }
    const universe = items.map((item, place) =>
      readOr(odd, `universe[${place}]`, () => readListing(item, tables)),
    );
    const token = readOr(odd, 'collateralToken', () => readToken(fields));
    return {
      universe,
      collateralToken: token ?? FIRST_TOKEN,
      marginTables: [...tables.values()],
      odd,
      json,
    };
  });
}

function readToken(fields: FieldReader): number {
  const token = fields.take('collateralToken') ?? FIRST_TOKEN;
  if (typeof token === 'number' && Number.isSafeInteger(token) && token >= 0) return token;
  throw new Refusal('collateralToken', token, 'a whole number, 0 or more');
}

type Tiers = readonly unknown[];

/**
 * Returns the margin tables by number. Without tables, a market has a single tier, or cannot be
 * used.
 */
function readTables(fields: FieldReader, odd: OddElement[]): ReadonlyMap<unknown, Tiers> {
  const tables = fields.take('marginTables') ?? [];
  if (!Array.isArray(tables)) {
    odd.push(describeOdd('marginTables', new Refusal('', tables, 'an array')));
    return new Map();
  }
  const read = tables.map((item, place) =>
    readOr(odd, `marginTables[${place}]`, () => readTable(item)),
  );
  return new Map(read.filter((table) => table !== undefined));
}

/** Describes a refused element. If the element itself is refused, the refusal names no field. */
function describeOdd(name: string, { field, value, expected, message }: Refusal): OddElement {
  const reason = field === '' ? `got ${describeValue(value)}, expected ${expected}` : message;
  return { name, reason };
}

function readTable(source: unknown): [unknown, Tiers] {
  if (!Array.isArray(source) || source.length !== 2) {
    throw new Refusal('', source, 'a pair of table number and table');
  }
  const [id, table] = source;
  return [id, readOpen(table, (fields) => fields.list('marginTiers', readTier))];
}

/** Reads only those fields of a tier that our events have. */
function readTier(source: unknown): unknown {
  return readOpen(source, (fields) => ({
    lowerBound: fields.take('lowerBound'),
    maxLeverage: fields.take('maxLeverage'),
  }));
}

function readListing(source: unknown, tables: ReadonlyMap<unknown, Tiers>): MarketListing {
  return readOpen(source, (fields) => ({
    name: fields.text('name'),
    szDecimals: fields.take('szDecimals'),
    tiers: tiersOf(fields, tables),
    onlyIsolated:
      fields.take('onlyIsolated') === true || ISOLATED_MODES.includes(fields.take('marginMode')),
    isDelisted: fields.take('isDelisted') === true,
  }));
}

function tiersOf(fields: FieldReader, tables: ReadonlyMap<unknown, Tiers>): Tiers | undefined {
  const maxLeverage = fields.take('maxLeverage');
  const id = fields.take('marginTableId') ?? undefined;
  if (id === undefined) return [{ lowerBound: '0.0', maxLeverage }];
  const isSingleTier = typeof id === 'number' && id < TABLE_NUMBERS_FROM;
  return tables.get(id) ?? (isSingleTier ? [{ lowerBound: '0.0', maxLeverage: id }] : undefined);
}

/**
 * Returns the event that lists a market. The values are not checked here: the event's parser and
 * the fold check them.
 */
export function describeUpstreamMarket(
  dex: string,
  { name, szDecimals, tiers, onlyIsolated }: MarketListing,
  markPx: string,
): WireEvent {
  return { type: 'market', dex, coin: name, szDecimals, marginTiers: tiers, onlyIsolated, markPx };
}
