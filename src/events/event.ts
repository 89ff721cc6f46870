/**
 * The types of events, and the strict parser of blocks: a block is one line of JSON.
 *
 * Each event type is declared once, as the function that reads its fields; its TypeScript type is
 * inferred from that function. The fold makes the checks that need the state (whether the coin is
 * known, how many decimals the market has), and throws the same errors.
 */

import {
  type FieldReader,
  isJsonObject,
  readAddress,
  readObject,
  readUnits,
  USD_DECIMALS,
} from './fields.ts';
import { BlockError, prefixRefusal, Refusal } from './refusal.ts';
import { readStoredJson } from './stored-json.ts';

const SIZE_DECIMALS_MAX = 6;
const LEVERAGE_MAX = 1000;

/** The latest time that a JavaScript date can hold, in milliseconds. */
const TIME_MS_MAX = 8_640_000_000_000_000;

const LEVERAGE_MODES = ['cross', 'isolated'] as const;
export type LeverageMode = (typeof LEVERAGE_MODES)[number];

const FULL_NAME = /^.{1,100}$/su;
const DEX_NAME = /^[a-z0-9]{1,6}$/;
/** The exchange may introduce modes that this version does not know. */
const ACCOUNT_MODE = /^[A-Za-z0-9]{1,40}$/;
const COIN_NAME = /^(?:[a-z0-9]{1,6}:)?[A-Za-z0-9]{1,20}$/;
export const LEVERAGE_RANGE = { from: 1, to: LEVERAGE_MAX };
/** The range of times, in milliseconds. */
export const TIME_RANGE = { from: 0, to: TIME_MS_MAX };
export const SECONDS_MAX = TIME_MS_MAX / 1000;

export function readTierTerms(source: unknown) {
  return readObject(source, (fields) => ({
    lowerBound: fields.usd('lowerBound', 'zero or more'),
    maxLeverage: fields.whole('maxLeverage', LEVERAGE_RANGE),
  }));
}

function readAccountLeverage(fields: FieldReader) {
  const type = fields.oneOf('type', LEVERAGE_MODES);
  const value = fields.whole('value', LEVERAGE_RANGE);
  return { type, value, rawUsd: type === 'isolated' ? fields.usd('rawUsd') : 0 };
}

function readCumulativeFunding(fields: FieldReader) {
  return {
    allTime: fields.usd('allTime'),
    sinceOpen: fields.usd('sinceOpen'),
    sinceChange: fields.usd('sinceChange'),
  };
}

function readAccountPosition(source: unknown) {
  return readObject(source, (fields) => ({
    coin: fields.text('coin'),
    szi: fields.decimal('szi'),
    entryNtl: fields.usd('entryNtl', 'above zero'),
    leverage: fields.object('leverage', readAccountLeverage),
    cumFunding: fields.object('cumFunding', readCumulativeFunding),
    marginTiers: fields.optionalList('marginTiers', readTierTerms),
  }));
}

function readPayment(source: unknown) {
  if (!Array.isArray(source) || source.length !== 2) {
    throw new Refusal('', source, 'a pair of user and amount');
  }
  return {
    user: readAddress('[0]', source[0]),
    amount: readUnits('[1]', source[1], USD_DECIMALS),
  };
}

function readListedDelegation(source: unknown) {
  return readObject(source, (fields) => ({
    validator: fields.address('validator'),
    amount: fields.stake('amount', 'above zero'),
    lockedUntilTimestamp: fields.whole('lockedUntilTimestamp', TIME_RANGE),
  }));
}

function readPrices(source: unknown) {
  if (!isJsonObject(source)) throw new Refusal('prices', source, 'an object of coins and prices');
  return Object.keys(source).map((coin) => ({ coin, price: source[coin] }));
}

/** Reads another server's answer about the markets of a dex. */
function readListedMeta(source: unknown): string {
  const isMeta = isJsonObject(source) && Array.isArray(source['universe']);
  if (!isMeta) throw new Refusal('meta', source, 'an object with an array named universe');
  return readStoredJson('meta', source);
}

