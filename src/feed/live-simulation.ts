/** The simulated exchange, live: a block at every beat of the clock, into a ledger. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type ChainPoint, type LedgerWriter, nextBlock } from '../ledger/ledger.ts';
import type { SnapshotFolder } from '../ledger/snapshots.ts';
import { Committer } from './committer.ts';
import type { Simulator } from './simulator/simulator.ts';

/** The start is written without waiting; this much of it at a time. */
const GATHERED_BYTES_MAX = 4 << 20;

export interface LiveSimulationOptions {
  readonly simulator: Simulator;
  readonly ledger: LedgerWriter;
  readonly snapshots: SnapshotFolder;
  readonly snapshotEvery: number;
  readonly snapshotKeep: number;
  readonly intervalMs: number;
}

/** Writes what a simulator makes; it has applied each block to a state of its own already. */
export class LiveSimulation {
  readonly #options: LiveSimulationOptions;
  readonly #committer: Committer;
  #point: ChainPoint;
  #saving = Promise.resolve();

  constructor(options: LiveSimulationOptions, head: ChainPoint) {
    this.#options = options;
    this.#committer = new Committer(options.ledger, () => undefined);
    this.#point = head;
  }

  /** Makes the exchange ready to trade. */
  async setUp(): Promise<void> {
    do {
      this.#writeBlock();
      if (this.#committer.gatheredBytes > GATHERED_BYTES_MAX) await this.#committer.settle();
    } while (!this.#options.simulator.isSetUp);
    await this.#committer.settle();
  }

  /** Goes on until the signal, at the pace of the clock. */
  async run(signal: AbortSignal): Promise<void> {
    const { intervalMs, snapshotEvery } = this.#options;
    while (!signal.aborted) {
      const startedMs = performance.now();
      this.#writeBlock();
      await this.#committer.settle();
      if (this.#point.height % snapshotEvery === 0) await this.#startSnapshot();
      const restMs = Math.max(0, intervalMs - (performance.now() - startedMs));
      await sleep(restMs, undefined, { signal }).catch(() => undefined);
    }
    await this.#saving;
  }

  #writeBlock(): void {
    const line = this.#options.simulator.next(Date.now());
    const block = nextBlock(this.#point, Buffer.from(line));
    this.#committer.gather(block);
    this.#point = { height: block.height, hash: block.hash };
  }

  /** Blocks go on while it is written; one that failed ends the simulation when the next is due. */
  async #startSnapshot(): Promise<void> {
    await this.#saving;
    this.#saving = this.#saveSnapshot();
    this.#saving.catch(() => undefined);
  }

  async #saveSnapshot(): Promise<void> {
    const { simulator, snapshots, snapshotKeep } = this.#options;
    await snapshots.save(simulator.state, this.#point.hash);
    await snapshots.keepNewest(snapshotKeep);
  }
}
