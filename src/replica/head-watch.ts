/**
 * Measures how long a replica may have been behind its ledger. The ledger's time does not show
 * this, because it also stops while a feed pauses. So the watch looks up the ledger's newest block
 * again and again: a replica that has reached this block was not behind at the time of the look-up.
 */
export class HeadWatch {
  /** The time at which the replica was last known to have every block. */
  #completeMs: number;
  /**
   * The newest block that the replica has not reached yet, and the time at which it was looked up.
   */
  #ahead: { readonly height: number; readonly seenMs: number } | undefined;

  constructor(completeMs: number) {
    this.#completeMs = completeMs;
  }

  /** `seenMs` is the time just before the ledger was asked for its newest block. */
  seeHead(head: number, height: number, seenMs: number): void {
    if (head <= height) this.#noteComplete(seenMs);
    else this.#ahead ??= { height: head, seenMs };
  }

  reach(height: number): void {
    if (this.#ahead === undefined || height < this.#ahead.height) return;
    this.#noteComplete(this.#ahead.seenMs);
    this.#ahead = undefined;
  }

  #noteComplete(atMs: number): void {
    this.#completeMs = Math.max(this.#completeMs, atMs);
  }

  /** Returns by how much the replica's state may be older than the ledger. */
  doubtMs(nowMs: number): number {
    return nowMs - this.#completeMs;
  }

  /**
   * The height of a block that the replica is known to lack; undefined if no such block is known,
   * for example because the ledger cannot be reached.
   */
  get heightAhead(): number | undefined {
    return this.#ahead?.height;
  }
}
