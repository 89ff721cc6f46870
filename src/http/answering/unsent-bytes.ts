/** Counts the bytes of long bodies until their clients have taken them. */

import { RequestError } from '../../info/request-error.ts';

/**
 * Each client has a minute and more to read its answer, so without a limit those that ask and do not
 * read would fill the memory.
 */
const UNSENT_BYTES_MAX = 256 << 20;

export class UnsentBytes {
  #bytes = 0;

  /** Why no further long answer may be written; undefined if one may. */
  findOverload(): RequestError | undefined {
    if (this.#bytes < UNSENT_BYTES_MAX) return undefined;
    const message = `long answers: ${UNSENT_BYTES_MAX} bytes are not read by their clients, the limit`;
    return new RequestError('overloaded', message);
  }

  /** Counts a body until the returned function is called, once: with all the memory that it keeps. */
  add({ buffer }: Buffer): () => void {
    const { byteLength } = buffer;
    this.#bytes += byteLength;
    return () => {
      this.#bytes -= byteLength;
    };
  }
}
