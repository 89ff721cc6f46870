/**
 * The order of work in a turn of the event loop: requests that have been read are answered before a
 * slice of longer work is done. Otherwise the slice would come first, since it was asked for earlier.
 */

export class Turns {
  #answerRead: () => void = () => undefined;

  /** Sets what answers the requests that have been read. */
  answerFirst(answerRead: () => void): void {
    this.#answerRead = answerRead;
  }

  /** Does a slice of longer work in the next turn. */
  doLater(slice: () => void): NodeJS.Immediate {
    return setImmediate(() => {
      this.#answerRead();
      slice();
    });
  }
}
