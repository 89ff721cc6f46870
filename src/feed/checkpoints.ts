/**
 * A writer's checkpoints: a snapshot of its state, then the snapshots and blocks that need not be
 * kept are deleted. The next block does not depend on any of it: failures are warnings.
 */

import type { ChainPoint, LedgerWriter } from '../ledger/ledger.ts';
import { pruneLedger, type Retention } from '../replica/retention.ts';
import type { SnapshotFolder } from '../replica/snapshot-folder.ts';
import { SnapshotSchedule } from '../replica/snapshot-schedule.ts';
import type { StateView } from '../state/state.ts';

export interface CheckpointOptions {
  readonly ledger: LedgerWriter;
  readonly snapshots: SnapshotFolder;
  /** A snapshot at every Nth height. */
  readonly snapshotEvery: number;
  /** Number of snapshots to keep. */
  readonly snapshotKeep: number;
  /** Which blocks to keep; all of them where it is undefined. */
  readonly retention?: Retention | undefined;
  /** Something failed that no block depends on. */
  warn(message: string): void;
}

export class Checkpoints {
  readonly #options: CheckpointOptions;
  readonly #schedule: SnapshotSchedule;

  constructor(options: CheckpointOptions, height: number) {
    this.#options = options;
    this.#schedule = SnapshotSchedule.atMultiples(options.snapshotEvery, height);
  }

  isDue(height: number): boolean {
    return this.#schedule.isDue(height);
  }

  /**
   * To be called when all blocks up to the point are durable: a snapshot is never ahead of its
   * ledger. With a retention, no block may be stored before it resolves. Never rejects.
   */
  async run(state: StateView, point: ChainPoint): Promise<void> {
    this.#schedule.started(point.height);
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
