/** Labels and limits of addresses. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  changeEntry,
  cleanLabel,
  findAddress,
  mergeBooks,
  nameOf,
  usersOnBoard,
} from '../../../web/src/view/address-book.ts';

const [A, B] = ['a', 'b'].map((digit) => `0x${digit.repeat(40)}`);
const EMPTY = new Map();
const book = changeEntry(EMPTY, A, { label: 'Treasury' });

test('an address is called by its label, or is shortened', () => {
  assert.equal(nameOf(book, A), 'Treasury');
  assert.equal(nameOf(book, B), '0xbbbbbb…bbbbbb');
});

test('an account is found by its address and by its label', () => {
  assert.equal(findAddress(book, A.toUpperCase().replace('0X', '0x')), A);
  assert.equal(findAddress(book, ' treasury '), A);
  assert.equal(findAddress(book, 'nobody'), undefined);
  assert.equal(findAddress(book, ''), undefined);
});

test('a label is one short line', () => {
  assert.equal(cleanLabel(' one\n\ttwo\u0007 '), 'one two');
  assert.equal(cleanLabel('x'.repeat(50)), 'x'.repeat(40));
});

test('an entry that says nothing is dropped', () => {
  assert.equal(changeEntry(book, A, { label: '' }).size, 0);
  const limited = changeEntry(EMPTY, A, { thresholds: { age: '30' } });
  assert.equal(changeEntry(limited, A, { label: '' }).size, 1);
});

test('what another book says is added, and what it does not say stays', () => {
  const mine = changeEntry(book, A, { thresholds: { distance: '5', age: '30' } });
  const other = new Map([
    [A, { label: '', isOnBoard: true, thresholds: { distance: '7' } }],
    [B, { label: 'Other', isOnBoard: true, thresholds: {} }],
  ]);
  const merged = mergeBooks(mine, other);
  assert.deepEqual(merged.get(A), {
    label: 'Treasury',
    isOnBoard: true,
    thresholds: { distance: '7', age: '30' },
  });
  assert.deepEqual(usersOnBoard(merged), [A, B]);
});
