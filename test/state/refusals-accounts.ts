/** Refused accounts: those set whole, and the USD in, reserved for and behind them. */

import {
  ALICE,
  CAROL,
  LOCKED_VALIDATOR,
  POSITION,
  type Refused,
  STRANGER,
} from './refusals-prepared.ts';

const ISOLATED = { type: 'isolated', value: 5, rawUsd: '100.0' };

/** An `account` event's positions, the first of them changed. */
function positionWith(change: object) {
  return { positions: [{ ...POSITION, ...change }] };
}

function leverageWith(change: object) {
  return positionWith({ leverage: { ...ISOLATED, ...change } });
}

function tiersWith(...marginTiers: readonly unknown[]) {
  return positionWith({ marginTiers });
}

const FIRST_TIER = { lowerBound: '0.0', maxLeverage: 40 };
const NEXT_TIER = { lowerBound: '1000.0', maxLeverage: 20 };

function fundingWith(change: object) {
  return positionWith({ cumFunding: { ...POSITION.cumFunding, ...change } });
}

export const ACCOUNT_REFUSED: readonly Refused[] = [
  [{ dex: 'abc' }, 'dex: got "abc", expected a known dex'],
  [{ dex: '__proto__' }, 'dex: got "__proto__", expected a known dex'],
  [
    { rawUsd: '9007199254.740992' },
    'rawUsd: got "9007199254.740992", expected an amount within ±9007199254.740991',
  ],
  [{ rawUsd: '1.0000001' }, 'rawUsd: got "1.0000001", expected a decimal with at most 6 decimals'],
  [{ positions: { 0: POSITION } }, 'positions: got an object, expected an array'],
  [{ positions: [null] }, 'positions[0]: got null, expected an object'],
  [{ positions: [[]] }, 'positions[0]: got an array of 0, expected an object'],
  [{ positions: [POSITION, POSITION] }, 'positions[1].coin: got "BTC", expected each coin once'],
  [positionWith({ coin: undefined }), 'positions[0].coin: got nothing, expected text'],
  [positionWith({ coin: 'DOGE' }), 'positions[0].coin: got "DOGE", expected a known coin'],
  [
    positionWith({ coin: 'hasOwnProperty' }),
    'positions[0].coin: got "hasOwnProperty", expected a known coin',
  ],
  [
    positionWith({ coin: 'xyz:GOLD' }),
    'positions[0].coin: got "xyz:GOLD", expected a coin of dex ""',
  ],
  [{ dex: 'xyz' }, 'positions[0].coin: got "BTC", expected a coin of dex "xyz"'],
  [positionWith({ szi: '0.0' }), 'positions[0].szi: got "0.0", expected a size that is not 0'],
  [positionWith({ szi: 0.5 }), 'positions[0].szi: got 0.5, expected a decimal as text'],
  [
    positionWith({ szi: '0.000001' }),
    'positions[0].szi: got "0.000001", expected a decimal with at most 5 decimals',
  ],
  [
    positionWith({ szi: '-90071992547.40992' }),
    'positions[0].szi: got "-90071992547.40992", expected an amount within ±90071992547.40991',
  ],
  [
    positionWith({ entryNtl: '0.0' }),
    'positions[0].entryNtl: got "0.0", expected an amount above 0',
  ],
  [
    positionWith({ entryNtl: '-1.0' }),
    'positions[0].entryNtl: got "-1.0", expected an amount above 0',
  ],
  [
    positionWith({ entryNtl: '9007199254.740992' }),
    'positions[0].entryNtl: got "9007199254.740992", expected an amount within ±9007199254.740991',
  ],
  [positionWith({ leverage: undefined }), 'positions[0].leverage: got nothing, expected an object'],
  [positionWith({ leverage: 20 }), 'positions[0].leverage: got 20, expected an object'],
  [
    positionWith({ leverage: ['cross', 20] }),
    'positions[0].leverage: got an array of 2, expected an object',
  ],
  [
    leverageWith({ type: 'portfolio' }),
    'positions[0].leverage.type: got "portfolio", expected cross or isolated',
  ],
  [
    leverageWith({ type: 'cross' }),
    'positions[0].leverage.rawUsd: got "100.0", expected only the fields type, value',
  ],
  [
    leverageWith({ rawUsd: undefined }),
    'positions[0].leverage.rawUsd: got nothing, expected a decimal as text',
  ],
  [
    leverageWith({ rawUsd: null }),
    'positions[0].leverage.rawUsd: got null, expected a decimal as text',
  ],
  [
    leverageWith({ rawUsd: '-9007199254.740992' }),
    'positions[0].leverage.rawUsd: got "-9007199254.740992", expected an amount within ±9007199254.740991',
  ],
  [
    leverageWith({ value: 0 }),
    'positions[0].leverage.value: got 0, expected a whole number from 1 to 1000',
  ],
  [
    leverageWith({ value: 1001 }),
    'positions[0].leverage.value: got 1001, expected a whole number from 1 to 1000',
  ],
  [
    leverageWith({ value: 2.5 }),
    'positions[0].leverage.value: got 2.5, expected a whole number from 1 to 1000',
  ],
  [
    leverageWith({ value: '5' }),
    'positions[0].leverage.value: got "5", expected a whole number from 1 to 1000',
  ],
  [
    positionWith({ cumFunding: undefined }),
    'positions[0].cumFunding: got nothing, expected an object',
  ],
  [positionWith({ cumFunding: '0.0' }), 'positions[0].cumFunding: got "0.0", expected an object'],
  [
    fundingWith({ allTime: undefined }),
    'positions[0].cumFunding.allTime: got nothing, expected a decimal as text',
  ],
  [
    fundingWith({ allTime: '9007199254.740992' }),
    'positions[0].cumFunding.allTime: got "9007199254.740992", expected an amount within ±9007199254.740991',
  ],
  [
    fundingWith({ sinceOpen: '-9007199254.740992' }),
    'positions[0].cumFunding.sinceOpen: got "-9007199254.740992", expected an amount within ±9007199254.740991',
  ],
  [
    fundingWith({ sinceChange: '0.0000001' }),
    'positions[0].cumFunding.sinceChange: got "0.0000001", expected a decimal with at most 6 decimals',
  ],
  [
    fundingWith({ sinceNoon: '0.0' }),
    'positions[0].cumFunding.sinceNoon: got "0.0", expected only the fields allTime, sinceOpen, sinceChange',
  ],
  [
    positionWith({ entryPx: '60000.0' }),
    'positions[0].entryPx: got "60000.0", expected only the fields coin, szi, entryNtl, leverage, cumFunding, marginTiers',
  ],
  [positionWith({ marginTiers: null }), 'positions[0].marginTiers: got null, expected an array'],
  [
    positionWith({ marginTiers: FIRST_TIER }),
    'positions[0].marginTiers: got an object, expected an array',
  ],
  [tiersWith(), 'positions[0].marginTiers: got an array of 0, expected 1 to 100 tiers'],
  [
    tiersWith(...Array.from({ length: 101 }, () => FIRST_TIER)),
    'positions[0].marginTiers: got an array of 101, expected 1 to 100 tiers',
  ],
  [tiersWith(null), 'positions[0].marginTiers[0]: got null, expected an object'],
  [
    tiersWith({ ...FIRST_TIER, lowerBound: '1.0' }),
    'positions[0].marginTiers[0].lowerBound: got "1.0", expected 0.0 in the first tier',
  ],
  [
    tiersWith(FIRST_TIER, NEXT_TIER, NEXT_TIER),
    'positions[0].marginTiers[2].lowerBound: got "1000.0", expected more than the lowerBound before it',
  ],
  [
    tiersWith(FIRST_TIER, { ...NEXT_TIER, maxLeverage: 0 }),
    'positions[0].marginTiers[1].maxLeverage: got 0, expected a whole number from 1 to 1000',
  ],
  [
    tiersWith({ ...FIRST_TIER, lowerBound: 0 }),
    'positions[0].marginTiers[0].lowerBound: got 0, expected a decimal as text',
  ],
  [
    tiersWith({ ...FIRST_TIER, description: '' }),
    'positions[0].marginTiers[0].description: got "", expected only the fields lowerBound, maxLeverage',
  ],
  [
    { orderMargin: '0.0' },
    'orderMargin: got "0.0", expected only the fields type, user, dex, rawUsd, positions',
  ],
];

