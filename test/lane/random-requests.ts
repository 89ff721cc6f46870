/** Random requests, as bytes: ordinary ones of several kinds of clients, and those of the table, with a twist. */

import type { Random } from '../../src/simulator/random.ts';
import { HEIGHT } from '../../tools/harness/service.ts';
import { type Case, formatAsked } from '../conformance/case.ts';
import { listFramingCases } from '../conformance/framing-cases.ts';
import { listHttpCases } from '../conformance/http-cases.ts';
import { listQuestionCases } from '../conformance/question-cases.ts';
import { type KeySet, LIMITS } from './both-lanes.ts';
import { ordinaryBody, randomBody, type Subjects } from './random-bodies.ts';

export interface Source {
  readonly random: Random;
  readonly keys: KeySet;
  readonly subjects: Subjects;
}

/** What well-known clients send, but for the length of the body. */
const CLIENTS: readonly (readonly (readonly [string, string])[])[] = [
  [
    ['Host', 'localhost'],
    ['Content-Type', 'application/json'],
  ],
  [
    ['Host', '127.0.0.1:3001'],
    ['User-Agent', 'python-requests/2.32.3'],
    ['Accept-Encoding', 'gzip, deflate'],
    ['Accept', '*/*'],
    ['Connection', 'keep-alive'],
    ['Content-Type', 'application/json'],
  ],
  [
    ['host', 'localhost:3001'],
    ['connection', 'keep-alive'],
    ['content-type', 'application/json'],
    ['accept', '*/*'],
    ['accept-language', '*'],
    ['sec-fetch-mode', 'cors'],
    ['user-agent', 'node'],
    ['accept-encoding', 'gzip, deflate'],
  ],
  [
    ['Host', 'localhost'],
    ['User-Agent', 'Go-http-client/1.1'],
    ['Content-Type', 'application/json; charset=utf-8'],
    ['Accept-Encoding', 'gzip'],
  ],
];

