/** The place that a link names. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WORST_FIRST } from '../../../web/src/figures/board-sort.ts';
import { formatUrlState, readUrlState, type UrlState } from '../../../web/src/view/url-state.ts';

const USER = `0x${'ab'.repeat(20)}`;
const FIRST: UrlState = {
  isBoard: false,
  boardSort: WORST_FIRST,
  user: '',
  dex: undefined,
  range: '15 min',
  span: 'day',
  at: undefined,
  sort: undefined,
};
const BOARD: UrlState = { ...FIRST, isBoard: true };

test('a place is read as it was written, and what is as at first is not written', () => {
  const places: [UrlState, string][] = [
    [FIRST, ''],
    [{ ...FIRST, user: USER }, `#user=${USER}`],
    [{ ...FIRST, user: USER, dex: 'a b&c' }, `#user=${USER}&dex=a+b%26c`],
    [{ ...FIRST, dex: '' }, '#dex=FIRST'],
    [{ ...FIRST, dex: 'first' }, '#dex=first'],
    [{ ...FIRST, range: '7 d' }, '#range=7d'],
    [{ ...FIRST, span: 'month' }, '#span=month'],
    [{ ...FIRST, user: USER, at: 1_234_567 }, `#user=${USER}&at=1234567`],
    [{ ...FIRST, sort: { column: 'pnl', isDescending: true } }, '#sort=-pnl'],
    [{ ...FIRST, sort: { column: 'liquidation', isDescending: false } }, '#sort=liquidation'],
    [BOARD, '#board'],
    [{ ...BOARD, boardSort: { column: 'pnl', isDescending: true } }, '#board&sort=-pnl'],
    [{ ...BOARD, boardSort: { column: 'account', isDescending: false } }, '#board&sort=account'],
  ];
  for (const [place, fragment] of places) {
    assert.equal(formatUrlState(place), fragment);
    assert.deepEqual(readUrlState(fragment), place);
  }
});

test('a link may also have the empty name of the first dex', () => {
  assert.equal(readUrlState('#dex=').dex, '');
});

test('what makes no sense is left out', () => {
  for (const fragment of [
    '#user=0x12',
    '#range=1y',
    '#span=15min',
    '#at=0',
    '#at=-1',
    '#at=1e3',
    '#at=1234567890123456',
    '#sort=nothing',
    '#sort=-',
    '#key=abc',
    '#%',
  ]) {
    assert.deepEqual(readUrlState(fragment), FIRST, fragment);
  }
  for (const fragment of [
    '#board&sort=size',
    '#board&sort=',
    '#board=1',
    '#board&range=7',
    '#board&at=3',
  ]) {
    assert.deepEqual(readUrlState(fragment), BOARD, fragment);
  }
});
