/**
 * Backs up a ledger into one file, while blocks are appended to the ledger. An earlier backup in the
 * same file is continued. The new file is read back and replayed before it replaces the earlier backup.
 */

import { copyFileSync, constants as fileConstants, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { Key } from '../access/keys.ts';
import { formatLabel } from '../config/key-label.ts';
import { checkLink } from '../ledger/hash-chain.ts';
import { type ChainPoint, isUnavailable, type Ledger, LedgerError } from '../ledger/ledger.ts';
import { OwnerFile } from '../ledger/ownership/owner-file.ts';
import { stateDigest } from '../replica/replica.ts';
import type { Storage } from '../replica/storage.ts';
import {
  type BackedUpKeys,
  type BackupDescription,
  type BackupEnd,
  encodeBlocks,
  encodeJson,
} from './backup-format.ts';
import { BackupReader } from './backup-reader.ts';
import { replayBackup } from './backup-replay.ts';
import {
  type BackupStart,
  type ScannedBackup,
  type ScanProgress,
  scanBackup,
  scanStart,
} from './backup-scan.ts';
import { explainWriteFailure, PartFile, partPath } from './part-file.ts';

const SNAPSHOT_PIECE_BYTES = 4 << 20;

export interface BackupOptions {
  readonly source: Storage;
  readonly file: string;
  /** Undefined for a backup without keys. */
  readonly keys: BackedUpKeys | undefined;
  /** Reports problems that cost time, but do not affect correctness. */
  warn(message: string): void;
  /** Reports progress; may throw to abort. */
  progress(step: string, height: number, share: number): void;
}

export interface FinishedBackup extends BackupEnd {
  /** Number of blocks that this call has read from the ledger. */
  readonly addedBlocks: number;
  readonly bytes: number;
}

export async function backUpLedger(options: BackupOptions): Promise<FinishedBackup> {
  const owner = await explainWriteFailure(options.file, async () => OwnerFile.take(options.file));
  try {
    return await writeBackup(options);
  } finally {
    owner.release();
  }
}

async function writeBackup(options: BackupOptions): Promise<FinishedBackup> {
  // The height of the backup. Blocks that are appended later are left to the next backup.
  const head = await options.source.ledger.head();
  const { part, point } = await openPart(options, head);
  try {
    await addBlocks(options, part, point, head);
    const end = await completePart(options, part);
    await part.finish();
    return { ...end, addedBlocks: head.height - point.height, bytes: part.size };
  } finally {
    await part.close();
  }
}

/** An unfinished file, and the last block in it. */
interface OpenPart {
  readonly part: PartFile;
  readonly point: ChainPoint;
}

/** Continues an interrupted or a finished backup, or starts a new backup. */
async function openPart(options: BackupOptions, head: ChainPoint): Promise<OpenPart> {
  const { file } = options;
  const finished = await findFinished(options);
  const started = await findStarted(options, finished);
  if (started !== undefined) return continuePart(file, started);
  if (finished === undefined) return createPart(options, head);
  await explainWriteFailure(file, async () => {
    copyFileSync(file, partPath(file), fileConstants.COPYFILE_FICLONE);
  });
  return continuePart(file, finished);
}

async function continuePart(file: string, { blocksEnd }: BackupStart): Promise<OpenPart> {
  return { part: await PartFile.continue(file, blocksEnd), point: blocksEnd.point };
}

/** Returns the earlier backup of this ledger; throws if the file contains anything else. */
async function findFinished(options: BackupOptions): Promise<BackupStart | undefined> {
  const { file, source, progress } = options;
  if (!isThere(file)) return undefined;
  const finished = await scanFile(file, (height, share) =>
    progress('checking the earlier backup', height, share),
  );
  const { point } = finished.blocksEnd;
  const base = await source.ledger.base();
  if (point.height < base.height) {
    const message =
      `${file} ends at block ${point.height}, and the ledger now starts at block ` +
      `${base.height + 1}: the blocks between are gone, so back up to another file`;
    throw new LedgerError('conflict', message);
  }
  await checkIsOurs(options, file, point);
  return finished;
}

async function scanFile(file: string, progress: ScanProgress): Promise<ScannedBackup> {
  const reader = await BackupReader.open(file);
  try {
    return await scanBackup(reader, progress);
  } finally {
    await reader.close();
  }
}

/**
 * Returns the unfinished backup, unless it has fewer blocks than the finished backup or can no
 * longer be continued.
 */
async function findStarted(
  options: BackupOptions,
  finished: BackupStart | undefined,
): Promise<BackupStart | undefined> {
  const { file, source, warn, progress } = options;
  if (!isThere(partPath(file))) return undefined;
  const started = await scanStart(partPath(file), (height, share) =>
    progress('checking the partial file', height, share),
  );
  if (started === undefined) return undefined;
  const { description, blocksEnd } = started;
  const base = await source.ledger.base();
  if (blocksEnd.point.height < base.height) {
    warn(
      `${partPath(file)} ends at block ${blocksEnd.point.height}, and the ledger now starts at ` +
        `block ${base.height + 1}: starting again`,
    );
    return undefined;
  }
  await checkIsOurs(options, partPath(file), blocksEnd.point);
  if (finished === undefined) return started;
  const hasMore =
    description.base.height <= finished.description.base.height &&
    blocksEnd.point.height >= finished.blocksEnd.point.height;
  return hasMore ? started : undefined;
}

async function checkIsOurs({ source }: BackupOptions, file: string, point: ChainPoint) {
  const stored = await source.ledger.point(point.height);
  if (stored?.hash.equals(point.hash)) return;
  const message =
    `${file} holds another ledger: its block ${point.height} is not in this one; ` +
    'delete it, or back up to another file';
  throw new LedgerError('conflict', message);
}

function isThere(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false }) !== undefined;
}

