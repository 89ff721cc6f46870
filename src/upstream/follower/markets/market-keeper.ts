/**
 * Keeps the directory of markets up to date: reads dexes, markets and margin tiers at an interval.
 */

import type { StateView } from '../../../state/state.ts';
import type { Clock } from '../../client/limits/clock.ts';
import type { QuestionAsker } from '../../client/question-asker.ts';
import { UpstreamError } from '../../client/upstream-error.ts';
import { DialectError } from '../../dialect/dialect.ts';
import {
  type DexListings,
  type MetaListing,
  type OddElement,
  ONLY_FIRST_DEX,
  readAllPerpMetas,
  readMeta,
  readPerpDexs,
} from '../../dialect/market-answers.ts';
import {
  createDirectory,
  type MarketDirectory,
  type SkippedListing,
} from '../../dialect/market-directory.ts';
import type { PendingChanges } from '../blocks/pending-changes.ts';
import type { FollowAudit } from '../follow-audit.ts';
import { PeriodicTask } from '../periodic-task.ts';

const INTERVAL_MS = 60_000;
/**
 * The minimum time between two reads of the markets for accounts that do not fit the known markets.
 * This time grows while the reads find no changes, or fail.
 */
const REFRESH_MS_MIN = 2_000;
/**
 * If the question for all dexes has no usable answer, each dex is read with a separate question for
 * this time.
 */
const ALL_METAS_RETRY_MS = 300_000;
const ALL_METAS = { type: 'allPerpMetas' };
const UPKEEP = { priority: 'upkeep' } as const;
const FIRST_DEX = '';

export interface MarketKeeperOptions {
  readonly upstream: QuestionAsker;
  readonly ledger: StateView;
  readonly pending: Pick<PendingChanges, 'setDirectory'>;
  readonly audit: Pick<FollowAudit, 'warn' | 'warnOnce'>;
  readonly clock: Clock;
  /** Reads the marks of dexes that are new in the directory. */
  readMarks(dexes: readonly string[], directory: MarketDirectory): Promise<void>;
  /** Called after the directory was read. */
  updated(): void;
}

export class MarketKeeper {
  readonly #options: MarketKeeperOptions;
  readonly #task: PeriodicTask;
  #readMs: number | undefined;
  #reading: Promise<void> | undefined;
  #metas: ReadonlyMap<string, MetaListing> = new Map();
  /** When the question for all dexes last had no usable answer. */
  #allMetasFailedMs = Number.NEGATIVE_INFINITY;
  #hasDexes = false;
  #metasText = '';
  #triedMs = Number.NEGATIVE_INFINITY;
  #refreshMs = REFRESH_MS_MIN;
  #skipped: ReadonlySet<string> = new Set();
  /** The metas of the last answer for all dexes that could not be read. */
  #oddMetas: OddElement[] = [];

