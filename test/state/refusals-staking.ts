/** Refused delegations and auctions. */

import {
  ALICE,
  CAROL,
  LISTED_DELEGATION,
  LOCKED_VALIDATOR,
  type Refused,
  STAKE_MAX,
  STRANGER,
  VALIDATOR,
} from './refusals-prepared.ts';

export const DELEGATE_REFUSED: readonly Refused[] = [
  [{ validator: 'validator' }, 'validator: got "validator", expected 0x and 40 hexadecimal digits'],
  [
    { validator: VALIDATOR.slice(0, 41) },
    'validator: got "0x0a11da704000000000000000000000000000000", expected 0x and 40 hexadecimal digits',
  ],
  [{ amount: '0.0' }, 'amount: got "0.0", expected an amount above 0'],
  [{ amount: '-1.0' }, 'amount: got "-1.0", expected an amount above 0'],
  [
    { amount: '0.000000001' },
    'amount: got "0.000000001", expected a decimal with at most 8 decimals',
  ],
  [{ amount: '1e8' }, 'amount: got "1e8", expected a decimal with at most 8 decimals'],
  [{ amount: '+1' }, 'amount: got "+1", expected a decimal with at most 8 decimals'],
  [{ amount: '' }, 'amount: got "", expected a decimal with at most 8 decimals'],
  [{ amount: '1 ' }, 'amount: got "1 ", expected a decimal with at most 8 decimals'],
  [{ amount: 'NaN' }, 'amount: got "NaN", expected a decimal with at most 8 decimals'],
  [{ amount: '٤' }, 'amount: got "٤", expected a decimal with at most 8 decimals'],
  [
    { amount: '92233720368.54775808' },
    'amount: got "92233720368.54775808", expected an amount within ±92233720368.54775807',
  ],
  [
    { amount: '9'.repeat(1_000_000) },
    'amount: got "999999999999999999999999999999999999999999999999999999999999"… (1000000 characters), expected an amount within ±92233720368.54775807',
  ],
  [
    { user: CAROL, amount: '0.00000001' },
    'amount: got "0.00000001", expected an amount that keeps the delegation within 92233720368.54775807',
  ],
  [
    { user: ALICE, amount: STAKE_MAX },
    'amount: got "92233720368.54775807", expected an amount that keeps the delegation within 92233720368.54775807',
  ],
  [
    { lockedUntilTimestamp: 0 },
    'lockedUntilTimestamp: got 0, expected only the fields type, user, validator, amount',
  ],
];

export const UNDELEGATE_REFUSED: readonly Refused[] = [
  [
    { validator: LOCKED_VALIDATOR },
    'validator: got "0x10cced0000000000000000000000000000000008", expected an unlocked delegation: this one is locked until 1758643202000, and the block\'s time is 1758556803000',
  ],
  [
    { validator: STRANGER },
    'validator: got "0x5742a00000000000000000000000000000000007", expected a validator that 0xa11ce00000000000000000000000000000000001 has delegated to',
  ],
  [
    { user: STRANGER },
    'validator: got "0x0a11da7040000000000000000000000000000009", expected a validator that 0x5742a00000000000000000000000000000000007 has delegated to',
  ],
  [
    { amount: '200.00000001' },
    'amount: got "200.00000001", expected at most 200.0, the delegated amount',
  ],
  [{ amount: '0' }, 'amount: got "0", expected an amount above 0'],
  [{ amount: '-1.0' }, 'amount: got "-1.0", expected an amount above 0'],
  [
    { amount: '1.000000001' },
    'amount: got "1.000000001", expected a decimal with at most 8 decimals',
  ],
  [
    { isUndelegate: true },
    'isUndelegate: got true, expected only the fields type, user, validator, amount',
  ],
];

