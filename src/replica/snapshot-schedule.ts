/** Decides when a snapshot is due, for writers and replicas. */

/** The jitter, as a share of the interval, so that replicas do not all save at the same time. */
const SPREAD_SHARE = 0.25;

export class SnapshotSchedule {
  readonly #nextAfter: (height: number) => number;
  #dueHeight: number;

  private constructor(nextAfter: (height: number) => number, height: number) {
    this.#nextAfter = nextAfter;
    this.#dueHeight = nextAfter(height);
  }

  /** The schedule of a ledger's writer: at multiples of `every`, independent of the height at its start. */
  static atMultiples(every: number, height: number): SnapshotSchedule {
    return new SnapshotSchedule((from) => (Math.floor(from / every) + 1) * every, height);
  }

  /**
   * The schedule of one of several replicas: `every` heights after the newest snapshot, plus the
   * jitter.
   */
  static spread(every: number, newestHeight: number): SnapshotSchedule {
    const nextAfter = (from: number) =>
      from + every + Math.floor(Math.random() * every * SPREAD_SHARE);
    return new SnapshotSchedule(nextAfter, newestHeight);
  }

  /** The schedule of a process that saves only on request. */
  static never(): SnapshotSchedule {
    return new SnapshotSchedule(() => Number.POSITIVE_INFINITY, 0);
  }

  isDue(height: number): boolean {
    return height >= this.#dueHeight;
  }

  /** Makes the next snapshot due at this height. */
  hasten(height: number): void {
    this.#dueHeight = Math.min(this.#dueHeight, height);
  }

  /** Called when a save starts: the next snapshot is due an interval later. */
  started(height: number): void {
    this.#dueHeight = this.#nextAfter(height);
  }
}
