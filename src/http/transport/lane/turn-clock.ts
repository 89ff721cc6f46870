/** How long requests are answered in one turn of the event loop: others wait for their turn meanwhile. */

const TURN_MS_MAX = 4;
/** Bytes from which on an answer may take a millisecond. */
const LONG_FROM = 4096;
/** To read the clock takes a part of a microsecond, an ordinary answer a few. */
const SHORT_ANSWERS_PER_LOOK = 4;

export class TurnClock {
  #endMs = 0;
  #answersSinceLook = 0;
  /** Whether the rest has to wait for the next turn. */
  isOver = false;

  start(nowMs: number): void {
    this.#endMs = nowMs + TURN_MS_MAX;
    this.#answersSinceLook = 0;
    this.isOver = false;
  }

  /** Called after each answer, with the bytes that were read and written for it. */
  note(length: number): void {
    this.#answersSinceLook++;
    if (length < LONG_FROM && this.#answersSinceLook < SHORT_ANSWERS_PER_LOOK) return;
    this.#answersSinceLook = 0;
    this.isOver = performance.now() >= this.#endMs;
  }
}