export const DELEGATION_REWARD_REFUSED: readonly Refused[] = [
  [
    { user: STRANGER },
    'validator: got "0x0a11da7040000000000000000000000000000009", expected a validator that 0x5742a00000000000000000000000000000000007 has delegated to',
  ],
  [
    { validator: ALICE },
    'validator: got "0xa11ce00000000000000000000000000000000001", expected a validator that 0xa11ce00000000000000000000000000000000001 has delegated to',
  ],
  [{ amount: '0.0' }, 'amount: got "0.0", expected an amount above 0'],
  [{ amount: '-0.5' }, 'amount: got "-0.5", expected an amount above 0'],
  [
    { amount: '0.123456789' },
    'amount: got "0.123456789", expected a decimal with at most 8 decimals',
  ],
  [
    { amount: '92233720368.54775808' },
    'amount: got "92233720368.54775808", expected an amount within ±92233720368.54775807',
  ],
  [
    { user: CAROL, amount: '0.00000001' },
    'amount: got "0.00000001", expected an amount that keeps the delegation within 92233720368.54775807',
  ],
  [
    { source: 'commission' },
    'source: got "commission", expected only the fields type, user, validator, amount',
  ],
];

export const DELEGATION_REFUSED: readonly Refused[] = [
  [{ amount: '-1.0' }, 'amount: got "-1.0", expected an amount of 0 or more'],
  [
    { amount: '1.000000001' },
    'amount: got "1.000000001", expected a decimal with at most 8 decimals',
  ],
  [
    { amount: '92233720368.54775808' },
    'amount: got "92233720368.54775808", expected an amount within ±92233720368.54775807',
  ],
  [
    { lockedUntilTimestamp: '0' },
    'lockedUntilTimestamp: got "0", expected a whole number from 0 to 8640000000000000',
  ],
  [
    { lockedUntilTimestamp: -1 },
    'lockedUntilTimestamp: got -1, expected a whole number from 0 to 8640000000000000',
  ],
  [
    { lockedUntilTimestamp: 1.5 },
    'lockedUntilTimestamp: got 1.5, expected a whole number from 0 to 8640000000000000',
  ],
  [
    { lockedUntilTimestamp: 8_640_000_000_000_001 },
    'lockedUntilTimestamp: got 8640000000000001, expected a whole number from 0 to 8640000000000000',
  ],
  [
    { locked: true },
    'locked: got true, expected only the fields type, user, validator, amount, lockedUntilTimestamp',
  ],
];

/** A `delegations` event's list, its second item changed. */
function listedWith(change: object) {
  const second = { ...LISTED_DELEGATION, validator: STRANGER, ...change };
  return { delegations: [LISTED_DELEGATION, second] };
}

export const DELEGATIONS_REFUSED: readonly Refused[] = [
  [{ delegations: { 0: LISTED_DELEGATION } }, 'delegations: got an object, expected an array'],
  [{ delegations: [null] }, 'delegations[0]: got null, expected an object'],
  [
    listedWith({ validator: VALIDATOR }),
    'delegations[1].validator: got "0x0a11da7040000000000000000000000000000009", expected each validator once',
  ],
  [
    listedWith({ validator: VALIDATOR.toUpperCase().replace('X', 'x') }),
    'delegations[1].validator: got "0x0a11da7040000000000000000000000000000009", expected each validator once',
  ],
  [
    listedWith({ validator: 'validator' }),
    'delegations[1].validator: got "validator", expected 0x and 40 hexadecimal digits',
  ],
  [listedWith({ amount: '0.0' }), 'delegations[1].amount: got "0.0", expected an amount above 0'],
  [listedWith({ amount: '-1.0' }), 'delegations[1].amount: got "-1.0", expected an amount above 0'],
  [
    listedWith({ amount: '0.000000001' }),
    'delegations[1].amount: got "0.000000001", expected a decimal with at most 8 decimals',
  ],
  [
    listedWith({ amount: '92233720368.54775808' }),
    'delegations[1].amount: got "92233720368.54775808", expected an amount within ±92233720368.54775807',
  ],
  [
    listedWith({ lockedUntilTimestamp: -1 }),
    'delegations[1].lockedUntilTimestamp: got -1, expected a whole number from 0 to 8640000000000000',
  ],
  [
    listedWith({ lockedUntilTimestamp: undefined }),
    'delegations[1].lockedUntilTimestamp: got nothing, expected a whole number from 0 to 8640000000000000',
  ],
  [
    listedWith({ locked: true }),
    'delegations[1].locked: got true, expected only the fields validator, amount, lockedUntilTimestamp',
  ],
  [
    { validator: VALIDATOR },
    'validator: got "0x0a11da7040000000000000000000000000000009", expected only the fields type, user, delegations',
  ],
];

