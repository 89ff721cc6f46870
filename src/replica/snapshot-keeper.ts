/**
 * Saves snapshots of a replica while it follows the ledger, and publishes them where this replica holds
 * the lease. Several processes may share a folder: the earliest one still running saves.
 */

import type { Presence } from '../ledger/embedded/presence.ts';
import type { Replica } from './replica.ts';
import type { SharedSnapshots } from './shared-snapshots.ts';
import type { SnapshotFolder } from './snapshot-folder.ts';
import { SnapshotSchedule } from './snapshot-schedule.ts';

export interface KeeperOptions {
  readonly snapshots: SnapshotFolder;
  readonly shared: SharedSnapshots;
  readonly every: number;
  readonly keep: number;
  /** A snapshot was not saved or published. It is a cache: the replica goes on. */
  warn(message: string): void;
}

/** How often a process that does not save checks whether it has become the earliest. */
const LOOK_MS = 500;

export class SnapshotKeeper {
  readonly #options: KeeperOptions;
  readonly #schedule: SnapshotSchedule;
  #saving: Promise<void> | undefined;
  #publishing: Promise<void> | undefined;
  /** Once true, true for good: nobody can come earlier. */
  #isFirst = false;
  #looking: Promise<void> | undefined;
  #presence: Presence | undefined;
  readonly #timer: NodeJS.Timeout;

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#startLook(), LOOK_MS);
    this.#timer.unref();
    this.#startLook();
    this.#schedule = SnapshotSchedule.spread(options.every, this.#newestHeight());
  }

  #newestHeight(): number {
    try {
      return this.#options.snapshots.heights().at(-1) ?? 0;
    } catch {
      return 0; // The next save reports why the folder cannot be read.
    }
  }

  /** Called between two blocks; saves the state of this moment while blocks go on. */
  keep(replica: Replica): void {
    const { height } = replica.point;
    if (!this.#schedule.isDue(height) || this.#saving !== undefined || !this.#isFirst) return;
    this.#schedule.started(height);
    this.#saving = this.#save(replica);
  }

  /** Resolves when it is known whether this process saves. */
  async ready(): Promise<void> {
    await this.#looking;
  }

  #startLook(): void {
    if (this.#isFirst) clearInterval(this.#timer);
    else this.#looking ??= this.#look();
  }

  /** Where processes cannot see each other, all of them save: twice the work, no harm. */
  async #look(): Promise<void> {
    try {
      this.#presence ??= await this.#options.snapshots.enter();
      this.#isFirst = !(this.#presence.isAnnounced && (await this.#presence.hasEarlier()));
    } catch {
      this.#isFirst = true; // The save reports why the folder cannot be used.
    } finally {
      this.#looking = undefined;
    }
  }

  #warnUnsaved(height: number, { message }: Error): void {
    this.#options.warn(`the snapshot of height ${height} was not saved: ${message}`);
  }

  async #save({ state, point }: Replica): Promise<void> {
    const { snapshots, keep } = this.#options;
    try {
      await snapshots.save(state, point.hash);
      await snapshots.keepNewest(keep);
      this.#publishing ??= this.#publish(point.height);
    } catch (error) {
      this.#warnUnsaved(point.height, error as Error);
    } finally {
      this.#saving = undefined;
    }
  }

  /** In the background: the file is immutable by now. */
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

  /** Waits for the save and the publication in progress. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
    await this.#saving;
    await this.#publishing;
    this.#presence?.leave();
  }
}
