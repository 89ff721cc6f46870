/**
 * Snapshots in files: a cache of the state at some heights, so that a start does not replay the
 * whole ledger. Snapshots may be deleted at any time, and a damaged snapshot is never used.
 *
 *   8 bytes    "perpsnap"
 *   32 bytes   SHA-256 over everything after it
 *   32 bytes   the chain's hash at the snapshot's height
 *   u32        length of the description in bytes, little-endian
 *   the description, then the tables (state/snapshot/snapshot.ts)
 */

import { createHash, type Hash, randomUUID } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { type FileHandle, open, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describeDiskFailure } from '../ledger/embedded/disk-failure.ts';
import { syncFolder, writeAll } from '../ledger/embedded/durable-file.ts';
import { makeFolder } from '../ledger/embedded/folder.ts';
import { Presence } from '../ledger/embedded/presence.ts';
import { HASH_BYTES } from '../ledger/hash-chain.ts';
import type { ChainPoint } from '../ledger/ledger.ts';
import {
  allocateTables,
  decodeDescription,
  decodeState,
  type EncodedSnapshot,
  encodeSnapshot,
  tableByteLength,
} from '../state/snapshot/snapshot.ts';
import type { State, StateView } from '../state/state.ts';

const MAGIC = Buffer.from('perpsnap');
const CHECKSUM_OFFSET = MAGIC.length;
const BODY_OFFSET = CHECKSUM_OFFSET + HASH_BYTES;
const HEAD_BYTES = BODY_OFFSET + HASH_BYTES + 4;
/**
 * The number of bytes of one read. It is large, because another thread does each read, and waking
 * that thread is expensive.
 */
const READ_BYTES = 4 << 20;
const HEIGHT_DIGITS = 16;
const FILE_NAME = /^(\d{16})\.snapshot$/;
const DRAFT_NAME = /\.(draft|fetched)$/;
/** A draft that has not been written to for this long is abandoned. */
const DRAFT_IDLE_MS = 60_000;

export interface LoadedSnapshot {
  readonly state: State;
  readonly point: ChainPoint;
}

/** The source that the bytes of a snapshot are read from. */
export interface SnapshotSource {
  readonly size: number;
  /** Fills the array with the next bytes; throws if the source ends. */
  fill(bytes: Uint8Array): Promise<void>;
}

export class SnapshotFolder {
  readonly #parent: string;
  readonly #folder: string;

  constructor(dataDirectory: string) {
    this.#parent = dataDirectory;
    this.#folder = path.join(dataDirectory, 'snapshots');
  }

