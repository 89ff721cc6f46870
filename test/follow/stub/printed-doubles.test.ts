/** The stub prints amounts by the rule of the recorded answers: the same amount gives the same text. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { printDouble } from '../../../tools/stub-exchange/printed-doubles.ts';

/** As recorded, each with the amount that it stands for. */
const RECORDED: readonly [string, string][] = [
  ['8272576.572935', '8272576.5729350001'],
  ['4398175.3896', '4398175.3896000003'],
  ['2345678.1', '2345678.1000000001'],
  ['8685050.23737', '8685050.2373699993'],
  ['572267.519362', '572267.5193620001'],
  ['1064075.6', '1064075.6000000001'],
  ['-841576.221441', '-841576.221441'],
  ['1500', '1500.0'],
  ['0.0', '0.0'],
];

test('an amount is printed as the exchange has printed it', () => {
  for (const [amount, text] of RECORDED) assert.equal(printDouble(amount), text);
});
