/**
 * Keeps a replica's snapshots while it follows: every so many blocks the state is saved in its folder,
 * and published where this replica is the one that does. Several processes may share a folder; one
 * of them saves.
 */

import type { Replica } from '../replica.ts';
import type { SharedSnapshots } from './shared-snapshots.ts';
import type { SnapshotFolder } from './snapshots.ts';

export interface KeeperOptions {
  readonly snapshots: SnapshotFolder;
  readonly shared: SharedSnapshots;
  readonly every: number;
  readonly keep: number;
  warn(message: string): void;
}

/** Replicas save at different heights, so that not all of them stand still at once. */
const SPREAD_SHARE = 0.25;

export class SnapshotKeeper {
  readonly #options: KeeperOptions;
  #dueHeight: number;
  #publishing: Promise<void> | undefined;

  constructor(options: KeeperOptions) {
    this.#options = options;
    const newest = options.snapshots.heights().at(-1) ?? 0;
    this.#dueHeight = newest + this.#interval();
  }

  #interval(): number {
    const { every } = this.#options;
    return every + Math.floor(Math.random() * every * SPREAD_SHARE);
  }

  /** Called between batches; the state must not change until it is done. */
  async keep({ state, point }: Replica): Promise<void> {
    if (point.height < this.#dueHeight) return;
    const { snapshots, keep, warn } = this.#options;
    this.#dueHeight = point.height + this.#interval();
    if (!snapshots.claim()) return;
    try {
      await snapshots.save(state, point.hash);
      await snapshots.keepNewest(keep);
      this.#publishing ??= this.#publish(point.height);
    } catch (error) {
      warn(`the snapshot of height ${point.height} was not saved: ${(error as Error).message}`);
    }
  }

  /** In the background: the file does not change any more. */
  async #publish(height: number): Promise<void> {
    const { snapshots, shared, warn } = this.#options;
    try {
      await shared.publish(snapshots, height);
    } catch (error) {
      warn(`the snapshot of height ${height} was not published: ${(error as Error).message}`);
    } finally {
      this.#publishing = undefined;
    }
  }

  /** Waits for what is being published. */
  async close(): Promise<void> {
    await this.#publishing;
  }
}
