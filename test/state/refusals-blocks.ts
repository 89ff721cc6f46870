/** Refused blocks as lines: what is wrong is the line itself, its height or time, or an event's frame. */

import {
  DAVE,
  GOOD_EVENTS,
  NEXT_HEIGHT,
  NEXT_TIME,
  nextLine,
  PREPARED_BLOCKS,
  SAMPLES,
  STRANGER,
  TIME,
} from './refusals-prepared.ts';

/** A row of the table: what is wrong, the line, and the whole message. */
type RefusedLine = readonly [about: string, line: string, message: string];

const NEXT = { height: NEXT_HEIGHT, time: NEXT_TIME, events: [] };
const END = { type: 'deployAuctionEnd', ...SAMPLES.deployAuctionEnd };
const AGAIN = { type: 'perpDex', ...SAMPLES.perpDex };

function lineWith(change: object): string {
  return JSON.stringify({ ...NEXT, ...change });
}

/** The next line, with JSON that no value of ours would give in the place of its last event. */
function lineEndingIn(json: string): string {
  return nextLine('LAST').replace('"LAST"', () => json);
}

const LEVELS = 100_000;
const DEEP_ARRAY = '['.repeat(LEVELS) + ']'.repeat(LEVELS);
const DEEP_OBJECT = `${'{"a":'.repeat(LEVELS)}null${'}'.repeat(LEVELS)}`;

/** The first event after the good ones, and the one after it. */
const FIRST = `block ${NEXT_HEIGHT}, event ${GOOD_EVENTS.length}`;
const SECOND = `block ${NEXT_HEIGHT}, event ${GOOD_EVENTS.length + 1}`;

const LINES: readonly RefusedLine[] = [
  ['an empty line', '', 'block: line: got "", expected one JSON object'],
  ['white space', ' \t', 'block: line: got " \\t", expected one JSON object'],
  ['text that is not JSON', 'height 4', 'block: line: got "height 4", expected one JSON object'],
  [
    'JSON that breaks off',
    nextLine().slice(0, 100),
    'block: line: got "{\\"height\\":4,\\"time\\":1758556803000,\\"events\\":[{\\"type\\":\\"perpDex\\""… (100 characters), expected one JSON object',
  ],
  [
    'two objects on one line',
    `${lineWith({})}${lineWith({})}`,
    'block: line: got "{\\"height\\":4,\\"time\\":1758556803000,\\"events\\":[]}{\\"height\\":4,\\"ti"… (90 characters), expected one JSON object',
  ],
  [
    'a byte order mark',
    `\ufeff${lineWith({})}`,
    'block: line: got "\\ufeff{\\"height\\":4,\\"time\\":1758556803000,\\"events\\":[]}", expected one JSON object',
  ],
  [
    'NaN, which JSON does not have',
    '{"height":NaN,"time":0,"events":[]}',
    'block: line: got "{\\"height\\":NaN,\\"time\\":0,\\"events\\":[]}", expected one JSON object',
  ],
  [
    'a megabyte that is not JSON',
    'x'.repeat(1_000_000),
    'block: line: got "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"… (1000000 characters), expected one JSON object',
  ],
  ['null', 'null', 'block: line: got null, expected an object'],
  ['true', 'true', 'block: line: got true, expected an object'],
  ['a number', '4', 'block: line: got 4, expected an object'],
  ['text', '"block"', 'block: line: got "block", expected an object'],
  ['an array', '[]', 'block: line: got an array of 0, expected an object'],
  [
    '100,000 arrays in one another',
    DEEP_ARRAY,
    'block: line: got an array of 1, expected an object',
  ],
  [
    '100,000 objects in one another',
    DEEP_OBJECT,
    'block: height: got nothing, expected a whole number from 1 to 9007199254740991',
  ],
  [
    'an empty object',
    '{}',
    'block: height: got nothing, expected a whole number from 1 to 9007199254740991',
  ],
  [
    'a field too many',
    lineWith({ hash: '00' }),
    'block 4: hash: got "00", expected only the fields height, time, events',
  ],
  [
    'a field __proto__',
    '{"height":4,"time":1758556803000,"events":[],"__proto__":[]}',
    'block 4: __proto__: got an array of 0, expected only the fields height, time, events',
  ],
  [
    'a field without a name',
    lineWith({ '': [] }),
    'block 4: (empty): got an array of 0, expected only the fields height, time, events',
  ],
];

