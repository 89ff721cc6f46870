/**
 * Restores a ledger in a folder from a backup file. The file is checked before anything is written. No
 * other process can open the ledger until all blocks are stored, read back and replayed.
 */

import { openEmbeddedKeys } from '../access/embedded/embedded-keys.ts';
import { openRestoringWriter, type RestoringWriter } from '../ledger/embedded/embedded-writer.ts';
import { type ChainPoint, LedgerError, type StoredBlock } from '../ledger/ledger.ts';
import { SnapshotFolder } from '../replica/snapshot-folder.ts';
import { verifyLedger } from '../replica/verification.ts';
import type { StateView } from '../state/state.ts';
import type { BackedUpKeys, BackupEnd } from './backup-format.ts';
import { BackupReader } from './backup-reader.ts';
import { createReplica } from './backup-replay.ts';
import { type ScannedBackup, scanBackup } from './backup-scan.ts';

export interface RestoreOptions {
  readonly file: string;
  /** The data directory. */
  readonly data: string;
  /** A file with longer blocks is refused, unless the blocks are shorter than BLOCK_BYTES_USUAL. */
  readonly blockBytesMax: number;
  /** Reports problems that cost time, but do not affect correctness. */
  warn(message: string): void;
  /** Reports progress; may throw to abort. */
  progress(step: string, height: number, share: number): void;
}

export interface RestoredBackup extends BackupEnd {
  /** Number of blocks that were not in the folder before. */
  readonly addedBlocks: number;
  /**
   * Number of keys that were added; undefined if the folder already has keys, which stay unchanged.
   */
  readonly addedKeys: number | undefined;
}

export async function restoreBackup(options: RestoreOptions): Promise<RestoredBackup> {
  const { data } = options;
  const backup = await checkBackup(options);
  const ledger = await openRestoringWriter(data);
  try {
    const restoration = new Restoration(options, backup, ledger);
    const addedBlocks = await restoration.addBlocks();
    const state = await restoration.check();
    await restoration.saveSnapshot(state);
    const addedKeys = await addKeys(data, backup.keys ?? []);
    await ledger.endRestore();
    return { ...backup.end, addedBlocks, addedKeys };
  } finally {
    await ledger.close();
  }
}

/** The inflated size that is always allowed for a piece. Blocks are usually far smaller. */
const BLOCK_BYTES_USUAL = 1 << 26;

function openReader({ file, blockBytesMax }: RestoreOptions): Promise<BackupReader> {
  return BackupReader.open(file, Math.max(blockBytesMax, BLOCK_BYTES_USUAL));
}

/** Checks the whole file, and its snapshot, before anything is written. */
async function checkBackup(options: RestoreOptions): Promise<ScannedBackup> {
  const reader = await openReader(options);
  try {
    const backup = await scanBackup(reader, (height, share) =>
      options.progress('checking the backup', height, share),
    );
    if (backup.description.snapshot !== null) await checkSnapshot(options, backup.end);
    return backup;
  } finally {
    await reader.close();
  }
}

/**
 * Checks the snapshot that a pruned ledger starts from: it must be intact, and not later than the
 * last block of the backup.
 */
async function checkSnapshot(options: RestoreOptions, end: BackupEnd): Promise<void> {
  const reader = await openReader(options);
  try {
    const { point } = await createReplica(reader);
    if (point.height <= end.height) return;
    const message = `${options.file} is damaged: its snapshot is of height ${point.height}, after its last block ${end.height}`;
    throw new LedgerError('corrupt', message);
  } finally {
    await reader.close();
  }
}

class Restoration {
  readonly #options: RestoreOptions;
  readonly #backup: ScannedBackup;
  readonly #ledger: RestoringWriter;
  readonly #snapshots: SnapshotFolder;

  constructor(options: RestoreOptions, backup: ScannedBackup, ledger: RestoringWriter) {
    this.#options = options;
    this.#backup = backup;
    this.#ledger = ledger;
    this.#snapshots = new SnapshotFolder(options.data);
  }

