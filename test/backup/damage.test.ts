/** Damaged backups: whatever byte is changed, missing or too much, nothing is restored from them. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { before, test } from 'node:test';
import {
  decodePieceHead,
  encodeFileHead,
  encodeJson,
  encodePiece,
  FILE_HEAD_BYTES,
  PIECE_HEAD_BYTES,
} from '../../src/backup/backup-format.ts';
import { Random } from '../../src/simulator/random.ts';
import { appendAll, NO_SNAPSHOTS } from '../../tools/harness/data-directory.ts';
import { createPlaces } from '../../tools/harness/program.ts';
import { SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { flipBit } from '../replica/damage.ts';
import { ALSO_FULL, scale } from '../scale.ts';
import { backUp, restore } from './backups.ts';

const CASES = scale(60, 200, 2000);
const place = createPlaces();
const [data, file, damaged, target] = [place(), place('backup'), place('backup'), place()];
let bytes: Buffer;

before(async () => {
  await appendAll(data, simulateLines(300, 'damage'), NO_SNAPSHOTS);
  await backUp(data, file, { keys: [] });
  bytes = readFileSync(file);
});

/** The error names the file, the place and what was expected, and the folder is not created. */
async function assertRefused(content: Buffer, about: string): Promise<void> {
  writeFileSync(damaged, content);
  await assert.rejects(restore(damaged, target), (error: Error) => {
    const [start, rest] = [error.message.slice(0, damaged.length), error.message];
    assert.equal(start, damaged, about);
    assert.match(rest, /damaged at byte \d+.*: .|is not a backup|has format \d+, expected/, about);
    return true;
  });
  assert.equal(existsSync(target), false, about);
}

test(`${CASES} flipped bits are each refused ${SEED_NOTE}`, ALSO_FULL, async () => {
  const random = new Random(`${SEED} flips`);
  const positions = Array.from({ length: CASES }, () => random.below(bytes.length));
  for (const position of [...Array(60).keys(), ...positions]) {
    await assertRefused(flipBit(bytes, position), `byte ${position}`);
  }
});

test(`a file cut at ${CASES} lengths is refused each time ${SEED_NOTE}`, ALSO_FULL, async () => {
  const random = new Random(`${SEED} cuts`);
  const lengths = Array.from({ length: CASES }, () => random.below(bytes.length));
  for (const length of [0, 1, 8, 12, 53, bytes.length - 1, ...lengths]) {
    await assertRefused(bytes.subarray(0, length), `${length} bytes`);
  }
});

test('bytes after the end are refused', async () => {
  await assertRefused(Buffer.concat([bytes, Buffer.alloc(1)]), 'one byte');
  await assertRefused(Buffer.concat([bytes, bytes]), 'the file again');
});

test('the message names the place, the block before it and both checksums', async () => {
  writeFileSync(damaged, flipBit(bytes, bytes.length - 10));
  const hash = '[0-9a-f]{64}';
  await assert.rejects(
    restore(damaged, target),
    new RegExp(
      `^LedgerError: ${damaged} is damaged at byte \\d+, after block 300: ` +
        `its stored checksum is ${hash}, its bytes give ${hash}$`,
    ),
  );
});

/** Where the last piece starts, and the checksum of the piece before it. */
function findEnd(): { start: number; before: Buffer } {
  let [start, before] = [FILE_HEAD_BYTES, encodeFileHead()];
  for (;;) {
    const head = decodePieceHead(bytes.subarray(start, start + PIECE_HEAD_BYTES));
    if (head.kind === 'end') return { start, before };
    start += PIECE_HEAD_BYTES + head.storedBytes;
    before = Buffer.from(head.checksum);
  }
}

test('a file that ends between two pieces is said to be cut off', async () => {
  const { start } = findEnd();
  writeFileSync(damaged, bytes.subarray(0, start));
  await assert.rejects(restore(damaged, target), {
    message:
      `${damaged} is damaged at byte ${start}, after block 300: the file ends there, ` +
      'expected the piece of kind end: it was cut off, or never completed',
  });
});

test('an end that is of other blocks up to the same height is refused for its hash', async () => {
  const { start, before } = findEnd();
  const other = 'ab'.repeat(32);
  const payload = encodeJson({ height: 300, head: other, digest: other });
  const end = await encodePiece('end', payload, before);
  writeFileSync(damaged, Buffer.concat([bytes.subarray(0, start), end.bytes]));
  await assert.rejects(
    restore(damaged, target),
    new RegExp(`: its last block, 300, has the hash [\\da-f]{64}, expected ${other}$`),
  );
});

test('a lock that names no process is reported, not waited for', async () => {
  const locked = place('backup');
  for (const content of ['', '{']) {
    writeFileSync(`${locked}.lock`, content);
    await assert.rejects(backUp(data, locked, { keys: [] }), {
      fault: 'busy',
      message: /\.lock does not say which process holds it: .*Delete it if no process is writing/,
    });
  }
});
