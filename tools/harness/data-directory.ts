/** A data directory as the commands create it: a ledger and its snapshots. */

import assert from 'node:assert/strict';
import path from 'node:path';
import { BlockWriter } from '../../src/feed/block-writer.ts';
import { createNdjsonFeed } from '../../src/feed/ndjson.ts';
import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { type Replica, restoreReplica } from '../../src/replica/replica.ts';
import { SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import { verifyLedger } from '../../src/replica/verification.ts';

export interface SnapshotPolicy {
  readonly snapshotEvery: number;
  readonly snapshotKeep?: number;
}

export const NO_SNAPSHOTS: SnapshotPolicy = { snapshotEvery: Number.MAX_SAFE_INTEGER };

/** The settings of a storage whose ledger is in its data folder. */
export const FOLDER_ONLY = {
  ledger: undefined,
  natsReplicas: 1,
  natsCreds: undefined,
  natsCa: undefined,
} as const;

/** A restored replica, and the warnings of the restore. */
export interface Restored {
  readonly replica: Replica;
  readonly warnings: string[];
  /** Height of the snapshot that was used; 0 after a full replay. */
  readonly startHeight: number;
}

/** Path of the snapshot of a height. */
export function snapshotPath(folder: string, height: number): string {
  return path.join(folder, 'snapshots', `${String(height).padStart(16, '0')}.snapshot`);
}

/**
 * Does the same as `perpinfo append`: opens the writer, restores, appends the stream, and closes
 * the writer.
 */
export async function appendChunks(
  folder: string,
  chunks: Iterable<Buffer>,
  { snapshotEvery, snapshotKeep = 1000 }: SnapshotPolicy,
): Promise<Restored> {
  const ledger = await openEmbeddedLedgerWriter(folder);
  try {
    const restored = await restoreFrom(ledger, folder);
    const writer = new BlockWriter({
      ledger,
      replica: restored.replica,
      snapshots: new SnapshotFolder(folder),
      snapshotEvery,
      snapshotKeep,
      aheadMsMax: 0,
      warn: (message) => assert.fail(message),
    });
    const read = () => streamOf(chunks);
    const feed = createNdjsonFeed({ name: 'chunks', lineBytesMax: 1 << 20, read });
    await writer.run(feed, new AbortController().signal);
    return restored;
  } finally {
    await ledger.close();
  }
}

export function appendAll(
  folder: string,
  lines: readonly string[],
  policy: SnapshotPolicy,
): Promise<Restored> {
  return appendChunks(folder, [Buffer.from(lines.map((line) => `${line}\n`).join(''))], policy);
}

async function* streamOf(chunks: Iterable<Buffer>): AsyncGenerator<Buffer> {
  yield* chunks;
}

/** Restores from an open ledger, with the snapshots of a folder. */
export async function restoreFrom(
  ledger: Ledger,
  snapshotsIn: string,
  height?: number,
): Promise<Restored> {
  const warnings: string[] = [];
  const reads: number[] = [];
  const replica = await restoreReplica({
    ledger: recordReads(ledger, reads),
    snapshots: new SnapshotFolder(snapshotsIn),
    height,
    warn: (message) => warnings.push(message),
  });
  return { replica, warnings, startHeight: reads[0] };
}

/** Returns the same ledger, which records the height after which each read starts. */
function recordReads(ledger: Ledger, reads: number[]): Ledger {
  return {
    base: () => ledger.base(),
    head: () => ledger.head(),
    height: () => ledger.height(),
    point: (height) => ledger.point(height),
    follow: (after, signal) => ledger.follow(after, signal),
    close: () => ledger.close(),
    read(after, to) {
      reads.push(after);
      return ledger.read(after, to);
    },
  };
}

/** Restores from the data directory, as a reader does when it starts. */
export async function restoreDirectory(folder: string, height?: number): Promise<Restored> {
  const ledger = await openEmbeddedLedger(folder);
  try {
    return await restoreFrom(ledger, folder, height);
  } finally {
    await ledger.close();
  }
}

/** Does the same as `perpinfo verify`, without the time in which a process starts. */
export async function verifyDirectory(folder: string) {
  const ledger = await openEmbeddedLedger(folder);
  try {
    const { head, digest, badSnapshots } = await verifyLedger({
      ledger,
      snapshots: new SnapshotFolder(folder),
      warn: () => undefined,
      progress: () => undefined,
    });
    assert.deepEqual(badSnapshots, []);
    return { height: head.height, head: head.hash.toString('hex'), digest };
  } finally {
    await ledger.close();
  }
}
