/** Files that an earlier version has written, unpacked for a test. */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { snapshotPath } from '../../tools/harness/data-directory.ts';
import { PROJECT } from '../../tools/harness/paths.ts';

interface Verified {
  readonly height: number;
  readonly head: string;
  readonly digest: string;
}

/** What the earlier version printed about its files. */
export interface Recorded {
  readonly ledger: Verified;
  readonly backup: Verified;
  /** Of both keys. */
  readonly secrets: readonly string[];
  readonly answers: readonly { readonly question: object; readonly answer: string }[];
}

const SNAPSHOT_HEIGHTS = [80, 160];

function readKept(version: string, name: string): Buffer {
  const file = path.join(PROJECT, 'test/upgrade', version, `${name}.br`);
  return brotliDecompressSync(readFileSync(file));
}

export function readRecorded(version: string): Recorded {
  return JSON.parse(readKept(version, 'recorded.json').toString()) as Recorded;
}

/** A data directory with ledger, snapshots and keys. */
export function unpackData(version: string, data: string): string {
  for (const what of ['ledger', 'keys']) {
    mkdirSync(path.join(data, what), { recursive: true });
    writeFileSync(path.join(data, what, 'data.mdb'), readKept(version, `${what}.mdb`));
  }
  mkdirSync(path.join(data, 'snapshots'));
  for (const height of SNAPSHOT_HEIGHTS) {
    writeFileSync(snapshotPath(data, height), readKept(version, `${height}.snapshot`));
  }
  return data;
}

export function unpackBackup(version: string, file: string): string {
  writeFileSync(file, readKept(version, 'backup'));
  return file;
}
