/** Reads existing backup files: finished files, and the intact part of an unfinished file. */

import { LedgerError } from '../ledger/ledger.ts';
import type { BackedUpKeys, BackupDescription, BackupEnd } from './backup-format.ts';
import { type BackupPosition, BackupReader } from './backup-reader.ts';

/**
 * Called with the height that was read and the share of the file's bytes that was read; may throw
 * to abort.
 */
export type ScanProgress = (height: number, share: number) => void;

export interface ScannedBackup {
  readonly description: BackupDescription;
  /** Undefined if the backup was made without keys. */
  readonly keys: BackedUpKeys | undefined;
  readonly end: BackupEnd;
  /** The position after the last piece of blocks. */
  readonly blocksEnd: BackupPosition;
}

/** Checks a whole file; throws if anything in it is wrong. */
export async function scanBackup(
  reader: BackupReader,
  progress: ScanProgress,
): Promise<ScannedBackup> {
  const description = await reader.readDescription();
  await drainBlocks(reader, progress);
  const blocksEnd = reader.place;
  const keys = await reader.readKeys();
  return { description, keys, end: await reader.readEnd(), blocksEnd };
}

async function drainBlocks(reader: BackupReader, progress: ScanProgress): Promise<void> {
  for await (const _ of reader.readBlocks()) {
    progress(reader.place.point.height, await reader.readShare());
  }
}

export interface BackupStart {
  readonly description: BackupDescription;
  readonly blocksEnd: BackupPosition;
}

/**
 * Returns the intact part of a file whose end may be incomplete, up to its last complete piece of
 * blocks; returns undefined if the file contains no block.
 */
export async function scanStart(
  path: string,
  progress: ScanProgress,
): Promise<BackupStart | undefined> {
  let reader: BackupReader | undefined;
  let start: BackupStart | undefined;
  try {
    reader = await BackupReader.open(path);
    const description = await reader.readDescription();
    for await (const _ of reader.readBlocks()) {
      start = { description, blocksEnd: reader.place };
      progress(reader.place.point.height, await reader.readShare());
    }
  } catch (error) {
    if (!(error instanceof LedgerError) || error.fault !== 'corrupt') throw error;
  } finally {
    await reader?.close();
  }
  return start;
}
