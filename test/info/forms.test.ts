/** The form of every answer and field, written out: a schema that is changed by mistake shows here. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatField } from '../../src/info/fields/format-field.ts';
import { PAST_MOMENT_FIELDS } from '../../src/info/fields/past-moment.ts';
import { OWN_TYPES } from '../../src/info/question-types.ts';
import type { Schema } from '../../src/info/schema.ts';

const PATTERNS: Readonly<Record<string, string>> = {
  '^-?[0-9]+\\.[0-9]+$': 'amount',
  '^0x[0-9a-fA-F]{40}$': 'address',
};

const NAMES: Readonly<Record<string, string>> = { string: 'text', integer: 'whole', null: 'null' };

function showMembers({ properties, required, additionalProperties, ...rest }: Schema): string {
  assert.deepEqual([rest, additionalProperties], [{ type: 'object' }, false]);
  const members = Object.entries(properties as Record<string, Schema>).map(([name, member]) => {
    return `${name}${(required as string[]).includes(name) ? '' : '?'}: ${show(member)}`;
  });
  return `{${members.join(', ')}}`;
}

function showTuple({ prefixItems, ...rest }: Schema): string {
  const items = prefixItems as Schema[];
  assert.deepEqual(rest, { type: 'array', minItems: items.length, maxItems: items.length });
  return `[${items.map(show).join(', ')}]`;
}

/** A schema in a shorter notation, which leaves nothing of it out. */
function show(schema: Schema): string {
  if (Object.keys(schema).length === 0) return 'anything else';
  if ('properties' in schema) return showMembers(schema);
  if ('prefixItems' in schema) return showTuple(schema);
  const { type, items, pattern, maxItems, additionalProperties, ...rest } = schema;
  const { const: value, enum: choices, anyOf, ...unknown } = rest;
  assert.deepEqual(unknown, {});
  if (value !== undefined) return JSON.stringify(value);
  if (choices !== undefined) return JSON.stringify(choices);
  if (anyOf !== undefined) return (anyOf as Schema[]).map(show).join(' or ');
  if (type === 'array') return maxItems === 0 ? 'nothing' : `list of ${show(items as Schema)}`;
  if (type === 'object') return `any: ${show(additionalProperties as Schema)}`;
  return pattern === undefined ? NAMES[String(type)] : PATTERNS[String(pattern)];
}

const SUMMARY =
  '{accountValue: amount, totalNtlPos: amount, totalRawUsd: amount, totalMarginUsed: amount}';

const POSITION =
  '{coin: text, szi: amount' +
  ', leverage: {type: ["cross","isolated"], value: whole, rawUsd?: amount}' +
  ', entryPx: amount, positionValue: amount, unrealizedPnl: amount, returnOnEquity: amount' +
  ', liquidationPx: amount or null, marginUsed: amount, maxLeverage: whole' +
  ', cumFunding: {allTime: amount, sinceOpen: amount, sinceChange: amount}}';

const ACCOUNT =
  `{marginSummary: ${SUMMARY}, crossMarginSummary: ${SUMMARY}` +
  ', crossMaintenanceMarginUsed: amount, withdrawable: amount' +
  `, assetPositions: list of {type: ["oneWay"], position: ${POSITION}}, time: whole}`;

const TABLE = '{description: text, marginTiers: list of {lowerBound: amount, maxLeverage: whole}}';

const META =
  '{universe: list of {szDecimals: whole, name: text, maxLeverage: whole, marginTableId: whole' +
  ', onlyIsolated?: true}' +
  `, marginTables: list of [whole, ${TABLE}], collateralToken: 0} or anything else`;

const CONTEXTS =
  'list of {funding: "0.0" or null, openInterest: "0.0" or null, prevDayPx: "0.0" or null' +
  ', dayNtlVlm: "0.0" or null, premium: null, oraclePx: "0.0" or null, markPx: amount or null' +
  ', midPx: null, impactPxs: null, dayBaseVlm: "0.0" or null}';

const TOKEN =
  '{"name":"USDC","szDecimals":6,"weiDecimals":6,"index":0' +
  ',"tokenId":"0x00000000000000000000000000000000","isCanonical":true,"evmContract":null' +
  ',"fullName":null,"deployerTradingFeeShare":"0.0"}';

const SPOT_META = `{universe: nothing, tokens: list of ${TOKEN}}`;

const PERIODS = '["day","week","month","allTime","perpDay","perpWeek","perpMonth","perpAllTime"]';

