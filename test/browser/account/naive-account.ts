/** Figures of an account, computed naively from the service's answers, to check page and board against. */

import assert from 'node:assert/strict';
import { sumUnits, toUnits, writeDecimal, writeRounded } from './exact.ts';

export interface Position {
  coin: string;
  szi: string;
  entryPx: string;
  positionValue: string;
  unrealizedPnl: string;
  returnOnEquity: string;
  liquidationPx: string | null;
  marginUsed: string;
  leverage: { type: string; value: number };
  cumFunding: { sinceOpen: string };
}

interface Summary {
  accountValue: string;
  totalNtlPos: string;
  totalMarginUsed: string;
}

export interface Account {
  marginSummary: Summary;
  crossMarginSummary: Summary;
  crossMaintenanceMarginUsed: string;
  withdrawable: string;
  assetPositions: { position: Position }[];
}

export type States = readonly (readonly [dex: string, account: Account])[];

const ONE = 10n ** 20n;
const PERCENT = ONE / 100n;

export const positionsOf = (states: States): Position[] =>
  states.flatMap(([, { assetPositions }]) => assetPositions.map(({ position }) => position));

export const totalOf = (states: States, pick: (account: Account) => string): string =>
  writeDecimal(sumUnits(states.map(([, account]) => pick(account))));

const isShort = ({ szi }: Position): boolean => szi.startsWith('-');

/** In units; the quotient is exact. */
export function markOf({ positionValue, szi }: Position): bigint {
  const size = toUnits(szi.replace('-', ''));
  const mark = (toUnits(positionValue) * ONE) / size;
  assert.equal((mark * size) % ONE, 0n);
  return mark;
}

/** The share of the mark that is left to the liquidation price, in units; undefined without a price. */
function leftOf(position: Position): bigint | undefined {
  if (position.liquidationPx === null) return undefined;
  const gap = markOf(position) - toUnits(position.liquidationPx);
  return ((isShort(position) ? -gap : gap) * ONE) / markOf(position);
}

/** Rounded, but down where it would else reach a limit that it is below, in per cent. */
function writePercent(share: bigint, decimals: number, limits: readonly bigint[]): string {
  const step = PERCENT / 10n ** BigInt(decimals);
  const down = share - (share % step);
  const isNear = limits.some((limit) => share < limit * PERCENT && down + step >= limit * PERCENT);
  return `${writeRounded(100n * (isNear ? down : share), decimals)} %`;
}

const writeLeft = (left: bigint) => writePercent(left, 1, [5n, 15n]);
export const writeMarginRatio = (used: bigint) => writePercent(used, 2, [50n, 80n]);

const writeDistance = (left: bigint) => (left >= 10n * ONE ? '> 999 %' : writeLeft(left));

/** As a row of the table says it; those that are near have a warning. */
export function distanceTextOf(position: Position): string | undefined {
  const left = leftOf(position);
  if (left === undefined) return undefined;
  return `${left < 5n * PERCENT ? '! ' : ''}${writeDistance(left)}`;
}

export interface Exposure {
  readonly unrealizedPnl: bigint;
  readonly long: bigint;
  readonly short: bigint;
  readonly net: bigint;
}

export function exposureOf(positions: readonly Position[]): Exposure {
  const sumValues = (some: readonly Position[]) =>
    sumUnits(some.map(({ positionValue }) => positionValue));
  const short = sumValues(positions.filter(isShort));
  const long = sumValues(positions.filter((position) => !isShort(position)));
  const unrealizedPnl = sumUnits(positions.map((position) => position.unrealizedPnl));
  return { unrealizedPnl, long, short, net: long - short };
}

interface Nearest {
  readonly coin: string;
  readonly distance: string;
  /** What the position loses until then, in units. */
  readonly loss: bigint;
}

/** Of those that are equally near, the first one. */
export function nearestOf(positions: readonly Position[]): Nearest | undefined {
  const found = positions
    .map((position) => ({ position, left: leftOf(position) }))
    .filter((one): one is { position: Position; left: bigint } => one.left !== undefined)
    .sort((one, other) => (one.left < other.left ? -1 : one.left > other.left ? 1 : 0));
  if (found.length === 0) return undefined;
  const [{ position, left }] = found;
  const { coin, szi, liquidationPx } = position;
  const gap = markOf(position) - toUnits(liquidationPx ?? '');
  // A short position has a negative size, and loses as the mark rises.
  return { coin, distance: writeDistance(left), loss: (gap * toUnits(szi)) / ONE };
}

/** The share of the cross account value that maintenance takes, in units. */
export function maintenanceShareOf(account: Account): bigint {
  const value = toUnits(account.crossMarginSummary.accountValue);
  return value > 0n ? (toUnits(account.crossMaintenanceMarginUsed) * ONE) / value : 0n;
}

interface Risk {
  /** 2 for what is at risk, 1 for what is to be watched. */
  readonly level: number;
  readonly left: bigint;
  readonly cause: string;
}

function positionRisk(position: Position): Risk[] {
  const name = `${position.coin} ${position.leverage.type}`;
  if (position.leverage.type === 'isolated' && toUnits(position.marginUsed) <= 0n) {
    return [{ level: 2, left: 0n, cause: `${name}, its margin is lost` }];
  }
  const left = leftOf(position);
  if (left === undefined) return [];
  if (left <= 0n) return [{ level: 2, left: 0n, cause: `${name}, at its liquidation price` }];
  const level = left < 5n * PERCENT ? 2 : left < 15n * PERCENT ? 1 : 0;
  return [{ level, left, cause: `${name}, ${writeLeft(left)} to liquidation` }];
}

function marginRisk(account: Account, where: string): Risk {
  const isDue = toUnits(account.crossMaintenanceMarginUsed) > 0n;
  if (isDue && toUnits(account.crossMarginSummary.accountValue) <= 0n) {
    return { level: 2, left: 0n, cause: `no cross margin${where} is left` };
  }
  const used = maintenanceShareOf(account);
  const level = used >= 80n * PERCENT ? 2 : used >= 50n * PERCENT ? 1 : 0;
  const cause = `${writeMarginRatio(used)} of the cross margin${where} used`;
  return { level, left: ONE - used, cause };
}

function risksOf([dex, account]: States[number]): Risk[] {
  const positions = positionsOf([[dex, account]]);
  const where = dex === '' ? '' : ` on ${dex}`;
  const isNegative = toUnits(account.marginSummary.accountValue) < 0n;
  const cause = `the account value${where} is negative`;
  return [
    ...positions.flatMap(positionRisk),
    ...(positions.length > 0 ? [marginRisk(account, where)] : []),
    ...(isNegative ? [{ level: 2, left: 0n, cause }] : []),
  ];
}

/** The verdict on an account over all its dexes, in the page's words. */
export function verdictOf(states: States): { readonly word: string; readonly cause: string } {
  const risks = states.flatMap(risksOf);
  if (risks.length === 0) return { word: 'nothing at risk', cause: '' };
  const level = Math.max(...risks.map((risk) => risk.level));
  const worst = risks
    .filter((risk) => risk.level === level)
    .reduce((found, next) => (next.left < found.left ? next : found));
  return { word: ['healthy', 'watch', 'at risk'][level], cause: worst.cause };
}
