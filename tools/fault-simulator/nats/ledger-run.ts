/**
 * Two writers and a reader of one ledger on simulated NATS servers, while faults start and end. A
 * block that a writer believes to be stored must stay, and the reader must see one chain.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { CHAIN_START, nextBlock } from '../../../src/ledger/hash-chain.ts';
import { openJetStreamLedger } from '../../../src/ledger/jetstream/jetstream-ledger.ts';
import { openJetStreamLedgerWriter } from '../../../src/ledger/jetstream/jetstream-writer.ts';
import {
  type ChainPoint,
  LedgerError,
  type LedgerWriter,
  type StoredBlock,
} from '../../../src/ledger/ledger.ts';
import { DiskFaults } from '../system/disk-faults.ts';
import { Kernel, type SimulatedProcess } from '../system/kernel.ts';
import { SimulatedFiles } from '../system/simulated-files.ts';
import { onSystem } from '../system/virtual-system.ts';
import { SimulatedNats } from './simulated-nats.ts';

const NAME = 'ledger';
const BATCH_MAX = 5;
const PAUSE_MS_MAX = 500;
const RETRY_MS = 500;
const APPEND_RETRY_MS = 20_000;
/**
 * The time after the faults, first with and then without writers: elections take seconds, and
 * leases expire.
 */
const SETTLE_MS = 20_000;

export interface RunTerms {
  readonly seed: string;
  readonly serverCount: 1 | 3;
  /** The time for which writers write and faults happen. */
  readonly faultyMs: number;
  /** Plans the faults: schedules their start and end. */
  plan(run: LedgerRun): void;
}

export interface RunResult {
  readonly traceHash: string;
  /** The number of blocks that each writer believes to be stored. */
  readonly acknowledgedCounts: ReadonlyMap<string, number>;
  readonly height: number;
  /** Things that happened although they must not happen. */
  readonly failures: readonly string[];
  /** The number of faults by kind. */
  readonly faultCounts: ReadonlyMap<string, number>;
}

export class LedgerRun {
  readonly kernel: Kernel;
  readonly nats: SimulatedNats;
  readonly failures: string[] = [];
  readonly acknowledgedCounts = new Map<string, number>();
  readonly faultCounts = new Map<string, number>();
  readonly #acknowledged = new Map<number, StoredBlock>();
  /** The blocks that the reader has seen. */
  readonly #read: StoredBlock[] = [];
  readonly writers: SimulatedProcess[] = [];
  reader: SimulatedProcess | undefined;
  /** True if no further faults will happen. */
  isMended = false;
  #isOver = false;

  constructor({ seed, serverCount }: RunTerms) {
    this.kernel = new Kernel(seed);
    this.nats = new SimulatedNats(this.kernel, serverCount);
  }

  /** Starts a process for the first time, or starts a killed process again. */
  startWriter(index: number): void {
    const name = `writer ${index + 1}`;
    const main = () => void this.#keepWriting(name);
    this.writers[index] = this.kernel.start(name, main, `host ${index + 1}`);
  }