/** Reads another server's answer about its dexes. */
function readDexList(source: unknown): string {
  if (!Array.isArray(source)) throw new Refusal('list', source, 'an array');
  return readStoredJson('list', source);
}

const EVENT_READERS = {
  perpDex: (fields: FieldReader) => ({
    dex: fields.textOf('dex', DEX_NAME, '1 to 6 of a-z and 0-9'),
    fullName: fields.textOf('fullName', FULL_NAME, '1 to 100 characters'),
    deployer: fields.address('deployer'),
  }),
  market: (fields: FieldReader) => ({
    dex: fields.text('dex'),
    coin: fields.textOf('coin', COIN_NAME, 'NAME or dex:NAME, NAME 1 to 20 of A-Z, a-z and 0-9'),
    szDecimals: fields.whole('szDecimals', { from: 0, to: SIZE_DECIMALS_MAX }),
    marginTiers: fields.list('marginTiers', readTierTerms),
    onlyIsolated: fields.flag('onlyIsolated'),
    markPx: fields.decimal('markPx'),
  }),
  marks: (fields: FieldReader) => ({ prices: readPrices(fields.take('prices')) }),
  dexes: (fields: FieldReader) => ({ list: readDexList(fields.take('list')) }),
  universe: (fields: FieldReader) => ({
    dex: fields.text('dex'),
    meta: readListedMeta(fields.take('meta')),
  }),
  account: (fields: FieldReader) => ({
    user: fields.address('user'),
    dex: fields.text('dex'),
    rawUsd: fields.usd('rawUsd'),
    positions: fields.list('positions', readAccountPosition),
  }),
  accountTime: (fields: FieldReader) => ({
    user: fields.address('user'),
    dex: fields.text('dex'),
    time: fields.whole('time', TIME_RANGE),
  }),
  accountMode: (fields: FieldReader) => ({
    user: fields.address('user'),
    mode: fields.textOf('mode', ACCOUNT_MODE, '1 to 40 of A-Z, a-z and 0-9'),
  }),
  transfer: (fields: FieldReader) => ({
    user: fields.address('user'),
    dex: fields.text('dex'),
    amount: fields.usd('amount'),
  }),
  orderMargin: (fields: FieldReader) => ({
    user: fields.address('user'),
    dex: fields.text('dex'),
    amount: fields.usd('amount', 'zero or more'),
  }),
  collateral: (fields: FieldReader) => ({
    user: fields.address('user'),
    dex: fields.text('dex'),
    amount: fields.usd('amount', 'zero or more'),
  }),
  leverage: (fields: FieldReader) => ({
    user: fields.address('user'),
    coin: fields.text('coin'),
    mode: fields.oneOf('mode', LEVERAGE_MODES),
    value: fields.whole('value', LEVERAGE_RANGE),
  }),
  fill: (fields: FieldReader) => ({
    user: fields.address('user'),
    coin: fields.text('coin'),
    side: fields.oneOf('side', ['B', 'A']),
    sz: fields.decimal('sz'),
    px: fields.decimal('px'),
    fee: fields.usd('fee'),
  }),
  isolatedMargin: (fields: FieldReader) => ({
    user: fields.address('user'),
    coin: fields.text('coin'),
    amount: fields.usd('amount'),
  }),
  funding: (fields: FieldReader) => ({
    coin: fields.text('coin'),
    payments: fields.list('payments', readPayment),
  }),
  delegate: (fields: FieldReader) => ({
    user: fields.address('user'),
    validator: fields.address('validator'),
    amount: fields.stake('amount', 'above zero'),
  }),
  undelegate: (fields: FieldReader) => ({
    user: fields.address('user'),
    validator: fields.address('validator'),
    amount: fields.stake('amount', 'above zero'),
  }),
  delegationReward: (fields: FieldReader) => ({
    user: fields.address('user'),
    validator: fields.address('validator'),
    amount: fields.stake('amount', 'above zero'),
  }),
  delegation: (fields: FieldReader) => ({
    user: fields.address('user'),
    validator: fields.address('validator'),
    amount: fields.stake('amount', 'zero or more'),
    lockedUntilTimestamp: fields.whole('lockedUntilTimestamp', TIME_RANGE),
  }),
  delegations: (fields: FieldReader) => ({
    user: fields.address('user'),
    delegations: fields.list('delegations', readListedDelegation),
  }),
  partial: () => ({}),
  deployAuction: (fields: FieldReader) => ({
    startTimeSeconds: fields.whole('startTimeSeconds', { from: 0, to: SECONDS_MAX }),
    durationSeconds: fields.whole('durationSeconds', { from: 1, to: SECONDS_MAX }),
    startGas: fields.stake('startGas', 'zero or more'),
    floorGas: fields.stake('floorGas', 'zero or more'),
  }),
  deployAuctionEnd: (fields: FieldReader) => ({ endGas: fields.stake('endGas', 'zero or more') }),
  noDeployAuction: () => ({}),
};

