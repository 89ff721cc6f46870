/**
 * Reads a block's line a few events at a time, so that a long block does not delay answers.
 *
 * The line is cut at commas between its events, and each piece is parsed as a JSON array. A cut at
 * a wrong comma causes a syntax error, never other events. So the events are those that
 * `parseBlock` returns. On any error the caller passes the whole line to `parseBlock`, which
 * reports what is wrong.
 */

import { type BlockHead, type Event, type MorePositions, parseBlock, readEvent } from './event.ts';

/**
 * A piece ends at the first comma after this number of bytes: about thirty events, which are parsed
 * in a tenth of a millisecond.
 */
const PIECE_BYTES = 4096;
/** An event longer than this number of bytes gets its own piece. */
const LONG_BYTES = 2 * PIECE_BYTES;
/**
 * The number of bytes that the patterns below are matched against, at the start and the end of a
 * line or an event.
 */
const EDGE_BYTES = 256;

const HEAD = /^\s*\{\s*"height"\s*:\s*\d+\s*,\s*"time"\s*:\s*\d+\s*,\s*"events"\s*:\s*\[/;
const TAIL = /\]\s*\}\s*$/;
const EVENT_END = /^[ \t\r\n]*\}[ \t\r\n]*/;

/**
 * A type of event with a list that may be long. The list is cut in the same way as the list of
 * events.
 */
interface LongType {
  /** Matches the event up to the first item of the list. */
  readonly start: RegExp;
  readonly list: string;
  /** The text that ends the list and the event. */
  readonly end: string;
}

/**
 * A funding event grows with the number of users; the other events grow with the number of markets.
 */
