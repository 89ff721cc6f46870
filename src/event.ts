/**
 * The ledger's vocabulary: a block is one line of JSON, and this is its strict parser.
 *
 * Each kind of event is declared once, as the function that reads its fields; the event's type is
 * what that function returns. All fields are required and no others are allowed. What only the state
 * can judge (an unknown coin, a market's decimals) is left to the fold, which refuses in the same way.
 */

import { ADDRESS_EXPECTED, type Address, parseAddress } from './address.ts';
import { DecimalError, parseBigUnits, parseUnits } from './decimal.ts';

export const USD_DECIMALS = 6;
export const STAKE_DECIMALS = 8;
export const SIZE_DECIMALS_MAX = 6;
export const LEVERAGE_MAX = 1000;

/** The latest time that a JavaScript date can hold, in milliseconds. */
const TIME_MS_MAX = 8_640_000_000_000_000;
const SHOWN_LENGTH_MAX = 60;

/** Why an event cannot be taken: which field, what it held, what was expected of it. */
export class Refusal extends Error {
  readonly field: string;
  readonly value: unknown;
  readonly expected: string;

  constructor(field: string, value: unknown, expected: string) {
    super(`${describeField(field)}: got ${describeValue(value)}, expected ${expected}`);
    this.name = 'Refusal';
    this.field = field;
    this.value = value;
    this.expected = expected;
  }
}

/** Where a refusal applies: a whole block, or one of its events. */
export interface BlockPlace {
  height?: number | undefined;
  index?: number | undefined;
  type?: string | undefined;
}

/** A block that was refused, whole; the message names the place and the field. */
export class BlockError extends Error {
  readonly height: number | undefined;
  readonly index: number | undefined;
  readonly field: string;

  constructor(place: BlockPlace, cause: Refusal) {
    super(`${describePlace(place)}: ${cause.message}`, { cause });
    this.name = 'BlockError';
    this.height = place.height;
    this.index = place.index;
    this.field = cause.field;
  }
}

function describePlace({ height, index, type }: BlockPlace): string {
  const block = height === undefined ? 'block' : `block ${height}`;
  if (index === undefined) return block;
  return type === undefined ? `${block}, event ${index}` : `${block}, event ${index} (${type})`;
}

/** A value as an error shows it: short, and never deeper than its outermost level. */
export function describeValue(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  if (typeof value !== 'string') return String(value);
  if (value.length <= SHOWN_LENGTH_MAX) return JSON.stringify(value);
  const shown = JSON.stringify(value.slice(0, SHOWN_LENGTH_MAX));
  return `${shown}… (${value.length} characters)`;
}

/** Field names come from the line too: an unknown one may be huge or hold control characters. */
function describeField(field: string): string {
  const shown = JSON.stringify(field.slice(0, SHOWN_LENGTH_MAX)).slice(1, -1);
  return field.length > SHOWN_LENGTH_MAX ? `${shown}…` : shown;
}

/** Runs a reader of something nested; the path is only put together when it refuses. */
function readNested<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof Refusal ? refusalBelow(path, error) : error;
  }
}

/** The refusal of something nested, its field named from one level further out. */
export function refusalBelow(path: string, { field, value, expected }: Refusal): Refusal {
  const isIndex = field === '' || field.startsWith('[');
  return new Refusal(isIndex ? path + field : `${path}.${field}`, value, expected);
}

type Source = Record<string, unknown>;

