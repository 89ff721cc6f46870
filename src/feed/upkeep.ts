/**
 * What the writer of a ledger does beside writing, every so many blocks: a snapshot of its state, and
 * fewer old ones. Snapshots are a cache: whatever fails here is said, and blocks go on.
 */

import type { ChainPoint } from '../ledger/ledger.ts';
import type { SnapshotFolder } from '../ledger/snapshots.ts';
import type { StateView } from '../state/state.ts';

export interface UpkeepOptions {
  readonly snapshots: SnapshotFolder;
  /** At every Nth height. */
  readonly snapshotEvery: number;
  readonly snapshotKeep: number;
  /** Something could not be done that nothing depends on. */
  warn(message: string): void;
}

export class Upkeep {
  readonly #options: UpkeepOptions;

  constructor(options: UpkeepOptions) {
    this.#options = options;
  }

  isDue(height: number): boolean {
    return height % this.#options.snapshotEvery === 0;
  }

  /** Only of what is durable: a snapshot must never be ahead of its ledger. Never throws. */
  async run(state: StateView, point: ChainPoint): Promise<void> {
    const { snapshots, snapshotKeep, warn } = this.#options;
    try {
      await snapshots.save(state, point.hash);
      await snapshots.dropAhead(point.height);
      await snapshots.keepNewest(snapshotKeep);
    } catch (error) {
      warn(`the snapshot of height ${point.height} was not saved: ${(error as Error).message}`);
    }
  }
}
