/** The clock of the follower, injected so that tests decide what time it is and wait for nothing. */

export interface Clock {
  /** Milliseconds that never go back; only differences have a meaning. */
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
