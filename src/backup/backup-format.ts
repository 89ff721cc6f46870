/**
 * The layout of a backup file; numbers are little-endian.
 *
 *   8 bytes   "perpback"
 *   u32       format
 *   pieces, in the order of their kinds:
 *     1  description  JSON: the point before the first block, and the size of the snapshot
 *     2  snapshot     a snapshot file, in any number of pieces; only if the ledger was pruned
 *     3  blocks       any number of pieces, each: height (u64) and hash of its last block, then every
 *                     line after its length (u32)
 *     4  keys         JSON: the access keys; may be absent
 *     5  end          JSON: height, hash and state digest at the last block
 *
 * A piece:
 *
 *   u8        kind
 *   u32       length as stored
 *   u32       length when inflated
 *   32 bytes  SHA-256 over the checksum of the piece before, the 9 bytes above and the stored bytes; for
 *             the first piece, over the file's first 12 bytes instead of a checksum
 *   the bytes, deflated
 */

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import type { Key } from '../access/keys.ts';
import { HASH_BYTES, nextBlock } from '../ledger/hash-chain.ts';
import type { ChainPoint, StoredBlock } from '../ledger/ledger.ts';

/**
 * Increment when the layout or the state digest changes, and still read the format before: the
 * digest of an earlier format must then not be compared.
 */
export const BACKUP_FORMAT = 1;
export const BACKUP_MAGIC = Buffer.from('perpback');
export const FILE_HEAD_BYTES = BACKUP_MAGIC.length + 4;
const PIECE_FIELDS_BYTES = 9;
export const PIECE_HEAD_BYTES = PIECE_FIELDS_BYTES + HASH_BYTES;

/**
 * Deflates blocks to a fifth of their size, as fast as they are read. Higher levels save little
 * more.
 */
const DEFLATE_LEVEL = 3;
/** The largest --block-bytes-max. */
export const BLOCK_BYTES_MAX = 1 << 30;
/** Room for the blocks that precede a long block in its piece. */
const BATCH_BYTES_MAX = 1 << 22;
const BATCH_BLOCKS_MAX = 1 << 16;
/** The maximum inflated size of a piece, so that a small file cannot take all memory. */
const INFLATED_BYTES_MAX = {
  description: 1 << 16,
  snapshot: 1 << 24,
  keys: 1 << 26,
  end: 1 << 16,
} as const;
/** Deflating adds at most 5 bytes to 16 KiB. */
const DEFLATE_OVERHEAD = 0.001;

export const PIECE_KINDS = ['description', 'snapshot', 'blocks', 'keys', 'end'] as const;
export type PieceKind = (typeof PIECE_KINDS)[number];

export interface BackupDescription {
  /** The point in the hash chain before the first block. */
  readonly base: { readonly height: number; readonly hash: string };
  /**
   * The snapshot that a pruned ledger starts from; null if the backup has the ledger's first block.
   */
  readonly snapshot: { readonly height: number; readonly bytes: number } | null;
}

export interface BackupEnd {
  readonly height: number;
  /** The hash of the last block, in hexadecimal. */
  readonly head: string;
  readonly digest: string;
}

/** Keys as they are in the file: fields that are undefined are absent. */
export type BackedUpKeys = readonly Key[];

const deflateBytes = promisify<Buffer, { level: number }, Buffer>(deflateRaw);
const inflateBytes = promisify<Buffer, { maxOutputLength: number; chunkSize: number }, Buffer>(
  inflateRaw,
);

export function encodeFileHead(): Buffer {
  const head = Buffer.alloc(FILE_HEAD_BYTES);
  BACKUP_MAGIC.copy(head);
  head.writeUInt32LE(BACKUP_FORMAT, BACKUP_MAGIC.length);
  return head;
}

/** The first 41 bytes of a piece. */
export interface PieceHead {
  /** Undefined if there is no such kind. */
  readonly kind: PieceKind | undefined;
  readonly storedBytes: number;
  readonly inflatedBytes: number;
  readonly checksum: Buffer;
  /** The bytes that the checksum covers. */
  readonly fields: Buffer;
}

export function decodePieceHead(bytes: Buffer): PieceHead {
  return {
    kind: PIECE_KINDS[bytes.readUInt8(0) - 1],
    storedBytes: bytes.readUInt32LE(1),
    inflatedBytes: bytes.readUInt32LE(5),
    checksum: bytes.subarray(PIECE_FIELDS_BYTES, PIECE_HEAD_BYTES),
    fields: bytes.subarray(0, PIECE_FIELDS_BYTES),
  };
}

export function pieceChecksum(previous: Buffer, fields: Buffer, stored: Buffer): Buffer {
  return createHash('sha256').update(previous).update(fields).update(stored).digest();
}

