/**
 * When keys were last used: in a separate file, so that serving processes never write to the keys.
 * Several processes write it, and each merges the file with its own uses. Of two concurrent writes one
 * is lost; the next write of that process repairs it.
 *
 *   {"4f1d22a0c9":1758556800000}
 */

import { readFile, rename, rm, writeFile } from 'node:fs/promises';

export class KeyUseFile {
  readonly #file: string;
  /** All uses in this process, so that a lost write is repaired by the next one. */
  readonly #known = new Map<string, number>();

  constructor(file: string) {
    this.#file = file;
  }

  /** Empty if the file is missing or unreadable. */
  async read(): Promise<Map<string, number>> {
    const text = await readFile(this.#file, 'utf8').catch(() => '{}');
    try {
      const entries = Object.entries(JSON.parse(text) as Record<string, unknown>);
      return new Map(entries.filter((entry): entry is [string, number] => isTime(entry[1])));
    } catch {
      return new Map();
    }
  }

  /** Drops keys that are not among `ids`: they were removed. */
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
