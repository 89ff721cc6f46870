/** The simulated exchange, live: a block at every beat of the clock, into a ledger. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type ChainPoint, nextBlock } from '../ledger/ledger.ts';
import { Committer } from './committer.ts';
import type { Simulator } from './simulator/simulator.ts';
import { Upkeep, type UpkeepOptions } from './upkeep.ts';

/** The start is written without waiting; this much of it at a time. */
const GATHERED_BYTES_MAX = 4 << 20;

/** Its snapshots are saved while blocks go on, which pruning may not. */
export interface LiveSimulationOptions extends Omit<UpkeepOptions, 'retention'> {
  readonly simulator: Simulator;
  readonly intervalMs: number;
}

/** Writes what a simulator makes; it has applied each block to a state of its own already. */
export class LiveSimulation {
  readonly #options: LiveSimulationOptions;
  readonly #committer: Committer;
  readonly #upkeep: Upkeep;
  #point: ChainPoint;
  #saving = Promise.resolve();

  constructor(options: LiveSimulationOptions, head: ChainPoint) {
    this.#options = options;
    this.#committer = new Committer(options.ledger, () => undefined);
    this.#upkeep = new Upkeep(options);
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
    const { intervalMs } = this.#options;
    while (!signal.aborted) {
      const startedMs = performance.now();
      this.#writeBlock();
      await this.#committer.settle();
      if (this.#upkeep.isDue(this.#point.height)) await this.#startUpkeep();
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

  /** Blocks go on meanwhile. */
  async #startUpkeep(): Promise<void> {
    await this.#saving;
    this.#saving = this.#upkeep.run(this.#options.simulator.state, this.#point);
  }
}
