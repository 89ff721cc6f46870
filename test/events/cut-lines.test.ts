/** Where a line is cut into pieces, and which lines are left to the whole parser. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { splitBlock } from '../../src/events/block-pieces.ts';
import type { EventOf } from '../../src/events/event.ts';
import { readInPieces } from './read-in-pieces.ts';

const TRANSFER =
  '{"type":"transfer","user":"0x00000000000000000000000000000000000000aa","dex":"","amount":"1.0"}';
const PAYMENT = '["0x00000000000000000000000000000000000000aa","0.5"]';
const MANY = listOf(500, TRANSFER);
const FUNDING = fundingOf(listOf(500, PAYMENT));
const MARKS = marksOf(pricesOf(1000));
const POSITION = {
  ...{ coin: 'BTC', szi: '1.0', entryNtl: '5.0', leverage: { type: 'cross', value: 5 } },
  cumFunding: { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' },
};
/** With the longest start that an account has. */
const ACCOUNT = JSON.stringify({
  ...{ type: 'account', user: '0x00000000000000000000000000000000000000aa', dex: 'sixdex' },
  ...{ rawUsd: '-9007199254.740991', positions: Array(100).fill(POSITION) },
});

function listOf(count: number, item: string): string {
  return Array(count).fill(item).join(',');
}

function fundingOf(payments: string): string {
  return `{"type":"funding","coin":"BTC","payments":[${payments}]}`;
}

/** Each price takes 13 bytes. */
function pricesOf(count: number): string {
  return Array.from({ length: count }, (_, index) => `"C${1000 + index}":"1.0"`).join(',');
}

function marksOf(prices: string): string {
  return `{"type":"marks","prices":{${prices}}}`;
}

function framed(list: string): string {
  return `{"height":7,"time":9,"events":[${list}]}`;
}

/** An event of so many bytes. */
function sized(bytes: number): string {
  const event = (price: string) => `{"type":"marks","prices":{"BTC":"${price}"}}`;
  return event('x'.repeat(bytes - event('').length));
}

/** How many events each piece has. */
function eventCounts(list: string): number[] | undefined {
  return readInPieces(framed(list))?.pieces.map((events) => events.length);
}

/** How many payments each piece has, of a block with one funding event of so many. */
function paymentCounts(count: number): number[] | undefined {
  const { pieces } = readInPieces(framed(fundingOf(listOf(count, PAYMENT)))) ?? {};
  return pieces?.map(([{ fields }]) => (fields as EventOf<'funding'>).payments.length);
}

/** How many prices each piece has, of a block with one marks event of these. */
function priceCounts(prices: string): number[] | undefined {
  const { pieces } = readInPieces(framed(marksOf(prices))) ?? {};
  return pieces?.map(([{ fields }]) => (fields as EventOf<'marks'>).prices.length);
}

test('a block without events has one piece without events', () => {
  assert.deepEqual(eventCounts(''), [0]);
  assert.deepEqual(eventCounts(' '), [0]);
});

test('a piece ends at the first comma after 4,096 bytes', () => {
  assert.deepEqual(eventCounts(`${sized(4095)},${TRANSFER}`), [2]);
  assert.deepEqual(eventCounts(`${sized(4096)},${TRANSFER}`), [1, 1]);
  assert.deepEqual(eventCounts(listOf(12, sized(1000))), [5, 5, 2]);
});

test('a piece ends before an event that would make it longer than 8,192 bytes', () => {
  assert.deepEqual(eventCounts(`${sized(92)},${sized(8099)}`), [2]);
  assert.deepEqual(eventCounts(`${sized(92)},${sized(8100)}`), [1, 1]);
  assert.deepEqual(eventCounts(`${TRANSFER},${sized(10_000)},${TRANSFER}`), [1, 1, 1]);
});

test('the payments of a funding event are cut like events', () => {
  assert.deepEqual(paymentCounts(0), [0]);
  assert.deepEqual(paymentCounts(78), [78]);
  assert.deepEqual(paymentCounts(79), [78, 1]);
  assert.deepEqual(paymentCounts(200), [78, 78, 44]);
});

test('the prices of a marks event are cut like events', () => {
  assert.deepEqual(priceCounts(''), [0]);
  assert.deepEqual(priceCounts(pricesOf(293)), [293]);
  assert.deepEqual(priceCounts(pricesOf(294)), [293, 1]);
  assert.deepEqual(priceCounts(pricesOf(700)), [293, 293, 114]);
});

test('a coin may be repeated within a piece, and counts once; not in another piece', () => {
  const prices = pricesOf(700);
  assert.deepEqual(priceCounts(`"C1000":"2.0",${prices}`), [292, 293, 115]);
  assert.equal(priceCounts(`${prices},"C1000":"2.0"`), undefined);
  assert.equal(priceCounts(`${prices},"\\u00431000":"2.0"`), undefined);
  assert.deepEqual(priceCounts(`${prices},"C1699":"2.0"`), [293, 293, 114]);
});

test('the positions of an account event are cut like events', () => {
  const { pieces } = readInPieces(framed(ACCOUNT)) ?? {};
  const counts = pieces?.map(([{ type, fields }]) => {
    return [type, (fields as EventOf<'account'>).positions.length];
  });
  const more = ['morePositions', 28];
  assert.deepEqual(counts, [['account', 28], more, more, ['morePositions', 16]]);
});

test('two marks events may have the same coins', () => {
  assert.deepEqual(eventCounts(`${MARKS},${MARKS}`), Array(8).fill(1));
});

