/**
 * The questions that are passed on to the exchange with --forward: those that only read and that a
 * ledger does not hold, or holds less of than the exchange, such as prices and contexts. A type such as `fileSnapshot`, which makes a node write a file, is not in the
 * table and cannot be asked. A question is rebuilt: the fields listed here are checked, and what else it
 * has is passed on within bounds (unknown-fields.ts).
 */

import { isJsonObject, type JsonObject } from '../events/fields.ts';
import { describeValue } from '../events/refusal.ts';
import {
  addressForm,
  coinForm,
  dexForm,
  type ForwardedField,
  flagForm,
  intervalForm,
  mantissaForm,
  optionalField,
  orderIdForm,
  significantFiguresForm,
  timeForm,
  tokenForm,
  tokenIdForm,
} from './forwarded-fields.ts';
import { findMomentFault } from './moment.ts';
import { readOne } from './request.ts';
import { RequestError } from './request-error.ts';
import { readUnknownFields } from './unknown-fields.ts';
import { PUBLIC_WEIGHTS } from './upstream-weights.ts';

/** A question of an allowed type, rebuilt from the fields that the type has. */
export interface ForwardedQuestion {
  readonly type: string;
  readonly [field: string]: unknown;
}

type ForwardedFields = Readonly<Record<string, ForwardedField>>;

const NONE: ForwardedFields = {};
const OF_USER: ForwardedFields = { user: addressForm };
const OF_DEX: ForwardedFields = { dex: optionalField(dexForm) };
const OF_USER_ON_DEX: ForwardedFields = { user: addressForm, dex: optionalField(dexForm) };
const PERIOD: ForwardedFields = { startTime: timeForm, endTime: optionalField(timeForm) };
const ANY_PERIOD: ForwardedFields = {
  startTime: optionalField(timeForm),
  endTime: optionalField(timeForm),
};
const FILLS_BY_TIME: ForwardedFields = {
  ...OF_USER,
  ...PERIOD,
  aggregateByTime: optionalField(flagForm),
  reversed: optionalField(flagForm),
};

/** Candles are asked for in an object of their own. */
const candles: ForwardedField = {
  expected: 'an object with coin, interval, startTime and, if wanted, endTime',
  rebuild(value) {
    const fields = { coin: coinForm, interval: intervalForm, ...PERIOD };
    return isJsonObject(value) ? rebuild(fields, value, 'req.') : undefined;
  },
};

/** A Map, so that a type such as "constructor" finds nothing. */
const FORWARDED_TYPES: ReadonlyMap<unknown, ForwardedFields> = new Map<unknown, ForwardedFields>([
  ['activeAssetData', { user: addressForm, coin: coinForm }],
  ['alignedQuoteTokenInfo', { token: tokenForm }],
  ['allBorrowLendReserveStates', NONE],
  ['allMids', OF_DEX],
  ['approvedBuilders', OF_USER],
  ['borrowLendReserveState', { token: tokenForm }],
  ['borrowLendUserState', OF_USER],
  ['candleSnapshot', { req: candles }],
  ['delegatorHistory', OF_USER],
  ['delegatorRewards', OF_USER],
  ['extraAgents', OF_USER],
  ['frontendOpenOrders', OF_USER_ON_DEX],
  ['fundingHistory', { coin: coinForm, ...PERIOD }],
  ['historicalOrders', OF_USER_ON_DEX],
  ['isVip', OF_USER],
  [
    'l2Book',
    {
      coin: coinForm,
      nSigFigs: optionalField(significantFiguresForm),
      mantissa: optionalField(mantissaForm),
    },
  ],
  ['leadingVaults', OF_USER],
  ['maxBuilderFee', { user: addressForm, builder: addressForm }],
  ['maxMarketOrderNtls', NONE],
  ['metaAndAssetCtxs', OF_DEX],
  ['openOrders', OF_USER_ON_DEX],
  ['orderStatus', { user: addressForm, oid: orderIdForm }],
  ['outcomeMeta', NONE],
  ['perpAnnotation', { coin: coinForm }],
  ['perpCategories', NONE],
  ['perpConciseAnnotations', NONE],
  ['perpDexLimits', { dex: dexForm }],
  ['perpDexStatus', { dex: dexForm }],
  ['perpsAtOpenInterestCap', OF_DEX],
  ['portfolio', OF_USER],
  ['predictedFundings', NONE],
  ['preTransferCheck', { user: addressForm, source: addressForm }],
  ['recentTrades', { coin: coinForm }],
  ['referral', OF_USER],
  ['spotClearinghouseState', OF_USER_ON_DEX],
  ['spotDeployState', OF_USER],
  ['spotMeta', NONE],
  ['spotMetaAndAssetCtxs', NONE],
  ['spotPairDeployAuctionStatus', NONE],
  ['subAccounts', OF_USER],
  ['subAccounts2', OF_USER],
  ['tokenDetails', { tokenId: tokenIdForm }],
  ['twapHistory', OF_USER],
  ['userAbstraction', OF_USER],
  ['userBorrowLendInterest', { ...OF_USER, ...PERIOD }],
  ['userDexAbstraction', OF_USER],
  ['userFees', OF_USER],
  ['userFills', { ...OF_USER_ON_DEX, aggregateByTime: optionalField(flagForm) }],
  ['userFillsByTime', { ...FILLS_BY_TIME, dex: optionalField(dexForm) }],
  ['userFunding', { ...OF_USER, ...ANY_PERIOD }],
  ['userNonFundingLedgerUpdates', { ...OF_USER, ...ANY_PERIOD }],
  ['userRateLimit', OF_USER],
  ['userRole', OF_USER],
  ['userToMultiSigSigners', OF_USER],
  ['userTwapSliceFills', OF_USER],
  ['userTwapSliceFillsByTime', FILLS_BY_TIME],
  ['userVaultEquities', OF_USER],
  ['validatorL1Votes', NONE],
  ['validatorSummaries', NONE],
  ['vaultDetails', { vaultAddress: addressForm, user: optionalField(addressForm) }],
  ['vaultSummaries', NONE],
]);