type EventReaders = typeof EVENT_READERS;
export type EventType = keyof EventReaders;
/** The fields of one kind of event. */
export type EventOf<T extends EventType> = ReturnType<EventReaders[T]>;
/** An event of any kind: its type and its fields. */
export type Event = { [T in EventType]: EventRecord<T> }[EventType];

/** A later part of a long `account` event that was split: more positions of the same account. */
export interface MorePositions {
  readonly type: 'morePositions';
  readonly fields: EventOf<'account'>;
}

export interface EventRecord<T extends EventType> {
  readonly type: T;
  readonly fields: EventOf<T>;
}

/** An event as it is written in a block; the parser checks it like any other event. */
export interface WireEvent {
  readonly type: EventType;
  readonly [field: string]: unknown;
}

export interface BlockHead {
  readonly height: number;
  readonly time: number;
}

export interface Block extends BlockHead {
  readonly events: readonly Event[];
}

/** @internal Exported for the tests, which cover every type. */
export const EVENT_TYPES = Object.keys(EVENT_READERS) as readonly EventType[];
const READER_BY_TYPE = new Map<unknown, (fields: FieldReader) => unknown>(
  Object.entries(EVENT_READERS),
);

export function readEvent(source: unknown): Event {
  return readObject(source, (fields) => {
    const type = fields.take('type');
    const read = READER_BY_TYPE.get(type);
    if (read === undefined)
      throw new Refusal('type', type, 'a type of event listed in docs/reference/events.md');
    return { type, fields: read(fields) } as Event;
  });
}

function readEvents(height: number, sources: readonly unknown[]): Event[] {
  const events: Event[] = [];
  try {
    for (const source of sources) events.push(readEvent(source));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const index = events.length;
    throw new BlockError({ height, index, type: eventTypeOf(sources[index]) }, nameEvent(error));
  }
  return events;
}

function eventTypeOf(source: unknown): string | undefined {
  const type = isJsonObject(source) ? source['type'] : undefined;
  return READER_BY_TYPE.has(type) ? (type as string) : undefined;
}

/**
 * If the event is not an object, the refusal has no field. The event is then named as the field.
 */
function nameEvent(refusal: Refusal): Refusal {
  return refusal.field === '' ? prefixRefusal('event', refusal) : refusal;
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new BlockError({}, new Refusal('line', line, 'one JSON object'));
  }
}

/** Parses a line of NDJSON. The fold checks that the height is the next height. */
export function parseBlock(line: string): Block {
  const source = parseLine(line);
  let height: number | undefined;
  try {
    return readObject(source, (fields) => {
      height = fields.whole('height', { from: 1, to: Number.MAX_SAFE_INTEGER });
      const time = fields.whole('time', TIME_RANGE);
      const events = fields.take('events');
      if (!Array.isArray(events)) throw new Refusal('events', events, 'an array of events');
      return { height, time, events: readEvents(height, events) };
    });
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new BlockError({ height }, error.field === '' ? prefixRefusal('line', error) : error);
  }
}
