/** Random bodies of questions: most of them can be answered, written in many ways. */

import { STATE_TYPES } from '../../src/info/question-types.ts';
import type { Random } from '../../src/simulator/random.ts';
import { LIMITS } from './both-lanes.ts';

/** What the ledger knows, to ask about. */
export interface Subjects {
  readonly users: readonly string[];
  readonly dexes: readonly string[];
  readonly tables: readonly number[];
}

/** A name and a value, both as JSON text. */
type Member = [name: string, value: string];

const ZERO_ADDRESS = `0x${'0'.repeat(40)}`;

function randomAddress(random: Random, { users }: Subjects): string {
  const address = random.chance(0.9) ? random.pick(users) : ZERO_ADDRESS;
  if (random.chance(0.8)) return address;
  return `0x${address.slice(2).toUpperCase()}`;
}

/** A value that the field takes, as JSON text; undefined where the field is left out. */
function validValue(name: string, random: Random, subjects: Subjects): string | undefined {
  if (name === 'user') return JSON.stringify(randomAddress(random, subjects));
  if (name === 'id') return String(random.pick(subjects.tables));
  if (name === 'users') {
    const count = random.below(5);
    return JSON.stringify(Array.from({ length: count }, () => randomAddress(random, subjects)));
  }
  if (name === 'dex')
    return random.chance(0.5) ? undefined : JSON.stringify(random.pick(subjects.dexes));
  throw new Error(`nothing is known of the field ${name}: say here what it may be`);
}

function validMembers(random: Random, subjects: Subjects): Member[] {
  const { type, fields } = random.pick(STATE_TYPES);
  const members: Member[] = [['"type"', JSON.stringify(type)]];
  for (const name of Object.keys(fields)) {
    const value = validValue(name, random, subjects);
    if (value !== undefined) members.push([JSON.stringify(name), value]);
  }
  return members;
}

const WRONG_VALUES = [
  ...['null', 'true', '0', '-1', '1.5', '1e400', '[]', '{}', '""', '"nowhere"', '"ALL_DEXES"'],
  ...['"0x12"', `"0X${'1'.repeat(40)}"`, `"0x${'g'.repeat(40)}"`, `" 0x${'1'.repeat(40)}"`],
  ...['"constructor"', '"__proto__"', '["0x12",null]', '"\\ud800"', '"\\u0000"', '{"type":"meta"}'],
];

const EXTRA_MEMBERS: readonly Member[] = [
  ['"extra"', '1'],
  ['"type "', '"meta"'],
  ['"Type"', '"meta"'],
  ['""', '""'],
  ['"__proto__"', '{"type":"meta"}'],
  ['"nested"', '{"a":[1,{"b":"}"}],"c":"\\"type\\":"}'],
  ['"text"', '"a \\"quoted\\" } and \\\\"'],
  ['"\u00e9\u{1f600}"', '"\u00fc\u{1f680}"'],
  ['"number"', '-0.0e+10'],
];

function shuffle<T>(items: T[], random: Random): void {
  for (let index = items.length - 1; index > 0; index--) {
    const other = random.below(index + 1);
    [items[index], items[other]] = [items[other], items[index]];
  }
}

/** A JSON string with one of its characters escaped, which says the same. */
function escapeSomewhere(text: string, random: Random): string {
  if (!/^"[\w-]+"$/.test(text)) return text;
  const index = 1 + random.below(text.length - 2);
  const code = text.charCodeAt(index).toString(16).padStart(4, '0');
  return `${text.slice(0, index)}\\u${random.chance(0.5) ? code : code.toUpperCase()}${text.slice(index + 1)}`;
}

/** Ways to write the same, or not quite the same, question. */
const TWISTS: readonly ((members: Member[], random: Random) => void)[] = [
  (members, random) => shuffle(members, random),
  (members, random) => {
    members.splice(random.below(members.length + 1), 0, random.pick(EXTRA_MEMBERS));
  },
  (members, random) => {
    const [name] = random.pick(members);
    members.splice(random.below(members.length + 1), 0, [name, random.pick(WRONG_VALUES)]);
  },
  (members, random) => {
    members.push([...random.pick(members)]);
  },
  (members, random) => {
    const member = random.pick(members);
    member[1] = escapeSomewhere(member[1], random);
  },
  (members, random) => {
    const member = random.pick(members);
    member[0] = escapeSomewhere(member[0], random);
  },
  (members, random) => {
    random.pick(members)[1] = random.pick(WRONG_VALUES);
  },
  (members, random) => {
    members.splice(random.below(members.length), 1);
  },
];