function isSource(value: unknown): value is Source {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

type Bound = 'any' | 'zero or more' | 'above zero';

function expectedWithin(bound: Bound): string {
  return bound === 'above zero' ? 'an amount above 0' : 'an amount of 0 or more';
}

function readAddress(field: string, value: unknown): Address {
  const address = typeof value === 'string' ? parseAddress(value) : undefined;
  if (address === undefined) throw new Refusal(field, value, ADDRESS_EXPECTED);
  return address;
}

/** Text to units at a scale; the fold uses it too, once it knows a market's decimals. */
export function readUnits(field: string, value: unknown, decimals: number): number {
  if (typeof value !== 'string') throw new Refusal(field, value, 'a decimal as text');
  try {
    return parseUnits(value, decimals);
  } catch (error) {
    throw error instanceof DecimalError ? new Refusal(field, value, error.expected) : error;
  }
}

function readBigUnits(field: string, value: unknown, decimals: number): bigint {
  if (typeof value !== 'string') throw new Refusal(field, value, 'a decimal as text');
  try {
    return parseBigUnits(value, decimals);
  } catch (error) {
    throw error instanceof DecimalError ? new Refusal(field, value, error.expected) : error;
  }
}

/** Reads the fields of one object, each once, and refuses what is left over. */
class Fields {
  readonly #source: Source;
  readonly #taken: string[] = [];

  constructor(source: Source) {
    this.#source = source;
  }

  take(name: string): unknown {
    this.#taken.push(name);
    return this.#source[name];
  }

  text(name: string): string {
    const value = this.take(name);
    if (typeof value !== 'string') throw new Refusal(name, value, 'text');
    return value;
  }

  textOf(name: string, pattern: RegExp, expected: string): string {
    const value = this.take(name);
    if (typeof value === 'string' && pattern.test(value)) return value;
    throw new Refusal(name, value, expected);
  }

  oneOf<T extends string>(name: string, choices: readonly T[]): T {
    const value = this.take(name);
    if (choices.includes(value as T)) return value as T;
    throw new Refusal(name, value, choices.join(' or '));
  }

  flag(name: string): boolean {
    const value = this.take(name);
    if (typeof value !== 'boolean') throw new Refusal(name, value, 'true or false');
    return value;
  }

  whole(name: string, { from, to }: { from: number; to: number }): number {
    const value = this.take(name);
    if (typeof value === 'number' && Number.isInteger(value) && value >= from && value <= to) {
      return value + 0; // JSON can say -0
    }
    throw new Refusal(name, value, `a whole number from ${from} to ${to}`);
  }

  address(name: string): Address {
    return readAddress(name, this.take(name));
  }

  /** A decimal whose scale only its market knows. */
  decimal(name: string): string {
    const value = this.take(name);
    if (typeof value !== 'string') throw new Refusal(name, value, 'a decimal as text');
    return value;
  }

  usd(name: string, bound: Bound = 'any'): number {
    const text = this.take(name);
    const units = readUnits(name, text, USD_DECIMALS);
    if (bound === 'any' || units > 0 || (units === 0 && bound === 'zero or more')) return units;
    throw new Refusal(name, text, expectedWithin(bound));
  }

  stake(name: string, bound: Bound): bigint {
    const text = this.take(name);
    const units = readBigUnits(name, text, STAKE_DECIMALS);
    if (units > 0n || (units === 0n && bound === 'zero or more')) return units;
    throw new Refusal(name, text, expectedWithin(bound));
  }

  list<T>(name: string, read: (item: unknown) => T): T[] {
    const value = this.take(name);
    if (!Array.isArray(value)) throw new Refusal(name, value, 'an array');
    const items: T[] = [];
    let index = 0;
    try {
      for (; index < value.length; index++) items.push(read(value[index]));
    } catch (error) {
      throw error instanceof Refusal ? refusalBelow(`${name}[${index}]`, error) : error;
    }
    return items;
  }

  object<T>(name: string, read: (fields: Fields) => T): T {
    const value = this.take(name);
    return readNested(name, () => readObject(value, read));
  }

  /** Every required field has been taken: what else the object has is one too many. */
  end(): void {
    let count = 0;
    for (const _ in this.#source) count++;
    if (count === this.#taken.length) return;
    for (const name in this.#source) {
      if (this.#taken.includes(name)) continue;
      const fields = this.#taken.join(', ');
      const shown = name === '' ? '(empty)' : name; // an empty field would stand for the object itself
      throw new Refusal(shown, this.#source[name], `no such field, only ${fields}`);
    }
  }
}

function readObject<T>(source: unknown, read: (fields: Fields) => T): T {
  if (!isSource(source)) throw new Refusal('', source, 'an object');
  const fields = new Fields(source);
  const value = read(fields);
  fields.end();
  return value;
}

const LEVERAGE_MODES = ['cross', 'isolated'] as const;
export type LeverageMode = (typeof LEVERAGE_MODES)[number];

const FULL_NAME = /^.{1,100}$/su;
const DEX_NAME = /^[a-z0-9]{1,6}$/;
const COIN_NAME = /^(?:[a-z0-9]{1,6}:)?[A-Za-z0-9]{1,20}$/;
const LEVERAGE_RANGE = { from: 1, to: LEVERAGE_MAX };
const TIME_RANGE = { from: 0, to: TIME_MS_MAX };
const SECONDS_MAX = TIME_MS_MAX / 1000;

function readTier(source: unknown) {
  return readObject(source, (fields) => ({
    lowerBound: fields.usd('lowerBound', 'zero or more'),
    maxLeverage: fields.whole('maxLeverage', LEVERAGE_RANGE),
  }));
}

function readAccountLeverage(fields: Fields) {
  const type = fields.oneOf('type', LEVERAGE_MODES);
  const value = fields.whole('value', LEVERAGE_RANGE);
  return { type, value, rawUsd: type === 'isolated' ? fields.usd('rawUsd') : 0 };
}

function readCumulativeFunding(fields: Fields) {
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

function readPrices(source: unknown) {
  if (!isSource(source)) throw new Refusal('prices', source, 'an object of coins and prices');
  return Object.keys(source).map((coin) => ({ coin, price: source[coin] }));
}

const EVENT_READERS = {
  perpDex: (fields: Fields) => ({
    dex: fields.textOf('dex', DEX_NAME, '1 to 6 of a-z and 0-9'),
    fullName: fields.textOf('fullName', FULL_NAME, '1 to 100 characters'),
    deployer: fields.address('deployer'),
  }),
  market: (fields: Fields) => ({
    dex: fields.text('dex'),
    coin: fields.textOf('coin', COIN_NAME, 'NAME or dex:NAME, NAME 1 to 20 of A-Z, a-z and 0-9'),
    szDecimals: fields.whole('szDecimals', { from: 0, to: SIZE_DECIMALS_MAX }),
    marginTiers: fields.list('marginTiers', readTier),
    onlyIsolated: fields.flag('onlyIsolated'),
    markPx: fields.decimal('markPx'),
  }),
  marks: (fields: Fields) => ({ prices: readPrices(fields.take('prices')) }),
  account: (fields: Fields) => ({
    user: fields.address('user'),
    dex: fields.text('dex'),
    rawUsd: fields.usd('rawUsd'),
    positions: fields.list('positions', readAccountPosition),
  }),
  transfer: (fields: Fields) => ({
    user: fields.address('user'),
    dex: fields.text('dex'),
    amount: fields.usd('amount'),
  }),
  orderMargin: (fields: Fields) => ({
    user: fields.address('user'),
    dex: fields.text('dex'),
    amount: fields.usd('amount', 'zero or more'),
  }),
  collateral: (fields: Fields) => ({
    user: fields.address('user'),
    dex: fields.text('dex'),
    amount: fields.usd('amount', 'zero or more'),
  }),
  leverage: (fields: Fields) => ({
    user: fields.address('user'),
    coin: fields.text('coin'),
    mode: fields.oneOf('mode', LEVERAGE_MODES),
    value: fields.whole('value', LEVERAGE_RANGE),
  }),
  fill: (fields: Fields) => ({
    user: fields.address('user'),
    coin: fields.text('coin'),
    side: fields.oneOf('side', ['B', 'A']),
    sz: fields.decimal('sz'),
    px: fields.decimal('px'),
    fee: fields.usd('fee'),
  }),
  isolatedMargin: (fields: Fields) => ({
    user: fields.address('user'),
    coin: fields.text('coin'),
    amount: fields.usd('amount'),
  }),
  funding: (fields: Fields) => ({
    coin: fields.text('coin'),
    payments: fields.list('payments', readPayment),
  }),
  delegate: (fields: Fields) => ({
    user: fields.address('user'),
    validator: fields.address('validator'),
    amount: fields.stake('amount', 'above zero'),
  }),
  undelegate: (fields: Fields) => ({
    user: fields.address('user'),
    validator: fields.address('validator'),
    amount: fields.stake('amount', 'above zero'),
  }),
  delegationReward: (fields: Fields) => ({
    user: fields.address('user'),
    validator: fields.address('validator'),
    amount: fields.stake('amount', 'above zero'),
  }),
  delegation: (fields: Fields) => ({
    user: fields.address('user'),
    validator: fields.address('validator'),
    amount: fields.stake('amount', 'zero or more'),
    lockedUntilTimestamp: fields.whole('lockedUntilTimestamp', TIME_RANGE),
  }),
  deployAuction: (fields: Fields) => ({
    startTimeSeconds: fields.whole('startTimeSeconds', { from: 0, to: SECONDS_MAX }),
    durationSeconds: fields.whole('durationSeconds', { from: 1, to: SECONDS_MAX }),
    startGas: fields.stake('startGas', 'zero or more'),
    floorGas: fields.stake('floorGas', 'zero or more'),
  }),
  deployAuctionEnd: (fields: Fields) => ({ endGas: fields.stake('endGas', 'zero or more') }),
};

type EventReaders = typeof EVENT_READERS;
export type EventType = keyof EventReaders;
/** The fields of one kind of event. */
export type EventOf<T extends EventType> = ReturnType<EventReaders[T]>;
/** An event of any kind: its type and its fields. */
export type Event = { [T in EventType]: EventRecord<T> }[EventType];

export interface EventRecord<T extends EventType> {
  readonly type: T;
  readonly fields: EventOf<T>;
}

export interface Block {
  readonly height: number;
  readonly time: number;
  readonly events: readonly Event[];
}

export const EVENT_TYPES = Object.keys(EVENT_READERS) as readonly EventType[];
const READER_BY_TYPE = new Map<unknown, (fields: Fields) => unknown>(Object.entries(EVENT_READERS));

function readEvent(source: unknown): Event {
  return readObject(source, (fields) => {
    const type = fields.take('type');
    const read = READER_BY_TYPE.get(type);
    if (read === undefined) throw new Refusal('type', type, 'a known type of event');
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
  const type = isSource(source) ? source['type'] : undefined;
  return READER_BY_TYPE.has(type) ? (type as string) : undefined;
}

/** An event that is not even an object has no field to blame but itself. */
function nameEvent(refusal: Refusal): Refusal {
  return refusal.field === '' ? refusalBelow('event', refusal) : refusal;
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new BlockError({}, new Refusal('line', line, 'one JSON object'));
  }
}

/** The block that a line of NDJSON holds. Whether it is the next one is for the fold to say. */
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
    throw new BlockError({ height }, error.field === '' ? refusalBelow('line', error) : error);
  }
}
