/**
 * Reads a backup file from start to end, and checks every byte. If bytes are damaged, missing or
 * surplus, the error says where they are.
 */

import { statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { UsageError } from '../config/usage-error.ts';
import { prefixRefusal, Refusal } from '../events/refusal.ts';
import { type ChainPoint, LedgerError, type StoredBlock } from '../ledger/ledger.ts';
import { readDescription, readEndFields, readKeyList } from './backup-fields.ts';
import {
  BACKUP_FORMAT,
  BACKUP_MAGIC,
  type BackedUpKeys,
  type BackupDescription,
  type BackupEnd,
  BLOCK_BYTES_MAX,
  decodeBlocks,
  decodePieceHead,
  encodeFileHead,
  FILE_HEAD_BYTES,
  findSizeFault,
  inflatePiece,
  PIECE_HEAD_BYTES,
  PIECE_KINDS,
  type PieceHead,
  type PieceKind,
  pieceChecksum,
} from './backup-format.ts';

interface Piece {
  readonly kind: PieceKind;
  readonly payload: Buffer;
  readonly checksum: Buffer;
  /** The position at which the next piece starts. */
  readonly end: number;
}

/** A place between two pieces, at which a backup can be continued. */
export interface BackupPosition {
  readonly position: number;
  /** The checksum of the piece before. */
  readonly checksum: Buffer;
  /** The last block before this place. */
  readonly point: ChainPoint;
}

export class BackupReader {
  readonly path: string;
  readonly #file: FileHandle;
  readonly #blockBytesMax: number;
  #position = FILE_HEAD_BYTES;
  #checksum: Buffer = encodeFileHead();
  #point: ChainPoint = { height: 0, hash: Buffer.alloc(0) };
  #description: BackupDescription | undefined;
  /** The number of bytes of the snapshot that have been read. */
  #snapshotBytes = 0;
  /** A piece that has been read but not returned yet. */
  #next: Piece | undefined;

  private constructor(path: string, file: FileHandle, blockBytesMax: number) {
    this.path = path;
    this.#file = file;
    this.#blockBytesMax = blockBytesMax;
  }

  /** Opens a backup file. A file with blocks longer than `blockBytesMax` is refused. */
  static async open(path: string, blockBytesMax = BLOCK_BYTES_MAX): Promise<BackupReader> {
    const file = await openFile(path);
    const reader = new BackupReader(path, file, blockBytesMax);
    try {
      await reader.#checkFileHead();
      return reader;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  close(): Promise<void> {
    return this.#file.close();
  }

  /** The place after the last piece that was read. */
  get place(): BackupPosition {
    return { position: this.#position, checksum: this.#checksum, point: this.#point };
  }

  /** Returns how far the file has been read, as a share of its bytes. */
  async readShare(): Promise<number> {
    return this.#position / Math.max(1, await this.#readSize());
  }

  async readDescription(): Promise<BackupDescription> {
    if (this.#description !== undefined) return this.#description;
    const description = await this.#takeFields('description', readDescription);
    if (description === undefined) throw await this.#missing('description');
    const { base } = description;
    this.#point = { height: base.height, hash: Buffer.from(base.hash, 'hex') };
    this.#description = description;
    return description;
  }

  /** Returns the bytes of the snapshot file. Read the snapshot before the blocks. */
  async *readSnapshot(): AsyncGenerator<Buffer> {
    const { snapshot } = await this.readDescription();
    const expected = snapshot?.bytes ?? 0;
    for (;;) {
      const piece = await this.#peek();
      const payload = piece?.kind === 'snapshot' ? piece.payload : undefined;
      const bytes = this.#snapshotBytes + (payload?.length ?? 0);
      if (payload === undefined ? bytes < expected : bytes > expected) {
        const more = payload === undefined ? '' : ' or more';
        throw this.#damage(`its snapshot has ${bytes} bytes${more}, expected ${expected}`);
      }
      if (piece === undefined || payload === undefined) return;
      this.#take(piece);
      this.#snapshotBytes = bytes;
      yield payload;
    }
  }

  /** Returns the blocks; throws if a block does not follow the block before. */
  async *readBlocks(): AsyncGenerator<readonly StoredBlock[]> {
    for await (const _ of this.readSnapshot());
    for (;;) {
      const piece = await this.#peek();
      if (piece?.kind !== 'blocks') return;
      const blocks = this.#decode(piece);
      this.#take(piece);
      this.#point = blocks.at(-1) ?? this.#point;
      yield blocks;
    }
  }

  #decode({ payload }: Piece): StoredBlock[] {
    try {
      return decodeBlocks(payload, this.#point);
    } catch (error) {
      throw this.#damage((error as Error).message);
    }
  }

  /** Returns undefined if the backup was made without keys. Read the keys after the blocks. */
  async readKeys(): Promise<BackedUpKeys | undefined> {
    return this.#takeFields('keys', readKeyList);
  }

  /**
   * Reads the end; throws if bytes come after it, or if it does not match the blocks that were
   * read.
   */
  async readEnd(): Promise<BackupEnd> {
    const end = await this.#takeFields('end', readEndFields);
    if (end === undefined) throw await this.#missing('end');
    const { height, hash } = this.#point;
    if (end.height !== height) {
      throw this.#damage(`its last block is ${height}, expected ${end.height}`);
    }
    const head = hash.toString('hex');
    if (end.head !== head) {
      throw this.#damage(`its last block, ${height}, has the hash ${head}, expected ${end.head}`);
    }
    const rest = (await this.#readSize()) - this.#position;
    if (rest === 0) return end;
    throw this.#damage(`got ${rest} bytes after its end, expected none`);
  }

  /**
   * Returns undefined if the next piece is of another kind; throws if one of its fields is wrong.
   */
  async #takeFields<T>(kind: PieceKind, read: (payload: Buffer) => T): Promise<T | undefined> {
    const piece = await this.#peek();
    if (piece?.kind !== kind) return undefined;
    try {
      const fields = read(piece.payload);
      this.#take(piece);
      return fields;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      throw this.#damage(prefixRefusal(kind, error).message);
    }
  }

  #take({ end, checksum }: Piece): void {
    this.#position = end;
    this.#checksum = checksum;
    this.#next = undefined;
  }

  /** Returns the next piece; returns undefined at the end of the file. */
  async #peek(): Promise<Piece | undefined> {
    this.#next ??= await this.#readPiece();
    return this.#next;
  }

  async #readPiece(): Promise<Piece | undefined> {
    const rest = (await this.#readSize()) - this.#position;
    if (rest === 0) return undefined;
    const head = decodePieceHead(await this.#read(this.#position, PIECE_HEAD_BYTES));
    const start = this.#position + PIECE_HEAD_BYTES;
    const fault = findSizeFault(head, this.#blockBytesMax);
    if (fault !== undefined) throw this.#damage(fault);
    const stored = await this.#read(start, head.storedBytes);
    this.#checkPiece(head, stored);
    return {
      kind: head.kind ?? 'end',
      payload: await this.#inflate(head, stored),
      checksum: Buffer.from(head.checksum),
      end: start + stored.length,
    };
  }

  #checkPiece({ kind, checksum, fields }: PieceHead, stored: Buffer): void {
    const computed = pieceChecksum(this.#checksum, fields, stored);
    if (!computed.equals(checksum)) {
      const [got, expected] = [checksum.toString('hex'), computed.toString('hex')];
      throw this.#damage(`its stored checksum is ${got}, its bytes give ${expected}`);
    }
    if (kind === undefined) {
      throw this.#damage(`got piece kind ${fields[0]}, expected 1 to ${PIECE_KINDS.length}`);
    }
  }

  async #inflate({ inflatedBytes }: PieceHead, stored: Buffer): Promise<Buffer> {
    try {
      return await inflatePiece(stored, inflatedBytes);
    } catch (error) {
      throw this.#damage(`it cannot be inflated (${(error as Error).message})`);
    }
  }

  async #read(position: number, length: number): Promise<Buffer> {
    const size = await this.#readSize();
    // This check comes first, because a damaged length would allocate too much memory.
    if (position + length > size) {
      throw this.#damage(`it ends at byte ${size}, expected at least ${position + length}`);
    }
    const bytes = Buffer.alloc(length);
    for (let filled = 0; filled < length; ) {
      const { bytesRead } = await this.#file.read(
        bytes,
        filled,
        length - filled,
        position + filled,
      );
      if (bytesRead === 0) throw this.#damage(`it ends at byte ${position + filled}`);
      filled += bytesRead;
    }
    return bytes;
  }

  async #readSize(): Promise<number> {
    return (await this.#file.stat()).size;
  }

  async #checkFileHead(): Promise<void> {
    const length = Math.min(FILE_HEAD_BYTES, await this.#readSize());
    const head = await this.#read(0, length);
    const magic = head.subarray(0, BACKUP_MAGIC.length);
    if (!BACKUP_MAGIC.subarray(0, length).equals(magic)) {
      throw new LedgerError('conflict', `${this.path} is not a backup of perpinfo`);
    }
    if (length < FILE_HEAD_BYTES) {
      this.#position = length;
      throw this.#damage(`it ends there, expected at least ${FILE_HEAD_BYTES} bytes`);
    }
    const format = head.readUInt32LE(BACKUP_MAGIC.length);
    if (format === BACKUP_FORMAT) return;
    const message =
      `${this.path} has format ${format}, expected format ${BACKUP_FORMAT}: ` +
      'it was written by a newer perpinfo, upgrade this one';
    throw new LedgerError('newer', message);
  }

  async #missing(expected: PieceKind): Promise<LedgerError> {
    const piece = await this.#peek();
    if (piece === undefined) {
      const lost = `expected the piece of kind ${expected}`;
      return this.#damage(`the file ends there, ${lost}: it was cut off, or never completed`);
    }
    return this.#damage(
      `got a piece of kind ${piece.kind}, expected the piece of kind ${expected}`,
    );
  }

  #damage(reason: string): LedgerError {
    const after = this.#description === undefined ? '' : `, after block ${this.#point.height}`;
    const message = `${this.path} is damaged at byte ${this.#position}${after}: ${reason}`;
    return new LedgerError('corrupt', message);
  }
}

/** Refuses a pipe, because a read from a pipe would wait forever. */
async function openFile(path: string): Promise<FileHandle> {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new UsageError([`there is no file ${path}`]);
  if (!stat.isFile())
    throw new UsageError([`got ${path}, expected a file, not a folder or a pipe`]);
  try {
    return await open(path, 'r');
  } catch (error) {
    throw new UsageError([`cannot read ${path} (${(error as NodeJS.ErrnoException).code})`]);
  }
}