const HEIGHTS: readonly RefusedLine[] = [
  [
    'no height',
    lineWith({ height: undefined }),
    'block: height: got nothing, expected a whole number from 1 to 9007199254740991',
  ],
  [
    'a height of null',
    lineWith({ height: null }),
    'block: height: got null, expected a whole number from 1 to 9007199254740991',
  ],
  [
    'a height as text',
    lineWith({ height: '4' }),
    'block: height: got "4", expected a whole number from 1 to 9007199254740991',
  ],
  [
    'a height that is not whole',
    lineWith({ height: 4.5 }),
    'block: height: got 4.5, expected a whole number from 1 to 9007199254740991',
  ],
  [
    'height 0',
    lineWith({ height: 0 }),
    'block: height: got 0, expected a whole number from 1 to 9007199254740991',
  ],
  [
    'a height below 0',
    lineWith({ height: -4 }),
    'block: height: got -4, expected a whole number from 1 to 9007199254740991',
  ],
  [
    'a height beyond the safe range',
    lineWith({ height: 2 ** 53 }),
    'block: height: got 9007199254740992, expected a whole number from 1 to 9007199254740991',
  ],
  [
    'an infinite height',
    '{"height":1e999,"time":1758556803000,"events":[]}',
    'block: height: got Infinity, expected a whole number from 1 to 9007199254740991',
  ],
  ['a gap', lineWith({ height: 5 }), 'block 5: height: got 5, expected 4, the next height'],
  [
    'a height again',
    lineWith({ height: 3 }),
    'block 3: height: got 3, expected 4, the next height',
  ],
  [
    'the first block again',
    JSON.stringify(PREPARED_BLOCKS[0]),
    'block 1: height: got 1, expected 4, the next height',
  ],
];

const TIMES: readonly RefusedLine[] = [
  [
    'no time',
    lineWith({ time: undefined }),
    'block 4: time: got nothing, expected a whole number from 0 to 8640000000000000',
  ],
  [
    'a time of null',
    lineWith({ time: null }),
    'block 4: time: got null, expected a whole number from 0 to 8640000000000000',
  ],
  [
    'a time as text',
    lineWith({ time: '2025-09-22T16:00:03Z' }),
    'block 4: time: got "2025-09-22T16:00:03Z", expected a whole number from 0 to 8640000000000000',
  ],
  [
    'a time that is not whole',
    lineWith({ time: NEXT_TIME + 0.5 }),
    'block 4: time: got 1758556803000.5, expected a whole number from 0 to 8640000000000000',
  ],
  [
    'a time below 0',
    lineWith({ time: -1 }),
    'block 4: time: got -1, expected a whole number from 0 to 8640000000000000',
  ],
  [
    'a time that no date can hold',
    lineWith({ time: 8_640_000_000_000_001 }),
    'block 4: time: got 8640000000000001, expected a whole number from 0 to 8640000000000000',
  ],
  [
    'a time that goes back',
    lineWith({ time: TIME + 1999 }),
    'block 4: time: got 1758556801999, expected 1758556802000 or later, the time of the block before',
  ],
  [
    'time 0',
    lineWith({ time: 0 }),
    'block 4: time: got 0, expected 1758556802000 or later, the time of the block before',
  ],
];

