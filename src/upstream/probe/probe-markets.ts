/** The server's markets, as far as a probe needs them to read marks and accounts. */

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
/** The maximum number of dexes whose accounts are compared. */
const DEXES_MAX = 20;

export class ProbeMarkets {
  #dexes: DexListings = ONLY_FIRST_DEX;
  directory: MarketDirectory = createDirectory(createState(), {
    dexes: NO_DEXES,
    metas: new Map(),
  });
  /** The server's unchanged answers with all dexes and all markets, by type of question. */
  readonly answers = new Map<string, unknown>();

  get dexes(): string[] {
    const named = this.#dexes.dexes.flatMap((dex) => dex?.name ?? []);
    return named.slice(0, DEXES_MAX);
  }

  /** The coins of the markets of the first dex that are traded, in the server's order. */
  get coins(): string[] {
    return this.directory.listTraded(FIRST_DEX).map(({ coin }) => coin);
  }

  /**
   * Reads an answer about markets. Returns the reason why it cannot be read; returns undefined if
   * it can be read.
   */
  take(type: string, json: unknown): string | undefined {
    const fault = this.#take(type, json);
    return fault instanceof DialectError ? fault.message : undefined;
  }

  #take(type: string, json: unknown): unknown {
    if (type === 'perpDexs') {
      const dexes = readPerpDexs(json);
      if (dexes instanceof DialectError) return dexes;
      this.#dexes = dexes;
      this.answers.set(type, json);
      return undefined;
    }
    if (type === 'metaAndAssetCtxs') return readMetaAndAssetCtxs(json, '', this.directory);
    if (type === 'allPerpMetas') return this.#takeAll(json);
    if (type === 'meta') return this.#takeFirst(json);
    return undefined;
  }

  #takeAll(json: unknown): DialectError | undefined {
    const metas = readAllPerpMetas(json, this.#dexes);
    if (metas instanceof DialectError) return metas;
    this.answers.set('allPerpMetas', json);
    this.#list(metas);
    return undefined;
  }

  /**
   * Takes the markets of the first dex, for a server that does not answer the question for all
   * dexes.
   */
  #takeFirst(json: unknown): DialectError | undefined {
    const meta = readMeta(json);
    if (meta instanceof DialectError) return meta;
    if (!this.answers.has('allPerpMetas')) this.#list(new Map([[FIRST_DEX, meta]]));
    return undefined;
  }

  #list(metas: ReadonlyMap<string, MetaListing>): void {
    this.directory = createDirectory(createState(), { dexes: this.#dexes, metas });
  }
}
