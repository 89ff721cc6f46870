/**
 * Saves snapshots of a replica while it follows the ledger, and publishes them if this replica has
 * the lease. Several processes may share a folder: the earliest process that is still running
 * saves. Each process saves a snapshot on request.
 */

import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Presence } from '../ledger/embedded/presence.ts';
import { EXPENSIVE_REPLAY_MS } from './replayed-snapshot.ts';
import type { Replica } from './replica.ts';
import type { SharedSnapshots } from './shared-snapshots.ts';
import type { SnapshotFolder } from './snapshot-folder.ts';
import { SnapshotSchedule } from './snapshot-schedule.ts';

export interface KeeperOptions {
  readonly snapshots: SnapshotFolder;
  /** Undefined if the ledger is in a folder. */
  readonly shared: SharedSnapshots | undefined;
  /**
   * The interval of snapshots, in heights. Undefined to save only on request: in a folder, the
   * writer saves the other snapshots.
   */
  readonly every: number | undefined;
  readonly keep: number;
  /** Called after each piece of work on a snapshot, with its duration. */
  worked?(seconds: number): void;
  /** Called when a snapshot was not saved or published. The replica can work without it. */
  warn(message: string): void;
}

/** Says where a requested snapshot is stored. */
export interface SavedSnapshot {
  readonly height: number;
  /** The path of the file; undefined if the file is removed when the process ends. */
  readonly file?: string | undefined;
  /** The bucket and the name in the object store; undefined if the ledger is in a folder. */
  readonly object?: string | undefined;
}

/** A process that does not save checks this often whether it has become the earliest process. */
const CHECK_MS = 500;
/**
 * At this interval, the earliest process checks whether the stream is about to drop blocks that no
 * snapshot has.
 */
const LOOK_MS = 5_000;
/**
 * Longer than a tick of the file system's clock, so that a process that announces itself after this
 * pause has a later time.
 */
const TICK_MS = 20;

export class SnapshotKeeper {
  readonly #options: KeeperOptions;
  readonly #schedule: SnapshotSchedule;
  /** The replica of the last call of `keep`. */
  #replica: Replica | undefined;
  #saving: Promise<void> | undefined;
  #publishing: Promise<void> | undefined;
  /** Never becomes false again, because later processes cannot become earlier. */
  #isEarliest = false;
  #checking: Promise<void> | undefined;
  #presence: Presence | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lookTimer: NodeJS.Timeout | undefined;
  #isLooking = false;

  constructor(options: KeeperOptions) {
    this.#options = options;
    const { every } = options;
    this.#schedule =
      every === undefined
        ? SnapshotSchedule.never()
        : SnapshotSchedule.spread(every, this.#newestHeight());
    if (every !== undefined) this.#startChecks();
  }

  #startChecks(): void {
    this.#timer = setInterval(() => this.#startCheck(), CHECK_MS);
    this.#timer.unref();
    this.#startCheck();
    this.#lookTimer = setInterval(() => void this.#look(), LOOK_MS);
    this.#lookTimer.unref();
  }

  /** Saves a snapshot before it is due by the schedule, if the stream's limits require it. */
  async #look(): Promise<void> {
    const height = this.#replica?.point.height;
    if (!this.#isEarliest || this.#isLooking || this.#publishing !== undefined) return;
    if (height === undefined) return;
    this.#isLooking = true;
    try {
      if (!(await this.#options.shared?.isDue(height))) return;
      const replica = await this.#untilSavable();
      this.#schedule.started(replica.point.height);
      this.#saving = this.#save(replica);
    } catch {
      // NATS does not answer. The next look is the retry.
    } finally {
      this.#isLooking = false;
    }
  }

  #newestHeight(): number {
    try {
      return this.#options.snapshots.heights().at(-1) ?? 0;
    } catch {
      return 0; // The next save reports why the folder cannot be read.
    }
  }

  /** Called between two blocks. If a snapshot is due, saves this state in the background. */
  keep(replica: Replica): void {
    const { height } = replica.point;
    const isStart = replica !== this.#replica;
    this.#replica = replica;
    // If the ledger is in a folder, the restore has already saved the snapshot.
    const saves = this.#options.every !== undefined;
    if (saves && isStart && replica.replayMs >= EXPENSIVE_REPLAY_MS) this.#schedule.hasten(height);
    if (!this.#schedule.isDue(height) || this.#saving !== undefined || !this.#isEarliest) return;
    this.#schedule.started(height);
    this.#saving = this.#save(replica);
  }

  /**
   * Saves the state now, and publishes it even if another replica has the lease. Rejects if saving
   * or publishing fails.
   */
  async saveNow(): Promise<SavedSnapshot & { readonly file: string }> {
    const { snapshots, shared } = this.#options;
    const replica = await this.#untilSavable();
    const { point } = replica;
    const writing = this.#write(replica);
    this.#saving = writing
      .catch(() => undefined)
      .finally(() => {
        this.#saving = undefined;
      });
    await writing;
    const object = await shared?.publishNow(snapshots, point);
    const { height } = point;
    return { height, file: snapshots.pathOf(height), object };
  }

  /**
   * Resolves with the replica when it is between two blocks and no snapshot of it is being written.
   */
  async #untilSavable(): Promise<Replica> {
    for (;;) {
      const replica = this.#replica;
      if (replica === undefined)
        throw new Error('there is no state yet: the ledger is being replayed');
      if (this.#saving === undefined && !replica.isInBlock) return replica;
      await this.#saving;
      await nextTurn();
    }
  }

  /** Resolves when the check whether this process saves has finished. */
  async ready(): Promise<void> {
    await this.#checking;
  }

  #startCheck(): void {
    if (this.#isEarliest) clearInterval(this.#timer);
    else this.#checking ??= this.#checkIsEarliest();
  }

  /**
   * Finds out whether this process is the earliest. If processes cannot detect each other, all of
   * them save, which is wasteful but harmless.
   */
  async #checkIsEarliest(): Promise<void> {
    try {
      this.#presence ??= await this.#options.snapshots.enter();
      await sleep(TICK_MS);
      this.#isEarliest = !(this.#presence.isAnnounced && (await this.#presence.hasEarlier()));
    } catch {
      this.#isEarliest = true; // The save reports why the folder cannot be used.
    } finally {
      this.#checking = undefined;
    }
  }

  #warnUnsaved(height: number, { message }: Error): void {
    this.#options.warn(`the snapshot of height ${height} was not saved: ${message}`);
  }

  async #write({ state, point }: Replica): Promise<void> {
    const { snapshots, keep, worked } = this.#options;
    await snapshots.save(state, point.hash, worked);
    await snapshots.keepNewest(keep);
  }

  async #save(replica: Replica): Promise<void> {
    const { height } = replica.point;
    try {
      await this.#write(replica);
      this.#publishing ??= this.#publish(height);
    } catch (error) {
      this.#warnUnsaved(height, error as Error);
    } finally {
      this.#saving = undefined;
    }
  }

  /** Publishes in the background, because the file no longer changes. */
  async #publish(height: number): Promise<void> {
    const { snapshots, shared, warn } = this.#options;
    try {
      await shared?.publish(snapshots, height);
    } catch (error) {
      warn(`the snapshot of height ${height} was not published: ${(error as Error).message}`);
    } finally {
      this.#publishing = undefined;
    }
  }

  /** Waits for the save and the publication in progress. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    clearInterval(this.#lookTimer);
    await this.#checking;
    await this.#saving;
    await this.#publishing;
    this.#presence?.leave();
  }
}
