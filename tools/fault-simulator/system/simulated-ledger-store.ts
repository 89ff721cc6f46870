/**
 * The embedded ledger's database on a simulated disk. It gives the guarantees of LMDB and no
 * others. A commit is complete or not there. After a power cut, all commits from some point after
 * the last flush are lost. A page that cannot be read ends the process with a signal.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type {
  BlockRecord,
  LedgerChanges,
  LedgerStore,
} from '../../../src/ledger/embedded/ledger-store.ts';
import type { DiskFaults } from './disk-faults.ts';
import type { Kernel } from './kernel.ts';
import { SIMULATED_ROOT } from './simulated-files.ts';

const COMMIT_MS_MAX = 2;
const FLUSH_MS_MAX = 4;
/** The interval at which a follower looks for new blocks. */
const LOOK_MS = 5;

interface Tables {
  readonly blocks: Map<number, Buffer>;
  readonly meta: Map<string, Buffer>;
  guard: number | undefined;
}

type Change = (tables: Tables) => void;

/** A record begins with the hash of its block. */
const HASH_BYTES = 32;

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function createTables(): Tables {
  return { blocks: new Map(), meta: new Map(), guard: undefined };
}

/** The bytes of the database, which all processes of the machine share. */
export class SimulatedLedgerFile {
  readonly #kernel: Kernel;
  readonly #faults: DiskFaults;
  #visible = createTables();
  #flushed = createTables();
  /** The commits since the last flush, in order. */
  #unflushed: Change[] = [];
  /** True once a writer has opened the ledger. */
  isCreated = false;

  constructor(kernel: Kernel, faults: DiskFaults) {
    this.#kernel = kernel;
    this.#faults = faults;
  }

