/** Refused dexes, markets and mark prices. */

import { BOB, type Refused } from './refusals-prepared.ts';

const FIRST_TIER = { lowerBound: '0.0', maxLeverage: 20 };

/** `{"__proto__": ...}` as JSON has it: a key like any other. */
function withPrototypeKey(value: string): object {
  return JSON.parse(`{"__proto__":${JSON.stringify(value)}}`);
}

export const PERP_DEX_REFUSED: readonly Refused[] = [
  [{ dex: '' }, 'dex: got "", expected 1 to 6 of a-z and 0-9'],
  [{ dex: 'xyz' }, 'dex: got "xyz", expected a new dex'],
  [{ dex: 'new' }, 'dex: got "new", expected a new dex'],
  [{ dex: 'ABC' }, 'dex: got "ABC", expected 1 to 6 of a-z and 0-9'],
  [{ dex: 'abcdefg' }, 'dex: got "abcdefg", expected 1 to 6 of a-z and 0-9'],
  [{ dex: 'a c' }, 'dex: got "a c", expected 1 to 6 of a-z and 0-9'],
  [{ dex: 'abc\n' }, 'dex: got "abc\\n", expected 1 to 6 of a-z and 0-9'],
  [{ dex: 'a:c' }, 'dex: got "a:c", expected 1 to 6 of a-z and 0-9'],
  [{ dex: '__proto__' }, 'dex: got "__proto__", expected 1 to 6 of a-z and 0-9'],
  [{ fullName: '' }, 'fullName: got "", expected 1 to 100 characters'],
  [
    { fullName: 'n'.repeat(101) },
    'fullName: got "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"… (101 characters), expected 1 to 100 characters',
  ],
  [
    { deployer: BOB.slice(0, -1) },
    'deployer: got "0xb0b000000000000000000000000000000000000", expected 0x and 40 hexadecimal digits',
  ],
  [
    { deployer: `${BOB}0` },
    'deployer: got "0xb0b00000000000000000000000000000000000020", expected 0x and 40 hexadecimal digits',
  ],
  [
    { deployer: BOB.slice(2) },
    'deployer: got "b0b0000000000000000000000000000000000002", expected 0x and 40 hexadecimal digits: 0x is missing',
  ],
  [
    { owner: BOB },
    'owner: got "0xb0b0000000000000000000000000000000000002", expected only the fields type, dex, fullName, deployer',
  ],
  [
    { '': 'nameless' },
    '(empty): got "nameless", expected only the fields type, dex, fullName, deployer',
  ],
];

