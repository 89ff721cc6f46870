/**
 * The clock of the follower. It is a parameter, so that tests can set the time and do not have to
 * wait.
 */

export interface Clock {
  /**
   * Returns the milliseconds of a clock that never goes back. Only the difference between two
   * values has a meaning.
   */
  nowMs(): number;
  /** Calls `callback` once after the delay. The returned function cancels the call. */
  setTimer(delayMs: number, callback: () => void): () => void;
}

export const SYSTEM_CLOCK: Clock = {
  nowMs: () => performance.now(),
  setTimer(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};
