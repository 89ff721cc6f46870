/**
 * What the upstream lists: `perpDexs`, `meta` of one dex, `allPerpMetas` of all of them. Whether the
 * vocabulary can hold a dex or a market is decided by the directory that is made of it.
 */

import type { WireEvent } from '../../../events/event.ts';
import type { FieldReader } from '../../../events/fields.ts';
import { Refusal } from '../../../events/refusal.ts';
import { type DialectError, readAnswer, readItems, readOpen } from './dialect.ts';

/** A dex as the upstream lists it; the values are not checked yet. */
export interface DexListing {
  readonly name: string;
  readonly fullName: unknown;
  readonly deployer: unknown;
}

/** A market as the upstream lists it; the values are not checked yet. */
interface MarketListing {
  readonly name: string;
  readonly szDecimals: unknown;
  /** Undefined if the market's table is not listed. */
  readonly tiers: readonly unknown[] | undefined;
  readonly onlyIsolated: boolean;
  /** Nobody trades it; it only has its place in the universe. */
  readonly isDelisted: boolean;
}

/** The markets of a dex, in the order in which the upstream lists their contexts. */
export interface MetaListing {
  readonly universe: readonly MarketListing[];
  /** The index of the spot token that accounts of this dex are kept in. */
  readonly collateralToken: number;
}

/** The name under which the interface knows the first dex. */
const FIRST_DEX: DexListing = { name: '', fullName: '', deployer: undefined };
/** USDC. */
const FIRST_TOKEN = 0;
/** A lower table number that is not listed is the maximum leverage of a single tier. */
const TABLE_NUMBERS_FROM = 50;
/** Further ways to say that a market is only isolated. */
const ISOLATED_MODES: readonly unknown[] = ['strictIsolated', 'noCross'];

/** Exchanges have some hundreds; to list many thousands would hold up everything else. */
const MARKETS_MAX = 10_000;
const DEXES_MAX = 1_000;

/** The dexes in their order: `null` is the first one. */
export function readPerpDexs(json: unknown): DexListing[] | DialectError {
  return readAnswer(() => {
    const dexes = readItems(json, (item, index) => {
      if (index === 0 && item === null) return FIRST_DEX;
      return readOpen(item, (fields) => ({
        name: fields.text('name'),
        fullName: fields.take('fullName'),
        deployer: fields.take('deployer'),
      }));
    });
    if (dexes.length > DEXES_MAX) throw new Refusal('', json, `at most ${DEXES_MAX} dexes`);
    return dexes;
  });
}

export function readMeta(json: unknown): MetaListing | DialectError {
  return readAnswer(() => readMetaFields(json));
}

/** The metas of all dexes: as many as there are dexes, in their order. */
export function readAllPerpMetas(
  json: unknown,
  dexes: readonly DexListing[],
): Map<string, MetaListing> | DialectError {
  return readAnswer(() => {
    const metas = readItems(json, readMetaFields);
    if (metas.length !== dexes.length) {
      throw new Refusal('', json, `${dexes.length} metas, one for each dex`);
    }
    const count = metas.reduce((sum, { universe }) => sum + universe.length, 0);
    if (count > MARKETS_MAX) throw new Refusal('', json, `at most ${MARKETS_MAX} markets`);
    return new Map(metas.map((meta, index) => [dexes[index].name, meta]));
  });
}

/** Throws a Refusal; also for the first part of `metaAndAssetCtxs`. */
export function readMetaFields(json: unknown): MetaListing {
  return readOpen(json, (fields) => {
    const tables = new Map(fields.list('marginTables', readTable));
    const universe = fields.list('universe', (item) => readListing(item, tables));
    if (universe.length > MARKETS_MAX) {
      throw new Refusal('universe', universe, `at most ${MARKETS_MAX} markets`);
    }
    return { universe, collateralToken: readToken(fields) };
  });
}

function readToken(fields: FieldReader): number {
  const token = fields.take('collateralToken') ?? FIRST_TOKEN;
  if (typeof token === 'number' && Number.isSafeInteger(token) && token >= 0) return token;
  throw new Refusal('collateralToken', token, 'a whole number, 0 or more');
}

type Tiers = readonly unknown[];

function readTable(source: unknown): [unknown, Tiers] {
  if (!Array.isArray(source) || source.length !== 2) {
    throw new Refusal('', source, 'a pair of table number and table');
  }
  const [id, table] = source;
  return [id, readOpen(table, (fields) => fields.list('marginTiers', readTier))];
}

/** Without fields that the vocabulary does not have. */
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
  const id = fields.take('marginTableId') ?? maxLeverage;
  const isSingleTier = typeof id === 'number' && id < TABLE_NUMBERS_FROM;
  return tables.get(id) ?? (isSingleTier ? [{ lowerBound: '0.0', maxLeverage: id }] : undefined);
}

/** The event that lists a market; the parser and the fold say what is wrong with it, if anything. */
export function describeUpstreamMarket(
  dex: string,
  { name, szDecimals, tiers, onlyIsolated }: MarketListing,
  markPx: string,
): WireEvent {
  return { type: 'market', dex, coin: name, szDecimals, marginTiers: tiers, onlyIsolated, markPx };
}
