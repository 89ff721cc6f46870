/** Lists of accounts as people paste them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAccountList } from '../../../web/src/board/account-list.ts';
import { formatBook } from '../../../web/src/view/address-book.ts';

const [A, B, C] = ['a', 'b', 'c'].map((digit) => `0x${digit.repeat(40)}`);

/** Labels by address. */
function labelsIn(text: string): Record<string, string> {
  const { book, problems } = readAccountList(text);
  assert.deepEqual(problems, []);
  return Object.fromEntries([...book].map(([address, { label }]) => [address, label]));
}

test('an address per line, with or without a label', () => {
  const text = `${A} Treasury  desk\r\n\n# a remark\n  ${B.toUpperCase().replace('0X', '0x')}\n${C}\tHedge`;
  assert.deepEqual(labelsIn(text), { [A]: 'Treasury desk', [B]: '', [C]: 'Hedge' });
});

test('commas, and CSV with a heading, quotes, further columns, and the label first', () => {
  assert.deepEqual(labelsIn(`${A}, ${B},${C}`), { [A]: '', [B]: '', [C]: '' });
  const csv = `address,label,limit\n${A},"Desk, ""one""",5\n${B};Two`;
  assert.deepEqual(labelsIn(csv), { [A]: 'Desk, "one"', [B]: 'Two' });
  assert.deepEqual(labelsIn(`name,wallet\nDesk,${A}`), { [A]: 'Desk' });
});

test('bad lines are named by their number, and the others are read', () => {
  const { book, problems } = readAccountList(`${A}\n0x12 Short\n\nnothing here\n${B}`);
  assert.deepEqual([...book.keys()], [A, B]);
  const expected = 'has no address: expected 0x and 40 hexadecimal digits';
  assert.deepEqual(problems, [
    `line 2: “0x12 Short” ${expected}`,
    `line 4: “nothing here” ${expected}`,
  ]);
});

test('an address that is repeated is one account, with the last label', () => {
  const { book, repeated } = readAccountList(`${A} One\n${A}\n${A} Two`);
  assert.deepEqual([book.size, book.get(A)?.label, repeated], [1, 'Two', 2]);
});

test('a label that is too long is cut, which is said with its line or its place in a file', () => {
  const long = 'A label of the trading desk that is longer than any tab of a browser';
  const short = 'A label of the trading desk that is long';
  const expected = (where: string) => `${where}: the label is cut to 40 characters, “${short}”`;
  const pasted = readAccountList(`${A} ${short}\n${B}, ${long}\n${C} fine`);
  assert.deepEqual([pasted.book.get(B)?.label, pasted.problems], [short, []]);
  assert.deepEqual(pasted.cut, [expected('line 2')]);
  const book = new Map([[A, { label: long, isOnBoard: true, thresholds: {} }]]);
  const saved = readAccountList(formatBook(book));
  assert.deepEqual([saved.book.get(A)?.label, saved.cut], [short, [expected('account 1')]]);
});

test('a saved address book is read as it was written', () => {
  const book = new Map([
    [A, { label: 'One', isOnBoard: true, thresholds: { distance: '5', value: '1000.5' } }],
    [B, { label: 'Two', isOnBoard: false, thresholds: {} }],
  ]);
  assert.deepEqual(readAccountList(formatBook(book)), { book, problems: [], cut: [], repeated: 0 });
});

test('what is wrong in a saved address book is named', () => {
  const saved = (accounts: unknown, version: unknown = 1) =>
    readAccountList(JSON.stringify({ perpinfo: 'address book', version, accounts })).problems;
  assert.deepEqual(
    saved([{ address: A }, { address: '0x1' }, { address: B, thresholds: { age: '-1' } }]),
    [
      'account 2: “0x1” is not an address',
      'account 3: “-1” is not a limit, expected a number over 0',
    ],
  );
  assert.deepEqual(saved([], 9), ['version 9 of the file is not known, expected 1']);
  for (const text of ['{"a":1}', '{', `{"perpinfo":"address book","version":1}`]) {
    assert.deepEqual(readAccountList(text).problems, ['this is not an address book of perpinfo']);
  }
});