export const TRANSFER_REFUSED: readonly Refused[] = [
  [
    { user: ALICE.replace('0x', '0X') },
    'user: got "0Xa11ce00000000000000000000000000000000001", expected 0x and 40 hexadecimal digits',
  ],
  [
    { user: ` ${ALICE.slice(0, -1)}` },
    'user: got " 0xa11ce0000000000000000000000000000000000", expected 0x and 40 hexadecimal digits',
  ],
  [
    { user: ALICE.replace('c', 'g') },
    'user: got "0xa11ge00000000000000000000000000000000001", expected 0x and 40 hexadecimal digits',
  ],
  [
    { user: `0x${'٣'.repeat(40)}` },
    'user: got "0x٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣٣", expected 0x and 40 hexadecimal digits',
  ],
  [{ dex: 'abc' }, 'dex: got "abc", expected a known dex'],
  [{ dex: 'constructor' }, 'dex: got "constructor", expected a known dex'],
  [{ dex: ' ' }, 'dex: got " ", expected a known dex'],
  [{ amount: '0.0000001' }, 'amount: got "0.0000001", expected a decimal with at most 6 decimals'],
  [{ amount: '1e3' }, 'amount: got "1e3", expected a decimal with at most 6 decimals'],
  [{ amount: '+1.0' }, 'amount: got "+1.0", expected a decimal with at most 6 decimals'],
  [{ amount: '' }, 'amount: got "", expected a decimal with at most 6 decimals'],
  [{ amount: ' ' }, 'amount: got " ", expected a decimal with at most 6 decimals'],
  [{ amount: ' 1.0' }, 'amount: got " 1.0", expected a decimal with at most 6 decimals'],
  [{ amount: '1.0\n' }, 'amount: got "1.0\\n", expected a decimal with at most 6 decimals'],
  [{ amount: '1 000.0' }, 'amount: got "1 000.0", expected a decimal with at most 6 decimals'],
  [{ amount: '1,000.0' }, 'amount: got "1,000.0", expected a decimal with at most 6 decimals'],
  [{ amount: '1.' }, 'amount: got "1.", expected a decimal with at most 6 decimals'],
  [{ amount: '.5' }, 'amount: got ".5", expected a decimal with at most 6 decimals'],
  [{ amount: '1.2.3' }, 'amount: got "1.2.3", expected a decimal with at most 6 decimals'],
  [{ amount: '-' }, 'amount: got "-", expected a decimal with at most 6 decimals'],
  [{ amount: '--1.0' }, 'amount: got "--1.0", expected a decimal with at most 6 decimals'],
  [{ amount: '−1.0' }, 'amount: got "−1.0", expected a decimal with at most 6 decimals'],
  [{ amount: '0x10' }, 'amount: got "0x10", expected a decimal with at most 6 decimals'],
  [{ amount: '1_000' }, 'amount: got "1_000", expected a decimal with at most 6 decimals'],
  [{ amount: 'NaN' }, 'amount: got "NaN", expected a decimal with at most 6 decimals'],
  [{ amount: 'Infinity' }, 'amount: got "Infinity", expected a decimal with at most 6 decimals'],
  [{ amount: '-Infinity' }, 'amount: got "-Infinity", expected a decimal with at most 6 decimals'],
  [{ amount: 'null' }, 'amount: got "null", expected a decimal with at most 6 decimals'],
  [{ amount: '١٢' }, 'amount: got "١٢", expected a decimal with at most 6 decimals'],
  [{ amount: '１２' }, 'amount: got "１２", expected a decimal with at most 6 decimals'],
  [
    { amount: '9007199254.740992' },
    'amount: got "9007199254.740992", expected an amount within ±9007199254.740991',
  ],
  [
    { amount: '-9007199254.740992' },
    'amount: got "-9007199254.740992", expected an amount within ±9007199254.740991',
  ],
  [
    { amount: '9'.repeat(1_000_000) },
    'amount: got "999999999999999999999999999999999999999999999999999999999999"… (1000000 characters), expected an amount within ±9007199254.740991',
  ],
  [
    { user: CAROL, amount: '0.000001' },
    'amount: got "0.000001", expected a value that keeps the cash within ±2^53 units',
  ],
  [
    { user: 'u'.repeat(1_000_000) },
    'user: got "uuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuuu"… (1000000 characters), expected 0x and 40 hexadecimal digits',
  ],
  [
    { ['f'.repeat(1_000_000)]: true },
    'ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff…: got true, expected only the fields type, user, dex, amount',
  ],
  [
    { nonce: '\u0000\u001b[31m' },
    'nonce: got "\\u0000\\u001b[31m", expected only the fields type, user, dex, amount',
  ],
  [
    JSON.parse('{"__proto__":{"amount":"1.0"}}'),
    '__proto__: got an object, expected only the fields type, user, dex, amount',
  ],
  [
    { constructor: null },
    'constructor: got null, expected only the fields type, user, dex, amount',
  ],
  [
    { hasOwnProperty: '' },
    'hasOwnProperty: got "", expected only the fields type, user, dex, amount',
  ],
];

