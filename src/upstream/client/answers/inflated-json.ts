/** Reads compressed JSON that an upstream pushes: base64 text of raw DEFLATE data. */

import { inflateRawSync } from 'node:zlib';
import { parseUpstreamJson } from './upstream-json.ts';

const INFLATED_BYTES_MAX = 8 << 20;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const GROUP_LENGTH = 4;

/** The reason why a text cannot be read as compressed JSON. `found` describes the wrong content. */
export class InflateError extends Error {
  readonly found: string;
  readonly expected: string;

  constructor(found: string, expected: string) {
    super(`got ${found}, expected ${expected}`);
    this.name = 'InflateError';
    this.found = found;
    this.expected = expected;
  }
}

/** Reads at most 8 MB of JSON from the text. */
export function readInflatedJson(text: string): unknown | InflateError {
  const inflated = inflate(text);
  if (inflated instanceof InflateError) return inflated;
  try {
    return parseUpstreamJson(inflated.toString());
  } catch {
    return new InflateError(`${inflated.length} inflated bytes of something else`, 'JSON');
  }
}

function inflate(text: string): Buffer | InflateError {
  // `Buffer.from` would ignore characters that are not base64.
  if (text.length % GROUP_LENGTH !== 0 || !BASE64.test(text)) {
    return new InflateError(`${text.length} characters of another text`, 'base64');
  }
  try {
    return inflateRawSync(Buffer.from(text, 'base64'), { maxOutputLength: INFLATED_BYTES_MAX });
  } catch (error) {
    return describeInflateFailure(error as NodeJS.ErrnoException, text.length);
  }
}

function describeInflateFailure(
  { code, message }: NodeJS.ErrnoException,
  length: number,
): InflateError {
  if (code === 'ERR_BUFFER_TOO_LARGE') {
    return new InflateError('more', `at most ${INFLATED_BYTES_MAX} inflated bytes`);
  }
  return new InflateError(`${length} characters with "${message}"`, 'raw DEFLATE');
}