export const MARKET_REFUSED: readonly Refused[] = [
  [{ dex: 'abc' }, 'dex: got "abc", expected a known dex'],
  [{ dex: 'toString' }, 'dex: got "toString", expected a known dex'],
  [{ dex: '' }, 'coin: got "xyz:SILVER", expected a coin without a colon'],
  [{ coin: 'SILVER' }, 'coin: got "SILVER", expected xyz:NAME'],
  [{ coin: 'new:SILVER' }, 'coin: got "new:SILVER", expected xyz:NAME'],
  [
    { coin: 'xyz:' },
    'coin: got "xyz:", expected NAME or dex:NAME, NAME 1 to 20 of A-Z, a-z and 0-9',
  ],
  [
    { coin: 'xyz:xyz:SILVER' },
    'coin: got "xyz:xyz:SILVER", expected NAME or dex:NAME, NAME 1 to 20 of A-Z, a-z and 0-9',
  ],
  [
    { coin: 'xyz:SILVER-2' },
    'coin: got "xyz:SILVER-2", expected NAME or dex:NAME, NAME 1 to 20 of A-Z, a-z and 0-9',
  ],
  [
    { coin: 'xyz:SILVER ' },
    'coin: got "xyz:SILVER ", expected NAME or dex:NAME, NAME 1 to 20 of A-Z, a-z and 0-9',
  ],
  [
    { coin: 'xyz:ŠILVER' },
    'coin: got "xyz:ŠILVER", expected NAME or dex:NAME, NAME 1 to 20 of A-Z, a-z and 0-9',
  ],
  [
    { coin: `xyz:${'S'.repeat(21)}` },
    'coin: got "xyz:SSSSSSSSSSSSSSSSSSSSS", expected NAME or dex:NAME, NAME 1 to 20 of A-Z, a-z and 0-9',
  ],
  [
    { dex: '', coin: '' },
    'coin: got "", expected NAME or dex:NAME, NAME 1 to 20 of A-Z, a-z and 0-9',
  ],
  [
    { dex: '', coin: '__proto__' },
    'coin: got "__proto__", expected NAME or dex:NAME, NAME 1 to 20 of A-Z, a-z and 0-9',
  ],
  [{ coin: 'xyz:GOLD' }, 'szDecimals: got 2, expected 3, which cannot change'],
  [{ szDecimals: -1 }, 'szDecimals: got -1, expected a whole number from 0 to 6'],
  [{ szDecimals: 7 }, 'szDecimals: got 7, expected a whole number from 0 to 6'],
  [{ szDecimals: '2' }, 'szDecimals: got "2", expected a whole number from 0 to 6'],
  [{ marginTiers: [] }, 'marginTiers: got an array of 0, expected 1 to 100 tiers'],
  [
    { marginTiers: Array(101).fill(FIRST_TIER) },
    'marginTiers: got an array of 101, expected 1 to 100 tiers',
  ],
  [
    { marginTiers: [{ ...FIRST_TIER, lowerBound: '1.0' }] },
    'marginTiers[0].lowerBound: got "1.0", expected 0.0 in the first tier',
  ],
  [
    { marginTiers: [FIRST_TIER, FIRST_TIER] },
    'marginTiers[1].lowerBound: got "0.0", expected more than the lowerBound before it',
  ],
  [
    {
      marginTiers: [
        FIRST_TIER,
        { lowerBound: '9.0', maxLeverage: 10 },
        { lowerBound: '8.0', maxLeverage: 5 },
      ],
    },
    'marginTiers[2].lowerBound: got "8.0", expected more than the lowerBound before it',
  ],
  [
    { marginTiers: [{ ...FIRST_TIER, lowerBound: '-1.0' }] },
    'marginTiers[0].lowerBound: got "-1.0", expected an amount of 0 or more',
  ],
  [
    { marginTiers: [{ ...FIRST_TIER, lowerBound: '0.0000001' }] },
    'marginTiers[0].lowerBound: got "0.0000001", expected a decimal with at most 6 decimals',
  ],
  [
    { marginTiers: [FIRST_TIER, { lowerBound: '9007199254.740992', maxLeverage: 1 }] },
    'marginTiers[1].lowerBound: got "9007199254.740992", expected an amount within ±9007199254.740991',
  ],
  [
    { marginTiers: [{ lowerBound: '0.0' }] },
    'marginTiers[0].maxLeverage: got nothing, expected a whole number from 1 to 1000',
  ],
  [
    { marginTiers: [{ ...FIRST_TIER, maxLeverage: 0 }] },
    'marginTiers[0].maxLeverage: got 0, expected a whole number from 1 to 1000',
  ],
  [
    { marginTiers: [{ ...FIRST_TIER, maxLeverage: 1001 }] },
    'marginTiers[0].maxLeverage: got 1001, expected a whole number from 1 to 1000',
  ],
  [
    { marginTiers: [{ ...FIRST_TIER, maxLeverage: 1.5 }] },
    'marginTiers[0].maxLeverage: got 1.5, expected a whole number from 1 to 1000',
  ],
  [
    { marginTiers: [{ ...FIRST_TIER, maxLeverage: '20' }] },
    'marginTiers[0].maxLeverage: got "20", expected a whole number from 1 to 1000',
  ],
  [
    { marginTiers: [FIRST_TIER, { ...FIRST_TIER, constructor: 1 }] },
    'marginTiers[1].constructor: got 1, expected only the fields lowerBound, maxLeverage',
  ],
  [{ marginTiers: [[]] }, 'marginTiers[0]: got an array of 0, expected an object'],
  [{ marginTiers: [null] }, 'marginTiers[0]: got null, expected an object'],
  [{ marginTiers: { 0: FIRST_TIER } }, 'marginTiers: got an object, expected an array'],
  [{ onlyIsolated: 'false' }, 'onlyIsolated: got "false", expected true or false'],
  [{ onlyIsolated: 0 }, 'onlyIsolated: got 0, expected true or false'],
  [{ markPx: '0.0' }, 'markPx: got "0.0", expected a price above 0'],
  [{ markPx: '-30.0' }, 'markPx: got "-30.0", expected a price above 0'],
  [{ markPx: '30.12345' }, 'markPx: got "30.12345", expected a decimal with at most 4 decimals'],
  [
    { markPx: '900719925474.0992' },
    'markPx: got "900719925474.0992", expected an amount within ±900719925474.0991',
  ],
  [{ markPx: '' }, 'markPx: got "", expected a decimal with at most 4 decimals'],
  [
    { maxLeverage: 20 },
    'maxLeverage: got 20, expected only the fields type, dex, coin, szDecimals, marginTiers, onlyIsolated, markPx',
  ],
];

export const MARKS_REFUSED: readonly Refused[] = [
  [{ prices: ['2502.5'] }, 'prices: got an array of 1, expected an object of coins and prices'],
  [{ prices: { ETH: 2502.5 } }, 'prices.ETH: got 2502.5, expected a decimal as text'],
  [{ prices: { ETH: null } }, 'prices.ETH: got null, expected a decimal as text'],
  [{ prices: { ETH: ['2502.5'] } }, 'prices.ETH: got an array of 1, expected a decimal as text'],
  [{ prices: { ETH: '0' } }, 'prices.ETH: got "0", expected a price above 0'],
  [{ prices: { ETH: '-2502.5' } }, 'prices.ETH: got "-2502.5", expected a price above 0'],
  [
    { prices: { ETH: '2502.125' } },
    'prices.ETH: got "2502.125", expected a decimal with at most 2 decimals',
  ],
  [
    { prices: { ETH: '2.5e3' } },
    'prices.ETH: got "2.5e3", expected a decimal with at most 2 decimals',
  ],
  [
    { prices: { ETH: '90071992547409.92' } },
    'prices.ETH: got "90071992547409.92", expected an amount within ±90071992547409.91',
  ],
  [{ prices: { ETH: '2502.5', DOGE: '0.1' } }, 'prices: got "DOGE", expected a known coin'],
  [{ prices: { eth: '2502.5' } }, 'prices: got "eth", expected a known coin'],
  [{ prices: { '': '2502.5' } }, 'prices: got "", expected a known coin'],
  [{ prices: withPrototypeKey('2502.5') }, 'prices: got "__proto__", expected a known coin'],
  [{ prices: { constructor: '2502.5' } }, 'prices: got "constructor", expected a known coin'],
  [{ prices: { toString: '2502.5' } }, 'prices: got "toString", expected a known coin'],
  [{ prices: { hasOwnProperty: '2502.5' } }, 'prices: got "hasOwnProperty", expected a known coin'],
  [
    { prices: { ['C'.repeat(1_000_000)]: '2502.5' } },
    'prices: got "CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC"… (1000000 characters), expected a known coin',
  ],
  [{ time: 5 }, 'time: got 5, expected only the fields type, prices'],
];
