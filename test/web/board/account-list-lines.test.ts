/** Lists of accounts as people have them: several in a line, or the label in front. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAccountList } from '../../../web/src/board/account-list.ts';

const [ONE, TWO, THREE] = ['1', '2', '3'].map((digit) => `0x${digit.repeat(40)}`);

function labelsOf(text: string): Record<string, string> {
  const { book, problems } = readAccountList(text);
  assert.deepEqual(problems, []);
  return Object.fromEntries(Array.from(book, ([address, { label }]) => [address, label]));
}

test('addresses with blanks between them are as many accounts', () => {
  assert.deepEqual(labelsOf(`${ONE} ${TWO}\t${THREE}`), { [ONE]: '', [TWO]: '', [THREE]: '' });
});

test('words after an address are its label, up to the next address', () => {
  const text = `${ONE} Main desk ${TWO}, ${THREE} Vault`;
  assert.deepEqual(labelsOf(text), { [ONE]: 'Main desk', [TWO]: '', [THREE]: 'Vault' });
});

test('a label may be in front of its address, with or without a comma', () => {
  const text = `Main desk ${ONE}\nVault, ${TWO}`;
  assert.deepEqual(labelsOf(text), { [ONE]: 'Main desk', [TWO]: 'Vault' });
});

test('half an address is a problem, and not a label', () => {
  const { book, problems } = readAccountList(`0x1234\n${ONE}`);
  assert.deepEqual([...book.keys()], [ONE]);
  assert.match(problems.join(), /^line 1: “0x1234” has no address/);
});
