/** Backups that somebody else has written: each field is checked before anything is written. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { before, test } from 'node:test';
import { inflateRawSync } from 'node:zlib';
import type { Key } from '../../src/access/keys.ts';
import {
  decodePieceHead,
  encodeFileHead,
  encodePiece,
  FILE_HEAD_BYTES,
  PIECE_HEAD_BYTES,
  type PieceKind,
  pieceChecksum,
} from '../../src/backup/backup-format.ts';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { LedgerError } from '../../src/ledger/ledger.ts';
import { Random } from '../../src/simulator/random.ts';
import { appendAll } from '../../tools/harness/data-directory.ts';
import { createPlaces } from '../../tools/harness/program.ts';
import { SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { ALSO_LONG, scale } from '../scale.ts';
import { backUp, restore } from './backups.ts';

interface Piece {
  readonly kind: PieceKind;
  readonly payload: Buffer;
}

const CASES = scale(60, 300, 3_000);
const place = createPlaces();
const [data, whole, prunedFile, damaged, target] = [
  place(),
  place('backup'),
  place('backup'),
  place('backup'),
  place('target'),
];
const KEY: Key = {
  id: '4f1d22a0c9',
  label: 'a label',
  createdMs: 1,
  budget: { weight: 1200, periodMs: 60_000 },
  expiresMs: 2_000_000_000_000,
  secrets: [{ number: 2, hash: `${'a'.repeat(43)}=`, createdMs: 1 }],
  secretCount: 2,
};
let pieces: Piece[];
let prunedPieces: Piece[];

before(async () => {
  await appendAll(data, simulateLines(40, 'fields'), { snapshotEvery: 20 });
  await backUp(data, whole, { keys: [KEY] });
  const writer = await openEmbeddedLedgerWriter(data);
  await writer.prune(20);
  await writer.close();
  await backUp(data, prunedFile, { keys: [KEY] });
  [pieces, prunedPieces] = [readPieces(whole), readPieces(prunedFile)];
});

function readPieces(file: string): Piece[] {
  const bytes = readFileSync(file);
  const found: Piece[] = [];
  for (let at = FILE_HEAD_BYTES; at < bytes.length; ) {
    const { kind = 'end', storedBytes } = decodePieceHead(bytes.subarray(at));
    const start = at + PIECE_HEAD_BYTES;
    at = start + storedBytes;
    found.push({ kind, payload: inflateRawSync(bytes.subarray(start, at)) });
  }
  return found;
}

/** A file whose checksums are right. */
async function join(from: readonly Piece[]): Promise<Buffer> {
  let checksum = encodeFileHead();
  const parts = [checksum];
  for (const { kind, payload } of from) {
    const piece = await encodePiece(kind, payload, checksum);
    parts.push(piece.bytes);
    checksum = piece.checksum;
  }
  return Buffer.concat(parts);
}

function replace(from: readonly Piece[], kind: PieceKind, change: (payload: Buffer) => Buffer) {
  return from.map((piece) =>
    piece.kind === kind ? { kind, payload: change(piece.payload) } : piece,
  );
}

async function failureOf(content: Buffer): Promise<Error | undefined> {
  writeFileSync(damaged, content);
  try {
    await restore(damaged, target);
  } catch (error) {
    assert.ok(error instanceof LedgerError, String((error as Error).stack));
    assert.equal(error.message.slice(0, damaged.length), damaged);
    return error;
  }
  return undefined;
}

/** Refused with the words, and nothing is written anywhere. */
async function assertRefused(content: Buffer, words: RegExp, about: string): Promise<void> {
  const folder = path.dirname(damaged);
  writeFileSync(damaged, content);
  const there = readdirSync(folder);
  const failure = await failureOf(content);
  assert.ok(failure !== undefined, `${about} was restored`);
  assert.match(failure.message, words, about);
  assert.deepEqual(readdirSync(folder), there, about);
}

type Json = ReturnType<typeof JSON.parse>;

function setAt(source: Json, fields: readonly (string | number)[], value: unknown): Json {
  const changed = structuredClone(source);
  const last = fields[fields.length - 1];
  const parent = fields.slice(0, -1).reduce((at, field) => at[field], changed);
  if (value === undefined) delete parent[last];
  else parent[last] = value;
  return changed;
}

const NO_NUMBERS = [undefined, null, -1, 0.5, 1e300, '1', '../../out', {}, [], true];
const NO_TEXTS = [undefined, null, 1, {}, [], '../../out', 'a\u001b[31m', 'x'.repeat(200)];
const NO_LABELS = [undefined, null, 1, {}, 'a\u001b[31mred', 'a\nb', '\u009b1m', '\u202eturned'];
const NO_BUDGETS = [
  null,
  'none',
  {},
  { weight: 0, periodMs: 60_000 },
  { weight: -5, periodMs: 60_000 },
  { weight: 1.5, periodMs: 60_000 },
  { weight: 100, periodMs: 1 },
  { weight: 100, periodMs: 60_000, more: 1 },
];
const FIELDS: readonly [PieceKind, (string | number)[], readonly unknown[]][] = [
  ['description', ['base'], [...NO_NUMBERS, 1]],
  ['description', ['base', 'height'], NO_NUMBERS],
  ['description', ['base', 'hash'], NO_TEXTS],
  ['description', ['snapshot'], NO_NUMBERS],
  ['description', ['snapshot', 'height'], [...NO_NUMBERS, 19, 41]],
  ['description', ['snapshot', 'bytes'], [...NO_NUMBERS, 0, 1, 1e15]],
  ['description', ['more'], [1]],
  ['keys', [0], [null, 1, {}, []]],
  ['keys', [0, 'id'], NO_TEXTS],
  ['keys', [0, 'label'], NO_LABELS],
  ['keys', [0, 'createdMs'], NO_NUMBERS],
  ['keys', [0, 'expiresMs'], NO_NUMBERS.slice(1)],
  ['keys', [0, 'budget'], NO_BUDGETS],
  ['keys', [0, 'secretCount'], [...NO_NUMBERS, 0, 1]],
  ['keys', [0, 'secrets'], [...NO_NUMBERS, [null], [KEY.secrets[0], KEY.secrets[0]]]],
  ['keys', [0, 'secrets', 0, 'number'], [...NO_NUMBERS, 0, 3]],
  ['keys', [0, 'secrets', 0, 'hash'], NO_TEXTS],
  ['keys', [0, 'secrets', 0, 'createdMs'], NO_NUMBERS],
  ['keys', [0, 'more'], [1]],
  ['keys', [1], [KEY]],
  ['end', ['height'], NO_NUMBERS],
  ['end', ['head'], NO_TEXTS],
  ['end', ['digest'], NO_TEXTS],
  ['end', ['more'], [1]],
];