const FRAMES: readonly RefusedLine[] = [
  [
    'no events',
    lineWith({ events: undefined }),
    'block 4: events: got nothing, expected an array of events',
  ],
  [
    'events of null',
    lineWith({ events: null }),
    'block 4: events: got null, expected an array of events',
  ],
  [
    'events as an object',
    lineWith({ events: { 0: END } }),
    'block 4: events: got an object, expected an array of events',
  ],
  [
    'events as text',
    lineWith({ events: '[]' }),
    'block 4: events: got "[]", expected an array of events',
  ],
  ['an event of null', nextLine(null), `${FIRST}: event: got null, expected an object`],
  [
    'an event that is text',
    nextLine('transfer'),
    `${FIRST}: event: got "transfer", expected an object`,
  ],
  [
    'an event that is an array',
    nextLine(['transfer']),
    `${FIRST}: event: got an array of 1, expected an object`,
  ],
  [
    'an event 100,000 arrays deep',
    lineEndingIn(DEEP_ARRAY),
    `${FIRST}: event: got an array of 1, expected an object`,
  ],
  [
    'an event 100,000 objects deep',
    lineEndingIn(DEEP_OBJECT),
    `${FIRST}: type: got nothing, expected a type of event listed in docs/reference/events.md`,
  ],
  [
    'an amount 100,000 arrays deep',
    lineEndingIn(`{"type":"transfer","user":"${DAVE}","dex":"","amount":${DEEP_ARRAY}}`),
    `${FIRST} (transfer): amount: got an array of 1, expected a decimal as text`,
  ],
  [
    'an event without a type',
    nextLine({}),
    `${FIRST}: type: got nothing, expected a type of event listed in docs/reference/events.md`,
  ],
  [
    'a type of null',
    nextLine({ type: null }),
    `${FIRST}: type: got null, expected a type of event listed in docs/reference/events.md`,
  ],
  [
    'a type that is a number',
    nextLine({ type: 1 }),
    `${FIRST}: type: got 1, expected a type of event listed in docs/reference/events.md`,
  ],
  [
    'a type that is an array of one',
    nextLine({ type: ['transfer'] }),
    `${FIRST}: type: got an array of 1, expected a type of event listed in docs/reference/events.md`,
  ],
  [
    'an unknown type',
    nextLine({ type: 'order' }),
    `${FIRST}: type: got "order", expected a type of event listed in docs/reference/events.md`,
  ],
  [
    'a type in another case',
    nextLine({ type: 'Transfer' }),
    `${FIRST}: type: got "Transfer", expected a type of event listed in docs/reference/events.md`,
  ],
  [
    'the type __proto__',
    nextLine({ type: '__proto__' }),
    `${FIRST}: type: got "__proto__", expected a type of event listed in docs/reference/events.md`,
  ],
  [
    'the type constructor',
    nextLine({ type: 'constructor' }),
    `${FIRST}: type: got "constructor", expected a type of event listed in docs/reference/events.md`,
  ],
  [
    'the type toString',
    nextLine({ type: 'toString' }),
    `${FIRST}: type: got "toString", expected a type of event listed in docs/reference/events.md`,
  ],
  [
    'the type hasOwnProperty',
    nextLine({ type: 'hasOwnProperty' }),
    `${FIRST}: type: got "hasOwnProperty", expected a type of event listed in docs/reference/events.md`,
  ],
  [
    'a type of a megabyte',
    nextLine({ type: 't'.repeat(1_000_000) }),
    `${FIRST}: type: got "tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt"… (1000000 characters), expected a type of event listed in docs/reference/events.md`,
  ],
  [
    'a key twice, the last one wrong',
    lineEndingIn('{"type":"transfer","type":"order"}'),
    `${FIRST}: type: got "order", expected a type of event listed in docs/reference/events.md`,
  ],
  [
    'a bad event between good ones',
    nextLine(END, { type: 'order' }, AGAIN),
    `${SECOND}: type: got "order", expected a type of event listed in docs/reference/events.md`,
  ],
  [
    'a second end of an auction',
    nextLine(END, END),
    `${SECOND} (deployAuctionEnd): endGas: got "450.0", expected a running auction; start one with deployAuction`,
  ],
  [
    'a new dex twice in a block',
    nextLine(AGAIN, AGAIN),
    `${SECOND} (perpDex): dex: got "abc", expected a new dex`,
  ],
  [
    'an undelegation of what the same block locked',
    nextLine(
      { type: 'delegate', ...SAMPLES.delegate },
      { type: 'undelegate', ...SAMPLES.undelegate, user: STRANGER },
    ),
    `${SECOND} (undelegate): validator: got "0x0a11da7040000000000000000000000000000009", expected an unlocked delegation: this one is locked until 1758643203000, and the block's time is 1758556803000`,
  ],
];

export const LINES_REFUSED: readonly RefusedLine[] = [...LINES, ...HEIGHTS, ...TIMES, ...FRAMES];