/** Creates a new file, with the snapshot that a pruned ledger needs. */
async function createPart(options: BackupOptions, head: ChainPoint): Promise<OpenPart> {
  const { source, file } = options;
  const base = await source.ledger.base();
  const snapshot = base.height === 0 ? undefined : await openSnapshot(options, base, head);
  try {
    const part = await PartFile.create(file);
    try {
      await writeStart(part, base, snapshot);
      return { part, point: base };
    } catch (error) {
      await part.close();
      throw error;
    }
  } finally {
    await snapshot?.file.close();
  }
}

interface OpenSnapshot {
  readonly file: FileHandle;
  readonly height: number;
  readonly bytes: number;
}

async function writeStart(
  part: PartFile,
  base: ChainPoint,
  snapshot: OpenSnapshot | undefined,
): Promise<void> {
  const description: BackupDescription = {
    base: { height: base.height, hash: base.hash.toString('hex') },
    snapshot: snapshot === undefined ? null : { height: snapshot.height, bytes: snapshot.bytes },
  };
  await part.append('description', encodeJson(description));
  if (snapshot === undefined) return;
  const stream = snapshot.file.createReadStream({
    highWaterMark: SNAPSHOT_PIECE_BYTES,
    autoClose: false,
  });
  for await (const piece of stream) await part.append('snapshot', piece as Buffer);
}

/**
 * Opens the earliest usable snapshot. The file stays open, so that the writer may delete it during
 * the backup.
 */
async function openSnapshot(
  { source, warn }: BackupOptions,
  base: ChainPoint,
  head: ChainPoint,
): Promise<OpenSnapshot> {
  const { ledger, snapshots, shared } = source;
  await shared?.fetch({ ledger, snapshots, height: head.height, warn });
  const heights = snapshots.heights().filter((at) => at >= base.height && at <= head.height);
  for (const height of heights) {
    let file: FileHandle | undefined;
    try {
      file = await open(snapshots.pathOf(height));
      const loaded = await snapshots.load(height);
      const stored = await ledger.point(height);
      if (loaded !== undefined && stored?.hash.equals(loaded.point.hash)) {
        return { file, height, bytes: (await file.stat()).size };
      }
      await file.close();
    } catch (error) {
      await file?.close();
      // The ledger did not answer, so the snapshot may be valid.
      if (isUnavailable(error)) throw error;
      warn(`the snapshot of height ${height} is ignored: ${(error as Error).message}`);
    }
  }
  const message = `the blocks up to ${base.height} were pruned, and no snapshot from there on is usable`;
  throw new LedgerError('missing', message);
}

async function addBlocks(
  { source: { ledger }, progress }: BackupOptions,
  part: PartFile,
  start: ChainPoint,
  head: ChainPoint,
): Promise<void> {
  let previous = start;
  for await (const batch of ledger.read(start.height, head.height)) {
    if (batch[0]?.height !== previous.height + 1) await checkIsKept(ledger, previous);
    for (const block of batch) {
      checkLink(previous, block);
      previous = block;
    }
    await part.append('blocks', encodeBlocks(batch, previous));
    progress('backing up', previous.height, previous.height / head.height);
  }
  if (previous.height === head.height) return;
  await checkIsKept(ledger, previous);
  throw new LedgerError('corrupt', `block ${previous.height + 1} is not in the ledger`);
}

/** Throws if the block after this point was pruned while the backup ran. */
async function checkIsKept(ledger: Ledger, { height }: ChainPoint): Promise<void> {
  const base = await ledger.base();
  if (base.height <= height) return;
  const message = `the blocks up to ${base.height} were pruned before they were backed up: run it again`;
  throw new LedgerError('missing', message);
}

/**
 * Reads the blocks back, adds the keys and the digest of the replayed state, and reads keys and
 * digest back.
 */
async function completePart(options: BackupOptions, part: PartFile): Promise<BackupEnd> {
  const { file, keys, progress } = options;
  const reader = await BackupReader.open(partPath(file));
  try {
    const { state, point } = await replayBackup(reader, (height, share) =>
      progress('reading the backup back', height, share),
    );
    const digest = stateDigest(state);
    const end = { height: point.height, head: point.hash.toString('hex'), digest };
    if (keys !== undefined) await part.append('keys', encodeJson(keys.map(withPlainLabel)));
    await part.append('end', encodeJson(end));
    await part.sync();
    await reader.readKeys();
    await reader.readEnd();
    return end;
  } finally {
    await reader.close();
  }
}

/**
 * Formats a key's label. A version that did not check labels may have stored a label that a restore
 * would refuse.
 */
function withPlainLabel(key: Key): Key {
  return { ...key, label: formatLabel(key.label) };
}
