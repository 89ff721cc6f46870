/**
 * Limits the time in which requests are answered in one turn of the event loop, because all other
 * work waits during this time.
 */

const TURN_MS_MAX = 4;
/**
 * From this length on, the clock is read after each answer, because the answer may take a
 * millisecond.
 */
const LONG_FROM = 4096;
/**
 * The number of short answers between two reads of the clock. Reading the clock takes less than a
 * microsecond; an ordinary answer takes a few microseconds.
 */
const SHORT_ANSWERS_PER_LOOK = 4;

export class TurnClock {
  #endMs = 0;
  #answersSinceLook = 0;
  /** True if the remaining requests have to wait for the next turn. */
  isOver = false;

  start(nowMs: number): void {
    this.#endMs = nowMs + TURN_MS_MAX;
    this.#answersSinceLook = 0;
    this.isOver = false;
  }

  /** Called after each answer, with the number of bytes that were read and written. */
  note(length: number): void {
    this.#answersSinceLook++;
    if (length < LONG_FROM && this.#answersSinceLook < SHORT_ANSWERS_PER_LOOK) return;
    this.#answersSinceLook = 0;
    this.isOver = performance.now() >= this.#endMs;
  }
}
