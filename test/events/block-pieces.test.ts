/** A line read in pieces gives the events of the line read whole, or is left to be read whole. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { PieceEvent } from '../../src/events/block-pieces.ts';
import { type Block, type EventOf, parseBlock } from '../../src/events/event.ts';
import { BlockError } from '../../src/events/refusal.ts';
import { runs, SEED_NOTE } from '../../tools/harness/seed.ts';
import { readInPieces } from './read-in-pieces.ts';

function readWhole(line: string): Block | undefined {
  try {
    return parseBlock(line);
  } catch (error) {
    assert.ok(error instanceof BlockError, String(error));
    return undefined;
  }
}

/** As text, one part to each event, payment, price or position: pieces may have parted an event. */
function describe(events: readonly PieceEvent[]): string {
  const parts = sortPrices(events).flatMap(({ type, fields }): unknown[] => {
    if (type === 'account' || type === 'morePositions') {
      const { positions, ...account } = fields as EventOf<'account'>;
      const parts = positions.map((position) => ['position', account, position]);
      return type === 'account' ? [[type, account], ...parts] : parts;
    }
    if (type === 'marks') return (fields as EventOf<'marks'>).prices.map((price) => [type, price]);
    if (type !== 'funding') return [[type, fields]];
    const { coin, payments } = fields as EventOf<'funding'>;
    return payments.map((payment) => [type, coin, payment]);
  });
  return JSON.stringify(parts);
}

/**
 * Puts the prices of marks that follow one another into the order of their coins, as if they were one
 * event: whoever parses JSON gets names that look like numbers first, in a piece or in the whole, and for
 * the state their order is no matter.
 */
function sortPrices(events: readonly PieceEvent[]): PieceEvent[] {
  const sorted: PieceEvent[] = [];
  for (const event of events) {
    const last = sorted.at(-1);
    if (event.type !== 'marks') sorted.push(event);
    else if (last?.type !== 'marks') sorted.push({ ...event, fields: byCoin(event.fields) });
    else {
      const prices = [...last.fields.prices, ...event.fields.prices];
      sorted[sorted.length - 1] = { ...event, fields: byCoin({ prices }) };
    }
  }
  return sorted;
}

function byCoin({ prices }: EventOf<'marks'>): EventOf<'marks'> {
  return { prices: prices.toSorted((a, b) => (a.coin < b.coin ? -1 : Number(a.coin > b.coin))) };
}

/** Never anything else than what the whole line says. */
function assertSame(line: string): boolean {
  const read = readInPieces(line);
  if (read === undefined) return false;
  const whole = readWhole(line);
  assert.ok(whole !== undefined, 'pieces were read of a line that is refused');
  assert.deepEqual([read.height, read.time], [whole.height, whole.time]);
  assert.equal(describe(read.pieces.flat()), describe(whole.events));
  return true;
}

const user = fc
  .integer({ min: 0, max: 99 })
  .map((number) => `0x${String(number).padStart(40, 'a')}`);
/** Full of what might be mistaken for the end of something. */
const trickyText = fc
  .array(fc.constantFrom('"', '\\', '[', ']', '{', '}', ',', ':', '},{', '"type"', 'ü', '🜚', ' '), {
    minLength: 1,
    maxLength: 15,
  })
  .map((parts) => parts.join(''));
