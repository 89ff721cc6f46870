/**
 * The files of a simulated machine, with the faults of a real disk. When the power fails, bytes
 * that were not synced are lost, partly written or complete. The same holds for names until their
 * folder is synced.
 */

import path from 'node:path';
import type { DiskFaults } from './disk-faults.ts';
import type { Kernel } from './kernel.ts';

/** Files below this folder are simulated. */
export const SIMULATED_ROOT = '/simulated';

/** The maximum duration of a call on a disk without faults. */
const CALL_MS_MAX = 0.4;
/** The number of bytes that a short read or write transfers. */
const SHORT_BYTES = 64;

interface FileNode {
  bytes: Buffer;
  /** The bytes of the last sync. */
  synced: Buffer;
  modifiedMs: number;
  isDamaged?: true;
}

function systemError(code: string, what: string): Error {
  return Object.assign(new Error(`${code}: ${what}`), { code });
}

export class SimulatedFiles {
  readonly #kernel: Kernel;
  readonly #faults: DiskFaults;
  #folders = new Set([SIMULATED_ROOT]);
  /** The folders of the last sync of their parents. */
  #syncedFolders = new Set([SIMULATED_ROOT]);
  #names = new Map<string, FileNode>();
  /** The names of the last sync of their folders. */
  #syncedNames = new Map<string, FileNode>();

  constructor(kernel: Kernel, faults: DiskFaults) {
    this.#kernel = kernel;
    this.#faults = faults;
  }

  exists(name: string): boolean {
    return this.#names.has(name) || this.#folders.has(name);
  }

  isFolder(name: string): boolean {
    return this.#folders.has(name);
  }