  constructor(options: MarketKeeperOptions) {
    this.#options = options;
    const { clock, audit } = options;
    this.#task = new PeriodicTask({
      clock,
      intervalMs: () => INTERVAL_MS,
      run: () => this.#read(),
      failed: (error) => audit.warn(`markets not read: ${error.message}`),
    });
  }

  /** The age of the directory; undefined before the first read. */
  get ageMs(): number | undefined {
    return this.#readMs === undefined ? undefined : this.#options.clock.nowMs() - this.#readMs;
  }

  /** Reads the markets again, unless they were read just before. Never rejects. */
  async refresh(): Promise<void> {
    const { clock, audit } = this.#options;
    if (clock.nowMs() - this.#triedMs < this.#refreshMs) return;
    const before = this.#metasText;
    try {
      await this.#read();
    } catch (error) {
      audit.warn(`markets not read: ${(error as Error).message}`);
      // A server that fails may answer again at any time.
      if (!(error instanceof DialectError)) return;
    }
    const isUseless = this.#metasText === before;
    this.#refreshMs = isUseless ? Math.min(2 * this.#refreshMs, INTERVAL_MS) : REFRESH_MS_MIN;
  }

  /** Elements of the upstream's lists that cannot be used, with the reasons. */
  get skipped(): readonly string[] {
    return [...this.#skipped];
  }

  stop(): void {
    this.#task.stop();
  }

  /** Reads the markets. Callers at the same time share one read. */
  #read(): Promise<void> {
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = undefined;
      this.#triedMs = this.#options.clock.nowMs();
    });
    return this.#reading;
  }

  async #readAll(): Promise<void> {
    const { ledger, pending, clock } = this.#options;
    const dexes = await this.#readDexes();
    const known = this.#metas;
    this.#metas = await this.#readMetas(dexes);
    this.#metasText = JSON.stringify([...this.#metas]);
    const directory = createDirectory(ledger, { dexes, metas: this.#metas });
    this.#reportSkipped([...this.#oddMetas, ...directory.skipped]);
    // The marks of the first markets are not read here: the first message of the push connection
    // has them, or the mark keeper asks for them.
    const found = [...this.#metas.keys()].filter((dex) => !known.has(dex));
    if (known.size > 0) await this.#options.readMarks(found, directory);
    pending.setDirectory(directory);
    this.#readMs = clock.nowMs();
    this.#options.updated();
  }

  async #readDexes(): Promise<DexListings> {
    try {
      const dexes = orThrow(
        readPerpDexs(await this.#options.upstream.ask({ type: 'perpDexs' }, UPKEEP)),
      );
      this.#hasDexes = true;
      return dexes;
    } catch (error) {
      // A server that has answered this question before knows the question, so a refusal has
      // another reason.
      const isUnknown = error instanceof UpstreamError && error.kind === 'refused';
      if (!isUnknown || this.#hasDexes) throw error;
      return ONLY_FIRST_DEX;
    }
  }

  async #readMetas(dexes: DexListings): Promise<ReadonlyMap<string, MetaListing>> {
    const { clock, audit } = this.#options;
    if (clock.nowMs() - this.#allMetasFailedMs >= ALL_METAS_RETRY_MS) {
      const metas = await this.#readAllMetas(dexes);
      if (!(metas instanceof Error)) return this.#withKnown(dexes, metas);
      this.#allMetasFailedMs = clock.nowMs();
      const about = 'markets are read dex by dex';
      audit.warnOnce(`${about}: allPerpMetas: ${metas.message}`, about);
    }
    return this.#readEachMeta(dexes);
  }

  /**
   * Returns the metas of all dexes. For a dex whose meta cannot be read, returns the meta that is
   * known.
   */
  #withKnown(
    { dexes }: DexListings,
    metas: ReadonlyMap<string, MetaListing>,
  ): ReadonlyMap<string, MetaListing> {
    const read = new Map<string, MetaListing>();
    for (const { name } of dexes.filter((dex) => dex !== undefined)) {
      const meta = metas.get(name) ?? this.#metas.get(name);
      if (meta !== undefined) read.set(name, meta);
    }
    return read;
  }

  async #readAllMetas(
    dexes: DexListings,
  ): Promise<ReadonlyMap<string, MetaListing> | DialectError | UpstreamError> {
    this.#oddMetas = [];
    try {
      const json = await this.#options.upstream.ask(ALL_METAS, UPKEEP);
      return readAllPerpMetas(json, dexes, this.#oddMetas);
    } catch (error) {
      if (error instanceof UpstreamError && error.kind === 'refused') return error;
      throw error;
    }
  }

  /**
   * Reads the meta of each dex. For a dex that cannot be read, returns the meta that is known.
   * Throws if the first dex cannot be read.
   */
  async #readEachMeta({ dexes }: DexListings): Promise<ReadonlyMap<string, MetaListing>> {
    this.#oddMetas = [];
    const metas = new Map<string, MetaListing>();
    for (const { name } of dexes.filter((dex) => dex !== undefined)) {
      const meta = await this.#readMetaOf(name);
      if (!(meta instanceof Error)) {
        metas.set(name, meta);
        continue;
      }
      if (name === FIRST_DEX) throw meta;
      this.#options.audit.warn(`markets of dex ${name} not read: ${meta.message}`);
      const known = this.#metas.get(name);
      if (known !== undefined) metas.set(name, known);
    }
    return metas;
  }

  /** Returns the markets of a dex, or the error if only this dex cannot be read. */
  async #readMetaOf(dex: string): Promise<MetaListing | DialectError | UpstreamError> {
    try {
      return readMeta(await this.#options.upstream.ask({ type: 'meta', dex }, UPKEEP));
    } catch (error) {
      const isOfDex = error instanceof UpstreamError && ['refused', 'server'].includes(error.kind);
      if (isOfDex) return error;
      throw error;
    }
  }

  /** Logs each skipped element once. */
  #reportSkipped(skipped: readonly SkippedListing[]): void {
    const lines = skipped.map(({ name, reason }) => `${name} is not listed here: ${reason}`);
    for (const line of lines) if (!this.#skipped.has(line)) this.#options.audit.warn(line);
    this.#skipped = new Set(lines);
  }
}

function orThrow<T>(value: T | DialectError): T {
  if (value instanceof DialectError) throw value;
  return value;
}
