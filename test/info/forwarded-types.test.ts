/** Questions that are passed on: which ones, in which form, and what they weigh. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UpstreamQuestion } from '../../src/info/question.ts';
import { FORWARDED_TYPES } from '../../src/info/question-types.ts';
import { readForwarded, readQuery } from '../../src/info/read-question.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { PUBLIC_WEIGHTS } from '../../src/info/upstream-weights.ts';

const USER = '0x00000000000000000000000000000000000000aa';
const OTHER = '0x00000000000000000000000000000000000000bb';
const HASH = '0x0123456789abcdef0123456789abcdef';

/** A valid question of each type that has fields: what comes in, and what goes out if it differs. */
const QUESTIONS: readonly Readonly<Record<string, unknown>>[] = [
  { type: 'allMids', dex: 'ALL_DEXS' },
  { type: 'metaAndAssetCtxs', dex: 'xyz' },
  { type: 'activeAssetData', user: USER, coin: 'xyz:TSLA' },
  { type: 'alignedQuoteTokenInfo', token: 150 },
  { type: 'borrowLendReserveState', token: 0 },
  {
    type: 'candleSnapshot',
    req: { coin: '@107', interval: '1M', startTime: 1, endTime: 8_640_000_000_000_000 },
  },
  { type: 'frontendOpenOrders', user: USER, dex: 'xyz' },
  { type: 'fundingHistory', coin: 'BTC', startTime: 0, endTime: 5 },
  { type: 'l2Book', coin: 'PURR/USDC', nSigFigs: 5, mantissa: 2 },
  { type: 'maxBuilderFee', user: USER, builder: OTHER },
  { type: 'openOrders', user: USER, dex: '' },
  { type: 'orderStatus', user: USER, oid: 91_490_942 },
  { type: 'orderStatus', user: USER, oid: HASH },
  { type: 'perpAnnotation', coin: 'kPEPE' },
  { type: 'perpDexLimits', dex: 'xyz' },
  { type: 'perpDexStatus', dex: '' },
  { type: 'perpsAtOpenInterestCap', dex: 'xyz' },
  { type: 'preTransferCheck', user: USER, source: OTHER },
  { type: 'recentTrades', coin: '#12' },
  { type: 'spotClearinghouseState', user: USER, dex: 'xyz' },
  { type: 'tokenDetails', tokenId: HASH },
  { type: 'userBorrowLendInterest', user: USER, startTime: 1, endTime: 2 },
  { type: 'historicalOrders', user: USER, dex: 'xyz' },
  { type: 'userFills', user: USER, dex: 'xyz', aggregateByTime: true },
  {
    type: 'userFillsByTime',
    user: USER,
    startTime: 1,
    endTime: 2,
    aggregateByTime: false,
    reversed: true,
    dex: 'xyz',
  },
  { type: 'userFunding', user: USER, startTime: 1, endTime: 2 },
  { type: 'userNonFundingLedgerUpdates', user: USER, startTime: 1, endTime: 2 },
  {
    type: 'userTwapSliceFillsByTime',
    user: USER,
    startTime: 1,
    endTime: 2,
    aggregateByTime: true,
    reversed: false,
  },
  { type: 'vaultDetails', vaultAddress: USER, user: OTHER },
];

function rebuilt(body: unknown): unknown {
  const read = readForwarded(body);
  assert.ok(read !== undefined && !(read instanceof RequestError), JSON.stringify(body));
  return read.body;
}

function refusal(body: unknown): [string, string | undefined] {
  const read = readForwarded(body);
  assert.ok(read instanceof RequestError, 'it is passed on');
  return [read.code, read.field];
}

test('every question of the table is rebuilt with all of its fields', () => {
  for (const question of QUESTIONS) assert.deepEqual(rebuilt(question), question);
  const withFields = new Set(QUESTIONS.map(({ type }) => type));
  for (const type of FORWARDED_TYPES.map((each) => each.type).filter(
    (other) => !withFields.has(other),
  )) {
    const question = { type, user: USER };
    const keys = Object.keys(rebuilt(question) as object);
    assert.deepEqual(keys, keys.length === 1 ? ['type'] : ['type', 'user'], type);
  }
});

test('fields that the table does not have are passed on as they are, in one order', () => {
  const extra = {
    limit: 7,
    filter: { coins: ['BTC', null], ratio: 0.5 },
    isOpen: false,
    tag: null,
  };
  const question = { type: 'openOrders', user: USER, ...extra };
  assert.deepEqual(rebuilt(question), question);
  const turned = Object.fromEntries(Object.entries(question).reverse());
  assert.equal(JSON.stringify(rebuilt(turned)), JSON.stringify(rebuilt(question)));
  const candles = {
    type: 'candleSnapshot',
    req: { coin: 'BTC', interval: '1m', startTime: 1, extended: true },
  };
  assert.deepEqual(rebuilt(candles), candles);
});

