/** The clock of the follower. It is injected, so that tests set the time and wait for nothing. */

export interface Clock {
  /**
   * Milliseconds of a clock that never goes back. Only differences between two values have a
   * meaning.
   */
  nowMs(): number;
  /** Calls back once after the delay, unless the returned function is called before. */
  setTimer(delayMs: number, callback: () => void): () => void;
}

export const SYSTEM_CLOCK: Clock = {
  nowMs: () => performance.now(),
  setTimer(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};
