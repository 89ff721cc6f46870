/** What hostile clients send: each move is some bytes, on a connection or inside a WebSocket. */

import type { Random } from '../../src/simulator/random.ts';
import { formatQuestion, formatRequest } from '../../tools/harness/service.ts';
import { formatFrame, OPCODES } from '../push/raw-frames.ts';

type Kind = keyof typeof OPCODES;

export interface Subjects {
  readonly key: string;
  /** The path of a large file that needs no key. */
  readonly asset: string;
}

type Move = (random: Random, subjects: Subjects) => Buffer | string;

const H2C = { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': 'AAMAAABk' };
const HANDSHAKE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
};
const BODIES = [
  '{"type":"metaAndAssetCtxs"}',
  '{"type":"perpDeployAuctionStatus"}',
  '{"type":"clearinghouseState","user":"0x00000000000000000000000000000000000000aa"}',
  '{"type":"nothing"}',
  '{',
];

function bytesOf(random: Random, count: number): Buffer {
  return Buffer.from(Array.from({ length: count }, () => random.below(256)));
}

function repeat(bytes: Buffer | string, count: number): Buffer {
  return Buffer.concat(Array.from({ length: count }, () => Buffer.from(bytes)));
}

function question(random: Random, key: string, headers: Record<string, string> = {}): Buffer {
  return formatQuestion(key, { body: random.pick(BODIES), headers });
}

/** Moves on a connection that speaks HTTP. */
export const HTTP_MOVES: readonly Move[] = [
  (random, { key }) => question(random, key),
  (random, { key }) => repeat(question(random, key), 1 + random.below(60)),
  (random) => repeat(question(random, 'nobody'), 1 + random.below(40)),
  (random, { asset }) =>
    repeat(formatRequest({ method: 'GET', path: asset }), 1 + random.below(60)),
  (random) => repeat(formatRequest({ method: 'GET', path: '/health' }), 1 + random.below(200)),
  (random, { key }) => repeat(question(random, key, H2C), 1 + random.below(30)),
  () => formatRequest({ method: 'GET', path: '/', headers: { ...HANDSHAKE } }),
  (random) => `CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n${'x'.repeat(random.below(100))}`,
  (random) => bytesOf(random, 1 + random.below(300)),
  (random, { key }) => {
    const whole = question(random, key);
    return whole.subarray(0, random.below(whole.length));
  },
  (random, { key }) => question(random, key, { 'Ledger-Min-Height': '999999' }),
  (random, { key }) => question(random, key, { Expect: '100-continue' }),
  (random) => `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(random.below(40_000))}\r\n\r\n`,
  (random, { key }) => {
    const chunks = `1\r\n{\r\n`.repeat(random.below(50));
    const headers = { 'Transfer-Encoding': 'chunked', 'Content-Length': undefined };
    const end = random.pick(['0\r\n\r\n', 'zz\r\n', '', '0\r\nA: b\r\n\r\n']);
    return formatQuestion(key, { headers, body: chunks + end });
  },
  () => formatRequest({ method: 'OPTIONS', path: '/nobody/info', headers: H2C }),
  () => '\r\n\r\n\r\n',
];

function frame(kind: Kind, payload: Buffer | string, { isFinal = true } = {}): Buffer {
  return formatFrame(OPCODES[kind], Buffer.from(payload), isFinal);
}

function subscription(method: string): Buffer {
  const user = '0x00000000000000000000000000000000000000aa';
  return frame(
    'text',
    JSON.stringify({ method, subscription: { type: 'clearinghouseState', user } }),
  );
}

/** Moves on a connection that became a WebSocket. */
export const PUSH_MOVES: readonly Move[] = [
  (random) => repeat(frame('ping', 'x'.repeat(random.below(126))), 1 + random.below(300)),
  (random) => repeat(frame('pong', 'x'), 1 + random.below(300)),
  (random) => repeat(frame('text', '{"method":"ping"}'), 1 + random.below(300)),
  () => Buffer.concat([subscription('subscribe'), subscription('unsubscribe')]),
  (random) => repeat(subscription(random.pick(['subscribe', 'unsubscribe'])), 20),
  (random) =>
    Buffer.concat([
      frame('text', '{', { isFinal: false }),
      repeat(frame('continuation', ' ', { isFinal: false }), random.below(200)),
    ]),
  (random) => frame('text', bytesOf(random, random.below(200))),
  (random) => bytesOf(random, 1 + random.below(50)),
  (random, { key }) =>
    repeat(
      frame(
        'text',
        `{"method":"post","id":1,"request":{"type":"info","payload":${random.pick(BODIES)}}}`,
      ),
      key.length > 0 ? 1 + random.below(30) : 0,
    ),
  () => frame('close', ''),
];

export function formatHandshake({ key }: Subjects): Buffer {
  return formatRequest({ method: 'GET', path: `/${key}/ws`, headers: { ...HANDSHAKE } });
}