test('an unknown field that cannot be passed on is refused and named, never dropped', () => {
  const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) });
  const many = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`f${index}`, index]));
  const cases: readonly (readonly [string, string])[] = [
    ['"outPath":"/tmp/x"', 'outPath'],
    ['"includeHeightInOutput":true', 'includeHeightInOutput'],
    ['"request":{"kind":"l4Snapshots"}', 'request'],
    ['"Action":{}', 'Action'],
    ['"nonce":1', 'nonce'],
    ['"filter":[{"type":"fileSnapshot"}]', 'filter[0].type'],
    ['"__proto__":{"x":1}', '"__proto__"'],
    ['"filter":{"__proto__":1}', 'filter."__proto__"'],
    ['"constructor":1', 'constructor'],
    ['"a b":1', '"a b"'],
    ['"":1', '""'],
    [`"${'n'.repeat(41)}":1`, `"${'n'.repeat(41)}"`],
    ['"id":12345678901234567890', 'id'],
    ['"id":1e999', 'id'],
    [`"deep":${JSON.stringify(nested(5))}`, 'deep.a.a.a.a'],
    [`"deep":${'['.repeat(9_000)}${']'.repeat(9_000)}`, 'deep[0][0][0][0]'],
    [`"text":"${'x'.repeat(4_091)}"`, 'text'],
    [JSON.stringify(many).slice(1, -1), 'f9'],
  ];
  for (const [member, field] of cases) {
    const body = JSON.parse(`{"type":"openOrders","user":"${USER}",${member}}`);
    assert.deepEqual(refusal(body), ['invalid_field', field], member.slice(0, 60));
  }
  const candles = { type: 'candleSnapshot', req: { coin: 'BTC', interval: '1m', startTime: 1 } };
  const writing = { ...candles, req: { ...candles.req, outPath: '/tmp/x' } };
  assert.deepEqual(refusal(writing), ['invalid_field', 'req.outPath']);
});

test('unknown fields at their bounds are passed on', () => {
  const sixteen = Object.fromEntries(
    Array.from({ length: 16 }, (_, index) => [`f${index}`, index]),
  );
  const bounds = [sixteen, { deep: { a: [{ b: [1] }] } }, { text: 'x'.repeat(4_090) }];
  for (const extra of bounds) {
    const question = { type: 'openOrders', user: USER, ...extra };
    assert.deepEqual(rebuilt(question), question);
  }
});

test('fields that are null or absent are left out where they are optional', () => {
  const question = { type: 'l2Book', coin: 'BTC', nSigFigs: null, mantissa: undefined };
  assert.deepEqual(rebuilt(question), { type: 'l2Book', coin: 'BTC' });
});

test('addresses are passed on in lower case, so that one question is one text', () => {
  const upper = USER.replace('aa', 'AA');
  assert.deepEqual(rebuilt({ type: 'userFees', user: upper }), { type: 'userFees', user: USER });
});

test('types that write, and types that are not in the table, are not passed on', () => {
  const types = [
    ...['fileSnapshot', 'order', 'usdSend', 'constructor', '__proto__', 'toString', ''],
    ...[undefined, null, 1, ['openOrders'], { type: 'openOrders' }],
  ];
  for (const type of types) {
    assert.equal(readForwarded({ type, user: USER }), undefined, String(type));
  }
  for (const body of [null, 'openOrders', ['openOrders'], 5]) {
    assert.equal(readForwarded(body), undefined);
  }
});

test('a wrong or missing field is refused and named', () => {
  const cases: readonly (readonly [Record<string, unknown>, string, string])[] = [
    [{ type: 'openOrders' }, 'missing_field', 'user'],
    [{ type: 'openOrders', user: '0x12' }, 'invalid_address', 'user'],
    [{ type: 'openOrders', user: { $ne: 1 } }, 'invalid_address', 'user'],
    [{ type: 'openOrders', user: USER, dex: '../x' }, 'invalid_field', 'dex'],
    [{ type: 'openOrders', user: USER, dex: ['xyz'] }, 'invalid_field', 'dex'],
    [{ type: 'recentTrades', coin: 'B"TC' }, 'invalid_field', 'coin'],
    [{ type: 'recentTrades', coin: 'x'.repeat(41) }, 'invalid_field', 'coin'],
    [{ type: 'l2Book', coin: 'BTC', nSigFigs: 6 }, 'invalid_field', 'nSigFigs'],
    [{ type: 'l2Book', coin: 'BTC', mantissa: '2' }, 'invalid_field', 'mantissa'],
    [{ type: 'fundingHistory', coin: 'BTC', startTime: -1 }, 'invalid_field', 'startTime'],
    [{ type: 'fundingHistory', coin: 'BTC', startTime: 1.5 }, 'invalid_field', 'startTime'],
    [{ type: 'fundingHistory', coin: 'BTC', startTime: '1' }, 'invalid_field', 'startTime'],
    [{ type: 'userFills', user: USER, aggregateByTime: 1 }, 'invalid_field', 'aggregateByTime'],
    [{ type: 'orderStatus', user: USER, oid: '12' }, 'invalid_field', 'oid'],
    [{ type: 'candleSnapshot', coin: 'BTC' }, 'missing_field', 'req'],
    [
      { type: 'candleSnapshot', req: { coin: 'BTC', interval: '7m' } },
      'invalid_field',
      'req.interval',
    ],
    [{ type: 'candleSnapshot', req: { interval: '1m' } }, 'missing_field', 'req.coin'],
    [{ type: 'candleSnapshot', req: [] }, 'invalid_field', 'req'],
    [{ type: 'tokenDetails', tokenId: '0x12' }, 'invalid_field', 'tokenId'],
  ];
  for (const [body, ...expected] of cases) assert.deepEqual(refusal(body), expected);
});

