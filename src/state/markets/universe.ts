/**
 * The lists of dexes and markets of another server, stored unchanged. Clients number the markets by
 * their places in these lists, so an element that we cannot read takes a place too. Our own numbers
 * of dexes and markets, in the order of their first events, never change.
 */

import { isJsonObject } from '../../events/fields.ts';

/** A market as the server lists it. */
export interface ListedMarket {
  readonly coin: string;
  readonly isDelisted: boolean;
}

interface UniverseHeights {
  /** The height of the event that contained the text. */
  readonly changedAt: number;
  /** The height of the last event that changed the order of the ledger's markets. */
  readonly orderedAt: number;
}

/** The markets of a dex: the server's answer to `meta`. */
export class Universe implements UniverseHeights {
  readonly text: string;
  readonly changedAt: number;
  readonly orderedAt: number;
  #markets: readonly (ListedMarket | undefined)[] | undefined;
  #places: ReadonlyMap<string, number> | undefined;

  constructor(text: string, { changedAt, orderedAt }: UniverseHeights) {
    this.text = text;
    this.changedAt = changedAt;
    this.orderedAt = orderedAt;
  }

  /** The markets by place; undefined for an element that names no market. */
  get markets(): readonly (ListedMarket | undefined)[] {
    this.#markets ??= (this.#parse()['universe'] as unknown[]).map(readListed);
    return this.#markets;
  }

  /** The place of a coin; undefined if it is not listed. */
  placeOf(coin: string): number | undefined {
    this.#places ??= placesOf(this.markets.map((market) => market?.coin));
    return this.#places.get(coin);
  }

  /** The margin table with this number, as JSON text; undefined if it is not listed. */
  tableOf(id: number): string | undefined {
    const tables = this.#parse()['marginTables'];
    if (!Array.isArray(tables)) return undefined;
    const found = tables.find((pair) => Array.isArray(pair) && pair[0] === id);
    return found === undefined ? undefined : JSON.stringify(found[1] ?? null);
  }

  #parse(): Record<string, unknown> {
    return JSON.parse(this.text);
  }
}

function readListed(row: unknown): ListedMarket | undefined {
  if (!isJsonObject(row)) return undefined;
  const { name, isDelisted } = row;
  return typeof name === 'string' ? { coin: name, isDelisted: isDelisted === true } : undefined;
}

/** If a name occurs twice, the first place counts. */
function placesOf(names: readonly (string | undefined)[]): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const [place, name] of names.entries()) {
    if (name !== undefined && !places.has(name)) places.set(name, place);
  }
  return places;
}

/** The dexes: the server's answer to `perpDexs`. */
export class DexList {
  readonly text: string;
  readonly changedAt: number;
  /** The names by place; undefined for an element that names no dex. */
  readonly names: readonly (string | undefined)[];
  readonly #places: ReadonlyMap<string, number>;

  constructor(text: string, changedAt: number) {
    this.text = text;
    this.changedAt = changedAt;
    this.names = (JSON.parse(text) as unknown[]).map(readDexName);
    this.#places = placesOf(this.names);
  }

  /** The first dex always exists, whether the list names it or not. */
  has(dex: string): boolean {
    return dex === '' || this.#places.has(dex);
  }
}

/** A null in the first place is the first dex, whose name is empty. */
function readDexName(item: unknown, place: number): string | undefined {
  if (item === null && place === 0) return '';
  const name = isJsonObject(item) ? item['name'] : undefined;
  return typeof name === 'string' ? name : undefined;
}

/**
 * The lists of another server. The object never changes: a block that changes a list replaces the
 * object.
 */
export interface Universes {
  /** Undefined if no event has listed the dexes. */
  readonly dexes: DexList | undefined;
  /** The lists by the index of the dex. A dex is absent while no event has listed its markets. */
  readonly byDex: ReadonlyMap<number, Universe>;
}

export const NO_UNIVERSES: Universes = { dexes: undefined, byDex: new Map() };

/** The lists as JSON, for snapshots and archives. */
export interface DescribedUniverses {
  readonly dexes?: DescribedList | undefined;
  readonly byDex: readonly (readonly [dexIndex: number, universe: DescribedUniverse])[];
}

interface DescribedList {
  readonly text: string;
  readonly changedAt: number;
}

interface DescribedUniverse extends DescribedList {
  readonly orderedAt: number;
}

export function describeUniverses({ dexes, byDex }: Universes): DescribedUniverses {
  return {
    dexes: dexes && { text: dexes.text, changedAt: dexes.changedAt },
    byDex: [...byDex].map(([dexIndex, { text, changedAt, orderedAt }]) => [
      dexIndex,
      { text, changedAt, orderedAt },
    ]),
  };
}

/** Decodes the described lists. A list that is not described is taken from `before`. */
export function decodeUniverses(
  described: DescribedUniverses = { byDex: [] },
  before: Universes = NO_UNIVERSES,
): Universes {
  const { dexes, byDex } = described;
  return {
    dexes: dexes === undefined ? before.dexes : new DexList(dexes.text, dexes.changedAt),
    byDex: new Map([
      ...before.byDex,
      ...byDex.map(([dexIndex, universe]): [number, Universe] => [
        dexIndex,
        new Universe(universe.text, universe),
      ]),
    ]),
  };
}