  /** Returns the heights of the snapshots, ascending. */
  heights(): number[] {
    if (!existsSync(this.#folder)) return [];
    const names = readdirSync(this.#folder).map((name) => FILE_NAME.exec(name)?.[1]);
    return names
      .filter((digits) => digits !== undefined)
      .map(Number)
      .sort((a, b) => a - b);
  }

  pathOf(height: number): string {
    const digits = String(height).padStart(HEIGHT_DIGITS, '0');
    return path.join(this.#folder, `${digits}.snapshot`);
  }

  /**
   * Saves the state as of this call; blocks may be applied during the save. Saves must not overlap.
   * The file appears complete or not at all.
   */
  async save(
    state: StateView,
    chainHash: Buffer,
    worked?: (seconds: number) => void,
  ): Promise<void> {
    const target = this.pathOf(state.height);
    const startedMs = performance.now();
    const snapshot = encodeSnapshot(state);
    worked?.((performance.now() - startedMs) / 1000);
    try {
      await this.#write(target, 'draft', (draft) =>
        writeDraft(draft, snapshot, { chainHash, worked }),
      );
    } finally {
      snapshot.release();
    }
  }

  /** Saves the bytes of a fetched snapshot without checks: `load` checks them. */
  async receive(height: number, chunks: AsyncIterable<Uint8Array>): Promise<void> {
    await this.#write(this.pathOf(height), 'fetched', (draft) =>
      writeFile(draft, chunks, { flush: true }),
    );
  }

  /** Writes a draft and renames it; a failed draft is removed. */
  async #write(
    target: string,
    ending: 'draft' | 'fetched',
    write: (draft: string) => Promise<void>,
  ): Promise<void> {
    const draft = `${target}.${randomUUID()}.${ending}`;
    try {
      await makeFolder(this.#folder);
      await this.#removeDrafts();
      await write(draft);
      await rename(draft, target);
      await syncFolder(this.#folder);
    } catch (error) {
      await rm(draft, { force: true }).catch(() => undefined);
      throw new Error(describeDiskFailure(error as Error, this.#folder), { cause: error });
    }
  }

  /** Registers this process as a user of the folder. The earliest process saves the snapshots. */
  async enter(): Promise<Presence> {
    await makeFolder(this.#folder);
    return Presence.enter(this.#folder);
  }

  /**
   * Returns the snapshot of a height; throws if the file is damaged. Returns undefined if the file
   * does not exist, because snapshots may be deleted at any time.
   */
  async load(height: number): Promise<LoadedSnapshot | undefined> {
    const file = await openIfExists(this.pathOf(height));
    if (file === undefined) return undefined;
    try {
      const { size } = await file.stat();
      const snapshot = await readSnapshot({ size, fill: (bytes) => fill(file, bytes) });
      if (snapshot.state.height === height) return snapshot;
      throw new Error(`it holds the state of height ${snapshot.state.height}`);
    } finally {
      await file.close();
    }
  }

  /** Deletes snapshots ahead of the ledger's head, because they belong to another ledger. */
  async dropAhead(headHeight: number): Promise<void> {
    await this.remove(this.heights().filter((height) => height > headHeight));
  }

  async remove(heights: readonly number[]): Promise<void> {
    for (const height of heights) await rm(this.pathOf(height), { force: true });
  }

  /** Deletes all snapshots except the newest `count`, and abandoned drafts. */
  async keepNewest(count: number): Promise<void> {
    const heights = this.heights();
    await this.remove(heights.slice(0, Math.max(0, heights.length - count)));
    await this.#removeDrafts();
  }

  /**
   * True if the data directory belongs to the user of this process. Another owner could not read a
   * new file.
   */
  isOurs(): boolean {
    const owner = statSync(this.#parent, { throwIfNoEntry: false })?.uid;
    return owner === undefined || owner === process.getuid?.();
  }

  /** True if a process is writing a snapshot, or has just written one. */
  async isWritten(): Promise<boolean> {
    const names = existsSync(this.#folder) ? readdirSync(this.#folder) : [];
    for (const name of names) {
      if (!FILE_NAME.test(name) && !DRAFT_NAME.test(name)) continue;
      if (await this.#isFresh(name)) return true;
    }
    return false;
  }

  async #isFresh(name: string): Promise<boolean> {
    const written = await stat(path.join(this.#folder, name)).catch(() => undefined);
    return written !== undefined && Date.now() - written.mtimeMs <= DRAFT_IDLE_MS;
  }

  /** Deletes abandoned drafts only: other processes may be writing their drafts. */
  async #removeDrafts(): Promise<void> {
    for (const name of existsSync(this.#folder) ? readdirSync(this.#folder) : []) {
      if (!DRAFT_NAME.test(name)) continue;
      const file = path.join(this.#folder, name);
      const written = await stat(file).catch(() => undefined);
      const isLeft = written !== undefined && Date.now() - written.mtimeMs > DRAFT_IDLE_MS;
      if (isLeft) await rm(file, { force: true });
    }
  }
}

async function openIfExists(file: string): Promise<FileHandle | undefined> {
  try {
    return await open(file, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The terms of writing a snapshot. */
interface WriteTerms {
  readonly chainHash: Buffer;
  /** Called after each piece of work, with its duration. */
  readonly worked: ((seconds: number) => void) | undefined;
}

async function writeDraft(
  draft: string,
  snapshot: EncodedSnapshot,
  terms: WriteTerms,
): Promise<void> {
  const file = await open(draft, 'w');
  try {
    await writeSnapshot(file, snapshot, terms);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function writeSnapshot(
  file: FileHandle,
  { description, tables }: EncodedSnapshot,
  { chainHash, worked }: WriteTerms,
): Promise<void> {
  const descriptionLength = Buffer.alloc(4);
  descriptionLength.writeUInt32LE(description.length);
  const checksum = createHash('sha256');
  let offset = BODY_OFFSET;
  const parts = chain([chainHash, descriptionLength, description], tables);
  for (let startedMs = performance.now(); ; startedMs = performance.now()) {
    // Asking for the next part copies a piece of a table, so this step counts as work.
    const { value: part, done } = parts.next();
    if (done === true) break;
    checksum.update(part);
    worked?.((performance.now() - startedMs) / 1000);
    await writeAll(file, part, offset);
    offset += part.length;
  }
  await writeAll(file, MAGIC, 0);
  await writeAll(file, checksum.digest(), CHECKSUM_OFFSET);
}

function* chain<T>(...lists: readonly Iterable<T>[]): Generator<T, undefined> {
  for (const list of lists) yield* list;
}

function* piecesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += READ_BYTES) {
    yield bytes.subarray(start, start + READ_BYTES);
  }
}

/** Fills the bytes from the file; throws at the end of the file. */
async function fill(file: FileHandle, bytes: Uint8Array): Promise<void> {
  for (let filled = 0; filled < bytes.length; ) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, null);
    if (bytesRead === 0) throw new Error('it is truncated');
    filled += bytesRead;
  }
}

/** Fills the parts in order. While one piece is hashed, the next piece is read. */
async function readInto(
  source: SnapshotSource,
  parts: readonly Uint8Array[],
  checksum: Hash,
): Promise<void> {
  let filled: Uint8Array = new Uint8Array(0);
  for (const part of parts) {
    for (const piece of piecesOf(part)) {
      const reading = source.fill(piece);
      checksum.update(filled);
      await reading;
      filled = piece;
    }
  }
  checksum.update(filled);
}

export async function readSnapshot(source: SnapshotSource): Promise<LoadedSnapshot> {
  const { size } = source;
  const head = Buffer.alloc(HEAD_BYTES);
  await source.fill(head);
  if (!head.subarray(0, CHECKSUM_OFFSET).equals(MAGIC)) throw new Error('it is not a snapshot');
  const checksum = createHash('sha256').update(head.subarray(BODY_OFFSET));
  const descriptionBytes = head.readUInt32LE(HEAD_BYTES - 4);
  if (descriptionBytes > size) throw new Error('its description is longer than the file');
  const descriptionText = Buffer.alloc(descriptionBytes);
  await readInto(source, [descriptionText], checksum);
  const description = decodeDescription(descriptionText);
  // The checksum is verified last. So the sizes are checked before a damaged description allocates
  // too much memory.
  if (HEAD_BYTES + descriptionBytes + tableByteLength(description) !== size) {
    throw new Error('its size does not match its description');
  }
  const { tables, targets } = allocateTables(description);
  await readInto(source, targets, checksum);
  const stored = head.subarray(CHECKSUM_OFFSET, BODY_OFFSET);
  if (!checksum.digest().equals(stored)) throw new Error('its bytes do not match its checksum');
  const hash = Buffer.from(head.subarray(BODY_OFFSET, BODY_OFFSET + HASH_BYTES));
  const state = decodeState(description, tables);
  return { state, point: { height: state.height, hash } };
}
