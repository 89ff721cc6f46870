/** Refused leverage settings, fills, isolated margins and funding. */

import { ALICE, BOB, CAROL, FRANK, type Refused, SIZE_MAX, STRANGER } from './refusals-prepared.ts';

export const LEVERAGE_REFUSED: readonly Refused[] = [
  [{ coin: 'DOGE' }, 'coin: got "DOGE", expected a known coin'],
  [{ coin: 'btc' }, 'coin: got "btc", expected a known coin'],
  [{ coin: '__proto__' }, 'coin: got "__proto__", expected a known coin'],
  [{ mode: 'Cross' }, 'mode: got "Cross", expected cross or isolated'],
  [{ mode: 'isolated' }, 'mode: got "isolated", expected cross while the position is open'],
  [{ user: BOB, coin: 'ETH' }, 'mode: got "cross", expected isolated while the position is open'],
  [
    { user: STRANGER, coin: 'MEME', value: 3 },
    'mode: got "cross", expected isolated, the only mode of MEME',
  ],
  [{ value: 0 }, 'value: got 0, expected a whole number from 1 to 1000'],
  [{ value: -1 }, 'value: got -1, expected a whole number from 1 to 1000'],
  [{ value: 1.5 }, 'value: got 1.5, expected a whole number from 1 to 1000'],
  [{ value: 41 }, 'value: got 41, expected a whole number from 1 to 40'],
  [{ value: 1001 }, 'value: got 1001, expected a whole number from 1 to 1000'],
  [{ value: '20' }, 'value: got "20", expected a whole number from 1 to 1000'],
  [
    { coin: 'MEME', mode: 'isolated', value: 4 },
    'value: got 4, expected a whole number from 1 to 3',
  ],
  [{ dex: '' }, 'dex: got "", expected only the fields type, user, coin, mode, value'],
];

export const FILL_REFUSED: readonly Refused[] = [
  [{ coin: 'DOGE' }, 'coin: got "DOGE", expected a known coin'],
  [{ coin: 'toString' }, 'coin: got "toString", expected a known coin'],
  [{ coin: 'abc:BTC' }, 'coin: got "abc:BTC", expected a known coin'],
  [{ side: 'b' }, 'side: got "b", expected B or A'],
  [{ side: 'buy' }, 'side: got "buy", expected B or A'],
  [{ sz: '0' }, 'sz: got "0", expected an amount above 0'],
  [{ sz: '0.0' }, 'sz: got "0.0", expected an amount above 0'],
  [{ sz: '-0.1' }, 'sz: got "-0.1", expected an amount above 0'],
  [{ sz: '0.000001' }, 'sz: got "0.000001", expected a decimal with at most 5 decimals'],
  [{ sz: '1e-1' }, 'sz: got "1e-1", expected a decimal with at most 5 decimals'],
  [{ sz: '' }, 'sz: got "", expected a decimal with at most 5 decimals'],
  [
    { sz: '90071992547.40992' },
    'sz: got "90071992547.40992", expected an amount within ±90071992547.40991',
  ],
  [{ coin: 'MEME', sz: '0.5', px: '0.25' }, 'sz: got "0.5", expected a whole number as text'],
  [
    { coin: 'MEME', sz: '1', px: '0.2500001' },
    'px: got "0.2500001", expected a decimal with at most 6 decimals',
  ],
  [{ px: '0.0' }, 'px: got "0.0", expected an amount above 0'],
  [{ px: '-60000.5' }, 'px: got "-60000.5", expected an amount above 0'],
  [{ px: '60000.55' }, 'px: got "60000.55", expected a decimal with at most 1 decimal'],
  [{ px: ' 60000.5' }, 'px: got " 60000.5", expected a decimal with at most 1 decimal'],
  [
    { px: '900719925474099.2' },
    'px: got "900719925474099.2", expected an amount within ±900719925474099.1',
  ],
  [{ fee: '0.0000001' }, 'fee: got "0.0000001", expected a decimal with at most 6 decimals'],
  [{ fee: '+1.5' }, 'fee: got "+1.5", expected a decimal with at most 6 decimals'],
  [
    { fee: '9007199254.740992' },
    'fee: got "9007199254.740992", expected an amount within ±9007199254.740991',
  ],
  [
    { user: CAROL, side: 'A', sz: '0.00001', px: '0.1', fee: '0.0' },
    'sz: got "0.00001", expected a value that keeps the cash within ±2^53 units',
  ],
  [
    { user: CAROL, sz: '0.00001', px: '0.1', fee: '0.0' },
    'sz: got "0.00001", expected a value that keeps the entryNtl within ±2^53 units',
  ],
  [
    { user: CAROL, coin: 'MEME', side: 'A', sz: '1', px: '0.1', fee: '1.0' },
    'fee: got "1.0", expected a value that keeps the rawUsd within ±2^53 units',
  ],
  [
    { user: CAROL, coin: 'ETH', side: 'A', sz: '1.0', px: '2500.0' },
    'sz: got "1.0", expected a value that keeps the cash within ±2^53 units',
  ],
  [
    { user: CAROL, coin: 'ETH', side: 'A', sz: '0.0001', px: '0.01', fee: '0.0' },
    'sz: got "0.0001", expected a value that keeps the cash within ±2^53 units',
  ],
  [
    { user: FRANK, sz: '0.00001', px: '0.1' },
    'sz: got "0.00001", expected a value that keeps the szi within ±2^53 units',
  ],
  [
    { user: STRANGER, sz: SIZE_MAX, px: '60000.5' },
    'sz: got "90071992547.40991", expected a value that keeps the entryNtl within ±2^53 units',
  ],
  [
    { user: STRANGER, coin: 'MEME', sz: '9007199254740991', px: '0.000001' },
    'sz: got "9007199254740991", expected a value that keeps the cash within ±2^53 units',
  ],
  [{ time: 0 }, 'time: got 0, expected only the fields type, user, coin, side, sz, px, fee'],
];

