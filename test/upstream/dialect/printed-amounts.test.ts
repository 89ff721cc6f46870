/** Amounts as the exchange prints them: doubles with ten decimals. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DecimalError, formatUnits } from '../../../src/exact/decimal.ts';
import { Random } from '../../../src/simulator/random.ts';
import {
  isSameAmount,
  readPrinted,
  readStoredAmount,
} from '../../../src/upstream/dialect/printed-amounts.ts';
import { SEED } from '../../../tools/harness/seed.ts';

/** As the exchange prints: the nearest double, ten decimals, without zeros at the end. */
function print(text: string): string {
  return Number(text).toFixed(10).replace(/0+$/, '').replace(/\.$/, '.0');
}

const RECORDED: [string, number, string][] = [
  ['8272576.5729350001', 6, '8272576.572935'],
  ['8685050.2373699993', 6, '8685050.23737'],
  ['-4398175.3896000003', 6, '-4398175.3896'],
  ['572267.5193620001', 6, '572267.519362'],
  ['543038.7473040001', 8, '543038.747304'],
  ['2345678.1000000001', 1, '2345678.1'],
  ['-1500.0', 4, '-1500.0'],
  ['-0.0', 6, '0.0'],
  ['12', 0, '12.0'],
  ['7.50000000000000', 1, '7.5'],
];

for (const [printed, decimals, amount] of RECORDED) {
  test(`${printed} is ${amount} with ${decimals} decimals`, () => {
    assert.equal(formatUnits(readPrinted(printed, decimals), decimals), amount);
  });
}

test('every amount up to two billion is read back from its nearest double', () => {
  const random = new Random(`printed amounts/${SEED}`);
  let noisy = 0;
  for (let count = 0; count < 20_000; count++) {
    const decimals = random.below(7);
    const units = Math.floor(10 ** random.between(0, 15.3));
    const amount = formatUnits(random.chance(0.5) ? units : -units, decimals);
    if (Math.abs(Number(amount)) > 2e9) continue;
    const printed = print(amount);
    if (!isSameText(printed, amount)) noisy++;
    assert.equal(formatUnits(readStoredAmount(printed, decimals), decimals), amount, printed);
    assert.ok(isSameAmount(amount, printed), printed);
  }
  assert.ok(noisy > 1000, `only ${noisy} amounts had further digits`);
});

function isSameText(printed: string, amount: string): boolean {
  return printed.replace(/\.0$/, '') === amount.replace(/\.0$/, '');
}

test('one unit more or less is another amount', () => {
  for (const units of [123_456, 1_379_146_572_229, 8_272_576_572_935, 4_000_000_000_000_001]) {
    const printed = print(formatUnits(units, 6));
    for (const other of [units - 1, units + 1]) {
      assert.equal(isSameAmount(formatUnits(other, 6), printed), false, printed);
    }
  }
});

const REFUSED: [string, string, number][] = [
  ['further digits that no double has', '8272576.5729350101', 6],
  ['further digits where doubles have none', '100.0000001', 6],
  ['a digit just outside the noise', '572267.5193620002', 6],
  ['half a unit', '1000000.0000005', 6],
  ['more than ten decimals, within the noise', '8272576.57293500011', 6],
  ['an exponent', '1e6', 6],
  ['a plus sign', '+1.0', 6],
  ['white space', ' 1.0', 6],
  ['no digits after the point', '1.', 6],
  ['no digits before the point', '.5', 6],
  ['nothing', '', 6],
  ['infinity', 'Infinity', 6],
  ['too many digits', '9'.repeat(65), 6],
];

for (const [name, text, decimals] of REFUSED) {
  test(`refused: ${name}`, () => {
    assert.throws(() => readStoredAmount(text, decimals), DecimalError);
  });
}

test('an amount that a ledger cannot store is refused, and can still be compared', () => {
  assert.throws(() => readStoredAmount('9007199254.740992', 6), /within ±9007199254.740991/);
  assert.equal(readPrinted('9007199254740.5', 6), 9007199254740500000n);
});

test('amounts of any size are compared', () => {
  assert.ok(isSameAmount('123456789012345678.5', '123456789012345680.0'));
  assert.equal(isSameAmount('123456789012345678.5', '123456789012345780.0'), false);
  assert.equal(isSameAmount('1.5', '1.5x'), false);
  assert.ok(isSameAmount('0.0', '-0.0'));
  assert.ok(isSameAmount('1.50', '01.5'));
});