const POSITION = {
  coin: 'BTC',
  szi: '1.0',
  entryNtl: '5.0',
  leverage: { type: 'isolated', value: 5, rawUsd: '2.0' },
  cumFunding: { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' },
};
const payment = fc.tuple(user, fc.constantFrom('0.5', '-12.25', '1000.0'));
function fundingOf<T>(payments: fc.Arbitrary<T>) {
  const coin = fc.constantFrom('BTC', 'xyz:GOLD');
  return fc.record({ type: fc.constant('funding'), coin, payments });
}

function marksOf<T>(prices: fc.Arbitrary<T>) {
  return fc.record({ type: fc.constant('marks'), prices });
}

function accountOf<T>(positions: fc.Arbitrary<T>) {
  const [type, dex, rawUsd] = [fc.constant('account'), fc.constant(''), fc.constant('5.0')];
  return fc.record({ type, user, dex, rawUsd, positions });
}

const shortEvent = fc.oneof(
  fc.record({
    type: fc.constant('transfer'),
    user,
    dex: fc.constantFrom('', 'xyz'),
    amount: fc.constantFrom('1.0', '-2.5'),
  }),
  fc.record({
    type: fc.constant('perpDex'),
    dex: fc.constant('abc'),
    fullName: trickyText,
    deployer: user,
  }),
  accountOf(fc.constant([])),
  marksOf(fc.dictionary(trickyText, fc.constant('1.0'), { maxKeys: 5 })),
  fundingOf(fc.array(payment, { maxLength: 4 })),
);
const longEvent = fc.oneof(
  accountOf(fc.integer({ min: 1, max: 100 }).map((count) => Array(count).fill(POSITION))),
  marksOf(
    fc
      .tuple(fc.integer({ min: 1, max: 900 }), fc.oneof(fc.constant(''), trickyText))
      .map(([count, text]) => {
        const coins = Array.from({ length: count }, (_, index) => `${text}C${index}`);
        return Object.fromEntries(coins.map((coin) => [coin, '1.0']));
      }),
  ),
  fundingOf(
    fc
      .tuple(fc.integer({ min: 1, max: 600 }), payment)
      .map(([count, one]) => Array(count).fill(one)),
  ),
);

/** Repeated, so that a line has many pieces. */
function repeated<T>(event: fc.Arbitrary<T>, max: number): fc.Arbitrary<T[]> {
  return fc
    .tuple(event, fc.integer({ min: 1, max }))
    .map(([one, count]) => Array<T>(count).fill(one));
}

const events = fc
  .array(fc.oneof(repeated<object>(shortEvent, 80), repeated<object>(longEvent, 4)), {
    maxLength: 8,
  })
  .map((groups) => groups.flat());
const block = fc.record({
  height: fc.integer({ min: 1, max: 1000 }),
  time: fc.integer({ min: 0, max: 1_000_000 }),
  events,
});
/** As writers put it: without white space, as Python does, or on many lines. */
const spacing = fc.constantFrom(
  (text: string) => text,
  (text: string) => ` ${text}\t\r`,
  (text: string) => JSON.stringify(JSON.parse(text), null, 1),
  (text: string) => text.replaceAll('},{', '} , {').replace('"events":[', '"events" : [ '),
);
const line = fc.tuple(block, spacing).map(([source, space]) => space(JSON.stringify(source)));

test(`lines in the form that writers use are read in pieces ${SEED_NOTE}`, () => {
  fc.assert(
    fc.property(line, (text) => {
      assert.ok(assertSame(text), 'it was not read in pieces');
    }),
    runs(50),
  );
});

/** A change that may make a line another one, or none. */
const damage = fc.oneof(
  fc.record({ at: fc.nat(), remove: fc.integer({ min: 0, max: 3 }), insert: fc.constant('') }),
  fc.record({
    at: fc.nat(),
    remove: fc.integer({ min: 0, max: 1 }),
    insert: fc.constantFrom(
      ',',
      ',,',
      '"',
      '\\',
      '[',
      ']',
      '{',
      '}',
      ']}',
      '],"events":[',
      ' ',
      '0',
    ),
  }),
  fc.record({
    at: fc.nat(),
    remove: fc.constant(0),
    insert: fc.constantFrom(
      '\f',
      '\u00a0',
      '\ufeff',
      ',"events":[]',
      '],"time":5,"events":[',
      '{"type":"marks","prices":{}},',
      ',"coin":"BTC"',
      ',"C1":"2.0"',
      '"C1":"2.0",',
    ),
  }),
  fc.record({
    at: fc.nat(),
    remove: fc.constant(1_000_000),
    insert: fc.constantFrom('', ']}', '}'),
  }),
);

test(`a damaged line is never read as something else ${SEED_NOTE}`, () => {
  let readable = 0;
  fc.assert(
    fc.property(line, fc.array(damage, { minLength: 1, maxLength: 3 }), (text, damages) => {
      let damaged = text;
      for (const { at, remove, insert } of damages) {
        // Half of them at the edges, where the line's own frame is.
        const place =
          at % 2 === 0 ? (at / 2) % (damaged.length + 1) : damaged.length - ((at >> 1) % 80);
        const start = Math.max(0, Math.floor(place));
        damaged = damaged.slice(0, start) + insert + damaged.slice(start + remove);
      }
      // Through bytes, as half a character cannot be in a line.
      if (assertSame(Buffer.from(damaged).toString())) readable++;
    }),
    runs(200),
  );
  assert.ok(readable > 0, 'none was readable');
});