export const ISOLATED_MARGIN_REFUSED: readonly Refused[] = [
  [{ coin: 'DOGE' }, 'coin: got "DOGE", expected a known coin'],
  [{ coin: 'BTC' }, 'coin: got "BTC", expected a coin in which the position is isolated'],
  [
    { coin: 'ETH' },
    'user: got "0xa11ce00000000000000000000000000000000001", expected a user with an open position in ETH',
  ],
  [
    { coin: 'xyz:GOLD' },
    'user: got "0xa11ce00000000000000000000000000000000001", expected a user with an open position in xyz:GOLD',
  ],
  [
    { user: STRANGER },
    'user: got "0x5742a00000000000000000000000000000000007", expected a user with an open position in MEME',
  ],
  [{ amount: '0.0000001' }, 'amount: got "0.0000001", expected a decimal with at most 6 decimals'],
  [
    { amount: '9007199254.740992' },
    'amount: got "9007199254.740992", expected an amount within ±9007199254.740991',
  ],
  [
    { user: CAROL, coin: 'ETH', amount: '0.000001' },
    'amount: got "0.000001", expected a value that keeps the rawUsd within ±2^53 units',
  ],
  [
    { user: CAROL, amount: '-0.000001' },
    'amount: got "-0.000001", expected a value that keeps the cash within ±2^53 units',
  ],
  [{ mode: 'isolated' }, 'mode: got "isolated", expected only the fields type, user, coin, amount'],
];

export const FUNDING_REFUSED: readonly Refused[] = [
  [{ coin: 'DOGE' }, 'coin: got "DOGE", expected a known coin'],
  [{ coin: 'constructor' }, 'coin: got "constructor", expected a known coin'],
  [{ payments: { [ALICE]: '1.5' } }, 'payments: got an object, expected an array'],
  [{ payments: [null] }, 'payments[0]: got null, expected a pair of user and amount'],
  [
    { payments: [{ user: ALICE, amount: '1.5' }] },
    'payments[0]: got an object, expected a pair of user and amount',
  ],
  [{ payments: [[ALICE]] }, 'payments[0]: got an array of 1, expected a pair of user and amount'],
  [
    { payments: [[ALICE, '1.5', '1.5']] },
    'payments[0]: got an array of 3, expected a pair of user and amount',
  ],
  [
    { payments: [['alice', '1.5']] },
    'payments[0][0]: got "alice", expected 0x and 40 hexadecimal digits',
  ],
  [
    { payments: [[null, '1.5']] },
    'payments[0][0]: got null, expected 0x and 40 hexadecimal digits',
  ],
  [{ payments: [[ALICE, 1.5]] }, 'payments[0][1]: got 1.5, expected a decimal as text'],
  [
    {
      payments: [
        [ALICE, '1.5'],
        [ALICE, '1.5e0'],
      ],
    },
    'payments[1][1]: got "1.5e0", expected a decimal with at most 6 decimals',
  ],
  [
    { payments: [[ALICE, '0.0000001']] },
    'payments[0][1]: got "0.0000001", expected a decimal with at most 6 decimals',
  ],
  [
    { payments: [[ALICE, '9007199254.740992']] },
    'payments[0][1]: got "9007199254.740992", expected an amount within ±9007199254.740991',
  ],
  [
    {
      payments: [
        [ALICE, '1.5'],
        [STRANGER, '1.5'],
      ],
    },
    'payments[1][0]: got "0x5742a00000000000000000000000000000000007", expected a user with an open position in BTC',
  ],
  [
    { payments: [[BOB, '1.5']] },
    'payments[0][0]: got "0xb0b0000000000000000000000000000000000002", expected a user with an open position in BTC',
  ],
  [
    { coin: 'ETH' },
    'payments[0][0]: got "0xa11ce00000000000000000000000000000000001", expected a user with an open position in ETH',
  ],
  [
    { payments: [[CAROL, '-0.000001']] },
    'payments[0][1]: got "-0.000001", expected a value that keeps the cash within ±2^53 units',
  ],
  [
    { coin: 'ETH', payments: [[CAROL, '-0.000001']] },
    'payments[0][1]: got "-0.000001", expected a value that keeps the rawUsd within ±2^53 units',
  ],
  [
    { coin: 'MEME', payments: [[CAROL, '0.000001']] },
    'payments[0][1]: got "0.000001", expected a value that keeps the rawUsd within ±2^53 units',
  ],
  [
    { payments: [[FRANK, '0.000001']] },
    'payments[0][1]: got "0.000001", expected a value that keeps the cumFunding within ±2^53 units',
  ],
  [{ rate: '0.0001' }, 'rate: got "0.0001", expected only the fields type, coin, payments'],
];