export const ORDER_MARGIN_REFUSED: readonly Refused[] = [
  [{ dex: 'abc' }, 'dex: got "abc", expected a known dex'],
  [{ amount: '-0.000001' }, 'amount: got "-0.000001", expected an amount of 0 or more'],
  [{ amount: '0.0000001' }, 'amount: got "0.0000001", expected a decimal with at most 6 decimals'],
  [
    { amount: '9007199254.740992' },
    'amount: got "9007199254.740992", expected an amount within ±9007199254.740991',
  ],
  [{ coin: 'BTC' }, 'coin: got "BTC", expected only the fields type, user, dex, amount'],
];

export const COLLATERAL_REFUSED: readonly Refused[] = [
  [{ dex: 'abc' }, 'dex: got "abc", expected a known dex'],
  [{ amount: '-0.000001' }, 'amount: got "-0.000001", expected an amount of 0 or more'],
  [{ amount: '1E3' }, 'amount: got "1E3", expected a decimal with at most 6 decimals'],
  [
    { amount: '9007199254.740992' },
    'amount: got "9007199254.740992", expected an amount within ±9007199254.740991',
  ],
  [{ token: 'USDC' }, 'token: got "USDC", expected only the fields type, user, dex, amount'],
];

export const ACCOUNT_TIME_REFUSED: readonly Refused[] = [
  [{ dex: 'abc' }, 'dex: got "abc", expected a known dex'],
  [
    { user: STRANGER },
    'user: got "0x5742a00000000000000000000000000000000007", expected a user whose account on the dex an earlier event has named',
  ],
  [
    { dex: 'xyz' },
    'user: got "0xa11ce00000000000000000000000000000000001", expected a user whose account on the dex an earlier event has named',
  ],
  [
    { user: LOCKED_VALIDATOR },
    'user: got "0x10cced0000000000000000000000000000000008", expected a user whose account on the dex an earlier event has named',
  ],
  [
    { time: 1_758_556_803_001 },
    'time: got 1758556803001, expected at most 1758556803000, the time of the block',
  ],
  [{ time: -1 }, 'time: got -1, expected a whole number from 0 to 8640000000000000'],
  [
    { time: '1758556803000' },
    'time: got "1758556803000", expected a whole number from 0 to 8640000000000000',
  ],
  [
    { time: 8_640_000_000_000_001 },
    'time: got 8640000000000001, expected a whole number from 0 to 8640000000000000',
  ],
  [{ source: 'api' }, 'source: got "api", expected only the fields type, user, dex, time'],
];

export const PARTIAL_REFUSED: readonly Refused[] = [
  [{ isPartial: true }, 'isPartial: got true, expected only the fields type'],
  [{ partial: false }, 'partial: got false, expected only the fields type'],
  [{ time: 0 }, 'time: got 0, expected only the fields type'],
  [{ dex: '' }, 'dex: got "", expected only the fields type'],
  [
    { user: ALICE },
    'user: got "0xa11ce00000000000000000000000000000000001", expected only the fields type',
  ],
];
