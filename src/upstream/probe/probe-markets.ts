/** What a probe knows of the server's markets: enough to read marks and accounts by. */

import { createState } from '../../state/state.ts';
import { DialectError } from '../dialect/dialect.ts';
import { readMetaAndAssetCtxs } from '../dialect/mark-answers.ts';
import {
  type DexListings,
  type MetaListing,
  NO_DEXES,
  ONLY_FIRST_DEX,
  readAllPerpMetas,
  readMeta,
  readPerpDexs,
} from '../dialect/market-answers.ts';
import { createDirectory, type MarketDirectory } from '../dialect/market-directory.ts';

const FIRST_DEX = '';
/** Dexes whose accounts are compared: an exchange has some. */
const DEXES_MAX = 20;

export class ProbeMarkets {
  #dexes: DexListings = ONLY_FIRST_DEX;
  directory: MarketDirectory = createDirectory(createState(), {
    dexes: NO_DEXES,
    metas: new Map(),
  });
  /** As the server answered them, by dex. */
  readonly metas = new Map<string, unknown>();

  get dexes(): string[] {
    const named = this.#dexes.dexes.flatMap((dex) => dex?.name ?? []);
    return named.slice(0, DEXES_MAX);
  }

  /** The markets of the first dex that are traded, in the server's order. */
  get coins(): string[] {
    return this.directory.listTraded(FIRST_DEX).map(({ coin }) => coin);
  }

  /** Reads an answer that is about markets; returns why it cannot be read. */
  take(type: string, json: unknown): string | undefined {
    const fault = this.#take(type, json);
    return fault instanceof DialectError ? fault.message : undefined;
  }

  #take(type: string, json: unknown): unknown {
    if (type === 'perpDexs') {
      const dexes = readPerpDexs(json);
      if (!(dexes instanceof DialectError)) this.#dexes = dexes;
      return dexes;
    }
    if (type === 'metaAndAssetCtxs') return readMetaAndAssetCtxs(json, '', this.directory);
    if (type === 'allPerpMetas') return this.#takeAll(json);
    if (type === 'meta') return this.#takeFirst(json);
    return undefined;
  }

  #takeAll(json: unknown): DialectError | undefined {
    const metas = readAllPerpMetas(json, this.#dexes);
    if (metas instanceof DialectError) return metas;
    for (const [name, meta] of metas) this.metas.set(name, meta.json);
    this.#list(metas);
    return undefined;
  }

  /** Of a server that has no answer for all dexes at once. */
  #takeFirst(json: unknown): DialectError | undefined {
    const meta = readMeta(json);
    if (meta instanceof DialectError) return meta;
    if (this.metas.size > 0) return undefined;
    this.metas.set(FIRST_DEX, json);
    this.#list(new Map([[FIRST_DEX, meta]]));
    return undefined;
  }

  #list(metas: ReadonlyMap<string, MetaListing>): void {
    this.directory = createDirectory(createState(), { dexes: this.#dexes, metas });
  }
}