  open(): LedgerStore {
    return new SimulatedLedgerStore(this, this.#kernel, this.#faults);
  }

  get tables(): Tables {
    if (this.#faults.failsReads()) this.#kernel.kill(this.#kernel.current); // SIGBUS.
    this.#kernel.requireRunning();
    return this.#visible;
  }

  /** Makes a change; throws if the disk is full, without any change. */
  commit(change: Change): void {
    this.#kernel.enterWrite();
    if (this.#faults.isFull) {
      throw Object.assign(new Error('No space left on device'), { code: 28 });
    }
    change(this.#visible);
    this.#unflushed.push(change);
  }

  flush(): void {
    this.#kernel.enterWrite();
    for (const change of this.#unflushed) change(this.#flushed);
    this.#unflushed = [];
  }

  /**
   * Cuts the power: the commits up to some point have reached the disk, and the later commits are
   * lost.
   */
  cutPower(): void {
    const kept = this.#kernel.random.below(this.#unflushed.length + 1);
    for (const change of this.#unflushed.slice(0, kept)) change(this.#flushed);
    this.#unflushed = [];
    this.#visible = {
      blocks: new Map(this.#flushed.blocks),
      meta: new Map(this.#flushed.meta),
      guard: this.#flushed.guard,
    };
  }

  #pickHeight(): number | undefined {
    const heights = [...this.#flushed.blocks.keys()].sort((a, b) => a - b);
    if (heights.length === 0) return undefined;
    // The last block is chosen often, because no later block links to it.
    return this.#kernel.random.chance(0.3) ? heights.at(-1) : this.#kernel.random.pick(heights);
  }

  /** Loses a stored block, and returns its height; returns undefined if there is no block. */
  loseBlock(): number | undefined {
    return this.#lose(this.#pickHeight());
  }

  /**
   * Loses the newest flushed block, and returns its height; returns undefined if there is no block.
   */
  loseLastBlock(): number | undefined {
    const heights = [...this.#flushed.blocks.keys()];
    return this.#lose(heights.length === 0 ? undefined : Math.max(...heights));
  }

  #lose(height: number | undefined): number | undefined {
    if (height === undefined) return undefined;
    for (const tables of [this.#visible, this.#flushed]) tables.blocks.delete(height);
    return height;
  }

  /**
   * Flips a bit of a stored block, and returns its height; returns undefined if there is no block.
   */
  flipBit(): number | undefined {
    const { random } = this.#kernel;
    const height = this.#pickHeight();
    if (height === undefined) return undefined;
    const flipped = Buffer.from(this.#flushed.blocks.get(height) ?? []);
    flipped[random.below(flipped.length)] ^= 1 << random.below(8);
    this.#replace(height, flipped);
    return height;
  }

  /** Changes a digit of a stored block to another digit, so that its line can still be read. */
  changeDigit(): number | undefined {
    const { random } = this.#kernel;
    const height = this.#pickHeight();
    if (height === undefined) return undefined;
    const changed = Buffer.from(this.#flushed.blocks.get(height) ?? []);
    const digits = [...changed.keys()].filter((at) => at >= HASH_BYTES && isDigit(changed[at]));
    changed[random.pick(digits)] ^= 1;
    this.#replace(height, changed);
    return height;
  }

  #replace(height: number, value: Buffer): void {
    for (const tables of [this.#visible, this.#flushed]) {
      if (tables.blocks.has(height)) tables.blocks.set(height, value);
    }
  }

  /** The stored blocks, for the checks after a run. */
  get blocks(): ReadonlyMap<number, Buffer> {
    return this.#visible.blocks;
  }
}

class SimulatedLedgerStore implements LedgerStore {
  readonly folder = `${SIMULATED_ROOT}/ledger`;
  readonly #file: SimulatedLedgerFile;
  readonly #kernel: Kernel;
  readonly #faults: DiskFaults;

  constructor(file: SimulatedLedgerFile, kernel: Kernel, faults: DiskFaults) {
    this.#file = file;
    this.#kernel = kernel;
    this.#faults = faults;
  }

  refresh(): void {}

  /** Watches like a file system that has no notifications of writes. */
  watchWrites() {
    const wait = (signal: AbortSignal): Promise<void> =>
      sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
    return { wait, noteFound: () => undefined, close: () => undefined };
  }

  readBlock(height: number): Buffer | undefined {
    return this.#file.tables.blocks.get(height);
  }

  readLastBlock(): BlockRecord | undefined {
    const { blocks } = this.#file.tables;
    let height = 0;
    for (const each of blocks.keys()) if (each > height) height = each;
    const value = blocks.get(height);
    return value === undefined ? undefined : { height, value };
  }

  *readBlocks(start: number, end: number, limit: number): Iterable<BlockRecord> {
    const heights = this.#heights((height) => height >= start && height <= end);
    for (const height of heights.slice(0, limit)) {
      const value = this.#file.tables.blocks.get(height);
      if (value !== undefined) yield { height, value };
    }
  }

  readHeights(end: number, limit: number): readonly number[] {
    return this.#heights((height) => height <= end).slice(0, limit);
  }

  #heights(isMeant: (height: number) => boolean): number[] {
    return [...this.#file.tables.blocks.keys()].filter(isMeant).sort((a, b) => a - b);
  }

  readMeta(name: string): Buffer | undefined {
    return this.#file.tables.meta.get(name);
  }

  readGuard(): number | undefined {
    return this.#file.tables.guard;
  }

  requireSpace(): void {
    if (this.#faults.isFull) throw new Error('no space left on device');
  }

  async transact<T>(change: (changes: LedgerChanges) => T): Promise<T> {
    await this.#delay(COMMIT_MS_MAX);
    const changes: Change[] = [];
    const result = change({
      putMeta: (name, value) => changes.push(({ meta }) => meta.set(name, value)),
      removeMeta: (name) => changes.push(({ meta }) => meta.delete(name)),
      putGuard: (guard) =>
        changes.push((tables) => {
          tables.guard = guard;
        }),
      removeBlock: (height) => changes.push(({ blocks }) => blocks.delete(height)),
    });
    this.#file.commit((tables) => {
      for (const each of changes) each(tables);
    });
    // This kind of transaction is synced when it returns.
    this.#file.flush();
    return result;
  }

  async append(
    records: readonly BlockRecord[],
    { from, to }: { from: number; to: number },
  ): Promise<boolean> {
    await this.#delay(COMMIT_MS_MAX);
    if (this.#file.tables.guard !== from) return false;
    this.#file.commit((tables) => {
      for (const { height, value } of records) tables.blocks.set(height, value);
      tables.guard = to;
    });
    return true;
  }

  async flush(): Promise<void> {
    await this.#delay(FLUSH_MS_MAX);
    this.#file.flush();
  }

  checkInPlace(): void {
    this.#kernel.requireRunning();
  }

  async check(): Promise<void> {
    this.checkInPlace();
  }

  async close(): Promise<void> {
    await this.#delay(COMMIT_MS_MAX);
  }

  async #delay(msMax: number): Promise<void> {
    this.#kernel.requireRunning();
    const delayMs = this.#kernel.random.between(0, msMax) + this.#faults.slowMs();
    await new Promise<void>((resolve) => this.#kernel.schedule(delayMs, resolve));
  }
}