export interface EncodedPiece {
  readonly bytes: Buffer;
  readonly checksum: Buffer;
}

/** `previous` is the checksum of the piece before, or the head of the file. */
export async function encodePiece(
  kind: PieceKind,
  payload: Buffer,
  previous: Buffer,
): Promise<EncodedPiece> {
  const stored = await deflateBytes(payload, { level: DEFLATE_LEVEL });
  const fields = Buffer.alloc(PIECE_FIELDS_BYTES);
  fields.writeUInt8(PIECE_KINDS.indexOf(kind) + 1, 0);
  fields.writeUInt32LE(stored.length, 1);
  fields.writeUInt32LE(payload.length, 5);
  const checksum = pieceChecksum(previous, fields, stored);
  return { bytes: Buffer.concat([fields, checksum, stored]), checksum };
}

/**
 * Returns why the piece is too large, before any of its content is read; returns undefined if it is
 * not too large.
 */
export function findSizeFault(
  { kind, storedBytes, inflatedBytes }: PieceHead,
  blockBytesMax: number,
): string | undefined {
  if (kind === undefined) return undefined;
  const isBlocks = kind === 'blocks';
  const most = isBlocks ? blockBytesMax + BATCH_BYTES_MAX : INFLATED_BYTES_MAX[kind];
  if (inflatedBytes > most) {
    const advice = isBlocks ? ' (--block-bytes-max allows larger ones)' : '';
    return `a piece of kind ${kind} inflates to ${inflatedBytes} bytes, expected at most ${most}${advice}`;
  }
  const storedMost = Math.ceil(most * (1 + DEFLATE_OVERHEAD)) + 1024;
  if (storedBytes <= storedMost) return undefined;
  return `a piece of kind ${kind} has ${storedBytes} bytes, expected at most ${storedMost}`;
}

/** Throws if the bytes do not inflate to the given length. */
export async function inflatePiece(stored: Buffer, inflatedBytes: number): Promise<Buffer> {
  // zlib expects a limit of 1 or more. One chunk for all bytes avoids a second copy.
  const maxOutputLength = Math.max(1, inflatedBytes);
  const chunkSize = Math.max(64, inflatedBytes + 1);
  const payload = await inflateBytes(stored, { maxOutputLength, chunkSize });
  if (payload.length === inflatedBytes) return payload;
  throw new Error(`it inflates to ${payload.length} bytes, expected ${inflatedBytes}`);
}

const LAST_POINT_BYTES = 8 + HASH_BYTES;
const LINE_LENGTH_BYTES = 4;

export function encodeBlocks(blocks: readonly StoredBlock[], last: ChainPoint): Buffer {
  const point = Buffer.alloc(LAST_POINT_BYTES);
  point.writeBigUInt64LE(BigInt(last.height));
  last.hash.copy(point, 8);
  const parts = blocks.flatMap(({ line }) => {
    const length = Buffer.alloc(LINE_LENGTH_BYTES);
    length.writeUInt32LE(line.length);
    return [length, line];
  });
  return Buffer.concat([point, ...parts]);
}

/**
 * Returns the blocks after `previous`; throws if they do not lead to the point that is stored with
 * them.
 */
export function decodeBlocks(payload: Buffer, previous: ChainPoint): StoredBlock[] {
  const blocks: StoredBlock[] = [];
  let last = previous;
  if (payload.length < LAST_POINT_BYTES) throw new Error('a piece of blocks is too short');
  for (let at = LAST_POINT_BYTES; at < payload.length; ) {
    const start = at + LINE_LENGTH_BYTES;
    if (start > payload.length) throw new Error('a line is longer than its piece');
    at = start + payload.readUInt32LE(at);
    if (at > payload.length) throw new Error('a line is longer than its piece');
    if (at === start) throw new Error('a line is empty');
    if (blocks.length === BATCH_BLOCKS_MAX) {
      throw new Error(`a piece has more than ${BATCH_BLOCKS_MAX} blocks`);
    }
    const block = nextBlock(last, payload.subarray(start, at));
    blocks.push(block);
    last = block;
  }
  const height = Number(payload.readBigUInt64LE());
  const hash = payload.subarray(8, LAST_POINT_BYTES);
  if (last.height === height && last.hash.equals(hash)) return blocks;
  throw new Error(
    `its lines lead to block ${last.height} with the hash ${last.hash.toString('hex')}, ` +
      `expected block ${height} with ${hash.toString('hex')}`,
  );
}

export function encodeJson(value: BackupDescription | BackupEnd | BackedUpKeys): Buffer {
  return Buffer.from(JSON.stringify(value));
}
