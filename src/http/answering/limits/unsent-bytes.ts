/** Counts the bytes of long bodies until the bodies are sent. */

import { RequestError } from '../../../info/request-error.ts';

/**
 * Maximum number of unsent bytes. A client has more than a minute to read its answer. Without a
 * limit, clients that ask for long answers and do not read them would fill the memory.
 */
const UNSENT_BYTES_MAX = 256 << 20;

export class UnsentBytes {
  #bytes = 0;

  /**
   * Returns the refusal of one more long answer; returns undefined if the answer may be written.
   */
  findOverload(): RequestError | undefined {
    if (this.#bytes < UNSENT_BYTES_MAX) return undefined;
    const message = `long answers: ${UNSENT_BYTES_MAX} bytes are not read by their clients, the limit`;
    return new RequestError('overloaded', message);
  }

  /**
   * Counts the memory of a body until the returned function is called. Call the returned function
   * exactly once.
   */
  add({ buffer }: Buffer): () => void {
    const { byteLength } = buffer;
    this.#bytes += byteLength;
    return () => {
      this.#bytes -= byteLength;
    };
  }
}
