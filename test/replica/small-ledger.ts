/** A handwritten ledger: six short blocks that fill every part of a state. */

const ALICE = '0xa11ce00000000000000000000000000000000001';
const BOB = '0xb0b0000000000000000000000000000000000002';
const VALIDATOR = '0x0a11da7040000000000000000000000000000003';
const TIME = 1_758_556_800_000;

const BLOCKS: readonly (readonly object[])[] = [
  [
    { type: 'perpDex', dex: 'xyz', fullName: 'Métaux', deployer: BOB },
    {
      type: 'market',
      dex: '',
      coin: 'BTC',
      szDecimals: 5,
      marginTiers: [
        { lowerBound: '0.0', maxLeverage: 40 },
        { lowerBound: '150000000.0', maxLeverage: 20 },
      ],
      onlyIsolated: false,
      markPx: '60000.5',
    },
    {
      type: 'market',
      dex: 'xyz',
      coin: 'xyz:GOLD',
      szDecimals: 3,
      marginTiers: [{ lowerBound: '0.0', maxLeverage: 20 }],
      onlyIsolated: true,
      markPx: '2400.125',
    },
  ],
  [
    { type: 'transfer', user: ALICE, dex: '', amount: '100000.0' },
    { type: 'fill', user: ALICE, coin: 'BTC', side: 'B', sz: '0.5', px: '60000.0', fee: '12.5' },
    { type: 'orderMargin', user: ALICE, dex: '', amount: '250.0' },
  ],
  [
    { type: 'marks', prices: { BTC: '60100.0' } },
    { type: 'funding', coin: 'BTC', payments: [[ALICE, '3.5']] },
    { type: 'delegate', user: ALICE, validator: VALIDATOR, amount: '10.00000001' },
  ],
  [
    { type: 'transfer', user: BOB, dex: 'xyz', amount: '7000.0' },
    { type: 'fill', user: BOB, coin: 'xyz:GOLD', side: 'A', sz: '1.5', px: '2399.5', fee: '-0.1' },
    { type: 'collateral', user: BOB, dex: 'xyz', amount: '400.25' },
  ],
  [
    {
      type: 'deployAuction',
      startTimeSeconds: TIME / 1000,
      durationSeconds: 3600,
      startGas: '500.0',
      floorGas: '100.0',
    },
    { type: 'fill', user: ALICE, coin: 'BTC', side: 'A', sz: '0.2', px: '60200.0', fee: '5.0' },
    { type: 'accountTime', user: ALICE, dex: '', time: TIME + 3500 },
    {
      type: 'delegations',
      user: BOB,
      delegations: [{ validator: VALIDATOR, amount: '2.5', lockedUntilTimestamp: TIME }],
    },
    { type: 'dexes', list: [null, null, { name: 'xyz', fullName: 'Métaux' }] },
    { type: 'universe', dex: 'xyz', meta: { universe: [7, { name: 'xyz:GOLD' }] } },
    { type: 'accountMode', user: BOB, mode: 'unifiedAccount' },
    { type: 'partial' },
  ],
  [],
];

export const SMALL_LINES: readonly string[] = BLOCKS.map((events, index) =>
  JSON.stringify({ height: index + 1, time: TIME + index * 1000, events }),
);
