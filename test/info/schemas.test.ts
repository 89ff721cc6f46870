/** The schemas of answers refuse everything but answers: what they leave open is written out. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { OWN_TYPES } from '../../src/info/question-types.ts';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** What a value is replaced with. */
const REPLACEMENTS: Readonly<Record<string, Json>> = {
  object: {},
  list: [],
  text: 'any text',
  amount: '-12.5',
  number: 7,
  fraction: 7.5,
  null: null,
};

/** Every way to spoil a value in one place: the name of the way, and the spoilt value. */
function* spoil(value: Json, path = ''): Generator<[way: string, spoilt: Json]> {
  for (const [name, replacement] of Object.entries(REPLACEMENTS)) {
    if (kindOf(replacement) !== kindOf(value)) yield [`${path} ${name}`, replacement];
  }
  if (Array.isArray(value)) {
    yield [`${path} one more`, [...value, { unknown: 0 }]];
    if (value.length > 0) yield [`${path} one less`, value.slice(0, -1)];
    for (const [index, item] of value.entries()) {
      for (const [way, spoilt] of spoil(item, `${path}/*`)) yield [way, value.with(index, spoilt)];
    }
  } else if (value !== null && typeof value === 'object') {
    yield [`${path} one more`, { ...value, unknown: 0 }];
    for (const [name, item] of Object.entries(value)) {
      const { [name]: _removed, ...rest } = value;
      yield [`${path}/${name} left out`, rest];
      for (const [way, spoilt] of spoil(item, `${path}/${name}`)) {
        yield [way, { ...value, [name]: spoilt }];
      }
    }
  }
}

/** A replacement of the same kind spoils nothing. */
function kindOf(value: Json): string {
  if (Array.isArray(value)) return value.length === 0 ? 'empty list' : 'list';
  if (typeof value === 'string') return /^-?[0-9]+\.[0-9]+$/.test(value) ? 'amount' : 'text';
  if (typeof value === 'number') return Number.isInteger(value) ? 'number' : 'fraction';
  return value === null ? 'null' : typeof value;
}

/** What a followed server says in its own form is left out: our own answers have the form that is told. */
function withoutAnythingElse(schema: Json): Record<string, Json> {
  return JSON.parse(JSON.stringify(schema), (name, value) =>
    name === 'anyOf' ? value.filter((form: object) => Object.keys(form).length > 0) : value,
  );
}

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });

/** The ways in which the example of a type may be spoilt and still fits its schema. */
function openWays({ answerSchema, example }: (typeof OWN_TYPES)[number]): string[] {
  const fits = ajv.compile(withoutAnythingElse(answerSchema as Json));
  const answer = example.answer as Json;
  assert.ok(fits(answer), ajv.errorsText(fits.errors));
  const open = [...spoil(answer)].filter(([, spoilt]) => fits(spoilt)).map(([way]) => way);
  return [...new Set(open)];
}

/** A list of any length. */
const list = (path: string) => [`${path} list`, `${path} one less`];

const account = (path: string) => [
  ...list(`${path}/assetPositions`),
  `${path}/assetPositions/*/position/coin amount`,
  `${path}/assetPositions/*/position/leverage/rawUsd left out`,
  `${path}/assetPositions/*/position/liquidationPx null`,
];

/** Figures that are null where another server has them. */
const contexts = (path: string) => [
  ...list(path),
  ...[
    ...['funding', 'openInterest', 'prevDayPx', 'dayNtlVlm', 'oraclePx', 'markPx', 'dayBaseVlm'],
  ].map((name) => `${path}/*/${name} null`),
];

const meta = (path: string) => [
  ...list(`${path}/universe`),
  `${path}/universe/*/name amount`,
  `${path}/universe/*/onlyIsolated left out`,
  ...list(`${path}/marginTables`),
  `${path}/marginTables/*/*/description amount`,
  ...list(`${path}/marginTables/*/*/marginTiers`),
];

/** Texts may be amounts, lists may be shorter, and the rest is what the interface has. */
const OPEN: Readonly<Record<string, readonly string[]>> = {
  clearinghouseState: account(''),
  delegations: list(''),
  perpDeployAuctionStatus: [' null', '/endGas amount'],
  allDexsClearinghouseState: [...list(''), '/*/* amount', ...account('/*/*')],
  batchClearinghouseStates: [
    ...list('/successful_states'),
    '/successful_states/*/* list',
    ...account('/successful_states/*/*'),
    ...list('/failed_wallets'),
    '/failed_wallets/*/* amount',
  ],
  userAbstraction: [' amount'],
  meta: meta(''),
  metaAndAssetCtxs: [...meta('/*'), ...contexts('/*')],
  allPerpMetas: [...list(''), ...meta('/*')],
  allMids: ['/BTC left out', '/MOG left out'],
  perpDexs: [...list(''), '/* null', '/*/name amount', '/*/fullName amount'],
  marginTable: ['/description amount', ...list('/marginTiers')],
  spotMeta: list('/tokens'),
  spotMetaAndAssetCtxs: list('/*/tokens'),
  webData2: [...account('/clearinghouseState'), ...meta('/meta'), ...contexts('/assetCtxs')],
  accountHistory: [...list(''), '/*/* null'],
  positionHistory: [...list(''), ...list('/*/causes'), '/*/causes/* amount'],
  liquidationHistory: [...list(''), '/*/coin amount'],
  portfolio: [...list(''), ...list('/*/*/accountValueHistory'), ...list('/*/*/pnlHistory')],
};

for (const type of OWN_TYPES) {
  test(`the schema of ${type.type} leaves open what it must, and nothing else`, () => {
    assert.deepEqual(openWays(type), OPEN[type.type] ?? []);
  });
}