/** Asked about the past, these are answered by the ledger: its archive has the marks. */
const HELD_OF_THE_PAST: readonly string[] = ['allMids', 'metaAndAssetCtxs'];

export interface Forwardable {
  readonly question: ForwardedQuestion;
  /** The upstream's weight, without what the items of its answer add. */
  readonly weight: number;
}

/** The question to pass on, or why it is refused; undefined if its type is not passed on. */
export function readForwarded(body: unknown): Forwardable | RequestError | undefined {
  if (!isJsonObject(body)) return undefined;
  const type = body['type'];
  const fields = FORWARDED_TYPES.get(type);
  if (typeof type !== 'string' || fields === undefined) return undefined;
  const reason = `${type} is passed on to the exchange, which is asked about the present`;
  const fault = findMomentFault(body, reason);
  if (fault !== undefined && HELD_OF_THE_PAST.includes(type)) return undefined;
  const { type: _, ...source } = body;
  const rebuilt = fault ?? rebuild(fields, source);
  if (rebuilt instanceof RequestError) return rebuilt;
  return { question: { type, ...rebuilt }, weight: PUBLIC_WEIGHTS.of(type) };
}

/** The same for a question in a query string, in which every value is text. */
export function readForwardedQuery(
  parameters: URLSearchParams,
): Forwardable | RequestError | undefined {
  const type = parameters.get('type');
  const fields = FORWARDED_TYPES.get(type);
  if (fields === undefined) return undefined;
  const body: [string, unknown][] = [];
  for (const name of new Set(parameters.keys())) {
    const text = readOne(name, parameters.getAll(name));
    if (text instanceof RequestError) return text;
    // A value that the field does not take is refused as the text that came.
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    body.push([name, field?.parse?.(text) ?? text]);
  }
  return readForwarded(Object.fromEntries(body));
}

function rebuild(
  fields: ForwardedFields,
  source: JsonObject,
  path = '',
): JsonObject | RequestError {
  const rebuilt: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(fields)) {
    const given = source[name] ?? undefined;
    if (given === undefined && field.isOptional) continue;
    const value = given === undefined ? undefined : field.rebuild(given);
    if (value instanceof RequestError) return value;
    if (value === undefined) return refuseField(path + name, source[name], field);
    rebuilt[name] = value;
  }
  const unknown = readUnknownFields(source, Object.keys(fields), path);
  return unknown instanceof RequestError ? unknown : { ...rebuilt, ...unknown };
}

function refuseField(name: string, value: unknown, field: ForwardedField): RequestError {
  const isMissing = value === undefined;
  const code = isMissing ? 'missing_field' : (field.code ?? 'invalid_field');
  const got = isMissing ? 'nothing' : describeValue(value);
  const expected = field.expectedFor?.(value) ?? field.expected;
  return new RequestError(code, `${name}: got ${got}, expected ${expected}`, name);
}

/** In the order of the table. */
export function listForwardedTypes(): string[] {
  return [...FORWARDED_TYPES.keys()] as string[];
}
