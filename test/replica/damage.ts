/** Damages a data directory behind the ledger's back, and runs `verify` on it. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { type Database, open } from 'lmdb';
import { HASH_BYTES } from '../../src/ledger/hash-chain.ts';
import type { StoredBlock } from '../../src/ledger/ledger.ts';
import { MAIN } from '../../tools/harness/paths.ts';

/** The stored blocks as the database has them: 32 bytes of hash, then the line. */
export interface RawBlocks {
  get(height: number): Buffer;
  put(height: number, value: Buffer): void;
  putBlock(block: StoredBlock): void;
  remove(height: number): void;
  close(): Promise<void>;
}

/** Opened before any ledger on the folder, since LMDB has one environment per process and folder. */
export function openRawBlocks(folder: string): RawBlocks {
  const environment = open({ path: path.join(folder, 'ledger'), encoding: 'binary', maxDbs: 8 });
  const blocks: Database<Buffer, number> = environment.openDB({
    name: 'blocks',
    encoding: 'binary',
  });
  const put = (height: number, value: Buffer) => blocks.putSync(height, value);
  return {
    put,
    get: (height) => Buffer.from(blocks.get(height) ?? []),
    putBlock: ({ height, hash, line }) => put(height, Buffer.concat([hash, line])),
    remove: (height) => blocks.removeSync(height),
    close: () => environment.close(),
  };
}

/** Flips one bit of a byte; which one depends on its position. */
export function flipBit(bytes: Buffer, position: number): Buffer {
  const flipped = Buffer.from(bytes);
  flipped[position] ^= 1 << (position % 8);
  return flipped;
}

export function describePosition(position: number): string {
  return position < HASH_BYTES
    ? `byte ${position} of the hash`
    : `byte ${position - HASH_BYTES} of the line`;
}

export interface Verdict {
  /** The exit code; null where the process crashed or hung. */
  readonly code: number | null;
  readonly output: string;
  readonly complaint: string;
}

const VERIFY_MS_MAX = 20_000;

/** Runs `perpinfo verify` on a data directory. */
export async function runVerify(folder: string): Promise<Verdict> {
  const child = spawn(process.execPath, [MAIN, 'verify', '--data', folder], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: VERIFY_MS_MAX,
    killSignal: 'SIGKILL',
  });
  const [output, complaint, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ]);
  return { code, output, complaint };
}