const LONG_TYPES: readonly LongType[] = [
  {
    start: /^\s*\{\s*"type"\s*:\s*"funding"\s*,\s*"coin"\s*:\s*"[\w:]*"\s*,\s*"payments"\s*:\s*\[/,
    list: 'payments',
    end: ']}',
  },
  { start: /^\s*\{\s*"type"\s*:\s*"marks"\s*,\s*"prices"\s*:\s*\{/, list: 'prices', end: '}}' },
  {
    start:
      /^\s*\{\s*"type"\s*:\s*"account"\s*,\s*"user"\s*:\s*"\w*"\s*,\s*"dex"\s*:\s*"\w*"\s*,\s*"rawUsd"\s*:\s*"[-.\d]*"\s*,\s*"positions"\s*:\s*\[/,
    list: 'positions',
    end: ']}',
  },
];

interface LongEvent {
  readonly type: LongType;
  /** The text of the event before the first item of its list. */
  readonly head: string;
}

const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const BRACKETS = { open: 91, close: 93 };
const BRACES = { open: 123, close: 125 };

export type PieceEvent = Event | MorePositions;

export interface SplitBlock extends BlockHead {
  /**
   * The events, in order. An event with a long list is split into several events. The iteration
   * throws a SyntaxError or a Refusal if the line must be passed to `parseBlock`.
   */
  readonly pieces: Iterable<readonly PieceEvent[]>;
}

/**
 * Returns the height, the time and the events in pieces; returns undefined unless the line has
 * these three members, in this order. Throws a BlockError if the height or the time is refused.
 */
export function splitBlock(line: Buffer): SplitBlock | undefined {
  const [head] = HEAD.exec(line.toString('latin1', 0, EDGE_BYTES)) ?? [];
  const [tail] = TAIL.exec(line.subarray(-EDGE_BYTES).toString('latin1')) ?? [];
  if (head === undefined || tail === undefined) return undefined;
  const { height, time } = parseBlock(head + tail);
  const events = line.subarray(head.length, line.length - tail.length);
  return { height, time, pieces: cutEvents(events) };
}

function* cutEvents(events: Buffer): Generator<PieceEvent[]> {
  for (let from = 0; ; ) {
    const long = findLongEvent(events, from);
    const to =
      long === undefined
        ? yield* readPiece(events, from)
        : yield* cutList(events, from + long.head.length, long);
    if (to === events.length) return;
    from = afterComma(events, to);
  }
}

function afterComma(list: Buffer, at: number): number {
  if (list[at] === COMMA) return at + 1;
  throw new SyntaxError('expected a comma between two items');
}

function* readPiece(events: Buffer, from: number): Generator<Event[], number> {
  const to = findCut(events, from);
  const sources = JSON.parse(`[${events.toString('utf8', from, to)}]`) as unknown[];
  const isEmptyBlock = from === 0 && to === events.length;
  if (sources.length === 0 && !isEmptyBlock)
    throw new SyntaxError('expected an event after the comma');
  yield sources.map(readEvent);
  return to;
}

/**
 * Returns the event that starts at `from`; returns undefined unless the list of the event takes
 * several pieces.
 */
function findLongEvent(events: Buffer, from: number): LongEvent | undefined {
  const text = events.toString('latin1', from, from + EDGE_BYTES);
  const starts = LONG_TYPES.map((type) => ({ type, head: type.start.exec(text)?.[0] ?? '' }));
  const long = starts.find(({ head }) => head !== '');
  if (long === undefined) return undefined;
  return events[findCut(events, from + long.head.length)] === COMMA ? long : undefined;
}

/**
 * Splits the event into several events, each with some of the items. Returns the index after the
 * end of the event.
 */
function* cutList(
  events: Buffer,
  start: number,
  { type, head }: LongEvent,
): Generator<PieceEvent[], number> {
  const keys = new Set<string>();
  for (let from = start; ; ) {
    const to = findCut(events, from);
    const source = JSON.parse(head + events.toString('utf8', from, to) + type.end);
    checkItems(source[type.list], keys);
    const event = readEvent(source);
    yield [from === start ? event : continueEvent(event)];
    if (events[to] === type.end.charCodeAt(0)) return endOfEvent(events, to + 1);
    from = afterComma(events, to);
  }
}

/**
 * Returns the event of a later piece. A second `account` event would close the positions that the
 * earlier pieces have set.
 */
function continueEvent(event: Event): PieceEvent {
  return event.type === 'account' ? { type: 'morePositions', fields: event.fields } : event;
}

/**
 * Throws if a piece has no items, or repeats a key of an earlier piece (`keys`). If an object
 * repeats a key, only the last value of the key counts, so no piece may apply an earlier value.
 */
function checkItems(items: object, keys: Set<string>): void {
  const added = Object.keys(items);
  if (added.length === 0) throw new SyntaxError('expected an item after the comma');
  if (Array.isArray(items)) return;
  for (const key of added) {
    if (keys.has(key)) throw new SyntaxError('expected each key once');
    keys.add(key);
  }
}

function endOfEvent(events: Buffer, from: number): number {
  const [end] = EVENT_END.exec(events.toString('latin1', from, from + EDGE_BYTES)) ?? [];
  if (end === undefined) throw new SyntaxError('expected the end of the event');
  return from + end.length;
}

/**
 * Returns the index of the comma that ends the next piece, or the index of the list's end. The
 * piece before a long item ends early, so that the long item gets its own piece.
 */
function findCut(list: Buffer, from: number): number {
  let depth = 0;
  let isText = false;
  let comma = -1;
  for (let at = from; at < list.length; at++) {
    const byte = list[at];
    if (isText) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) {
      isText = true;
    } else if (byte === BRACES.open || byte === BRACKETS.open) {
      depth++;
    } else if (byte === BRACES.close || byte === BRACKETS.close) {
      if (depth === 0) return at;
      depth--;
    } else if (byte === COMMA && depth === 0) {
      if (at - from >= PIECE_BYTES) return at;
      comma = at;
    }
    if (comma !== -1 && at - from >= LONG_BYTES) return comma;
  }
  return list.length;
}
