/** Reading the body of a request on Node's server. */

import type { IncomingMessage } from 'node:http';
import { DISCARDED_BYTES_MAX } from '../request-head.ts';

/** The body; undefined if it is over the limit, which is found when all of it, or enough, is read. */
export function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    let body: Buffer = Buffer.alloc(0);
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      const start = length;
      length += chunk.length;
      if (length <= bytesMax) body = place(chunk, body, start);
      else body = Buffer.alloc(0);
      if (length > bytesMax + DISCARDED_BYTES_MAX) resolve(undefined);
    });
    request.on('end', () => resolve(length > bytesMax ? undefined : body.subarray(0, length)));
    request.on('error', reject);
  });
}

/**
 * Copies a chunk into the body, which grows as needed, and returns it. One buffer, because thousands of
 * tiny chunks would take far more memory than their bytes.
 */
function place(chunk: Buffer, body: Buffer, start: number): Buffer {
  if (start === 0) return chunk;
  const end = start + chunk.length;
  const room = end <= body.length ? body : Buffer.alloc(2 * end);
  if (room !== body) body.copy(room, 0, 0, start);
  chunk.copy(room, start);
  return room;
}
