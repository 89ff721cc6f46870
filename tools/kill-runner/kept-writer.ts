/** `perpinfo append` with an endless feed. It is started again whenever it is killed. */

import { formatAddress } from '../../src/exact/address.ts';
import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import { CHAIN_START, nextBlock } from '../../src/ledger/hash-chain.ts';
import type { ChainPoint } from '../../src/ledger/ledger.ts';
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { joinLines, type Program, start } from '../harness/program.ts';
import { until } from '../harness/running.ts';

const RUN_MS_MAX = 7_200_000;
const START_MS_MAX = 300_000;
/** Snapshots are frequent, so that some kills happen during a snapshot. */
const FLAGS = ['--snapshot-every', '20', '--snapshot-keep', '3'];

export interface KeptWriterOptions {
  readonly data: string;
  readonly seed: string;
  readonly accounts: number;
  noteViolation(message: string): void;
}

export class KeptWriter {
  readonly #options: KeptWriterOptions;
  readonly #simulator: Simulator;
  /** Every block that was ever made. `#points` has the hashes that the blocks must have. */
  readonly lines: string[] = [];
  readonly #points: ChainPoint[] = [CHAIN_START];
  #program: Program | undefined;
  /** The height at which the running program was started. */
  #startHeight = 0;
  #acknowledged = 0;
  #isStopping = false;
  #running: Promise<void> = Promise.resolve();

  private constructor(options: KeptWriterOptions) {
    this.#options = options;
    const { seed, accounts } = options;
    this.#simulator = createSimulator({ seed, accounts });
  }

  /** Starts the writer; resolves when the exchange is set up and its blocks are durable. */
  static async start(options: KeptWriterOptions): Promise<KeptWriter> {
    const writer = new KeptWriter(options);
    do writer.makeBlock();
    while (!writer.#simulator.isSetUp);
    writer.#running = writer.#run();
    const isDurable = () => writer.acknowledged >= writer.lines.length;
    await until('the start to be durable', isDurable, START_MS_MAX);
    return writer;
  }

  get pid(): number | undefined {
    return this.#program?.child.pid;
  }

  /** The highest height that any of the programs has acknowledged. */
  get acknowledged(): number {
    return Math.max(this.#acknowledged, this.#program?.acknowledged ?? 0);
  }

  /** True if the running program has acknowledged a block. */
  get isHealthy(): boolean {
    return (this.#program?.acknowledged ?? 0) > this.#startHeight;
  }

  get users(): string[] {
    const { addresses } = this.#simulator.state;
    return Array.from({ length: addresses.table.rowCount - 1 }, (_, index) =>
      formatAddress(addresses.addressOf(index + 1)),
    );
  }

  /** Returns the hash that the block must have in the ledger. */
  hashAt(height: number): Buffer | undefined {
    return this.#points[height]?.hash;
  }

  makeBlock(): void {
    const line = this.#simulator.next(Date.now());
    this.lines.push(line);
    this.#points.push(nextBlock(this.#points[this.#points.length - 1], Buffer.from(line)));
    this.#program?.child.stdin.write(`${line}\n`);
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      const height = await this.#readHeight();
      if (this.#isStopping) return;
      const program = start(['append', '--data', this.#options.data, ...FLAGS], {}, RUN_MS_MAX);
      this.#startHeight = height;
      this.#program = program;
      program.child.stdin.write(joinLines(this.lines.slice(height)));
      const { code, signal, stderr } = await program.ended;
      this.#acknowledged = this.acknowledged;
      this.#program = undefined;
      const isExpected = signal === 'SIGKILL' || (this.#isStopping && code === 0);
      if (!isExpected) this.#options.noteViolation(`append ended with ${code}: ${stderr}`);
    }
    await this.#readHeight();
  }

  /**
   * Reads the height of the ledger and checks its blocks, as a feed does after a crash: the feed
   * continues where the ledger ends.
   */
  async #readHeight(): Promise<number> {
    const { data, noteViolation } = this.#options;
    if (this.#acknowledged === 0) return 0;
    const ledger = await openEmbeddedLedger(data);
    try {
      const { height, hash } = await ledger.head();
      if (height < this.#acknowledged) {
        noteViolation(`the ledger ends at ${height}, ${this.#acknowledged} was acknowledged`);
      }
      if (!this.hashAt(height)?.equals(hash)) noteViolation(`block ${height} has another hash`);
      return height;
    } finally {
      await ledger.close();
    }
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#program?.child.stdin.end();
    await this.#running;
  }
}
