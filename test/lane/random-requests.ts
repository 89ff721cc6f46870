/** Random requests, as bytes: ordinary ones of several kinds of clients, and those with a twist. */

import type { Random } from '../../src/simulator/random.ts';
import { HEIGHT } from '../../tools/harness/service.ts';
import { type KeySet, LIMITS } from './both-lanes.ts';
import { ordinaryBody, randomBody, type Subjects } from './random-bodies.ts';

interface Header {
  name: string;
  value: string;
  /** What stands between the name and the value; usually a colon and a space. */
  between: string;
  after: string;
}

interface Draft {
  before: string;
  method: string;
  target: string;
  version: string;
  headers: Header[];
  lineEnd: string;
  body: Buffer;
  after: Buffer;
}

export interface Source {
  readonly random: Random;
  readonly keys: KeySet;
  readonly subjects: Subjects;
}

function header(name: string, value: string): Header {
  return { name, value, between: ': ', after: '' };
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

function ordinaryDraft({ random, keys, subjects }: Source, key = keys.free): Draft {
  const body = ordinaryBody(random, subjects);
  const headers = random.pick(CLIENTS).map(([name, value]) => header(name, value));
  return {
    before: '',
    method: 'POST',
    target: `/${key}/info`,
    version: 'HTTP/1.1',
    headers: [...headers, header('Content-Length', String(body.length))],
    lineEnd: '\r\n',
    body,
    after: Buffer.alloc(0),
  };
}

function setBody(draft: Draft, body: Buffer): void {
  draft.body = body;
  setHeader(draft, 'content-length', String(body.length));
}

function setHeader(draft: Draft, name: string, value: string): void {
  const known = draft.headers.find((one) => one.name.toLowerCase() === name.toLowerCase());
  if (known === undefined) draft.headers.push(header(name, value));
  else known.value = value;
}

function removeHeader(draft: Draft, name: string): void {
  draft.headers = draft.headers.filter((one) => one.name.toLowerCase() !== name);
}

function insertHeader(draft: Draft, random: Random, added: Header): void {
  draft.headers.splice(random.below(draft.headers.length + 1), 0, added);
}

const EXTRA_HEADERS: readonly (readonly [string, string])[] = [
  ['X-Request-Id', '7f3a'],
  ['Origin', 'https://example.com'],
  ['Authorization', 'Bearer abc'],
  ['Cookie', 'a=b; c=d'],
  ['X-Empty', ''],
  ['Accept', 'application/json, text/plain, */*'],
  ['Content-Language', 'en'],
  ['Keep-Alive', 'timeout=5'],
  ['Date', 'Thu, 01 Jan 1970 00:00:00 GMT'],
  ['Trailer', 'X-Late'],
  ['TE', 'trailers'],
  ['Content-Length-X', '5'],
  ['X-Content-Length', '5'],
  ['Content_Length', '5'],
  ['Transfer-Encodings', 'chunked'],
  ["!#$%&'*+-.^_`|~09", 'a token'],
  ['__proto__', 'x'],
  ['constructor', 'x'],
];

/** Characters of one byte each: most may stand in a header's value, some may not. */
const UNUSUAL = [
  '\t',
  '\x80',
  '\xff',
  '\xa0',
  '\x7f',
  '\0',
  '\x01',
  '\x1f',
  '"',
  '\\',
  ',',
  ';',
  ':',
];

const CONTENT_TYPES = [
  ...['application/json; charset=utf-8', 'application/json;charset=UTF-8', 'APPLICATION/JSON'],
  ...['application/json;', 'application/json ; charset="utf-8"', 'application/json; charset=utf8'],
  ...['application/json; charset=latin1', 'application/json; charset', 'application/json; a=b'],
  ...['application/jsonp', 'text/plain', '', 'application/json, text/plain', 'application/ json'],
  ...[
    'application/json; charset=us-ascii',
    'application/json\t',
    'application/json;charset= utf-8',
  ],
];

const CONNECTIONS = [
  ...['keep-alive', 'Keep-Alive', 'KEEP-ALIVE', 'keep-alive, x', 'x, keep-alive', 'close', 'Close'],
  ...['close, keep-alive', 'keep-alive, close', 'x', '', 'upgrade', 'keep-alive,', 'keep-alivex'],
  ...['TE', 'content-length', 'Keep-Alive, Upgrade', ' ', 'closed', 'not-close'],
];

const MIN_HEIGHTS = [
  ...[
    '0',
    '1',
    String(HEIGHT),
    `0${HEIGHT}`,
    String(HEIGHT + 1),
    String(HEIGHT + 2),
    '999999999999999',
    '-1',
    '+1',
  ],
  ...['1e3', '', 'x', '9999999999999999', '1, 1', ' 5 ', '0x10'],
];

const IF_NONE_MATCH = ['*', '*', '*', '"abc"', 'W/"abc"', '"a", "b"', ''];

const TRANSFER_ENCODINGS = [
  ...[
    'chunked',
    'Chunked',
    ' chunked',
    'identity',
    'gzip, chunked',
    'chunked, chunked',
    'xchunked',
  ],
  ...['chunked, identity', '', 'chunked;a=b', 'gzip', 'chunked\t'],
];

function lengthVariants(length: number): string[] {
  return [
    ...[`+${length}`, `-${length}`, `0${length}`, `0000000000000000000000${length}`, ` ${length} `],
    ...[
      `${length} ${length}`,
      `${length},${length}`,
      `${length}, ${length}`,
      `0x${length.toString(16)}`,
    ],
    ...[`${length}.0`, `${length}e0`, '', ' ', 'x', `${length}x`, `\t${length}`, `${length}\t`],
    ...[`${2 ** 53}`, '9007199254740993', '18446744073709551615', '18446744073709551616'],
    ...['18446744073709551617', '99999999999999999999999999', '4294967296', `${2 ** 32 + length}`],
    ...[`${length + 1}`, `${length + 7}`, `${Math.max(0, length - 1)}`, '0', '1', `1${length}`],
    ...[`${LIMITS.bodyBytesMax}`, `${LIMITS.bodyBytesMax + 1}`, '1048576', '1050000'],
  ];
}

const VERSIONS = [
  ...[
    'HTTP/1.0',
    'HTTP/1.0',
    'HTTP/1.2',
    'HTTP/2.0',
    'HTTP/0.9',
    'http/1.1',
    'HTTP/1.1 ',
    'HTTP/11',
  ],
  ...['HTTP/1', 'ICE/1.1', 'RTSP/1.0', 'HTTP/1.1x', '', 'HTTP/1.01'],
];

const METHODS = [
  ...[
    'post',
    'Post',
    'GET',
    'HEAD',
    'PUT',
    'DELETE',
    'OPTIONS',
    'PATCH',
    'TRACE',
    'POSTX',
    'POS',
    'P',
  ],
  ...['QUERY', 'PRI', 'CONNECT', 'SOURCE', 'M-SEARCH', ' POST', 'POST\t', '"POST"', ''],
];

function targets({ random, keys }: Source): string[] {
  const { free, expired, small, budgeted } = keys;
  const position = random.below(free.length);
  const encoded = `%${free.charCodeAt(position).toString(16)}`;
  const escaped = free.slice(0, position) + encoded + free.slice(position + 1);
  return [
    ...[`/${small}/info`, `/${budgeted}/info`, `/${expired}/info`, '/info', '//info', '/x/info'],
    ...[
      `/${free}/info/`,
      `/${free}/info//`,
      `//${free}/info`,
      `/${free}//info`,
      `/${free}///info`,
      `/${free}/info?`,
      `/${free}/info?a=b`,
    ],
    ...[
      `/${free}/info#a`,
      `/${free}/info?type=meta`,
      `/${free}/INFO`,
      `/${free}/inf%6f`,
      `/${free}`,
    ],
    ...[
      `/${escaped}/info`,
      `/${free}%/info`,
      `/%00${free}/info`,
      `/${free}%2finfo`,
      `/${free}/./info`,
    ],
    ...[`http://localhost/${free}/info`, `https://x:1/${free}/info?q`, `HTTP://A/${free}/info`],
    ...[`${free}/info`, '*', '/', '', ' ', `/${free}/info x`, `/${free.toLowerCase()}/info`],
    ...[
      `/${free}/info\t`,
      `/${free}/in\x80fo`,
      `/${free}/\xffinfo`,
      `/${free}/in\0fo`,
      `/${free}x/info`,
    ],
    ...[
      `/${free.slice(1)}/info`,
      `/${free}/ws`,
      '/health',
      '/openapi.json',
      '/assets/info',
      '/%zz/info',
    ],
    ...[`/${'a'.repeat(random.below(2 * LIMITS.headerBytesMax))}/info`, `/../${free}/info`],
    ...[`/${free};a=b/info`, `/${free}/info;a`, `/${free}\\info`, `/é/info`, `/${free}/info%20`],
  ];
}

const HOSTS = ['', 'a b', 'localhost:99999', '[::1]', 'x, y', 'http://a', '\x80', 'LOCALHOST'];

/** What a client sends that would rather speak another protocol. */
const OFFERS: readonly (readonly (readonly [string, string])[])[] = [
  [
    ['Connection', 'Upgrade, HTTP2-Settings'],
    ['Upgrade', 'h2c'],
    ['HTTP2-Settings', 'AAMAAABk'],
  ],
  [['Upgrade', 'h2c']],
  [
    ['Connection', 'Upgrade'],
    ['Upgrade', 'websocket'],
    ['Sec-WebSocket-Version', '13'],
    ['Sec-WebSocket-Key', 'AAAAAAAAAAAAAAAAAAAAAA=='],
  ],
];

type Twist = (draft: Draft, source: Source) => void;

/** Each makes a request unusual in one way. */
const TWISTS: readonly Twist[] = [
  (draft, { random, subjects }) => setBody(draft, randomBody(random, subjects)),
  (draft, { random, subjects }) => setBody(draft, randomBody(random, subjects)),
  (draft, { random, subjects }) => setBody(draft, randomBody(random, subjects)),
  (draft, { random }) => {
    for (const one of draft.headers) one.name = randomCase(one.name, random);
  },
  (draft, { random }) => insertHeader(draft, random, header(...random.pick(EXTRA_HEADERS))),
  (draft, { random }) => {
    draft.headers.sort(() => random.below(3) - 1);
  },
  (draft, { random }) => {
    const one = random.pick(draft.headers);
    one.between = random.pick([':', ':\t', ':   ', ': \t ', ' : ', ' :', ':\x0b', '\t: ']);
  },
  (draft, { random }) => {
    random.pick(draft.headers).after = random.pick([' ', '\t', '   ', ' \t', '\r', '\x0b', '\xa0']);
  },
  (draft, { random }) => {
    random.pick(draft.headers).value = '';
  },
  (draft, { random }) => {
    const count = random.below(200);
    for (let index = 0; index < count; index++) {
      insertHeader(draft, random, header(`X-${index}`, 'a'.repeat(random.below(30))));
    }
  },
  (draft, { random }) => {
    insertHeader(draft, random, header('X-Unusual', `a${random.pick(UNUSUAL)}b`));
  },
  (draft, { random }) => {
    const one = random.pick(draft.headers);
    one.value += random.pick(UNUSUAL);
  },
  (draft, { random }) => {
    const one = random.pick(draft.headers);
    const position = random.below(one.name.length + 1);
    const added = random.pick([...UNUSUAL, ' ', '(', '@', '{', '-', '\xe9']);
    one.name = one.name.slice(0, position) + added + one.name.slice(position);
  },
  (draft, { random }) => setHeader(draft, 'content-type', random.pick(CONTENT_TYPES)),
  (draft, { random }) => setHeader(draft, 'content-type', random.pick(CONTENT_TYPES)),
  (draft, { random }) => setHeader(draft, 'Connection', random.pick(CONNECTIONS)),
  (draft, { random }) => setHeader(draft, 'Connection', random.pick(CONNECTIONS)),
  (draft, { random }) => {
    insertHeader(draft, random, header('Ledger-Min-Height', random.pick(MIN_HEIGHTS)));
  },
  (draft, { random }) => {
    const tooHigh = HEIGHT + 1 + random.below(HEIGHT);
    insertHeader(draft, random, header('Ledger-Min-Height', String(tooHigh)));
  },
  (draft, { random }) => {
    insertHeader(draft, random, header('If-None-Match', random.pick(IF_NONE_MATCH)));
  },
  (draft, { random }) => {
    const variant = random.pick(lengthVariants(draft.body.length));
    setHeader(draft, 'content-length', variant);
  },
  (draft, { random }) => {
    const variant = random.pick([String(draft.body.length), ...lengthVariants(draft.body.length)]);
    insertHeader(draft, random, header('content-length', variant));
  },
  (draft, { random }) => {
    insertHeader(draft, random, header('Transfer-Encoding', random.pick(TRANSFER_ENCODINGS)));
  },
  (draft, { random }) => {
    removeHeader(draft, 'content-length');
    draft.headers.push(header('Transfer-Encoding', 'chunked'));
    draft.body = inChunks(draft.body, random);
  },
  (draft, { random }) => removeHeader(draft, random.pick(draft.headers).name.toLowerCase()),
  (draft, { random }) => {
    insertHeader(draft, random, { ...random.pick(draft.headers) });
  },
  (draft, { random }) => {
    draft.version = random.pick(VERSIONS);
  },
  (draft, { random }) => {
    draft.method = random.pick(METHODS);
  },
  (draft, { random, subjects }) => {
    draft.method = random.pick(['GET', 'HEAD']);
    draft.target += `?type=clearinghouseState&user=${random.pick(subjects.users)}`;
    if (random.chance(0.7)) setHeader(draft, 'If-None-Match', random.pick(IF_NONE_MATCH));
    if (random.chance(0.7)) setBodyAway(draft);
  },
  (draft, { random }) => {
    draft.method = random.pick(['GET', 'OPTIONS']);
    draft.target = random.pick(['/health', draft.target, '/nowhere', '/llms.txt']);
    setBodyAway(draft);
  },
  (draft, source) => {
    draft.target = source.random.pick(targets(source));
  },
  (draft, source) => {
    draft.target = source.random.pick(targets(source));
  },
  (draft, { random }) => setHeader(draft, 'host', random.pick(HOSTS)),
  (draft, { random }) => {
    insertHeader(draft, random, header('host', random.pick(HOSTS)));
  },
  (draft, { random }) => {
    draft.before = random.pick(['\r\n', '\r\n\r\n', '\n', '\r', ' ', '\0', '\r\n \r\n', '\ufeff']);
  },
  (draft, { random }) => {
    draft.lineEnd = random.pick(['\n', '\r', '\r\r\n', '\n\r', '\r\n\r', '\r\n ']);
  },
  (draft, { random }) => {
    const one = random.pick(draft.headers);
    one.value += random.pick(['\n', '\r', '\r\n ', '\r\n\t', '\n ', '\r\nx', '\r\n:']) + one.value;
  },
  (draft, { random }) => {
    const length = 1 + random.below(4);
    draft.after = Buffer.from(random.pick(['\r\n', '\n', 'x', '\0', 'GET', ' ']).repeat(length));
  },
  (draft, { random }) => {
    setHeader(draft, 'Expect', random.pick(['100-continue', '100-Continue', '', 'x', '200-ok']));
  },
  (draft, { random }) => {
    for (const [name, value] of random.pick(OFFERS)) setHeader(draft, name, value);
  },
  (draft, { random, keys }) => {
    for (const [name, value] of OFFERS[2]) setHeader(draft, name, value);
    draft.method = 'GET';
    draft.target = `/${random.pick([keys.free, keys.expired])}/ws`;
    setBodyAway(draft);
  },
  (draft, { random }) => {
    setHeader(draft, 'Content-Encoding', random.pick(['identity', 'gzip', 'Identity', '', 'br']));
  },
];

function setBodyAway(draft: Draft): void {
  draft.body = Buffer.alloc(0);
  removeHeader(draft, 'content-length');
  removeHeader(draft, 'content-type');
}

function randomCase(text: string, random: Random): string {
  const kind = random.below(3);
  if (kind === 0) return text.toLowerCase();
  if (kind === 1) return text.toUpperCase();
  return text.replaceAll(/./g, (letter) => (random.chance(0.5) ? letter.toUpperCase() : letter));
}

const CHUNK_ENDS = [
  '\r\n',
  '\r\n',
  '\r\n',
  ';a=b\r\n',
  ';a="\n"\r\n',
  '\n',
  ' \r\n',
  ';\r\n',
  'x\r\n',
];

function inChunks(body: Buffer, random: Random): Buffer {
  const parts: (string | Buffer)[] = [];
  for (let start = 0; start < body.length; ) {
    const end = Math.min(body.length, start + 1 + random.below(body.length));
    parts.push((end - start).toString(16), random.pick(CHUNK_ENDS), body.subarray(start, end));
    parts.push('\r\n');
    start = end;
  }
  parts.push(random.pick(['0\r\n\r\n', '0\r\n\r\n', '0\r\nX-Late: 1\r\n\r\n', '0\r\n', '-1\r\n']));
  return Buffer.concat(parts.map((part) => Buffer.from(part as string)));
}

function formatDraft(draft: Draft): Buffer {
  const { before, method, target, version, headers, lineEnd, body, after } = draft;
  const lines = headers.map(({ name, value, between, after }) => name + between + value + after);
  const head = [`${method} ${target} ${version}`, ...lines, '', ''].join(lineEnd);
  return Buffer.concat([Buffer.from(before + head, 'latin1'), body, after]);
}

/** Questions that can be answered, unless the key's budget is spent. */
export function ordinaryRequest(source: Source): Buffer {
  const { random, keys } = source;
  return formatDraft(ordinaryDraft(source, random.chance(0.3) ? keys.budgeted : keys.free));
}

/** Any request: with none, one or a few things that are unusual. */
export function randomRequest(source: Source): Buffer {
  const { random, keys } = source;
  const draft = ordinaryDraft(source, random.chance(0.2) ? keys.budgeted : keys.free);
  const count = random.pick([1, 1, 1, 1, 2, 2, 3]);
  for (let index = 0; index < count && draft.headers.length > 0; index++) {
    random.pick(TWISTS)(draft, source);
  }
  return formatDraft(draft);
}
