/** Replays the blocks of a backup file, in the same way as a restore. */

import { CHAIN_START } from '../ledger/hash-chain.ts';
import { LedgerError } from '../ledger/ledger.ts';
import { Replica } from '../replica/replica.ts';
import {
  type LoadedSnapshot,
  readSnapshot,
  type SnapshotSource,
} from '../replica/snapshot-folder.ts';
import { createState } from '../state/state.ts';
import type { BackupReader } from './backup-reader.ts';
import type { ScanProgress } from './backup-scan.ts';

/** Returns a replica that has applied the last block; throws if a block does not apply. */
export async function replayBackup(reader: BackupReader, progress: ScanProgress): Promise<Replica> {
  const replica = await createReplica(reader);
  for await (const blocks of reader.readBlocks()) {
    for (const block of blocks) {
      if (block.height > replica.point.height) replica.apply(block);
    }
    progress(reader.place.point.height, await reader.readShare());
  }
  const { height } = reader.place.point;
  if (height >= replica.point.height) return replica;
  const message = `the backup ends at block ${height}, before its snapshot of height ${replica.point.height}`;
  throw new LedgerError('corrupt', message);
}

/**
 * Creates a replica at the chain's start, or at the snapshot of a pruned ledger; throws if the snapshot is
 * damaged.
 */
export async function createReplica(reader: BackupReader): Promise<Replica> {
  const { snapshot } = await reader.readDescription();
  if (snapshot === null) return new Replica(createState(), CHAIN_START);
  const { state, point } = await readBackedUp(reader, snapshot.bytes);
  if (state.height === snapshot.height) return new Replica(state, point);
  throw damagedSnapshot(reader, `it is of height ${state.height}, expected ${snapshot.height}`);
}

/**
 * Converts all errors to LedgerErrors, because damaged bytes may make the decoder throw any error.
 */
async function readBackedUp(reader: BackupReader, bytes: number): Promise<LoadedSnapshot> {
  try {
    return await readSnapshot(new ChunkSource(bytes, reader.readSnapshot()));
  } catch (error) {
    if (error instanceof LedgerError) throw error;
    throw damagedSnapshot(reader, (error as Error).message, error);
  }
}

function damagedSnapshot({ path }: BackupReader, reason: string, cause?: unknown): LedgerError {
  return new LedgerError('corrupt', `${path} is damaged: its snapshot cannot be read, ${reason}`, {
    cause,
  });
}

/** Reads a snapshot's bytes from chunks, one after the other. */
class ChunkSource implements SnapshotSource {
  readonly size: number;
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(size: number, chunks: AsyncIterable<Buffer>) {
    this.size = size;
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  async fill(bytes: Uint8Array): Promise<void> {
    for (let filled = 0; filled < bytes.length; ) {
      if (this.#rest.length === 0) await this.#readChunk();
      const taken = this.#rest.subarray(0, bytes.length - filled);
      bytes.set(taken, filled);
      filled += taken.length;
      this.#rest = this.#rest.subarray(taken.length);
    }
  }

  async #readChunk(): Promise<void> {
    const { done, value } = await this.#chunks.next();
    if (done) throw new Error('it is truncated');
    this.#rest = value;
  }
}
