/**
 * Recognizes the most frequent question, `{"type":"clearinghouseState","user":"0x..."}`, without parsing
 * JSON: in the spellings of common JSON libraries, with and without spaces, with and without the first
 * dex. Any other spelling is left to the registry. The same for a query string.
 *
 * The address is read from bytes, not text, for speed (`parseAddressDigits` in address.ts).
 */

import { ADDRESS_DIGITS, type Address, parseAddressDigits } from '../exact/address.ts';

interface Spelling {
  readonly before: Buffer;
  readonly after: Buffer;
  readonly length: number;
}

function spell(before: string, after: string): Spelling {
  const length = before.length + ADDRESS_DIGITS + after.length;
  return { before: Buffer.from(before), after: Buffer.from(after), length };
}

const COMPACT = '{"type":"clearinghouseState","user":"0x';
const SPACED = '{"type": "clearinghouseState", "user": "0x';
const BODY_SPELLINGS: readonly Spelling[] = [
  spell(COMPACT, '"}'),
  spell(COMPACT, '","dex":""}'),
  spell(SPACED, '"}'),
  spell(SPACED, '", "dex": ""}'),
];

/** With the fields in the documented order. */
const QUERY = 'type=clearinghouseState&user=0x';
const QUERY_SPELLINGS: readonly Spelling[] = [spell(QUERY, ''), spell(QUERY, '&dex=')];

/** The user whose account on the first dex a body asks for; undefined for any other spelling. */
export function readAccountQuestion(
  bytes: Buffer,
  start: number,
  end: number,
): Address | undefined {
  return readSpelled(BODY_SPELLINGS, bytes, start, end);
}

/** The same for a query string. */
export function readAccountQuery(bytes: Buffer, start: number, end: number): Address | undefined {
  return readSpelled(QUERY_SPELLINGS, bytes, start, end);
}

function readSpelled(
  spellings: readonly Spelling[],
  bytes: Buffer,
  start: number,
  end: number,
): Address | undefined {
  for (const { before, after, length } of spellings) {
    if (length !== end - start) continue;
    const digits = start + before.length;
    const isMatch = hasAt(bytes, start, before) && hasAt(bytes, digits + ADDRESS_DIGITS, after);
    return isMatch ? parseAddressDigits(bytes, digits) : undefined;
  }
  return undefined;
}

function hasAt(bytes: Buffer, start: number, expected: Buffer): boolean {
  for (let index = 0; index < expected.length; index++) {
    if (bytes[start + index] !== expected[index]) return false;
  }
  return true;
}