  startReader(): void {
    this.reader = this.kernel.start('reader', () => void this.#keepReading(), 'host 3');
  }

  async #keepWriting(name: string): Promise<void> {
    while (!this.#isOver) {
      const writer = await this.#tryToOpen(() =>
        openJetStreamLedgerWriter({ ...this.nats.options(NAME), retryMs: APPEND_RETRY_MS }),
      );
      if (writer === undefined) await sleep(RETRY_MS);
      else await this.#try(() => this.#write(name, writer));
      await writer?.close();
    }
  }

  async #write(name: string, writer: LedgerWriter): Promise<void> {
    const { random } = this.kernel;
    let head = await writer.head();
    while (!this.#isOver) {
      const blocks: StoredBlock[] = [];
      for (let count = 1 + random.below(BATCH_MAX); count > 0; count--) {
        head = nextBlock(head, Buffer.from(`${name} ${head.height + 1}`));
        blocks.push(head as StoredBlock);
      }
      await writer.append(blocks);
      this.#note(name, blocks);
      await sleep(random.between(0, PAUSE_MS_MAX));
    }
  }

  #note(name: string, blocks: readonly StoredBlock[]): void {
    const count = this.acknowledgedCounts.get(name) ?? 0;
    this.acknowledgedCounts.set(name, count + blocks.length);
    for (const block of blocks) {
      const other = this.#acknowledged.get(block.height);
      if (other !== undefined) this.failures.push(`block ${block.height} was acknowledged twice`);
      this.#acknowledged.set(block.height, block);
    }
  }

  async #keepReading(): Promise<void> {
    for (;;) {
      const ledger = await this.#tryToOpen(() => openJetStreamLedger(this.nats.options(NAME)));
      if (ledger === undefined) await sleep(RETRY_MS);
      else await this.#try(() => this.#followFrom(ledger));
      await ledger?.close();
    }
  }

  async #followFrom(ledger: Awaited<ReturnType<typeof openJetStreamLedger>>): Promise<void> {
    const after = this.#read.length;
    for await (const batch of ledger.follow(after, new AbortController().signal)) {
      for (const block of batch) this.#check(block);
    }
  }

  #check(block: StoredBlock): void {
    const previous: ChainPoint = this.#read.at(-1) ?? CHAIN_START;
    const expected = nextBlock(previous, block.line);
    if (expected.height !== block.height || !expected.hash.equals(block.hash)) {
      this.failures.push(`block ${block.height} does not follow block ${previous.height}`);
    }
    this.#read.push(block);
  }

  /**
   * Tries to open the ledger. A server that was paused or cut off may believe for some seconds that
   * it still leads, and may not know a ledger that was created in the meantime. So the error
   * "missing" is excused until the ledger was read.
   */
  #tryToOpen<T>(work: () => Promise<T>): Promise<T | undefined> {
    const excused = this.isMended && this.#acknowledged.size > 0 ? [] : ['missing'];
    return this.#try(work, excused);
  }

  /**
   * Returns undefined after an error that faults may cause. Any other error is a failure of the
   * run.
   */
  async #try<T>(work: () => Promise<T>, excused: string[] = []): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      const name = this.kernel.current.name;
      this.kernel.trace(`${name}: ${(error as Error).message}`);
      const fault = error instanceof LedgerError ? error.fault : 'unexpected';
      const isCaused = ['busy', 'conflict', 'unavailable', ...excused].includes(fault);
      if (!isCaused) this.failures.push(`${name}: ${fault}: ${(error as Error).stack}`);
      return undefined;
    }
  }

  async finish({ faultyMs }: RunTerms): Promise<RunResult> {
    const { kernel, nats } = this;
    await kernel.run(faultyMs);
    this.isMended = true;
    nats.mend();
    for (const process of [...this.writers, this.reader]) {
      if (process !== undefined) kernel.resume(process);
    }
    await kernel.run(kernel.nowMs + SETTLE_MS);
    this.#isOver = true;
    await kernel.run(kernel.nowMs + SETTLE_MS);
    return {
      traceHash: kernel.traceHash,
      acknowledgedCounts: this.acknowledgedCounts,
      height: this.#compareAll(),
      failures: this.failures,
      faultCounts: this.faultCounts,
    };
  }

  /** Checks that every acknowledged block is stored, and that every stored block was read. */
  #compareAll(): number {
    const stream = this.nats.streams.find(NAME);
    const height = stream?.lastSeq ?? 0;
    const lineOf = (at: number) => stream?.get(at)?.data.toString();
    for (const { height: at, line } of this.#acknowledged.values()) {
      if (lineOf(at) !== line.toString()) this.failures.push(`block ${at} was lost`);
    }
    if (this.#read.length !== height) {
      this.failures.push(`the reader has read ${this.#read.length} of ${height} blocks`);
    }
    for (const { height: at, line } of this.#read) {
      if (lineOf(at) !== line.toString()) this.failures.push(`block ${at} was read otherwise`);
    }
    return height;
  }
}

export async function runLedger(terms: RunTerms): Promise<RunResult> {
  const run = new LedgerRun(terms);
  const { kernel, nats } = run;
  const files = new SimulatedFiles(kernel, new DiskFaults(kernel.random));
  return onSystem({ kernel, files, connect: nats.connect }, async () => {
    run.startWriter(0);
    run.startWriter(1);
    run.startReader();
    terms.plan(run);
    return run.finish(terms);
  });
}
