/** What the parser makes of fields at the edge of what it takes, and what its refusals say. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBlock, readEvent } from '../../src/events/event.ts';
import { type FieldReader, readObject, readUnits } from '../../src/events/fields.ts';
import { BlockError, Refusal } from '../../src/events/refusal.ts';

const USER = '0x00000000000000000000000000000000000000aa';
const BUG = new TypeError('a bug');

function refusalOf(source: unknown): Refusal {
  return thrownBy(() => readEvent(source), Refusal);
}

function thrownBy<T extends Error>(work: () => unknown, kind: new (...args: never[]) => T): T {
  try {
    work();
  } catch (error) {
    if (error instanceof kind) return error;
    throw error;
  }
  return assert.fail('nothing was thrown');
}

test('an event without fields has no fields', () => {
  const line = '{"height":1,"time":0,"events":[{"type":"partial"},{"type":"noDeployAuction"}]}';
  assert.deepEqual(parseBlock(line).events, [
    { type: 'partial', fields: {} },
    { type: 'noDeployAuction', fields: {} },
  ]);
});

test('an auction may start and end at 0', () => {
  const times = { startTimeSeconds: 5, durationSeconds: 1 };
  const start = { type: 'deployAuction', ...times, startGas: '0.0', floorGas: '0' };
  assert.deepEqual(readEvent(start).fields, { ...times, startGas: 0n, floorGas: 0n });
  assert.deepEqual(readEvent({ type: 'deployAuctionEnd', endGas: '0.0' }).fields, { endGas: 0n });
});

test('a size and a price are text, although only the market knows their decimals', () => {
  const fill = { type: 'fill', user: USER, coin: 'BTC', side: 'B', sz: '1', px: '2', fee: '0' };
  for (const field of ['sz', 'px']) {
    const { message } = refusalOf({ ...fill, [field]: 0.5 });
    assert.equal(message, `${field}: got 0.5, expected a decimal as text`);
  }
});

test('a number -0 is read as 0', () => {
  const { time } = parseBlock('{"height":1,"time":-0,"events":[]}');
  assert.ok(Object.is(time, 0));
});

test('a refused block says which one, which event and which field, and why', () => {
  const line = '{"height":7,"time":0,"events":[{"type":"partial"},{"type":"order"}]}';
  const { height, index, field, cause } = thrownBy(() => parseBlock(line), BlockError);
  assert.deepEqual({ height, index, field }, { height: 7, index: 1, field: 'type' });
  assert.ok(cause instanceof Refusal);
  assert.equal(cause.value, 'order');
  assert.equal(cause.expected, 'a type of event listed in docs/reference/events.md');
});

test('what is invisible in a text or in the name of a field is shown by its number', () => {
  const shown = [
    ['\ufeff{', '"\\ufeff{"'],
    ['a\u200bb\u00a0c\u2028', '"a\\u200bb\\u00a0c\\u2028"'],
    ['\u{e0041}\x9b', '"\\udb40\\udc41\\u009b"'],
    ['two words, € 😀', '"two words, € 😀"'],
  ];
  for (const [text, expected] of shown) {
    assert.equal(new Refusal('a', text, 'x').message, `a: got ${expected}, expected x`);
  }
  assert.equal(new Refusal('a\ufeff', 1, 'x').message, 'a\\ufeff: got 1, expected x');
});

test('texts and names of fields are shown up to 60 characters', () => {
  const [fits, tooLong] = ['x'.repeat(60), 'x'.repeat(61)];
  const type = 'expected a type of event listed in docs/reference/events.md';
  assert.equal(refusalOf({ type: fits }).message, `type: got "${fits}", ${type}`);
  assert.equal(
    refusalOf({ type: tooLong }).message,
    `type: got "${fits}"… (61 characters), ${type}`,
  );
  const only = 'got 1, expected only the fields type';
  assert.equal(refusalOf({ type: 'partial', [fits]: 1 }).message, `${fits}: ${only}`);
  assert.equal(refusalOf({ type: 'partial', [tooLong]: 1 }).message, `${fits}…: ${only}`);
});

function fail(): never {
  throw BUG;
}

const READERS: Record<string, (fields: FieldReader) => unknown> = {
  'an object in an object': (fields) => fields.object('nested', fail),
  'an item of a list': (fields) => fields.list('items', fail),
};

for (const [about, read] of Object.entries(READERS)) {
  test(`a bug in the reader of ${about} is not taken for a refusal`, () => {
    assert.throws(() => readObject({ nested: {}, items: [1] }, read), BUG);
  });
}

test('a number of decimals that cannot be is a bug, and no refusal', () => {
  const decimals = Symbol('no number') as unknown as number;
  assert.throws(() => readUnits('amount', '1.5', decimals), TypeError);
});

test('a bug in the reader of an event is not taken for a refusal', () => {
  // Objects without the field then fail, instead of giving undefined.
  Object.defineProperty(Object.prototype, 'endGas', { get: fail, configurable: true });
  try {
    const line = '{"height":1,"time":0,"events":[{"type":"deployAuctionEnd"}]}';
    assert.throws(() => parseBlock(line), BUG);
  } finally {
    Reflect.deleteProperty(Object.prototype, 'endGas');
  }
});