test('an address without 0x is refused with that reason', () => {
  const read = readForwarded({ type: 'openOrders', user: USER.slice(2) });
  assert.ok(read instanceof RequestError);
  const expected = '0x and 40 hexadecimal digits: 0x is missing';
  assert.equal(read.message, `user: got "${USER.slice(2)}", expected ${expected}`);
});

test('a moment of the past is refused: the exchange would answer about the present', () => {
  for (const moment of [{ atHeight: 7 }, { atTime: 1758556800000 }, { atHeight: null }]) {
    for (const type of ['portfolio', 'userFees', 'spotMeta']) {
      const [field] = Object.keys(moment);
      assert.deepEqual(refusal({ type, user: USER, ...moment }), ['invalid_field', field]);
    }
  }
});

test('a question weighs what the upstream says', () => {
  const weigh = (body: unknown) => (readForwarded(body) as UpstreamQuestion).weight;
  assert.equal(weigh({ type: 'l2Book', coin: 'BTC' }), 2);
  assert.equal(weigh({ type: 'allMids' }), 2);
  assert.equal(weigh({ type: 'metaAndAssetCtxs', dex: 'xyz' }), 20);
  assert.equal(weigh({ type: 'userRole', user: USER }), 60);
  assert.equal(weigh({ type: 'userFills', user: USER }), 20);
  assert.equal(PUBLIC_WEIGHTS.maxOf('userFills'), 120);
  assert.equal(PUBLIC_WEIGHTS.maxOf('candleSnapshot'), 104);
  assert.equal(PUBLIC_WEIGHTS.maxOf('l2Book'), 2);
});

function readText(text: string) {
  return readQuery(new URLSearchParams(text), { forwards: true });
}

test('a query string is read as the question that it writes', () => {
  const cases: readonly (readonly [string, object])[] = [
    ['type=l2Book&coin=BTC&nSigFigs=5', { type: 'l2Book', coin: 'BTC', nSigFigs: 5 }],
    [
      `type=userFills&user=${USER}&aggregateByTime=true`,
      { type: 'userFills', user: USER, aggregateByTime: true },
    ],
    [
      'type=fundingHistory&coin=BTC&startTime=7',
      { type: 'fundingHistory', coin: 'BTC', startTime: 7 },
    ],
    [`type=orderStatus&user=${USER}&oid=12`, { type: 'orderStatus', user: USER, oid: 12 }],
    ['type=spotMeta&extra=7', { type: 'spotMeta', extra: '7' }],
  ];
  for (const [text, expected] of cases) {
    const read = readText(text);
    assert.ok(read instanceof UpstreamQuestion, text);
    assert.deepEqual(read.body, expected);
  }
});

test('a query string that gives a field twice, or a wrong value, is refused', () => {
  const cases = [
    ['type=l2Book&coin=BTC&coin=ETH', 'coin'],
    ['type=l2Book&coin=BTC&nSigFigs=9', 'nSigFigs'],
    [`type=userFills&user=${USER}&aggregateByTime=yes`, 'aggregateByTime'],
    ['type=spotMeta&__proto__=1', '"__proto__"'],
  ] as const;
  for (const [text, field] of cases) {
    const read = readText(text);
    assert.ok(read instanceof RequestError, text);
    assert.equal(read.field, field);
  }
  const unknown = readText('type=order');
  assert.ok(unknown instanceof RequestError);
  assert.equal(unknown.code, 'unknown_type');
});

test('marks of the past are left to the ledger, whose archive has them', () => {
  assert.equal(readForwarded({ type: 'allMids', atHeight: 7 }), undefined);
});
