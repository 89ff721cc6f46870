/** Reads the body of a request on Node's server. */

import type { RequestError } from '../../../info/request-error.ts';
import { DISCARDED_BYTES_MAX, refuseLength } from '../../message/request-head.ts';
import { makeRoom } from '../connections/growing-buffer.ts';
import {
  TOO_MUCH_UNFINISHED,
  type UnfinishedBytes,
  type UnfinishedRequest,
} from '../connections/unfinished-bytes.ts';
import type { HttpExchange } from './request-stream.ts';

export interface BodyLimits {
  readonly bytesMax: number;
  readonly unfinished: UnfinishedBytes;
}

/**
 * Reads the body. Returns a refusal if the body is over the limit, or if incomplete requests use
 * too much memory. A body over the limit is read to its end, or until DISCARDED_BYTES_MAX further
 * bytes were read.
 */
export function readBody(
  { request, response }: HttpExchange,
  terms: BodyLimits,
): Promise<Buffer | RequestError> {
  return new Promise((resolve, reject) => {
    const body = new UnfinishedBody(terms, resolve);
    request.on('data', (chunk: Buffer) => body.add(chunk));
    request.on('end', () => body.finish());
    request.on('error', reject);
    // If the client ends its side in the middle of the body, 'close' is the only event.
    response.once('close', () => {
      body.release();
      reject(CUT_SHORT);
    });
  });
}

const NOTHING = Buffer.alloc(0);
const CUT_SHORT = new Error('the client ended its side in the middle of the body');

class UnfinishedBody implements UnfinishedRequest {
  readonly #terms: BodyLimits;
  readonly #resolve: (outcome: Buffer | RequestError) => void;
  /**
   * One buffer for all chunks. Thousands of tiny Buffers would need far more memory than their
   * bytes.
   */
  #bytes: Buffer = NOTHING;
  #length = 0;
  #isRefused = false;

  constructor(terms: BodyLimits, resolve: (outcome: Buffer | RequestError) => void) {
    this.#terms = terms;
    this.#resolve = resolve;
  }

  add(chunk: Buffer): void {
    const start = this.#length;
    this.#length += chunk.length;
    const { bytesMax } = this.#terms;
    if (this.#length > bytesMax) this.release();
    else if (!this.#isRefused) this.#place(chunk, start);
    if (this.#length > bytesMax + DISCARDED_BYTES_MAX) this.#refuse(refuseLength(bytesMax));
  }

  #place(chunk: Buffer, start: number): void {
    if (start === 0) {
      this.#keepIn(chunk);
      return;
    }
    this.#keepIn(makeRoom(this.#bytes, start, this.#length));
    chunk.copy(this.#bytes, start);
  }

  finish(): void {
    const { bytesMax } = this.#terms;
    const isTooLong = this.#length > bytesMax;
    this.#resolve(isTooLong ? refuseLength(bytesMax) : this.#bytes.subarray(0, this.#length));
    this.release();
  }

  refuseUnfinished(): void {
    this.#refuse(TOO_MUCH_UNFINISHED);
  }

  #refuse(refusal: RequestError): void {
    this.#isRefused = true;
    this.#resolve(refusal);
    this.release();
  }

  release(): void {
    this.#keepIn(NOTHING);
  }

  #keepIn(bytes: Buffer): void {
    if (bytes === this.#bytes) return;
    this.#bytes = bytes;
    // The first chunk may be a view of a larger buffer. The whole larger buffer then stays in
    // memory, so its size is counted.
    this.#terms.unfinished.note(this, bytes.buffer.byteLength);
  }
}
