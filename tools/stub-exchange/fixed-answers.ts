/** The answers to questions that a follower only passes on: the same rows for all users. */

type Json = ReturnType<typeof JSON.parse>;

export const FILL = {
  coin: 'BTC',
  px: '97250.0',
  sz: '0.00297',
  side: 'B',
  time: 1_789_132_385_514,
  startPosition: '0.0',
  dir: 'Open Long',
  closedPnl: '0.0',
  hash: `0x${'0c'.repeat(32)}`,
  oid: 542_257_046_224,
  crossed: false,
  fee: '0.001943',
  tid: 442_259_546_941_564,
  cloid: `0x${'ce'.repeat(16)}`,
  feeToken: 'USDC',
  twapId: null,
};

export const OPEN_ORDER = {
  coin: 'BTC',
  side: 'A',
  limitPx: '98000.0',
  sz: '0.00297',
  oid: 543_755_136_277,
  timestamp: 1_789_305_063_961,
  triggerCondition: 'N/A',
  isTrigger: false,
  triggerPx: '0.0',
  children: [],
  isPositionTpsl: false,
  reduceOnly: false,
  orderType: 'Limit',
  origSz: '0.00297',
  tif: 'Alo',
  cloid: `0x${'ce'.repeat(16)}`,
};

export const FUNDING = {
  time: 1_789_135_200_020,
  hash: `0x${'0'.repeat(64)}`,
  delta: {
    type: 'funding',
    coin: 'BTC',
    usdc: '-2.594359',
    szi: '0.00297',
    fundingRate: '0.0001059512',
    nSamples: null,
  },
};

export const USER_LISTS: ReadonlyMap<string, Json> = new Map<string, Json>([
  ['openOrders', []],
  ['frontendOpenOrders', [OPEN_ORDER]],
  ['userFills', [FILL]],
  ['userFillsByTime', [FILL]],
  ['userFunding', [FUNDING]],
  ['historicalOrders', []],
  ['candleSnapshot', []],
]);

export const DEX_ANSWERS: Readonly<Record<string, Json>> = {
  perpDexLimits: {
    totalOiCap: '50000000.0',
    oiSzCapPerPerp: '10000000000.0',
    maxTransferNtl: '50000000.0',
    coinToOiCap: [],
  },
  perpDexStatus: { totalNetDeposit: '4103492112.4478230476' },
};

export const EMPTY_BOOK = { coin: '', time: 0, levels: [[], []] };
