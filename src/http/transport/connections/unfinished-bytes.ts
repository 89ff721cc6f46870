/**
 * The memory of requests that have not come whole, and of those that wait behind another, over all
 * connections of a worker. Each client has some seconds to send a request, so without a limit those that
 * send only the first part would fill the memory. Over the limit the oldest is refused: an ordinary
 * request is whole within milliseconds, so it is never the oldest.
 */

import { RequestError } from '../../../info/request-error.ts';
import type { HttpSettings } from '../../settings.ts';

const UNFINISHED_BYTES_MAX = 64 << 20;
/** Where bodies may be long, there is room for so many of the longest. */
const LONGEST_BODIES = 4;
/** A buffer up to this size is not counted: an ordinary request is not refused, whatever others send. */
const UNCOUNTED_BYTES_MAX = 8 << 10;

export const TOO_MUCH_UNFINISHED = new RequestError(
  'overloaded',
  'request: incomplete, and the oldest of those that together take more memory than the limit; try again',
);

/** What keeps the bytes of a request. */
export interface UnfinishedRequest {
  /** Refuses the request and frees its bytes; does nothing if it is about to be read. */
  refuseUnfinished(): void;
}

export class UnfinishedBytes {
  readonly #bytesMax: number;
  /** By age: the oldest comes first. */
  readonly #bytes = new Map<UnfinishedRequest, number>();
  #total = 0;
  #isPlanned = false;

  constructor({ bodyBytesMax }: Pick<HttpSettings, 'bodyBytesMax'>) {
    this.#bytesMax = Math.max(UNFINISHED_BYTES_MAX, LONGEST_BODIES * bodyBytesMax);
  }

  /** Notes the size of a request's buffer; 0 once the buffer is released. */
  note(request: UnfinishedRequest, bufferBytes: number): void {
    const bytes = bufferBytes > UNCOUNTED_BYTES_MAX ? bufferBytes : 0;
    this.#total += bytes - (this.#bytes.get(request) ?? 0);
    if (bytes > 0) this.#bytes.set(request, bytes);
    else this.#bytes.delete(request);
    if (this.#total > this.#bytesMax) this.#plan();
  }

  /** Later, since a connection may not end while its bytes are read. */
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
