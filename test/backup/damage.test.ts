/** Damaged backups: whatever byte is changed, missing or too much, nothing is restored from them. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { before, test } from 'node:test';
import { Random } from '../../src/feed/simulator/random.ts';
import { createPlaces } from '../cli/program.ts';
import { flipBit } from '../replica/damage.ts';
import { appendAll, NO_SNAPSHOTS } from '../replica/data-directory.ts';
import { ALSO_FULL, scale } from '../scale.ts';
import { SEED, SEED_NOTE } from '../seed.ts';
import { simulateLines } from '../simulated-lines.ts';
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
