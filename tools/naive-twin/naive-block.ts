/** The wire form of blocks: their types, and checks that a JSON value has this form. */

import { readDecimal } from './naive-decimal.ts';
import type { Mode } from './naive-state.ts';

export interface WireTier {
  lowerBound: string;
  maxLeverage: number;
}

export interface WirePosition {
  coin: string;
  szi: string;
  entryNtl: string;
  leverage: { type: 'cross'; value: number } | { type: 'isolated'; value: number; rawUsd: string };
  cumFunding: { allTime: string; sinceOpen: string; sinceChange: string };
  marginTiers?: WireTier[];
}

interface WireDelegation {
  validator: string;
  amount: string;
  lockedUntilTimestamp: number;
}

/** The fields of each kind of event. */
export interface WireFields {
  perpDex: { dex: string; fullName: string; deployer: string };
  market: {
    dex: string;
    coin: string;
    szDecimals: number;
    marginTiers: WireTier[];
    onlyIsolated: boolean;
    markPx: string;
  };
  marks: { prices: Record<string, string> };
  dexes: { list: unknown[] };
  universe: { dex: string; meta: Record<string, unknown> };
  account: { user: string; dex: string; rawUsd: string; positions: WirePosition[] };
  accountTime: { user: string; dex: string; time: number };
  accountMode: { user: string; mode: string };
  transfer: { user: string; dex: string; amount: string };
  orderMargin: { user: string; dex: string; amount: string };
  collateral: { user: string; dex: string; amount: string };
  leverage: { user: string; coin: string; mode: Mode; value: number };
  fill: { user: string; coin: string; side: 'B' | 'A'; sz: string; px: string; fee: string };
  isolatedMargin: { user: string; coin: string; amount: string };
  funding: { coin: string; payments: [user: string, amount: string][] };
  delegate: { user: string; validator: string; amount: string };
  undelegate: { user: string; validator: string; amount: string };
  delegationReward: { user: string; validator: string; amount: string };
  delegation: { user: string; validator: string; amount: string; lockedUntilTimestamp: number };
  delegations: { user: string; delegations: WireDelegation[] };
  partial: Record<never, never>;
  noDeployAuction: Record<never, never>;
  deployAuction: {
    startTimeSeconds: number;
    durationSeconds: number;
    startGas: string;
    floorGas: string;
  };
  deployAuctionEnd: { endGas: string };
}

export type WireType = keyof WireFields;
export type WireEventOf<T extends WireType> = { type: T } & WireFields[T];
export type WireEvent = { [T in WireType]: WireEventOf<T> }[WireType];

export interface WireBlock {
  height: number;
  time: number;
  events: WireEvent[];
}

export const SAFE_MAX = 2n ** 53n - 1n;
export const STAKE_MAX = 2n ** 63n - 1n;
export const DAY_MS = 86_400_000;
const TIME_MS_MAX = 8.64e15;
const SECONDS_MAX = 8.64e12;

type Check = (value: unknown) => boolean;
type Form = Readonly<Record<string, Check>>;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Returns a check that an object has exactly the fields of the form, each with a valid value. The
 * optional fields may be absent.
 */
function objectOf(form: Form, optional: Form = {}): Check {
  const names = Object.keys(form);
  return (value) => {
    if (!isObject(value)) return false;
    const further = Object.keys(optional).filter((name) => Object.hasOwn(value, name));
    return (
      Object.keys(value).length === names.length + further.length &&
      names.every((name) => Object.hasOwn(value, name) && form[name](value[name])) &&
      further.every((name) => optional[name](value[name]))
    );
  };
}

function listOf(check: Check, lengthMin = 0, lengthMax = Number.POSITIVE_INFINITY): Check {
  return (value) =>
    Array.isArray(value) &&
    value.length >= lengthMin &&
    value.length <= lengthMax &&
    value.every(check);
}

function oneOf(...choices: string[]): Check {
  return (value) => choices.includes(value as string);
}

function matching(pattern: RegExp): Check {
  return (value) => typeof value === 'string' && pattern.test(value);
}

function whole(from: number, to: number): Check {
  return (value) => Number.isInteger(value) && Number(value) >= from && Number(value) <= to;
}

function amount(decimals: number, min: bigint, max: bigint): Check {
  return (value) => {
    const units = typeof value === 'string' ? readDecimal(value, decimals) : undefined;
    return units !== undefined && units >= min && units <= max;
  };
}

const isText: Check = (value) => typeof value === 'string';
const isFlag: Check = (value) => typeof value === 'boolean';
const isAddress = matching(/^0x[0-9a-fA-F]{40}$/);
const isUsd = amount(6, -SAFE_MAX, SAFE_MAX);
const isUsdZeroOrMore = amount(6, 0n, SAFE_MAX);
const isUsdAboveZero = amount(6, 1n, SAFE_MAX);
const isStakeZeroOrMore = amount(8, 0n, STAKE_MAX);
const isStakeAboveZero = amount(8, 1n, STAKE_MAX);
const isLeverage = whole(1, 1000);
const isFullName: Check = (value) =>
  typeof value === 'string' && [...value].length >= 1 && [...value].length <= 100;

