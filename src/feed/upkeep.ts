/**
 * What the writer of a ledger does beside writing, every so many blocks: a snapshot of its state, fewer
 * old ones, and fewer old blocks where that is wanted. None of it is needed for the next block:
 * whatever fails here is said, and blocks go on.
 */

import type { ChainPoint, LedgerWriter } from '../ledger/ledger.ts';
import { pruneLedger, type Retention } from '../replica/retention.ts';
import type { SnapshotFolder } from '../replica/snapshot-folder.ts';
import type { StateView } from '../state/state.ts';

export interface UpkeepOptions {
  readonly ledger: LedgerWriter;
  readonly snapshots: SnapshotFolder;
  /** At every Nth height. */
  readonly snapshotEvery: number;
  readonly snapshotKeep: number;
  /** Which blocks are kept when a snapshot was saved; all of them where it is undefined. */
  readonly retention?: Retention | undefined;
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

  /**
   * Called when all that was gathered is durable, since a snapshot must never be ahead of its ledger,
   * and before the next batch is stored, since a ledger does one thing at a time. Never throws.
   */
  async run(state: StateView, point: ChainPoint): Promise<void> {
    if (await this.#save(state, point)) await this.#prune(point.height);
  }

  async #save(state: StateView, point: ChainPoint): Promise<boolean> {
    const { snapshots, snapshotKeep, warn } = this.#options;
    try {
      await snapshots.save(state, point.hash);
      await snapshots.dropAhead(point.height);
      await snapshots.keepNewest(snapshotKeep);
      return true;
    } catch (error) {
      warn(`the snapshot of height ${point.height} was not saved: ${(error as Error).message}`);
      return false;
    }
  }

  async #prune(savedHeight: number): Promise<void> {
    const { ledger, snapshots, retention, warn } = this.#options;
    if (retention === undefined) return;
    try {
      await pruneLedger({ ledger, snapshots, retention, savedHeight });
    } catch (error) {
      warn(`old blocks were not pruned: ${(error as Error).message}`);
    }
  }
}
