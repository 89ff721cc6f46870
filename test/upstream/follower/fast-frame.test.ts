/** Compressed frames of `fastAssetCtxs`: the recorded ones, and every way in which one can be bad. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { readAllPerpMetas, readPerpDexs } from '../../../src/upstream/dialect/market-answers.ts';
import {
  createDirectory,
  type MarketDirectory,
} from '../../../src/upstream/dialect/market-directory.ts';
import { readFastFrame } from '../../../src/upstream/follower/markets/fast-frame.ts';
import { DEX, mustRead, mustRefuse, partialLedger } from './ledgers.ts';

/** Recorded from the exchange, cut to a few coins: the first frame, and a later one. */
const FIRST_FRAME =
  'q1ZyCnFWsqpWyk0syg6oULJSsjC1MDTRM1DSUcrNTIGLGOqZKtXqKDkYGpijqLY00rM0sURSDBYAq1U2NLGwMEBRbaBn' +
  'aAgUNUVSDxcC6qiorLKKiIwyNEDVZWxoaGaO4iKgiLkByEW1AA==';
const LATER_FRAME =
  'q1ZyCnFWsqpWys1MCahQslKyMLUwNNIzVarVUXIwNDAHSyUWZYPlLI30LMEyGZV5iVauIR4oskYmBgZ6lko6MKPySnNy' +
  'amsB';

const MIB = 1 << 20;

function listDirectory(): MarketDirectory {
  const entry = (name: string, szDecimals: number) => ({ name, szDecimals, maxLeverage: 20 });
  const universes = [[entry('BTC', 5)], [entry('xyz:XYZ100', 4)], [entry('hyna:ETH', 4)]];
  const dexes = mustRead(readPerpDexs([null, { ...DEX, name: 'xyz' }, { ...DEX, name: 'hyna' }]));
  const metas = universes.map((universe) => ({
    universe: universe.map((market) => ({ ...market, marginTableId: 20 })),
    marginTables: [],
  }));
  return createDirectory(partialLedger(), {
    dexes,
    metas: mustRead(readAllPerpMetas(metas, dexes)),
  });
}

const directory = listDirectory();

function pricesOf(data: unknown): unknown {
  const { prices, skipped } = mustRead(readFastFrame(data, directory));
  assert.deepEqual(skipped, []);
  return Object.fromEntries(prices);
}

function compress(text: string): string {
  return deflateRawSync(Buffer.from(text)).toString('base64');
}

test('the recorded first frame brings the marks of the markets, not of spot pairs and outcomes', () => {
  assert.deepEqual(pricesOf(FIRST_FRAME), { BTC: 858_140, 'xyz:XYZ100': 3_116_700 });
});

test('the recorded later frame brings what has changed, with or without a mid', () => {
  assert.deepEqual(pricesOf(LATER_FRAME), { 'hyna:ETH': 240_090 });
});

test('the object of another perpinfo is read as it is', () => {
  const data = { BTC: { markPx: '85814.0', midPx: null }, '@107': { markPx: '92.949' } };
  assert.deepEqual(pricesOf(data), { BTC: 858_140 });
  assert.deepEqual(pricesOf(compress(JSON.stringify(data))), { BTC: 858_140 });
});

test('a frame with strange members keeps the good ones', () => {
  const data = { BTC: { markPx: '1.0' }, 'xyz:XYZ100': null, 'hyna:ETH': 7, '#1': [], '': {} };
  assert.deepEqual(pricesOf(compress(JSON.stringify(data))), { BTC: 10 });
});

test('eight megabytes are inflated, and more are refused before they fill the memory', () => {
  const padded = `{"BTC":{"markPx":"1.0"}}${' '.repeat(8 * MIB - 24)}`;
  assert.deepEqual(pricesOf(compress(padded)), { BTC: 10 });
  const tooMany = 'fastAssetCtxs: got more, expected at most 8388608 inflated bytes';
  mustRefuse(readFastFrame(compress(`${padded} `), directory), 'shape', tooMany);
  const bomb = deflateRawSync(Buffer.alloc(64 * MIB)).toString('base64');
  const before = process.memoryUsage().arrayBuffers;
  mustRefuse(readFastFrame(bomb, directory), 'shape', tooMany);
  assert.ok(process.memoryUsage().arrayBuffers - before < 32 * MIB);
});

test('a frame that is cut anywhere is refused', () => {
  for (let length = 4; length < FIRST_FRAME.length - 4; length += 4) {
    const cause = `${length} characters with "unexpected end of file"`;
    const reason = `fastAssetCtxs: got ${cause}, expected raw DEFLATE`;
    mustRefuse(readFastFrame(FIRST_FRAME.slice(0, length), directory), 'shape', reason);
  }
});

const REFUSED: readonly (readonly [string, string, string])[] = [
  ['a group of base64 that is cut', 'q1Z', 'got 3 characters of another text, expected base64'],
  ['other letters', 'q1Z_', 'got 4 characters of another text, expected base64'],
  ['spaces', ' q1Z', 'got 4 characters of another text, expected base64'],
  ['JSON as it is', '{"A":{}}', 'got 8 characters of another text, expected base64'],
  ['padding in the middle', 'q1==q1==', 'got 8 characters of another text, expected base64'],
  ['nothing', '', 'got 0 characters with "unexpected end of file", expected raw DEFLATE'],
  ['no DEFLATE', '////', 'got 4 characters with "invalid block type", expected raw DEFLATE'],
  ['no JSON', compress('{"BTC":'), 'got 7 inflated bytes of something else, expected JSON'],
  [
    'deep nesting',
    compress('['.repeat(100_000)),
    'got 100000 inflated bytes of something else, expected JSON',
  ],
];

for (const [name, text, reason] of REFUSED) {
  test(`a frame is refused and named: ${name}`, () => {
    mustRefuse(readFastFrame(text, directory), 'shape', `fastAssetCtxs: ${reason}`);
  });
}

test('compressed JSON that is no object of coins is refused', () => {
  const reason = (found: string) =>
    `answer: got ${found}, expected an object of coins and contexts`;
  mustRefuse(readFastFrame(compress('[]'), directory), 'shape', reason('an array of 0'));
  mustRefuse(readFastFrame(compress('"x"'), directory), 'shape', reason('"x"'));
});
