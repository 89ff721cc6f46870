/** Reading a request's body: declared as JSON, within the limit, valid UTF-8. */

import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { describeValue } from '../events/refusal.ts';
import { RequestError } from '../info/request-error.ts';

/**
 * A body over the limit is still read up to here before it is refused, so that a client that sends
 * first and reads afterwards gets to see why.
 */
const DISCARDED_BYTES_MAX = 1 << 20;

const UTF8 = ['charset=utf-8', 'charset="utf-8"', 'charset=utf8', 'charset=us-ascii'];

/** Whether a media type is JSON, in UTF-8 where it says so. */
export function isJsonType(text: string): boolean {
  const [type, ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  return (
    type === 'application/json' &&
    parameters.every((parameter) => !parameter.startsWith('charset') || UTF8.includes(parameter))
  );
}

/** Refuses a body that is not declared as plain JSON in UTF-8. */
export function checkMediaType({ headers }: IncomingMessage): void {
  const type = headers['content-type'];
  if (type === undefined || !isJsonType(type)) {
    const message = `Content-Type: got ${describeValue(type)}, expected application/json in UTF-8`;
    throw new RequestError('unsupported_media_type', message, 'Content-Type');
  }
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    const message = `Content-Encoding: got ${describeValue(encoding)}, expected none`;
    throw new RequestError('unsupported_media_type', message, 'Content-Encoding');
  }
  const transfer = headers['transfer-encoding'];
  if (transfer !== undefined && transfer.toLowerCase() !== 'chunked') {
    const message = `Transfer-Encoding: got ${describeValue(transfer)}, expected chunked or none`;
    throw new RequestError('unsupported_media_type', message, 'Transfer-Encoding');
  }
}

/** Refuses at once what is declared far too large, or a client that waits for our consent. */
export function checkDeclaredLength(
  { headers }: IncomingMessage,
  bytesMax: number,
  { isWaiting }: { isWaiting: boolean },
): void {
  const declared = Number(headers['content-length'] ?? 0);
  if (declared > bytesMax + (isWaiting ? 0 : DISCARDED_BYTES_MAX)) throw tooLarge(bytesMax);
}

function tooLarge(bytesMax: number): RequestError {
  const message = `body: longer than ${bytesMax} bytes, the limit for a question`;
  return new RequestError('body_too_large', message, 'body');
}

/** The body's bytes; over the limit it is refused once all of it, or enough, has been read. */
export function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let body: Buffer = Buffer.alloc(0);
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      const start = length;
      length += chunk.length;
      if (length <= bytesMax) body = place(chunk, body, start);
      else body = Buffer.alloc(0);
      if (length > bytesMax + DISCARDED_BYTES_MAX) reject(tooLarge(bytesMax));
    });
    request.on('end', () => {
      if (length > bytesMax) reject(tooLarge(bytesMax));
      else resolve(body.subarray(0, length));
    });
    request.on('error', reject);
  });
}

/**
 * Puts a chunk into the body and returns the body, which grows as needed. One piece, so that a body
 * in thousands of tiny chunks holds no more memory than its length accounts for.
 */
function place(chunk: Buffer, body: Buffer, start: number): Buffer {
  if (start === 0) return chunk;
  const end = start + chunk.length;
  const room = end <= body.length ? body : Buffer.alloc(2 * end);
  if (room !== body) body.copy(room, 0, 0, start);
  chunk.copy(room, start);
  return room;
}

export function parseBody(bytes: Buffer): unknown {
  const text = isUtf8(bytes) ? bytes.toString('utf8') : undefined;
  try {
    if (text !== undefined) return JSON.parse(text);
  } catch {
    // Told below, in our own words.
  }
  const got = text === undefined ? 'bytes that are not UTF-8' : describeValue(text);
  throw new RequestError('malformed_json', `body: got ${got}, expected a JSON object`, 'body');
}