export const DEPLOY_AUCTION_REFUSED: readonly Refused[] = [
  [
    { startTimeSeconds: -1 },
    'startTimeSeconds: got -1, expected a whole number from 0 to 8640000000000',
  ],
  [
    { startTimeSeconds: 0.5 },
    'startTimeSeconds: got 0.5, expected a whole number from 0 to 8640000000000',
  ],
  [
    { startTimeSeconds: '1758556800' },
    'startTimeSeconds: got "1758556800", expected a whole number from 0 to 8640000000000',
  ],
  [
    { startTimeSeconds: 8_640_000_000_001 },
    'startTimeSeconds: got 8640000000001, expected a whole number from 0 to 8640000000000',
  ],
  [
    { durationSeconds: 0 },
    'durationSeconds: got 0, expected a whole number from 1 to 8640000000000',
  ],
  [
    { durationSeconds: -3600 },
    'durationSeconds: got -3600, expected a whole number from 1 to 8640000000000',
  ],
  [
    { durationSeconds: 8_640_000_000_001 },
    'durationSeconds: got 8640000000001, expected a whole number from 1 to 8640000000000',
  ],
  [{ startGas: '-1.0' }, 'startGas: got "-1.0", expected an amount of 0 or more'],
  [
    { startGas: '900.000000001' },
    'startGas: got "900.000000001", expected a decimal with at most 8 decimals',
  ],
  [
    { startGas: '92233720368.54775808' },
    'startGas: got "92233720368.54775808", expected an amount within ±92233720368.54775807',
  ],
  [{ floorGas: '900.00000001' }, 'floorGas: got "900.00000001", expected at most startGas, 900.0'],
  [{ floorGas: '-0.00000001' }, 'floorGas: got "-0.00000001", expected an amount of 0 or more'],
  [{ floorGas: '1e2' }, 'floorGas: got "1e2", expected a decimal with at most 8 decimals'],
  [
    { endGas: '100.0' },
    'endGas: got "100.0", expected only the fields type, startTimeSeconds, durationSeconds, startGas, floorGas',
  ],
];

export const DEPLOY_AUCTION_END_REFUSED: readonly Refused[] = [
  [{ endGas: '-1.0' }, 'endGas: got "-1.0", expected an amount of 0 or more'],
  [
    { endGas: '1.000000001' },
    'endGas: got "1.000000001", expected a decimal with at most 8 decimals',
  ],
  [{ endGas: ' 450.0' }, 'endGas: got " 450.0", expected a decimal with at most 8 decimals'],
  [
    { endGas: '92233720368.54775808' },
    'endGas: got "92233720368.54775808", expected an amount within ±92233720368.54775807',
  ],
  [
    { winner: ALICE },
    'winner: got "0xa11ce00000000000000000000000000000000001", expected only the fields type, endGas',
  ],
];

export const NO_DEPLOY_AUCTION_REFUSED: readonly Refused[] = [
  [{ endGas: '1.0' }, 'endGas: got "1.0", expected only the fields type'],
  [{ time: 0 }, 'time: got 0, expected only the fields type'],
  [{ auction: null }, 'auction: got null, expected only the fields type'],
  [{ startGas: '500.0' }, 'startGas: got "500.0", expected only the fields type'],
  [{ dex: '' }, 'dex: got "", expected only the fields type'],
];