test('an event with a long list has its own pieces between others', () => {
  assert.deepEqual(eventCounts(`${TRANSFER},${FUNDING},${TRANSFER}`), Array(9).fill(1));
  for (const [event, count] of [
    [FUNDING, 7],
    [MARKS, 4],
    [ACCOUNT, 4],
  ] as const) {
    for (const before of ['{"type":"partial"}', `{"type":"partial"}${' '.repeat(15)}`]) {
      assert.deepEqual(eventCounts(`${before},${event}`), Array(1 + count).fill(1));
    }
  }
});

test('brackets, commas and quotes in a text do not end an event', () => {
  for (const text of ['},{', '[', '"},', '\\', '\\"]']) {
    const event = { ...JSON.parse(TRANSFER), dex: text };
    const counts = eventCounts(listOf(500, JSON.stringify(event))) ?? [];
    assert.ok(counts.length > 5, text);
  }
});

test('a block may be written on many lines', () => {
  const account = {
    ...{ type: 'account', user: '0x00000000000000000000000000000000000000aa' },
    ...{ dex: '', rawUsd: '1.0', positions: [] },
  };
  const line = JSON.stringify({ height: 7, time: 9, events: [account] }, null, 2);
  assert.equal(readInPieces(line)?.pieces.length, 1);
});

const OTHER_FORMS: Record<string, string> = {
  'another order of fields': `{"time":9,"height":7,"events":[${MANY}]}`,
  'one field too many': `{"height":7,"time":9,"x":1,"events":[${MANY}]}`,
  'the right fields further in': `{"height":7,"time":9,"EVENTS":[{"type":"marks","prices":{"x":${framed('')}}}]}`,
  'something behind the block': `${framed(MANY)} x`,
  'a line that was cut off': framed(MANY).slice(0, -100),
};

for (const [about, line] of Object.entries(OTHER_FORMS)) {
  test(`not cut at all: ${about}`, () => {
    assert.equal(splitBlock(Buffer.from(line)), undefined);
  });
}

test('the end of a block is looked for in the last 256 bytes', () => {
  assert.notEqual(splitBlock(Buffer.from(framed('') + ' '.repeat(254))), undefined);
  assert.equal(splitBlock(Buffer.from(framed('') + ' '.repeat(255))), undefined);
});

test('a height that is out of range is refused', () => {
  assert.throws(() => splitBlock(Buffer.from(`{"height":0,"time":9,"events":[${MANY}]}`)), {
    name: 'BlockError',
    message: 'block: height: got 0, expected a whole number from 1 to 9007199254740991',
  });
});

const LEFT_TO_THE_WHOLE: Record<string, string> = {
  'a height that JSON does not have': `{"height":07,"time":9,"events":[${MANY}]}`,
  'a field after the events': `{"height":7,"time":9,"events":[${MANY}],"x":[]}`,
  'events twice': `{"height":7,"time":9,"events":[${MANY}],"events":[]}`,
  'a comma too many at the end': framed(`${MANY},`),
  'a comma too many at the beginning': framed(`,${MANY}`),
  'a comma too many in between': framed(`${MANY},,${MANY}`),
  'a form feed between events': framed(`${MANY},\f${MANY}`),
  'funding that was cut off': framed(FUNDING.slice(0, -2)),
  'funding with a comma too many': framed(FUNDING.replace(']]}', '],]}')),
  'funding with other payments behind': framed(FUNDING.replace(']]}', ']],"payments":[]}')),
  'funding with a form feed at its end': framed(`${FUNDING.slice(0, -1)}\f}`),
  'funding with another end': framed(`${FUNDING.slice(0, -1)}x,${TRANSFER}`),
  'funding with much space and no comma behind': framed(`${FUNDING}${' '.repeat(200)}${TRANSFER}`),
  'marks that were cut off': framed(MARKS.slice(0, -2)),
  'marks with a comma too many': framed(MARKS.replace('}}', ',}}')),
  'marks with other prices behind': framed(MARKS.replace('}}', '},"prices":{}}')),
  'marks that end as a list does': framed(MARKS.replace('}}', ']}')),
  'funding that ends as an object does': framed(FUNDING.replace(']]}', ']}}')),
  'an event of an unknown type at the end': framed(`${MANY},{"type":"order"}`),
};

for (const [about, line] of Object.entries(LEFT_TO_THE_WHOLE)) {
  test(`left to the whole parser: ${about}`, () => {
    assert.equal(readInPieces(line), undefined);
  });
}

test('a comma too many at the end is noticed wherever the last cut is', () => {
  for (let count = 1; count <= 100; count++) {
    const transfers = framed(`${listOf(count, TRANSFER)},`);
    const payments = framed(fundingOf(`${listOf(count, PAYMENT)},`));
    assert.equal(readInPieces(transfers), undefined, `${count} events`);
    const prices = framed(marksOf(`${pricesOf(count * 10)},`));
    assert.equal(readInPieces(payments), undefined, `${count} payments`);
    assert.equal(readInPieces(prices), undefined, `${count * 10} prices`);
  }
});

const WRONG_CUTS: Record<string, string> = {
  'expected a comma between two items': `${MANY}]`,
  'expected an event after the comma': `,${sized(10_000)}`,
  'expected an item after the comma': fundingOf(`${listOf(78, PAYMENT)},`),
  'expected each key once': marksOf(`${pricesOf(294)},"C1000":"1.0"`),
  'expected the end of the event': FUNDING.replace(']]}', ']],"x":1}'),
};

for (const [message, list] of Object.entries(WRONG_CUTS)) {
  test(`what is cut wrongly says so: ${message}`, () => {
    const { pieces } = splitBlock(Buffer.from(framed(list))) ?? { pieces: [] };
    assert.throws(() => [...pieces], { name: 'SyntaxError', message });
  });
}