  /**
   * Adds the blocks that the folder lacks, and returns their number. The blocks already in the
   * folder must be those of the backup.
   */
  async addBlocks(): Promise<number> {
    const { end, description } = this.#backup;
    const head = await this.#ledger.head();
    const isEmpty = head.height === 0;
    if (head.height > end.height || (!isEmpty && head.height < description.base.height)) {
      throw this.#conflict(head);
    }
    await this.#read(async (reader) => {
      await reader.readDescription();
      await this.#addAfter(reader, isEmpty ? await this.#start(reader) : head);
    });
    // The snapshot is written last: it must not replace a snapshot of another ledger.
    await this.#read((reader) => this.#addSnapshot(reader));
    return end.height - (isEmpty ? description.base.height : head.height);
  }

  async #read(work: (reader: BackupReader) => Promise<void>): Promise<void> {
    const reader = await openReader(this.#options);
    try {
      await work(reader);
    } finally {
      await reader.close();
    }
  }

  /** Stores the snapshot that a pruned ledger starts from. */
  async #addSnapshot(reader: BackupReader): Promise<void> {
    const { snapshot } = await reader.readDescription();
    if (snapshot !== null) await this.#snapshots.receive(snapshot.height, reader.readSnapshot());
  }

  /** Prepares an empty ledger, and returns its base. */
  async #start(reader: BackupReader): Promise<ChainPoint> {
    const { point: base } = reader.place;
    await this.#ledger.startRestore();
    if (base.height > 0) await this.#ledger.startAt(base);
    return base;
  }

  async #addAfter(reader: BackupReader, head: ChainPoint): Promise<void> {
    const { progress } = this.#options;
    let isMarked = false;
    this.#compare(reader.place.point, head);
    for await (const blocks of reader.readBlocks()) {
      for (const block of blocks) this.#compare(block, head);
      const missing = blocks.filter(({ height }) => height > head.height);
      if (missing.length > 0 && !isMarked) {
        await this.#ledger.startRestore();
        isMarked = true;
      }
      await this.#append(missing);
      const { height } = reader.place.point;
      progress('restoring', height, height / this.#backup.end.height);
    }
  }

  async #append(blocks: readonly StoredBlock[]): Promise<void> {
    if (blocks.length > 0) await this.#ledger.append(blocks);
  }

  /** Throws if the folder's last block differs from the backup's block of that height. */
  #compare(point: ChainPoint, head: ChainPoint): void {
    if (point.height === head.height && !point.hash.equals(head.hash)) throw this.#conflict(head);
  }

  #conflict({ height }: ChainPoint): LedgerError {
    const { data, file } = this.#options;
    const { description, end } = this.#backup;
    const message =
      `the ledger in ${data} is at block ${height}, which is not the same in ${file} with its blocks ` +
      `${description.base.height + 1} to ${end.height}: expected an empty folder or an earlier restore`;
    return new LedgerError('conflict', message);
  }

  /** Reads the folder's blocks back, replays them, and compares head and digest with the backup's. */
  async check(): Promise<StateView> {
    const { data, warn, progress } = this.#options;
    const { end } = this.#backup;
    const { head, digest, state } = await verifyLedger({
      ledger: this.#ledger,
      snapshots: this.#snapshots,
      warn,
      progress: (height, target) => progress('reading the ledger back', height, height / target),
    });
    const isSame = head.hash.toString('hex') === end.head && digest === end.digest;
    if (isSame && state !== undefined) return state;
    const message =
      `the ledger in ${data} differs from the backup at height ${end.height}: got the head ` +
      `${head.hash.toString('hex')} and the digest ${digest}, expected ${end.head} and ${end.digest}`;
    throw new LedgerError('corrupt', message);
  }

  /** Saves the state, so that the next start is fast. A failure is only a warning. */
  async saveSnapshot(state: StateView): Promise<void> {
    if (state.height === 0) return;
    const { end } = this.#backup;
    try {
      await this.#snapshots.save(state, Buffer.from(end.head, 'hex'));
    } catch (error) {
      this.#options.warn(
        `the snapshot of height ${state.height} was not saved: ${(error as Error).message}`,
      );
    }
  }
}

/**
 * Adds the keys of the backup, unless the folder already has keys: the backup may contain keys that
 * were revoked after it was made.
 */
async function addKeys(data: string, keys: BackedUpKeys): Promise<number | undefined> {
  if (keys.length === 0) return 0;
  const store = await openEmbeddedKeys(data);
  try {
    const present = await store.list();
    if (present.length > 0) return undefined;
    store.restore(keys);
    return keys.length;
  } finally {
    await store.close();
  }
}
