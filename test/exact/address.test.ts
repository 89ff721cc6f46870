/** Addresses as text, as bytes and as words: 40 hexadecimal digits, and nothing else. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ADDRESS_DIGITS,
  ADDRESS_PATTERN,
  expectedAddress,
  formatAddress,
  parseAddress,
  parseAddressDigits,
} from '../../src/exact/address.ts';

const MIXED = '0x0123456789aBcDeFAbCdEf9876543210fFfFf000';
const ZERO = `0x${'0'.repeat(ADDRESS_DIGITS)}`;
/** Neighbours of the digits among characters, and some that look like digits in fewer bits. */
const NOT_DIGITS = ['/', ':', '@', 'G', '`', 'g', ' ', '\x7f', '\x80', '\xb0', 'İ'];
/** Bytes before the digits, so that a place that is counted from 0 is noticed. */
const BEFORE = 'user=0x';

function parseBytes(digits: string) {
  return parseAddressDigits(Buffer.from(`${BEFORE}${digits}&`, 'latin1'), BEFORE.length);
}

test('an address is read from text and from bytes in either case, and written in lower case', () => {
  for (const text of [MIXED, ZERO, ZERO.replaceAll('0', 'f').replace('f', '0')]) {
    const address = parseAddress(text);
    assert.ok(address);
    assert.equal(formatAddress(address), text.toLowerCase());
    assert.deepEqual(parseAddress(`0x${text.slice(2).toUpperCase()}`), address);
    assert.deepEqual(parseBytes(text.slice(2)), address);
    assert.match(text, new RegExp(ADDRESS_PATTERN));
  }
});

test('its words are ten digits each', () => {
  const words = {
    word0: 0x0123456789,
    word1: 0xabcdefabcd,
    word2: 0xef98765432,
    word3: 0x10fffff000,
  };
  assert.deepEqual(parseAddress('0x0123456789abcdefabcdef9876543210fffff000'), words);
});

test('a character that is no hexadecimal digit is refused in any place', () => {
  for (let place = 2; place < MIXED.length; place++) {
    for (const character of NOT_DIGITS) {
      const text = `${MIXED.slice(0, place)}${character}${MIXED.slice(place + 1)}`;
      assert.equal(parseAddress(text), undefined, text);
      assert.doesNotMatch(text, new RegExp(ADDRESS_PATTERN));
      if (character <= '\xff') assert.equal(parseBytes(text.slice(2)), undefined, text);
    }
  }
});

test('text of another length or with another beginning is refused', () => {
  const wrong = ['', '0x', MIXED.slice(2), `${MIXED}0`, MIXED.slice(0, -1), `0X${MIXED.slice(2)}`];
  for (const text of [...wrong, `00${MIXED.slice(2)}`, `${MIXED.slice(2)}0x`, ` ${MIXED}`]) {
    assert.equal(parseAddress(text), undefined, text);
  }
});

test('of 40 digits without 0x it is said that 0x is missing, of anything else it is not', () => {
  const expected = '0x and 40 hexadecimal digits';
  assert.equal(expectedAddress(MIXED.slice(2)), `${expected}: 0x is missing`);
  const others = ['', '0x12', MIXED.slice(3), `${MIXED.slice(2)}0`, `0X${MIXED.slice(2)}`];
  for (const given of [...others, null, 5, undefined, [MIXED.slice(2)]]) {
    assert.equal(expectedAddress(given), expected, String(given));
  }
});
