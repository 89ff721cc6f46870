/**
 * Orders the work in a turn of the event loop: requests that have been read are answered before a
 * slice of longer work is done. Without this order, the slice would be done first, because it was
 * scheduled earlier.
 */

/**
 * The pause of longer work after a turn in which other requests were answered. Without this pause,
 * the process would never sleep. The system would then run other processes for milliseconds before
 * this process answers the next request.
 */
const PAUSE_MS = 1;

export class Turns {
  /**
   * The number of turns in which requests were answered. Questions that are answered in a later
   * turn do not count.
   */
  answeredCount = 0;
  #answerRead: () => void = () => undefined;

  /** Sets the function that answers the requests that have been read. */
  answerFirst(answerRead: () => void): void {
    this.#answerRead = answerRead;
  }

  /** Does a slice of longer work in the next turn. */
  doLater(slice: () => void): void {
    setImmediate(() => {
      this.#answerRead();
      slice();
    });
  }

  /** Does a slice of longer work after a pause. */
  doAfterPause(slice: () => void): void {
    setTimeout(() => this.doLater(slice), PAUSE_MS);
  }
}
