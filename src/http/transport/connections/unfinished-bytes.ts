/**
 * Limits the memory of incomplete requests, and of requests that wait for an earlier response. The
 * limit is for all connections of a worker together. A client has several seconds to send a
 * request. Without a limit, clients that send only the first part of a request would fill the
 * memory.
 *
 * Over the limit, the oldest request is refused. An ordinary request is complete within
 * milliseconds, so it is never the oldest request.
 */

import { RequestError } from '../../../info/request-error.ts';
import type { HttpSettings } from '../../settings.ts';

const UNFINISHED_BYTES_MAX = 64 << 20;
/** The limit always has room for at least this number of bodies of maximum length. */
const LONGEST_BODIES = 4;
/**
 * A buffer up to this size is not counted. So other clients cannot cause the refusal of an ordinary
 * request.
 */
const UNCOUNTED_BYTES_MAX = 8 << 10;

export const TOO_MUCH_UNFINISHED = new RequestError(
  'overloaded',
  'request: incomplete, and the oldest of those that together take more memory than the limit; try again',
);

/** The owner of the bytes of an incomplete request. */
export interface UnfinishedRequest {
  /**
   * Refuses the request and frees its bytes. Does nothing if the request is about to be answered.
   */
  refuseUnfinished(): void;
}

export class UnfinishedBytes {
  readonly #bytesMax: number;
  /** The number of bytes of each request, with the oldest request first. */
  readonly #bytes = new Map<UnfinishedRequest, number>();
  #total = 0;
  #isPlanned = false;

  constructor({ bodyBytesMax }: Pick<HttpSettings, 'bodyBytesMax'>) {
    this.#bytesMax = Math.max(UNFINISHED_BYTES_MAX, LONGEST_BODIES * bodyBytesMax);
  }

  /** Records the size of a request's buffer. The size is 0 after the buffer was released. */
  note(request: UnfinishedRequest, bufferBytes: number): void {
    const bytes = bufferBytes > UNCOUNTED_BYTES_MAX ? bufferBytes : 0;
    this.#total += bytes - (this.#bytes.get(request) ?? 0);
    if (bytes > 0) this.#bytes.set(request, bytes);
    else this.#bytes.delete(request);
    if (this.#total > this.#bytesMax) this.#plan();
  }

  /**
   * Plans a refusal for later, because a connection must not be closed while its bytes are being
   * read.
   */
  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    process.nextTick(() => this.#refuseOldest());
  }

  #refuseOldest(): void {
    this.#isPlanned = false;
    for (const request of this.#bytes.keys()) {
      if (this.#total <= this.#bytesMax) return;
      request.refuseUnfinished();
    }
  }
}