interface Style {
  readonly open: string;
  readonly colon: string;
  readonly comma: string;
  readonly close: string;
}

const COMPACT: Style = { open: '{', colon: ':', comma: ',', close: '}' };
/** As Python's json.dumps writes it. */
const SPACED: Style = { open: '{', colon: ': ', comma: ', ', close: '}' };
const STYLES: readonly Style[] = [
  { open: '{\n  ', colon: ': ', comma: ',\n  ', close: '\n}' },
  { open: ' \t\r\n{', colon: '\t:\r', comma: ' , ', close: ' }\n' },
  { open: '{', colon: ':', comma: ',', close: '}\n' },
  { open: '{', colon: ':', comma: ',', close: ',}' },
  { open: '{', colon: ':', comma: ',', close: '}}' },
  { open: '{', colon: ':', comma: ',', close: '} x' },
  { open: '[{', colon: ':', comma: ',', close: '}]' },
  { open: '{\v', colon: ':', comma: ',', close: '}' },
  { open: '{', colon: ':', comma: ',', close: '}\0' },
  { open: '{\u00a0', colon: ':', comma: ',', close: '}' },
];

function writeMembers(members: readonly Member[], style: Style): string {
  const { open, colon, comma, close } = style;
  return open + members.map(([name, value]) => `${name}${colon}${value}`).join(comma) + close;
}

function pickStyle(random: Random): Style {
  const kind = random.fraction();
  if (kind < 0.5) return COMPACT;
  return kind < 0.85 ? SPACED : random.pick(STYLES);
}

/** Bodies that are no questions. */
const STRANGE: readonly ((random: Random, question: string) => string | Buffer)[] = [
  () => '',
  () => ' ',
  () => 'null',
  () => '[]',
  () => '{}',
  () => '"type"',
  () => 'nonsense',
  () => "{'type':'meta'}",
  (_random, question) => `\ufeff${question}`,
  (_random, question) => Buffer.from(question, 'utf16le'),
  (random, question) => question.slice(0, random.below(question.length)),
  (random) => '['.repeat(1 + random.below(LIMITS.bodyBytesMax)),
  (random) => {
    const depth = 1 + random.below(100);
    return `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
  },
  (random, question) => spoil(question, random, [0xff]),
  (random, question) => spoil(question, random, [0xc0, 0xaf]),
  (random, question) => spoil(question, random, [0xed, 0xa0, 0x80]),
  (random, question) => spoil(question, random, [0xe2]),
  (random, question) => spoil(question, random, [random.below(256)]),
  (random, question) => spoil(question, random, [0x0d, 0x0a, 0x0d, 0x0a]),
  (random) => Buffer.from(Array.from({ length: random.below(60) }, () => random.below(256))),
  (random, question) => question.padEnd(LIMITS.bodyBytesMax - 2 + random.below(5)),
  (random, question) => question.padStart(LIMITS.bodyBytesMax - 2 + random.below(5)),
  (random, question) => question.padEnd(LIMITS.bodyBytesMax * (1 + random.below(4))),
  (_random, question) => `POST /x/info HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n${question}`,
];

function spoil(question: string, random: Random, bytes: readonly number[]): Buffer {
  const text = Buffer.from(question);
  const position = random.below(text.length + 1);
  return Buffer.concat([text.subarray(0, position), Buffer.from(bytes), text.subarray(position)]);
}

/** A body that can be answered. */
export function ordinaryBody(random: Random, subjects: Subjects): Buffer {
  const style = random.chance(0.6) ? COMPACT : SPACED;
  return Buffer.from(writeMembers(validMembers(random, subjects), style));
}

/** Any body. */
export function randomBody(random: Random, subjects: Subjects): Buffer {
  const members = validMembers(random, subjects);
  const twists = random.pick([0, 0, 1, 1, 2, 3]);
  for (let count = 0; count < twists && members.length > 0; count++) {
    random.pick(TWISTS)(members, random);
  }
  const question = writeMembers(members, pickStyle(random));
  return Buffer.from(random.chance(0.25) ? random.pick(STRANGE)(random, question) : question);
}
