/**
 * When keys were last used: a file of its own beside them, so that whoever serves writes to nothing
 * that matters. Several processes write it, each the latest of what is there and what it knows; of two
 * at once one is lost, and whoever lost it finds out and writes again.
 *
 *   {"4f1d22a0c9":1758556800000}
 */

import { readFile, rename, rm, writeFile } from 'node:fs/promises';

export class KeyUseFile {
  readonly #file: string;
  /** What this process has been told, to be written again where it got lost. */
  readonly #known = new Map<string, number>();

  constructor(file: string) {
    this.#file = file;
  }

  /** Nothing where there is no such file, or none that can be understood. */
  async read(): Promise<Map<string, number>> {
    const text = await readFile(this.#file, 'utf8').catch(() => '{}');
    try {
      const entries = Object.entries(JSON.parse(text) as Record<string, unknown>);
      return new Map(entries.filter((entry): entry is [string, number] => isTime(entry[1])));
    } catch {
      return new Map();
    }
  }

  /** Keys that are not among `ids` are left out: they are gone. */
  async note(usedMsById: ReadonlyMap<string, number>, ids: ReadonlySet<string>): Promise<void> {
    for (const [id, usedMs] of usedMsById) this.#known.set(id, usedMs);
    const merged = await this.read();
    for (const [id, usedMs] of this.#known) {
      if ((merged.get(id) ?? 0) < usedMs) merged.set(id, usedMs);
    }
    const kept = [...merged].filter(([id]) => ids.has(id));
    await this.#write(JSON.stringify(Object.fromEntries(kept)));
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