const isTier = objectOf({ lowerBound: isUsdZeroOrMore, maxLeverage: isLeverage });
const isCrossLeverage = objectOf({ type: oneOf('cross'), value: isLeverage });
const isIsolatedLeverage = objectOf({
  type: oneOf('isolated'),
  value: isLeverage,
  rawUsd: isUsd,
});
const isMarginTable = listOf(isTier, 1, 100);
const isPosition = objectOf(
  {
    coin: isText,
    szi: isText,
    entryNtl: isUsdAboveZero,
    leverage: (value) => isCrossLeverage(value) || isIsolatedLeverage(value),
    cumFunding: objectOf({ allTime: isUsd, sinceOpen: isUsd, sinceChange: isUsd }),
  },
  { marginTiers: isMarginTable },
);
const isDelegation = objectOf({
  validator: isAddress,
  amount: isStakeAboveZero,
  lockedUntilTimestamp: whole(0, TIME_MS_MAX),
});
const isPrices: Check = (value) => isObject(value) && Object.values(value).every(isText);
const isPayment: Check = (value) =>
  Array.isArray(value) && value.length === 2 && isAddress(value[0]) && isUsd(value[1]);

/** Returns the number of nested levels of arrays and objects. */
function levelsOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(levelsOf));
}

const isStored: Check = (value) => levelsOf(value) <= 8 && JSON.stringify(value).length <= 900_000;
const isMeta: Check = (value) =>
  isObject(value) && Array.isArray(value['universe']) && isStored(value);

/**
 * The form of each event. Sizes and prices are only checked as texts, because their decimals depend
 * on the market.
 */
const FORMS: { [T in WireType]: Form } = {
  perpDex: { dex: matching(/^[a-z0-9]{1,6}$/), fullName: isFullName, deployer: isAddress },
  market: {
    dex: isText,
    coin: isText,
    szDecimals: whole(0, 6),
    marginTiers: isMarginTable,
    onlyIsolated: isFlag,
    markPx: isText,
  },
  marks: { prices: isPrices },
  dexes: { list: (value) => Array.isArray(value) && isStored(value) },
  universe: { dex: isText, meta: isMeta },
  account: { user: isAddress, dex: isText, rawUsd: isUsd, positions: listOf(isPosition) },
  accountTime: { user: isAddress, dex: isText, time: whole(0, TIME_MS_MAX) },
  accountMode: { user: isAddress, mode: matching(/^[A-Za-z0-9]{1,40}$/) },
  transfer: { user: isAddress, dex: isText, amount: isUsd },
  orderMargin: { user: isAddress, dex: isText, amount: isUsdZeroOrMore },
  collateral: { user: isAddress, dex: isText, amount: isUsdZeroOrMore },
  leverage: { user: isAddress, coin: isText, mode: oneOf('cross', 'isolated'), value: isLeverage },
  fill: {
    user: isAddress,
    coin: isText,
    side: oneOf('B', 'A'),
    sz: isText,
    px: isText,
    fee: isUsd,
  },
  isolatedMargin: { user: isAddress, coin: isText, amount: isUsd },
  funding: { coin: isText, payments: listOf(isPayment) },
  delegate: { user: isAddress, validator: isAddress, amount: isStakeAboveZero },
  undelegate: { user: isAddress, validator: isAddress, amount: isStakeAboveZero },
  delegationReward: { user: isAddress, validator: isAddress, amount: isStakeAboveZero },
  delegation: {
    user: isAddress,
    validator: isAddress,
    amount: isStakeZeroOrMore,
    lockedUntilTimestamp: whole(0, TIME_MS_MAX),
  },
  delegations: { user: isAddress, delegations: listOf(isDelegation) },
  partial: {},
  deployAuction: {
    startTimeSeconds: whole(0, SECONDS_MAX),
    durationSeconds: whole(1, SECONDS_MAX),
    startGas: isStakeZeroOrMore,
    floorGas: isStakeZeroOrMore,
  },
  deployAuctionEnd: { endGas: isStakeZeroOrMore },
  noDeployAuction: {},
};

export const WIRE_TYPES = Object.keys(FORMS) as readonly WireType[];

const EVENT_CHECKS = new Map(
  WIRE_TYPES.map((type) => [type as unknown, objectOf({ type: oneOf(type), ...FORMS[type] })]),
);

export function isWireEvent(value: unknown): value is WireEvent {
  return isObject(value) && EVENT_CHECKS.get(value['type'])?.(value) === true;
}

const isEnvelope = objectOf({
  height: whole(1, Number.MAX_SAFE_INTEGER),
  time: whole(0, TIME_MS_MAX),
  events: listOf(() => true),
});

/** True if the block's own fields are valid. Its events are checked by `isWireEvent`. */
export function isWireEnvelope(value: unknown): value is WireBlock {
  return isEnvelope(value);
}