for (const [kind, fields, values] of FIELDS) {
  test(`${kind}.${fields.join('.')} is refused by name where it is wrong`, async () => {
    for (const value of values) {
      const change = (payload: Buffer) =>
        Buffer.from(JSON.stringify(setAt(JSON.parse(String(payload)), fields, value)));
      const content = await join(replace(prunedPieces, kind, change));
      const about = `${fields.join('.')} = ${JSON.stringify(value)}`;
      await assertRefused(content, /: .*(got|has|expected|is of height) .+/, about);
      assert.doesNotMatch(
        String((await failureOf(content))?.message),
        /[\p{Cc}]|undefined/u,
        about,
      );
    }
  });
}

test('the message names the file, the piece, the field, the value and what was expected', async () => {
  const change = () =>
    Buffer.from('{"base":{"height":20,"hash":"00"},"snapshot":{"height":"../../x","bytes":1}}');
  const content = await join(replace(prunedPieces, 'description', change));
  const hash =
    /damaged at byte 12: description\.base\.hash: got "00", expected 64 hexadecimal digits$/;
  await assertRefused(content, hash, 'hash');
});

test('pieces of null, of nothing and of no JSON are refused', async () => {
  for (const kind of ['description', 'keys', 'end', 'blocks', 'snapshot'] as const) {
    for (const text of ['null', '', '[', '0', '"text"', '{}']) {
      const content = await join(replace(prunedPieces, kind, () => Buffer.from(text)));
      await assertRefused(content, /damaged/, `${kind} ${text}`);
    }
  }
});

test('a backup without a snapshot must start with the first block, one with must not', async () => {
  const [first] = pieces;
  const [, snapshot] = prunedPieces;
  const described = JSON.parse(String(prunedPieces[0]?.payload));
  const payload = Buffer.from(
    JSON.stringify({ ...JSON.parse(String(first?.payload)), snapshot: described.snapshot }),
  );
  const content = await join([{ kind: 'description', payload }, snapshot, ...pieces.slice(1)]);
  await assertRefused(content, /description\.snapshot: got an object, expected null/, 'with');
});

/** The head of a piece that says what it inflates to. */
function pieceOf(kind: number, stored: Buffer, inflatedBytes: number, previous: Buffer): Buffer {
  const fields = Buffer.alloc(9);
  fields.writeUInt8(kind, 0);
  fields.writeUInt32LE(stored.length, 1);
  fields.writeUInt32LE(inflatedBytes, 5);
  return Buffer.concat([fields, pieceChecksum(previous, fields, stored), stored]);
}

test('a piece is not inflated beyond what it says, nor beyond what its kind may have', async () => {
  const zeros = await encodePiece('blocks', Buffer.alloc(90 << 20), encodeFileHead());
  const stored = zeros.bytes.subarray(PIECE_HEAD_BYTES);
  const description = (await join(pieces.slice(0, 1))).subarray(FILE_HEAD_BYTES);
  const { checksum } = decodePieceHead(description);
  const before = process.memoryUsage().rss;
  for (const [kind, inflated, words] of [
    [3, 1 << 30, /inflates to 1073741824 bytes, expected at most \d+ \(--block-bytes-max/],
    [3, 1_000, /it cannot be inflated/],
    [4, 1 << 30, /kind keys inflates to 1073741824 bytes, expected at most 67108864$/],
    [5, 1 << 20, /kind end inflates/],
  ] as const) {
    const piece = pieceOf(kind, stored, inflated, checksum);
    const file = Buffer.concat([encodeFileHead(), description, piece]);
    await assertRefused(file, words, String(inflated));
  }
  assert.ok(process.memoryUsage().rss - before < 200 << 20);
});

test('a piece of many empty lines is refused at the first', async () => {
  const lines = Buffer.alloc(40 + 4 * 1_000);
  const content = await join(replace(pieces, 'blocks', () => lines));
  await assertRefused(content, /a line is empty/, 'empty lines');
});

test(`${CASES} pieces with a changed byte give no raw error ${SEED_NOTE}`, ALSO_LONG, async () => {
  const random = new Random(`${SEED} fields`);
  for (let index = 0; index < CASES; index++) {
    const kind = (['description', 'keys', 'snapshot'] as const)[index % 3];
    const content = await join(
      replace(prunedPieces, kind, (payload) => changeByte(payload, random)),
    );
    await failureOf(content);
  }
});

function changeByte(payload: Buffer, random: Random): Buffer {
  const changed = Buffer.from(payload);
  changed[random.below(Math.min(2_000, changed.length))] = random.below(256);
  return changed;
}
