/**
 * For every type that the exchange answers with --forward: a question, and answers in the
 * exchange's form. Together, the answers of a type contain every member and every form in the
 * schema of the type.
 */

import { DEX_ANSWERS, FILL, FUNDING, OPEN_ORDER } from './fixed-answers.ts';

type Json = ReturnType<typeof JSON.parse>;

export interface ForwardedExample {
  readonly type: string;
  /** The fields of the question. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly answers: readonly [Json, ...Json[]];
}

const USER = '0x00000000000000000000000000000000000000aa';
const OTHER = '0x00000000000000000000000000000000000000bb';
const TOKEN_ID = `0x${'0c'.repeat(16)}`;
const HASH = `0x${'0c'.repeat(32)}`;
const TIME = 1_789_132_385_514;

const ofUser = { user: USER };
const ofCoin = { coin: 'BTC' };
const since = { startTime: 1_789_000_000_000 };

const ORDER_WITH_STATUS = { order: OPEN_ORDER, status: 'open', statusTimestamp: TIME };
const PLAIN_ORDER = {
  ...{ coin: 'BTC', side: 'B', limitPx: '98000.0', sz: '0.00297', oid: 543_755_136_278 },
  ...{ timestamp: TIME, origSz: '0.00297' },
};
const OTHER_ORDER = { ...OPEN_ORDER, side: 'B', tif: null, cloid: null };
const SOLD = { ...FILL, side: 'A', builderFee: '0.01', cloid: null };
const TWAP_FILL = { fill: FILL, twapId: 3156 };
const SOLD_BY_TWAP = { fill: SOLD, twapId: 3157 };
const TWAP = {
  ...{ time: 1_789_132_385, state: { coin: 'BTC', sz: '1.0', side: 'A', minutes: 30 } },
  status: { status: 'finished' },
};
const DEPOSIT = { time: TIME, hash: HASH, delta: { type: 'deposit', usdc: '1000.0' } };

const ORDERS: readonly ForwardedExample[] = [
  {
    ...{ type: 'openOrders', fields: ofUser },
    answers: [[PLAIN_ORDER, OPEN_ORDER, { ...OPEN_ORDER, cloid: null }]],
  },
  {
    type: 'frontendOpenOrders',
    fields: ofUser,
    answers: [[{ ...OTHER_ORDER, children: [OPEN_ORDER] }, OPEN_ORDER]],
  },
  {
    ...{ type: 'historicalOrders', fields: ofUser },
    answers: [
      [
        ORDER_WITH_STATUS,
        { ...ORDER_WITH_STATUS, order: { ...OTHER_ORDER, children: [OPEN_ORDER] } },
      ],
    ],
  },
  {
    ...{ type: 'orderStatus', fields: { ...ofUser, oid: 543_755_136_277 } },
    answers: [
      { status: 'order', order: ORDER_WITH_STATUS },
      {
        status: 'order',
        order: { ...ORDER_WITH_STATUS, order: { ...OTHER_ORDER, children: [OPEN_ORDER] } },
      },
      { status: 'unknownOid' },
    ],
  },
  { type: 'userFills', fields: ofUser, answers: [[FILL, SOLD]] },
  { type: 'userFillsByTime', fields: { ...ofUser, ...since }, answers: [[FILL, SOLD]] },
  { type: 'userTwapSliceFills', fields: ofUser, answers: [[TWAP_FILL, SOLD_BY_TWAP]] },
  {
    ...{ type: 'userTwapSliceFillsByTime', fields: { ...ofUser, ...since } },
    answers: [[TWAP_FILL, SOLD_BY_TWAP]],
  },
  { type: 'twapHistory', fields: ofUser, answers: [[TWAP]] },
  { type: 'userFunding', fields: { ...ofUser, ...since }, answers: [[FUNDING]] },
  { type: 'userNonFundingLedgerUpdates', fields: { ...ofUser, ...since }, answers: [[DEPOSIT]] },
  {
    ...{ type: 'activeAssetData', fields: { ...ofUser, ...ofCoin } },
    answers: [
      {
        ...{ user: USER, coin: 'BTC', leverage: { type: 'cross', value: 20 }, markPx: '97300.0' },
        ...{ maxTradeSzs: ['0.1', '0.2'], availableToTrade: ['486.5', '973.0'] },
      },
    ],
  },
];

const PREDICTED = {
  ...{ fundingRate: '0.0000125', nextFundingTime: TIME, fundingIntervalHours: 1 },
};

const CONTEXT = {
  ...{ funding: '0.0000125', openInterest: '100.5', prevDayPx: '97000.0', dayNtlVlm: '1000.0' },
  ...{ oraclePx: '97240.0', markPx: '97250.0', premium: '0.0001', midPx: '97250.5' },
  impactPxs: ['97250.0', '97251.0'],
};
const META = { universe: [{ name: 'BTC', szDecimals: 5, maxLeverage: 40 }] };

const MARKET_DATA: readonly ForwardedExample[] = [
  { type: 'allMids', fields: {}, answers: [{ BTC: '97250.5', '@107': '18.4355' }] },
  {
    ...{ type: 'metaAndAssetCtxs', fields: {} },
    answers: [[META, [CONTEXT, { ...CONTEXT, premium: null, midPx: null, impactPxs: null }]]],
  },
  {
    ...{ type: 'l2Book', fields: ofCoin },
    answers: [
      {
        ...{ coin: 'BTC', time: TIME },
        levels: [[{ px: '97250.0', sz: '1.5', n: 3 }], [{ px: '97251.0', sz: '0.5', n: 1 }]],
      },
      null,
    ],
  },
  {
    ...{ type: 'candleSnapshot', fields: { req: { ...ofCoin, interval: '1m', startTime: 1 } } },
    answers: [
      [
        {
          ...{ t: TIME, T: TIME + 59_999, s: 'BTC', i: '1m', n: 12 },
          ...{ o: '97250.0', c: '97251.0', h: '97260.0', l: '97240.0', v: '3.5' },
        },
      ],
    ],
  },
  {
    ...{ type: 'recentTrades', fields: ofCoin },
    answers: [
      ['A', 'B'].map((side) => ({
        ...{ coin: 'BTC', side, px: '97250.0', sz: '0.1', time: TIME, hash: HASH, tid: 7 },
        users: [USER, OTHER],
      })),
    ],
  },
  {
    ...{ type: 'fundingHistory', fields: { ...ofCoin, ...since } },
    answers: [[{ coin: 'BTC', fundingRate: '0.0000125', premium: '0.0001', time: TIME }]],
  },
  {
    ...{ type: 'predictedFundings', fields: {} },
    answers: [
      [
        [
          'BTC',
          [
            ['HlPerp', PREDICTED],
            ['BinPerp', null],
          ],
        ],
      ],
    ],
  },
  { type: 'perpsAtOpenInterestCap', fields: {}, answers: [['BTC', 'CANTO']] },
];

const PERMISSIONS: readonly ForwardedExample[] = [
  {
    ...{ type: 'userFees', fields: ofUser },
    answers: [
      {
        ...{
          dailyUserVlm: [{ date: '2026-09-15', userCross: '0.0' }],
          feeSchedule: { cross: '0.00045' },
        },
        ...{ userCrossRate: '0.00045', userAddRate: '0.00015' },
      },
    ],
  },
  {
    ...{ type: 'userRateLimit', fields: ofUser },
    answers: [{ cumVlm: '2854574.59', nRequestsUsed: 2890, nRequestsCap: 2_864_574 }],
  },
  { type: 'userRole', fields: ofUser, answers: [{ role: 'user' }] },
  { type: 'isVip', fields: ofUser, answers: [true, null] },
  { type: 'referral', fields: ofUser, answers: [{ referredBy: null, cumVlm: '0.0' }] },
  {
    ...{ type: 'extraAgents', fields: ofUser },
    answers: [[{ name: 'bot', address: OTHER, validUntil: TIME }]],
  },
  { type: 'approvedBuilders', fields: ofUser, answers: [[OTHER]] },
  { type: 'maxBuilderFee', fields: { ...ofUser, builder: OTHER }, answers: [10] },
  ...['subAccounts', 'subAccounts2'].map(
    (type): ForwardedExample => ({
      ...{ type, fields: ofUser },
      answers: [[{ name: 'sub', subAccountUser: OTHER, master: USER }], null],
    }),
  ),
  {
    ...{ type: 'userToMultiSigSigners', fields: ofUser },
    answers: [{ authorizedUsers: [USER, OTHER], threshold: 2 }, null],
  },
  { type: 'userDexAbstraction', fields: ofUser, answers: [true, null] },
  {
    ...{ type: 'preTransferCheck', fields: { ...ofUser, source: OTHER } },
    answers: [{ fee: '0.0', isSanctioned: false, userExists: true }],
  },
  { type: 'userAbstraction', fields: ofUser, answers: ['default'] },
];

const VAULT = { name: 'Provider', vaultAddress: OTHER, leader: USER };

const VAULTS: readonly ForwardedExample[] = [
  { type: 'vaultSummaries', fields: {}, answers: [[{ ...VAULT, tvl: '0.0' }]] },
  { type: 'vaultDetails', fields: { vaultAddress: OTHER }, answers: [VAULT, null] },
  {
    ...{ type: 'userVaultEquities', fields: ofUser },
    answers: [[{ vaultAddress: OTHER, equity: '742500.082809' }]],
  },
  { type: 'leadingVaults', fields: ofUser, answers: [[{ address: OTHER, name: 'Provider' }]] },
  { type: 'borrowLendUserState', fields: ofUser, answers: [{ health: 'healthy' }] },
  { type: 'borrowLendReserveState', fields: { token: 0 }, answers: [{ utilization: '0.5' }] },
  {
    ...{ type: 'allBorrowLendReserveStates', fields: {} },
    answers: [[[0, { utilization: '0.5' }]]],
  },
  {
    ...{ type: 'userBorrowLendInterest', fields: { ...ofUser, ...since } },
    answers: [[{ time: TIME, token: 'USDC', supply: '0.1' }]],
  },
];

const AUCTION = { startTimeSeconds: 1_789_131_600, durationSeconds: 111_600, startGas: '500.0' };

const SPOT_META = {
  universe: [{ name: 'PURR/USDC', tokens: [1, 0], index: 0, isCanonical: true }],
  tokens: [
    {
      ...{ name: 'USDC', szDecimals: 8, weiDecimals: 8, index: 0 },
      ...{ tokenId: TOKEN_ID, isCanonical: true },
    },
  ],
};
const SPOT_CONTEXT = {
  ...{ prevDayPx: '0.3', dayNtlVlm: '100.0', markPx: '0.31', midPx: '0.312' },
};
const PERIOD = {
  ...{ accountValueHistory: [[TIME, '100.0']], pnlHistory: [[TIME, '1.5']], vlm: '2000.0' },
};

/** Questions that the ledger answers without --forward, if it has the data. */
const SPOT: readonly ForwardedExample[] = [
  { type: 'portfolio', fields: ofUser, answers: [[['day', PERIOD]]] },
  { type: 'spotMeta', fields: {}, answers: [SPOT_META] },
  {
    ...{ type: 'spotMetaAndAssetCtxs', fields: {} },
    answers: [[SPOT_META, [SPOT_CONTEXT, { ...SPOT_CONTEXT, midPx: null }]]],
  },
  {
    ...{ type: 'spotClearinghouseState', fields: ofUser },
    answers: [{ balances: [{ coin: 'USDC', token: 0, total: '12.5', hold: '0.0' }] }],
  },
  {
    type: 'outcomeMeta',
    fields: {},
    answers: [{ outcomes: [{ outcome: 1 }], questions: [{ question: 1 }] }],
  },
];

const MARKETS_AND_STAKING: readonly ForwardedExample[] = [
  {
    ...{ type: 'perpDexLimits', fields: { dex: 'xyz' } },
    answers: [{ ...DEX_ANSWERS['perpDexLimits'], coinToOiCap: [['xyz:TSLA', '1000000.0']] }, null],
  },
  {
    ...{ type: 'perpDexStatus', fields: { dex: 'xyz' } },
    answers: [DEX_ANSWERS['perpDexStatus'], null],
  },
  { type: 'perpAnnotation', fields: ofCoin, answers: [{ category: 'layer 1' }, null] },
  { type: 'perpCategories', fields: {}, answers: [[['BTC', 'layer 1']]] },
  { type: 'perpConciseAnnotations', fields: {}, answers: [[['BTC', { category: 'layer 1' }]]] },
  { type: 'maxMarketOrderNtls', fields: {}, answers: [[['15000000.0', 'BTC']]] },
  {
    ...{ type: 'delegatorHistory', fields: ofUser },
    answers: [[{ time: TIME, hash: HASH, delta: { delegate: { validator: OTHER } } }]],
  },
  {
    ...{ type: 'delegatorRewards', fields: ofUser },
    answers: [[{ time: TIME, source: 'delegation', totalAmount: '0.73117184' }]],
  },
  {
    ...{ type: 'validatorSummaries', fields: {} },
    answers: [[{ validator: OTHER, name: 'One', stake: 12 }]],
  },
  { type: 'validatorL1Votes', fields: {}, answers: [[{ expireTime: TIME, votes: [] }]] },
  ...SPOT,
  { type: 'tokenDetails', fields: { tokenId: TOKEN_ID }, answers: [{ name: 'PURR' }] },
  { type: 'spotDeployState', fields: ofUser, answers: [{ states: [], gasAuction: AUCTION }] },
  {
    ...{ type: 'spotPairDeployAuctionStatus', fields: {} },
    answers: [
      { ...AUCTION, currentGas: '321.5', endGas: null },
      { ...AUCTION, currentGas: null, endGas: '300.0' },
    ],
  },
  {
    ...{ type: 'alignedQuoteTokenInfo', fields: { token: 150 } },
    answers: [{ isAligned: true }, null],
  },
];

export const FORWARDED_EXAMPLES: readonly ForwardedExample[] = [
  ...[...ORDERS, ...MARKET_DATA, ...PERMISSIONS, ...VAULTS, ...MARKETS_AND_STAKING],
];
