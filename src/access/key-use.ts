/**
 * The times when keys were last used. They are in a separate file, so that serving processes never
 * write to the keys. Several processes write this file, and each process merges the file with its
 * own times. Of two concurrent writes, one is lost; the next write of the same process repairs the
 * loss.
 *
 *   {"4f1d22a0c9":1758556800000}
 */

import { readFile, rename, rm, writeFile } from 'node:fs/promises';

export class KeyUseFile {
  readonly #file: string;
  /** All times of this process, so that its next write repairs a lost write. */
  readonly #known = new Map<string, number>();

  constructor(file: string) {
    this.#file = file;
  }

  /** Returns the times by key; returns an empty map if the file is missing or unreadable. */
  async read(): Promise<Map<string, number>> {
    const text = await readFile(this.#file, 'utf8').catch(() => '{}');
    try {
      const entries = Object.entries(JSON.parse(text) as Record<string, unknown>);
      return new Map(entries.filter((entry): entry is [string, number] => isTime(entry[1])));
    } catch {
      return new Map();
    }
  }

  /**
   * Merges times into the file. Keys that are not among `ids` were removed, so their times are
   * dropped.
   */
  async save(usedMsById: ReadonlyMap<string, number>, ids: ReadonlySet<string>): Promise<void> {
    for (const [id, usedMs] of usedMsById) this.#known.set(id, usedMs);
    const merged = await this.read();
    for (const [id, usedMs] of this.#known) {
      if ((merged.get(id) ?? 0) < usedMs) merged.set(id, usedMs);
    }
    const known = [...merged].filter(([id]) => ids.has(id));
    await this.#write(JSON.stringify(Object.fromEntries(known)));
  }

  async #write(text: string): Promise<void> {
    const draft = `${this.#file}.${process.pid}.draft`;
    try {
      await writeFile(draft, text);
      await rename(draft, this.#file);
    } catch (error) {
      await rm(draft, { force: true }).catch(() => undefined);
      const { code } = error as NodeJS.ErrnoException;
      throw new Error(`cannot write ${this.#file} (${code})`, { cause: error });
    }
  }
}

function isTime(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value);
}
