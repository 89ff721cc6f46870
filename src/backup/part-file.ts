/**
 * The unfinished backup, FILE.part. Pieces are appended to it, and it is renamed to FILE when it is
 * complete. After an interruption, the next backup continues it.
 */

import { type FileHandle, open, rename } from 'node:fs/promises';
import path from 'node:path';
import { describeDiskFailure } from '../ledger/embedded/disk-failure.ts';
import { syncFolder, writeAll } from '../ledger/embedded/durable-file.ts';
import { LedgerError } from '../ledger/ledger.ts';
import { encodeFileHead, encodePiece, type PieceKind } from './backup-format.ts';
import type { BackupPosition } from './backup-reader.ts';

export function partPath(file: string): string {
  return `${file}.part`;
}

export class PartFile {
  readonly #target: string;
  readonly #file: FileHandle;
  #position: number;
  #checksum: Buffer;

  private constructor(target: string, file: FileHandle, position: number, checksum: Buffer) {
    this.#target = target;
    this.#file = file;
    this.#position = position;
    this.#checksum = checksum;
  }

  /** Starts a new file, and overwrites an earlier unfinished file. */
  static create(target: string): Promise<PartFile> {
    return explainWriteFailure(target, async () => {
      const file = await open(partPath(target), 'w');
      const head = encodeFileHead();
      await writeAll(file, head, 0);
      return new PartFile(target, file, head.length, head);
    });
  }

  /** Continues the file at a place. Bytes after the place are cut off. */
  static continue(target: string, { position, checksum }: BackupPosition): Promise<PartFile> {
    return explainWriteFailure(target, async () => {
      const file = await open(partPath(target), 'r+');
      await file.truncate(position);
      return new PartFile(target, file, position, checksum);
    });
  }

  append(kind: PieceKind, payload: Buffer): Promise<void> {
    return explainWriteFailure(this.#target, async () => {
      const { bytes, checksum } = await encodePiece(kind, payload, this.#checksum);
      await writeAll(this.#file, bytes, this.#position);
      this.#position += bytes.length;
      this.#checksum = checksum;
    });
  }

  sync(): Promise<void> {
    return explainWriteFailure(this.#target, () => this.#file.sync());
  }

  /** Renames the file to its final name, durably. */
  finish(): Promise<void> {
    return explainWriteFailure(this.#target, async () => {
      await rename(partPath(this.#target), this.#target);
      await syncFolder(path.dirname(this.#target));
    });
  }

  get size(): number {
    return this.#position;
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

/** Does work that writes a backup, and explains failures of the disk. */
export async function explainWriteFailure<T>(target: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof LedgerError) throw error;
    const reason = describeDiskFailure(error as Error, path.dirname(path.resolve(target)));
    const message = `cannot write ${partPath(target)}: ${reason}; run it again to continue`;
    throw new LedgerError('unwritable', message, { cause: error });
  }
}