const ANSWERS: Readonly<Record<string, string>> = {
  clearinghouseState: ACCOUNT,
  delegations: 'list of {validator: address, amount: amount, lockedUntilTimestamp: whole}',
  perpDeployAuctionStatus:
    '{startTimeSeconds: whole, durationSeconds: whole, startGas: amount, currentGas: amount' +
    ', endGas: amount or null} or null',
  allDexsClearinghouseState: `list of [text, ${ACCOUNT}]`,
  batchClearinghouseStates:
    `{successful_states: list of [address, ${ACCOUNT} or list of [text, ${ACCOUNT}]]` +
    ', failed_wallets: list of [text, text]}',
  delegatorSummary:
    '{delegated: amount, undelegated: "0.0", totalPendingWithdrawal: "0.0"' +
    ', nPendingWithdrawals: 0}',
  userAbstraction: 'text',
  meta: META,
  metaAndAssetCtxs: `[${META}, ${CONTEXTS}]`,
  allPerpMetas: `list of ${META}`,
  allMids: 'any: amount',
  perpDexs:
    'list of null or {name: text, fullName: text, deployer: address, oracleUpdater: null' +
    ', feeRecipient: null, assetToStreamingOiCap: nothing, subDeployers: nothing' +
    ', deployerFeeScale: "0.0", lastDeployerFeeScaleChangeTime: "1970-01-01T00:00:00"' +
    ', assetToFundingMultiplier: nothing, assetToFundingInterestRate: nothing} or anything else',
  marginTable: `${TABLE} or anything else`,
  exchangeStatus: '{time: whole, specialStatuses: null}',
  spotMeta: SPOT_META,
  spotMetaAndAssetCtxs: `[${SPOT_META}, nothing]`,
  spotClearinghouseState: '{balances: nothing}',
  outcomeMeta: '{outcomes: nothing, questions: nothing}',
  webData2:
    `{clearinghouseState: ${ACCOUNT}, leadingVaults: nothing, totalVaultEquity: "0.0"` +
    ', openOrders: nothing, agentAddress: null, agentValidUntil: null, cumLedger: "0.0"' +
    `, meta: ${META}, assetCtxs: ${CONTEXTS}, serverTime: whole, isVault: false, user: address` +
    ', twapStates: nothing, spotState: {balances: nothing}, spotAssetCtxs: nothing}',
  accountHistory: `list of [whole or null, whole${', amount or null'.repeat(7)}]`,
  positionHistory:
    'list of {height: whole, time: whole, szi: amount, entryPx: amount, entryNtl: amount' +
    ', markPx: amount, leverage: {type: ["cross","isolated"], value: whole}' +
    ', fundingSinceOpen: amount, causes: list of text}',
  liquidationHistory:
    'list of {height: whole, time: whole, coin: text, szi: amount, sziAfter: amount' +
    ', markPx: amount, marginMode: ["cross","isolated"]}',
  portfolio:
    `list of [${PERIODS}, {accountValueHistory: list of [whole, amount]` +
    ', pnlHistory: list of [whole, amount], vlm: amount}]',
};

test('every answer has the form that clients know', () => {
  const forms = OWN_TYPES.map(({ type, answerSchema }) => [type, show(answerSchema)]);
  assert.deepEqual(Object.fromEntries(forms), ANSWERS);
});

const USER = {
  description: 'an address: 0x and 40 hexadecimal digits, either case',
  schema: { type: 'string', pattern: '^0x[0-9a-fA-F]{40}$' },
};
const DEX = {
  description: 'the name of a perp dex; "", the default, is the first one',
  schema: { type: 'string', default: '' },
  fallback: '',
};
const COURSE = {
  from: {
    description: 'the first time, in milliseconds; by default the first time of the archive',
    schema: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    fallback: -1,
  },
  to: {
    description: 'the last time, in milliseconds; by default the last time of the archive',
    schema: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    fallback: -1,
  },
};

const FIELDS: Readonly<Record<string, unknown>> = {
  clearinghouseState: { user: USER, dex: DEX },
  delegations: { user: USER },
  allDexsClearinghouseState: { user: USER },
  batchClearinghouseStates: {
    users: {
      description: 'up to 1000 addresses (up to 100 with dex "ALL_DEXES")',
      schema: { type: 'array', items: { type: 'string' }, maxItems: 1000 },
    },
    dex: { ...DEX, description: `${DEX.description}, "ALL_DEXES" all` },
  },
  delegatorSummary: { user: USER },
  userAbstraction: { user: USER },
  meta: { dex: DEX },
  metaAndAssetCtxs: { dex: DEX },
  allMids: { dex: { ...DEX, omitsFallback: true } },
  marginTable: {
    id: {
      description: 'the id of a margin table, as listed by meta',
      schema: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    },
  },
  spotClearinghouseState: { user: USER },
  webData2: { user: USER },
  accountHistory: {
    user: USER,
    dex: DEX,
    ...COURSE,
    step: {
      description: 'milliseconds between two points; by default a 500th of the time range',
      schema: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
      fallback: -1,
    },
  },
  positionHistory: {
    user: USER,
    coin: { description: 'the name of a coin, as meta lists it', schema: { type: 'string' } },
    ...COURSE,
  },
  liquidationHistory: { user: USER, dex: DEX, ...COURSE },
  portfolio: { user: USER },
};

const withoutFunctions = (value: unknown) => JSON.parse(JSON.stringify(value));

test('every question has the fields that clients know', () => {
  const declared = OWN_TYPES.filter(({ fields }) => Object.keys(fields).length > 0);
  const forms = declared.map(({ type, fields }) => [type, withoutFunctions(fields)]);
  assert.deepEqual(Object.fromEntries(forms), FIELDS);
});

test('a question about the past has a moment, and one about a time range a format', () => {
  assert.deepEqual(withoutFunctions({ ...PAST_MOMENT_FIELDS, format: formatField }), {
    atHeight: {
      description: 'answer as of this height, from the archive',
      schema: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER },
    },
    atTime: {
      description: 'answer as of the last block that is not later than this time, in milliseconds',
      schema: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    },
    format: { description: 'json or csv', schema: { enum: ['json', 'csv'] }, fallback: 'json' },
  });
});