  list(folder: string): string[] {
    if (!this.#folders.has(folder)) throw systemError('ENOENT', folder);
    return [...this.#names.keys()]
      .filter((name) => path.dirname(name) === folder)
      .map((name) => path.basename(name))
      .sort();
  }

  makeFolder(folder: string): void {
    if (this.#folders.has(folder)) throw systemError('EEXIST', folder);
    this.#kernel.enterWrite();
    this.#folders.add(folder);
  }

  get freeBytes(): number {
    return this.#faults.isFull ? 0 : 1 << 30;
  }

  /** Returns a file; returns undefined if there is no file with this name. */
  find(name: string): FileNode | undefined {
    return this.#names.get(name);
  }

  require(name: string): FileNode {
    const node = this.#names.get(name);
    if (node === undefined) throw systemError('ENOENT', name);
    return node;
  }

  create(name: string): FileNode {
    this.#kernel.enterWrite();
    if (!this.#folders.has(path.dirname(name))) throw systemError('ENOENT', name);
    if (this.#faults.hasNoInodes) throw systemError('ENOSPC', 'no space left on device');
    const none = Buffer.alloc(0);
    const node = { bytes: none, synced: none, modifiedMs: this.#kernel.clockMs };
    this.#names.set(name, node);
    return node;
  }

  rename(from: string, to: string): void {
    this.#kernel.enterWrite();
    this.#names.set(to, this.require(from));
    this.#names.delete(from);
  }

  remove(name: string): void {
    this.#kernel.enterWrite();
    this.#names.delete(name);
  }

  /** Writes bytes, and returns their number, which may be smaller than requested. */
  write(node: FileNode, bytes: Uint8Array, position: number): number {
    this.#kernel.enterWrite();
    if (this.#faults.isFull) throw systemError('ENOSPC', 'no space left on device');
    const count = this.#faults.isShort() ? Math.min(SHORT_BYTES, bytes.length) : bytes.length;
    const end = Math.max(node.bytes.length, position + count);
    const grown = Buffer.alloc(end);
    node.bytes.copy(grown);
    grown.set(bytes.subarray(0, count), position);
    node.bytes = grown;
    node.modifiedMs = this.#kernel.clockMs;
    return count;
  }

  /** Reads bytes, and returns their number, which may be smaller than requested. */
  read(node: FileNode, target: Uint8Array, position: number): number {
    if (this.#faults.failsReads()) throw systemError('EIO', 'i/o error, read');
    const rest = node.bytes.subarray(position, position + target.length);
    const count = this.#faults.isShort() ? Math.min(SHORT_BYTES, rest.length) : rest.length;
    target.set(rest.subarray(0, count));
    return count;
  }

  sync(node: FileNode): void {
    this.#kernel.enterWrite();
    if (this.#faults.isFull) throw systemError('ENOSPC', 'no space left on device');
    node.synced = node.bytes;
  }

  syncFolder(folder: string): void {
    this.#kernel.enterWrite();
    const isInside = (name: string) => path.dirname(name) === folder;
    for (const name of this.#syncedNames.keys()) {
      if (isInside(name) && !this.#names.has(name)) this.#syncedNames.delete(name);
    }
    for (const [name, node] of this.#names) if (isInside(name)) this.#syncedNames.set(name, node);
    for (const name of this.#folders) if (isInside(name)) this.#syncedFolders.add(name);
  }

  /** Resolves after the duration of a call on this disk. */
  async delay(): Promise<void> {
    this.#kernel.requireRunning();
    const delayMs = this.#kernel.random.between(0, CALL_MS_MAX) + this.#faults.slowMs();
    await new Promise<void>((resolve) => this.#kernel.schedule(delayMs, resolve));
  }

  /** Cuts the power. Data that was not synced is lost, partly written or complete, at random. */
  cutPower(): void {
    const { random } = this.#kernel;
    this.#cutFolders();
    const names = new Set([...this.#names.keys(), ...this.#syncedNames.keys()]);
    const left = new Map<string, FileNode>();
    for (const name of names) {
      const isKept = random.chance(0.5);
      const node = (isKept ? this.#names : this.#syncedNames).get(name);
      if (node !== undefined && this.#folders.has(path.dirname(name))) left.set(name, node);
    }
    for (const node of new Set(left.values())) {
      node.bytes = this.#tear(node);
      node.synced = node.bytes;
    }
    this.#names = left;
    this.#syncedNames = new Map(left);
  }

  /** Cuts the power for folders. If a folder is lost, everything in it is lost. */
  #cutFolders(): void {
    const { random } = this.#kernel;
    const left = new Set([SIMULATED_ROOT]);
    // The folders are in the order of their creation, so a parent comes before its content.
    for (const name of this.#folders) {
      const isKept = this.#syncedFolders.has(name) || random.chance(0.5);
      if (isKept && left.has(path.dirname(name))) left.add(name);
    }
    this.#folders = left;
    this.#syncedFolders = new Set(left);
  }

  #tear({ bytes, synced }: FileNode): Buffer {
    const { random } = this.#kernel;
    if (bytes === synced || random.chance(0.3)) return bytes;
    if (random.chance(0.4)) return synced;
    if (random.chance(0.5)) return bytes.subarray(0, random.below(bytes.length + 1));
    // The size was written, but some of the bytes were not.
    const torn = Buffer.from(bytes);
    const start = random.below(torn.length + 1);
    torn.fill(0, start, start + random.below(torn.length - start + 1));
    return torn;
  }

  /**
   * Flips a bit of a file whose name matches, or of the file with the last of these names; returns
   * false if there is no such file.
   */
  flipBit(pattern: RegExp, { isNewest = false } = {}): boolean {
    const { random } = this.#kernel;
    const nodes = [...this.#names].filter(
      ([name, node]) => pattern.test(name) && node.bytes.length,
    );
    if (nodes.length === 0) return false;
    const byName = nodes.toSorted(([a], [b]) => (a < b ? -1 : 1));
    const [, node] = isNewest ? byName[byName.length - 1] : random.pick(nodes);
    const flipped = Buffer.from(node.bytes);
    flipped[random.below(flipped.length)] ^= 1 << random.below(8);
    node.bytes = flipped;
    node.synced = flipped;
    node.isDamaged = true;
    return true;
  }

  /** True if a file with a matching name has no flipped bit. */
  hasIntact(pattern: RegExp): boolean {
    return [...this.#names].some(([name, node]) => pattern.test(name) && !node.isDamaged);
  }
}
