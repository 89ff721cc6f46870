/**
 * The order of work in a turn of the event loop: requests that have been read are answered before a
 * slice of longer work is done. Otherwise the slice would come first, since it was asked for earlier.
 */

/**
 * The pause that longer work makes if other requests came meanwhile. Without it the process would never
 * sleep, and the system would let others run for milliseconds before it answers the next request.
 */
const PAUSE_MS = 1;

export class Turns {
  /** In how many turns requests were answered; questions that are answered later do not count. */
  answeredCount = 0;
  #answerRead: () => void = () => undefined;

  /** Sets what answers the requests that have been read. */
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
