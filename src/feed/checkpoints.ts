/**
 * A writer's checkpoints. A checkpoint saves a snapshot, and then deletes the snapshots and blocks
 * that are no longer retained. No block depends on a checkpoint, so failures are only warnings.
 */

import type { ChainPoint, LedgerWriter } from '../ledger/ledger.ts';
import { type PruneOptions, pruneLedger, type Retention } from '../replica/retention.ts';
import type { SnapshotFolder } from '../replica/snapshot-folder.ts';
import { SnapshotSchedule } from '../replica/snapshot-schedule.ts';
import type { StateView } from '../state/state.ts';

export interface CheckpointOptions extends Pick<PruneOptions, 'blocksMax' | 'archivedHeight'> {
  readonly ledger: LedgerWriter;
  readonly snapshots: SnapshotFolder;
  /** A snapshot is saved at each multiple of this number of heights. */
  readonly snapshotEvery: number;
  /** Number of snapshots to keep. */
  readonly snapshotKeep: number;
  /** Says which blocks to keep; undefined to keep all blocks. */
  readonly retention?: Retention | undefined;
  /** Called when a snapshot or pruning fails. */
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
   * Call this only when all blocks up to the point are durable, because a snapshot must never be
   * ahead of its ledger. If there is a retention, no block may be stored before the promise
   * resolves. Never rejects.
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
    const { ledger, snapshots, retention, blocksMax, archivedHeight, warn } = this.#options;
    if (retention === undefined) return;
    const options = { ledger, snapshots, retention, savedHeight, blocksMax, archivedHeight };
    try {
      const { reason, isForArchive } = await pruneLedger(options);
      if (isForArchive) warn(`old blocks were not pruned: ${reason}`);
    } catch (error) {
      warn(`old blocks were not pruned: ${(error as Error).message}`);
    }
  }
}
