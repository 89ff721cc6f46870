/** Blocks as messages of a stream: what was changed on the way is noticed. */

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { headers as createHeaders } from '@nats-io/transport-node';
import { CHAIN_START } from '../../src/ledger/hash-chain.ts';
import {
  decodeMessage,
  encodeMessage,
  readPrevious,
} from '../../src/ledger/jetstream/block-message.ts';
import { chainLines, chainOfLength, describeBlocks } from './chains.ts';

const MESSAGE_BYTES_MAX = 4096;
const [first, second] = chainOfLength(2);

test('a block that fits is sent as it is, and a longer one deflated', () => {
  const [long] = chainLines(['x'.repeat(2 * MESSAGE_BYTES_MAX)]);
  for (const block of [first, long]) {
    const { payload, headers } = encodeMessage(
      CHAIN_START,
      block,
      createHeaders(),
      MESSAGE_BYTES_MAX,
    );
    assert.ok(payload.length < MESSAGE_BYTES_MAX);
    assert.equal(headers.get('Perpinfo-Encoding'), block === long ? 'deflate' : '');
    assert.deepEqual(describeBlocks([decodeMessage(1, headers, payload)]), describeBlocks([block]));
  }
});

test('a block that does not fit deflated is refused, with both lengths', () => {
  const [noise] = chainLines([randomBytes(2 * MESSAGE_BYTES_MAX)]);
  assert.throws(() => encodeMessage(CHAIN_START, noise, createHeaders(), MESSAGE_BYTES_MAX), {
    fault: 'limit',
    message: /^block 1 has 8192 bytes, deflated 8\d\d\d: expected at most 3072, /,
  });
});

test('a message without the hashes of a block is no block', () => {
  const { payload, headers } = encodeMessage(first, second, createHeaders(), MESSAGE_BYTES_MAX);
  assert.deepEqual(readPrevious(2, headers), { height: 1, hash: first.hash });
  const missing = (name: string) => ({
    fault: 'corrupt',
    message: `block 2 was not written by a ledger's writer: it has no ${name} header`,
  });
  assert.throws(() => decodeMessage(2, undefined, payload), missing('Perpinfo-Hash'));
  assert.throws(() => readPrevious(2, undefined), missing('Perpinfo-Previous'));
  headers.set('Perpinfo-Hash', 'abcd');
  assert.throws(() => decodeMessage(2, headers, payload), missing('Perpinfo-Hash'));
});

test('an encoding of a newer version is refused, and bytes that cannot be inflated are damage', () => {
  const { payload, headers } = encodeMessage(first, second, createHeaders(), MESSAGE_BYTES_MAX);
  headers.set('Perpinfo-Encoding', 'zstd');
  assert.throws(() => decodeMessage(2, headers, payload), {
    fault: 'newer',
    message:
      'block 2 has the encoding "zstd", expected none or deflate: ' +
      'it was written by a newer perpinfo, upgrade this one',
  });
  headers.set('Perpinfo-Encoding', 'deflate');
  assert.throws(() => decodeMessage(2, headers, Buffer.from('not deflated')), {
    fault: 'corrupt',
    message: /^block 2 is damaged: it cannot be inflated \(.+\)$/,
  });
});