function formatOrdinary({ random }: Source, key: string, body: Buffer): Buffer {
  const headers = random.pick(CLIENTS).map(([name, value]) => `${name}: ${value}\r\n`);
  const length = `Content-Length: ${body.length}\r\n`;
  const head = `POST /${key}/info HTTP/1.1\r\n${headers.join('')}${length}\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

/** Longer requests of the table take too long in pieces. Bodies and headers over the limits are made here. */
const TABLE_BYTES_MAX = 2 * LIMITS.headerBytesMax;

function listTable({ users, dexes, tables }: Subjects): Case[] {
  const subjects = { user: users[0], dex: dexes[1], table: tables[0], coin: 'BTC' };
  const cases = [
    // The tag that every answer has.
    ...listQuestionCases(subjects, '*'),
    ...listHttpCases(),
    ...listFramingCases(),
  ];
  return cases.filter(({ asked }) => formatAsked(asked, '').length < TABLE_BYTES_MAX);
}

/** The table by what is expected, because some statuses are rare in it. */
function groupByStatus(table: readonly Case[]): Case[][] {
  const groups = new Map<string, Case[]>();
  for (const one of table) {
    const about = `${one.expected.status} ${one.asked.asksFirst}`;
    groups.set(about, [...(groups.get(about) ?? []), one]);
  }
  return [...groups.values()];
}

const groupsOf = new WeakMap<readonly string[], Case[][]>();

function pickCase({ random, subjects }: Source): Case {
  const groups = groupsOf.get(subjects.users) ?? groupByStatus(listTable(subjects));
  groupsOf.set(subjects.users, groups);
  return random.pick(random.chance(0.5) ? groups.flat() : random.pick(groups));
}

/** The bytes of a request of the table, as characters. */
function tableRequest(source: Source): string {
  const { random, keys } = source;
  const { asked, hasBudget } = pickCase(source);
  const live = random.pick(hasBudget ? [keys.budgeted, keys.small] : [keys.free]);
  const secrets = { expired: keys.expired, unknown: 'A'.repeat(43) };
  const secret = asked.key === undefined ? live : secrets[asked.key];
  return formatAsked(asked, secret).toString('latin1');
}

/** What may stand in a request, or may not. */
export const INSERTED = [
  ...['\t', '\x80', '\xff', '\xa0', '\x7f', '\0', '\x01', '\x0b', ' ', '  ', '"', ',', ';', ':'],
  ...['\r', '\n', '\r\n', '\n\r', '\r\n ', '\r\n\t', '\r\nx', '\r\n:', '\r\n\r\n', '\r\r\n'],
  ...[
    '0',
    '1',
    '+',
    '-',
    '.',
    'x',
    '%',
    '%2',
    '%20',
    '/',
    '?',
    '#',
    '&',
    '=',
    '(',
    '{',
    '\\',
    '\xe9',
  ],
  ...['&&', '%zz', '%C3%A9', '%00', '@', '"', '<', '|', '^', '`', '[', ' HTTP/1.1', ' HTTP/1.0'],
];

const HEAD_END = '\r\n\r\n';

/** The lines of a head, and the rest. */
function splitHead(request: string): [lines: string[], rest: string] {
  const end = request.indexOf(HEAD_END);
  return end === -1 ? [[request], ''] : [request.slice(0, end).split('\r\n'), request.slice(end)];
}

type LineTwist = (lines: string[], source: Source) => void;

function insertLine(lines: string[], random: Random, line: string): void {
  lines.splice(1 + random.below(lines.length), 0, line);
}

/** Each changes the lines of a head in one way. */
const LINE_TWISTS: readonly LineTwist[] = [
  (lines, source) => {
    const [others] = splitHead(tableRequest(source));
    insertLine(lines, source.random, source.random.pick(others));
  },
  (lines, { random }) => insertLine(lines, random, random.pick(lines)),
  (lines, { random }) => {
    lines.splice(random.below(lines.length), 1);
  },
  (lines, { random }) => {
    const place = 1 + random.below(lines.length);
    lines.push(...lines.splice(place));
    lines.splice(1, 0, ...lines.splice(place));
  },
  (lines, { random }) => {
    const change = random.pick(['toLowerCase', 'toUpperCase'] as const);
    for (const [index, line] of lines.entries()) {
      const name = index === 0 ? '' : line.slice(0, line.indexOf(':') + 1);
      lines[index] = name[change]() + line.slice(name.length);
    }
  },
  (lines, { random }) => {
    const count = random.below(200);
    for (let index = 0; index < count; index++) {
      insertLine(lines, random, `X-${index}: ${'a'.repeat(random.below(30))}`);
    }
  },
  (lines, { random }) => {
    const tooHigh = HEIGHT + 1 + random.below(HEIGHT);
    insertLine(lines, random, `Ledger-Min-Height: ${tooHigh}`);
  },
];

type Twist = (request: string, source: Source) => string;

/** Each makes a request unusual in one way. */
const TWISTS: readonly Twist[] = [
  ...LINE_TWISTS.map(
    (twist): Twist =>
      (request, source) => {
        const [lines, rest] = splitHead(request);
        twist(lines, source);
        return lines.join('\r\n') + rest;
      },
  ),
  (request, { random }) => {
    const place = random.below(request.length + 1);
    return request.slice(0, place) + random.pick(INSERTED) + request.slice(place);
  },
  (request, { random }) => {
    const place = random.below(request.length);
    return request.slice(0, place) + random.pick(INSERTED) + request.slice(place + 1);
  },
  (request, { random }) => {
    const place = random.below(request.length);
    return request.slice(0, place) + request.slice(place + 1 + random.below(4));
  },
  (request, { random }) => {
    const lineEnd = random.pick(['\n', '\r', '\r\r\n', '\n\r', '\r\n\r', '\r\n ']);
    const [lines, rest] = splitHead(request);
    return lines.join(lineEnd) + rest;
  },
  (request, { random }) => random.pick(INSERTED).repeat(1 + random.below(4)) + request,
  (request, { random }) => request + random.pick(INSERTED).repeat(1 + random.below(4)),
];

/** Questions that can be answered, unless the key's budget is spent. */
export function ordinaryRequest(source: Source): Buffer {
  const { random, keys, subjects } = source;
  const key = random.chance(0.3) ? keys.budgeted : keys.free;
  return formatOrdinary(source, key, ordinaryBody(random, subjects));
}

/** Any request: an ordinary one with any body, or one of the table, and with none, one or a few twists. */
export function randomRequest(source: Source): Buffer {
  const { random, keys, subjects } = source;
  const key = random.chance(0.2) ? keys.budgeted : keys.free;
  let request = random.chance(0.3)
    ? formatOrdinary(source, key, randomBody(random, subjects)).toString('latin1')
    : tableRequest(source);
  const count = random.pick([0, 0, 1, 1, 1, 2, 3]);
  for (let index = 0; index < count && request !== ''; index++) {
    request = random.pick(TWISTS)(request, source);
  }
  return Buffer.from(request, 'latin1');
}
