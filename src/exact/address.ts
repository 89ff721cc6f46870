/**
 * Addresses: "0x" and 40 hexadecimal digits. Both cases are read, and lower case is written.
 *
 * In memory, an address is four words of ten digits (40 bits each). So it fits into four cells of a
 * table, is compared without text, and is the same in upper and lower case.
 */

export interface Address {
  readonly word0: number;
  readonly word1: number;
  readonly word2: number;
  readonly word3: number;
}

export const ADDRESS_DIGITS = 40;
export const ADDRESS_EXPECTED = '0x and 40 hexadecimal digits';
/** The OpenAPI description uses this pattern; `parseAddress` does the parsing. */
export const ADDRESS_PATTERN = '^0x[0-9a-fA-F]{40}$';

/** Addresses are often copied from logs and raw data, which leave out the prefix. */
const BARE_DIGITS = /^[0-9a-fA-F]{40}$/;

/** Returns what the refusal of an invalid address says was expected. */
export function expectedAddress(given: unknown): string {
  const isBare = typeof given === 'string' && BARE_DIGITS.test(given);
  return isBare ? `${ADDRESS_EXPECTED}: 0x is missing` : ADDRESS_EXPECTED;
}

const TEXT_LENGTH = 2 + ADDRESS_DIGITS;
const WORD_DIGITS = 10;
const HALF_WORD = 2 ** 20;
const NOT_HEX = 255;

/** The value of the digit for each character code; NOT_HEX for all other characters. */
const HEX_VALUES = new Uint8Array(128).fill(NOT_HEX);
for (let digit = 0; digit < 16; digit++) {
  const text = digit.toString(16);
  HEX_VALUES[text.charCodeAt(0)] = digit;
  HEX_VALUES[text.toUpperCase().charCodeAt(0)] = digit;
}

/** Parses five digits from `start`. Returns -1 if a character is not a hexadecimal digit. */
function parseHalfWord(text: string, start: number): number {
  let value = 0;
  for (let index = start; index < start + WORD_DIGITS / 2; index++) {
    const code = text.charCodeAt(index);
    const digit = code < 128 ? HEX_VALUES[code] : NOT_HEX;
    if (digit === NOT_HEX) return -1;
    value = (value << 4) | digit;
  }
  return value;
}

/** Parses ten digits from `start`. Returns -1 if a character is not a hexadecimal digit. */
function parseWord(text: string, start: number): number {
  const high = parseHalfWord(text, start);
  const low = parseHalfWord(text, start + WORD_DIGITS / 2);
  return high < 0 || low < 0 ? -1 : high * HALF_WORD + low;
}

/** Returns undefined if the text is not an address. */
export function parseAddress(text: string): Address | undefined {
  if (text.length !== TEXT_LENGTH || !text.startsWith('0x')) return undefined;
  const word0 = parseWord(text, 2);
  const word1 = parseWord(text, 12);
  const word2 = parseWord(text, 22);
  const word3 = parseWord(text, 32);
  if (word0 < 0 || word1 < 0 || word2 < 0 || word3 < 0) return undefined;
  return { word0, word1, word2, word3 };
}

/**
 * Parses 40 digits from `start`; returns undefined if a byte is not a hexadecimal digit. Does for
 * bytes what `parseAddress` does for text, because decoding the bytes to text would cost more than
 * the parsing.
 */
export function parseAddressDigits(bytes: Uint8Array, start: number): Address | undefined {
  const word0 = parseWordBytes(bytes, start);
  const word1 = parseWordBytes(bytes, start + 10);
  const word2 = parseWordBytes(bytes, start + 20);
  const word3 = parseWordBytes(bytes, start + 30);
  if (word0 < 0 || word1 < 0 || word2 < 0 || word3 < 0) return undefined;
  return { word0, word1, word2, word3 };
}

function parseWordBytes(bytes: Uint8Array, start: number): number {
  const high = parseHalfWordBytes(bytes, start);
  const low = parseHalfWordBytes(bytes, start + WORD_DIGITS / 2);
  return high < 0 || low < 0 ? -1 : high * HALF_WORD + low;
}

function parseHalfWordBytes(bytes: Uint8Array, start: number): number {
  let value = 0;
  for (let index = start; index < start + WORD_DIGITS / 2; index++) {
    const digit = HEX_VALUES[bytes[index] & 127];
    if (digit === NOT_HEX || bytes[index] > 127) return -1;
    value = (value << 4) | digit;
  }
  return value;
}

function formatWord(word: number): string {
  return word.toString(16).padStart(WORD_DIGITS, '0');
}

export function formatAddress(address: Address): string {
  const { word0, word1, word2, word3 } = address;
  return `0x${formatWord(word0)}${formatWord(word1)}${formatWord(word2)}${formatWord(word3)}`;
}

/** A 32-bit hash for the address index, mixed as in MurmurHash3. */
export function hashAddress(address: Address): number {
  let hash = mix(0, address.word0);
  hash = mix(hash, address.word1);
  hash = mix(hash, address.word2);
  hash = mix(hash, address.word3);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function mix(hash: number, word: number): number {
  const high = Math.floor(word / HALF_WORD);
  const low = word - high * HALF_WORD;
  const mixed = Math.imul(hash ^ low, 0xcc9e2d51) ^ high;
  return Math.imul((mixed << 15) | (mixed >>> 17), 0x1b873593);
}
