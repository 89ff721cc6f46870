/**
 * Reads the form of a `clearinghouseState` answer. The figures are as the upstream wrote them, and
 * are not yet checked against each other.
 */

import { TIME_RANGE } from '../../events/event.ts';
import type { FieldReader } from '../../events/fields.ts';
import { Refusal } from '../../events/refusal.ts';
import {
  DialectError,
  readAnswer,
  readDecimal,
  readOpen,
  readOpenField,
  readRatio,
} from './dialect.ts';

/**
 * In a ledger, time 0 means that the account was never read, so an answer must have a later time.
 */
const READ_TIME_RANGE = { ...TIME_RANGE, from: 1 };

const ZERO = /^-?0+(?:\.0+)?$/;

export interface ReportedSummary {
  readonly accountValue: string;
  readonly totalNtlPos: string;
  readonly totalRawUsd: string;
  readonly totalMarginUsed: string;
}

export interface ReportedPosition {
  readonly type: string;
  readonly coin: string;
  readonly szi: string;
  readonly leverageType: string;
  readonly leverageValue: number;
  /** Undefined if the server leaves the field out, as servers do for a cross position. */
  readonly rawUsd: string | undefined;
  readonly entryPx: string;
  readonly positionValue: string;
  readonly unrealizedPnl: string;
  readonly returnOnEquity: string;
  readonly liquidationPx: string | null;
  readonly marginUsed: string;
  readonly maxLeverage: number;
  readonly allTime: string;
  readonly sinceOpen: string;
  readonly sinceChange: string;
}

export interface ReportedAccount {
  readonly marginSummary: ReportedSummary;
  readonly crossMarginSummary: ReportedSummary;
  readonly crossMaintenanceMarginUsed: string;
  readonly withdrawable: string;
  /**
   * The positions of a size other than zero. Pushed states may also list positions of size zero.
   */
  readonly positions: readonly ReportedPosition[];
  readonly time: number;
}

/** Throws a Refusal that names the field. */
export function readReportedAccount(json: unknown): ReportedAccount {
  return readOpen(json, (fields) => ({
    marginSummary: readOpenField(fields, 'marginSummary', readSummary),
    crossMarginSummary: readOpenField(fields, 'crossMarginSummary', readSummary),
    crossMaintenanceMarginUsed: readDecimal(fields, 'crossMaintenanceMarginUsed'),
    withdrawable: readDecimal(fields, 'withdrawable'),
    positions: fields
      .list('assetPositions', readPosition)
      .filter((position) => position !== undefined),
    time: fields.whole('time', READ_TIME_RANGE),
  }));
}

function readSummary(fields: FieldReader): ReportedSummary {
  return {
    accountValue: readDecimal(fields, 'accountValue'),
    totalNtlPos: readDecimal(fields, 'totalNtlPos'),
    totalRawUsd: readDecimal(fields, 'totalRawUsd'),
    totalMarginUsed: readDecimal(fields, 'totalMarginUsed'),
  };
}

function readPosition(source: unknown): ReportedPosition | undefined {
  return readOpen(source, (fields) => {
    const type = fields.text('type');
    return readOpenField(fields, 'position', (position) => readHeld(position, type));
  });
}

/**
 * Returns undefined if the size is zero: then the row is not a position, and its other fields have
 * no meaning.
 */
function readHeld(fields: FieldReader, type: string): ReportedPosition | undefined {
  const coin = fields.text('coin');
  const szi = readDecimal(fields, 'szi');
  if (ZERO.test(szi)) return undefined;
  return {
    type,
    coin,
    szi,
    ...readOpenField(fields, 'leverage', readLeverage),
    entryPx: readDecimal(fields, 'entryPx'),
    positionValue: readDecimal(fields, 'positionValue'),
    unrealizedPnl: readDecimal(fields, 'unrealizedPnl'),
    returnOnEquity: readRatio(fields, 'returnOnEquity'),
    liquidationPx: readPriceOrNull(fields, 'liquidationPx'),
    marginUsed: readDecimal(fields, 'marginUsed'),
    maxLeverage: readNumber(fields, 'maxLeverage'),
    ...readOpenField(fields, 'cumFunding', readFunding),
  };
}

function readLeverage(fields: FieldReader) {
  const rawUsd = fields.take('rawUsd');
  return {
    leverageType: fields.text('type'),
    leverageValue: readNumber(fields, 'value'),
    rawUsd: rawUsd === undefined || rawUsd === null ? undefined : readDecimal(fields, 'rawUsd'),
  };
}

function readFunding(fields: FieldReader) {
  return {
    allTime: readDecimal(fields, 'allTime'),
    sinceOpen: readDecimal(fields, 'sinceOpen'),
    sinceChange: readDecimal(fields, 'sinceChange'),
  };
}

function readPriceOrNull(fields: FieldReader, name: string): string | null {
  return fields.take(name) === null ? null : readRatio(fields, name);
}

function readNumber(fields: FieldReader, name: string): number {
  const value = fields.take(name);
  if (typeof value !== 'number') throw new Refusal(name, value, 'a number');
  return value;
}

/** An account of a pushed message. The state of the account is not read yet. */
interface NamedAccount {
  /** The address as the upstream wrote it. */
  readonly user: string;
  readonly dex: string;
  readonly answer: unknown;
}

export interface PushedAccounts {
  readonly accounts: readonly NamedAccount[];
  /**
   * Elements that are not the state of a dex. They do not prevent the other states from being read.
   */
  readonly odd: readonly DialectError[];
}

/**
 * Returns the accounts in the data of a pushed message. `clearinghouseState` has the data {user,
 * dex?, clearinghouseState}, and `allDexsClearinghouseState` has the data {user,
 * clearinghouseStates: [[dex, state], ...]}.
 */
export function readPushedAccounts(data: unknown): PushedAccounts | DialectError {
  return readAnswer(() => readOpen(data, readNamedAccounts));
}

function readNamedAccounts(fields: FieldReader): PushedAccounts {
  const user = fields.text('user');
  const states = fields.take(STATES);
  if (states !== undefined) return readStates(user, states);
  const dex = fields.take('dex') ?? '';
  if (typeof dex !== 'string') throw new Refusal('dex', dex, 'text');
  return { accounts: [{ user, dex, answer: fields.take('clearinghouseState') }], odd: [] };
}

const STATES = 'clearinghouseStates';

function readStates(user: string, states: unknown): PushedAccounts {
  if (!Array.isArray(states)) throw new Refusal(STATES, states, 'an array');
  const accounts: NamedAccount[] = [];
  const odd: DialectError[] = [];
  for (const [index, pair] of states.entries()) {
    const read = readAnswer(() => readPair(pair, index));
    if (read instanceof DialectError) odd.push(read);
    else accounts.push({ user, ...read });
  }
  return { accounts, odd };
}

function readPair(source: unknown, index: number): { dex: string; answer: unknown } {
  if (!Array.isArray(source) || source.length !== 2 || typeof source[0] !== 'string') {
    throw new Refusal(`${STATES}[${index}]`, source, 'a pair of dex and state');
  }
  return { dex: source[0], answer: source[1] };
}
