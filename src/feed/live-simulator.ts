/** The simulated exchange as a feed of live blocks, timed by this machine's clock. */

import { setTimeout as sleep } from 'node:timers/promises';
import { nextBlock } from '../ledger/hash-chain.ts';
import type { ChainPoint, StoredBlock } from '../ledger/ledger.ts';
import type { Simulator } from '../simulator/simulator.ts';
import type { StateView } from '../state/state.ts';
import type { WriterState } from './block-writer.ts';
import type { Feed, FeedBlock } from './feed.ts';

function makeBlock(simulator: Simulator): [FeedBlock] {
  return [{ line: Buffer.from(simulator.next(Date.now())) }];
}

/** Creates a feed of the blocks that set up the exchange, as fast as they can be written. */
export function createSetUpFeed(simulator: Simulator): Feed {
  return {
    name: 'simulator',
    async *blocks(_start, signal) {
      do yield makeBlock(simulator);
      while (!simulator.isSetUp && !signal.aborted);
    },
  };
}

/** Creates a feed with one block per interval, until the signal aborts. */
export function createTradingFeed(simulator: Simulator, intervalMs: number): Feed {
  return {
    name: 'simulator',
    async *blocks(_start, signal) {
      while (!signal.aborted) {
        const startedMs = performance.now();
        yield makeBlock(simulator);
        const restMs = Math.max(0, intervalMs - (performance.now() - startedMs));
        await sleep(restMs, undefined, { signal });
      }
    },
  };
}

/**
 * The simulator's state, for the writer of its feeds. The simulator has already applied each block.
 * Simulator and writer stay at the same block, because the simulator makes a block only when the
 * previous block is applied.
 */
export class SimulatedState implements WriterState {
  readonly #simulator: Simulator;
  #point: ChainPoint;

  constructor(simulator: Simulator, head: ChainPoint) {
    this.#simulator = simulator;
    this.#point = head;
  }

  get state(): StateView {
    return this.#simulator.state;
  }

  get point(): ChainPoint {
    return this.#point;
  }

  extend(line: Buffer): StoredBlock {
    const block = nextBlock(this.#point, line);
    this.#point = { height: block.height, hash: block.hash };
    return block;
  }
}
