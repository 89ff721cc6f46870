/**
 * The database of keys on a simulated disk. A change is either durable when the call returns, or
 * not made.
 */

import type {
  KeyChanges,
  KeyRecord,
  KeyTableContents,
  KeyTables,
} from '../../../src/access/embedded/key-tables.ts';
import type { DiskFaults } from './disk-faults.ts';
import type { Kernel } from './kernel.ts';

interface Rows {
  readonly keys: Map<string, string>;
  contents: KeyTableContents | undefined;
}

/** The bytes of the database, which all processes of the machine share. */
export class SimulatedKeyFile implements KeyTables {
  readonly #kernel: Kernel;
  readonly #faults: DiskFaults;
  #rows: Rows = { keys: new Map(), contents: undefined };
  /** The changes so far of a transaction that is under way. */
  #draft: Rows | undefined;

  constructor(kernel: Kernel, faults: DiskFaults) {
    this.#kernel = kernel;
    this.#faults = faults;
  }

  get #seen(): Rows {
    if (this.#faults.failsReads()) this.#kernel.kill(this.#kernel.current); // SIGBUS.
    this.#kernel.requireRunning();
    return this.#draft ?? this.#rows;
  }

  refresh(): void {}

  readContents(): KeyTableContents | undefined {
    return this.#seen.contents;
  }

  readKey(id: string): unknown {
    return this.#seen.keys.get(id);
  }

  readKeys(): readonly KeyRecord[] {
    return [...this.#seen.keys].map(([id, value]) => ({ id, value })).sort(byId);
  }

  /** Throws nothing, because room for changes was reserved: they fit even on a full disk. */
  requireSpace(): void {}

  reserveSpace(): void {}

  transact<T>(change: (changes: KeyChanges) => T): T {
    this.#kernel.enterWrite();
    const draft: Rows = { keys: new Map(this.#rows.keys), contents: this.#rows.contents };
    this.#draft = draft;
    try {
      const result = change({
        putKey: (id, value) => draft.keys.set(id, value),
        removeKey: (id) => draft.keys.delete(id),
        putContents: (contents) => {
          draft.contents = contents;
        },
      });
      this.#kernel.enterWrite();
      this.#rows = draft;
      return result;
    } finally {
      this.#draft = undefined;
    }
  }

  async close(): Promise<void> {
    this.#kernel.requireRunning();
  }

  /**
   * Flips a bit of a stored key, and returns the key's id; returns undefined if there is no key.
   */
  flipBit(): string | undefined {
    const { random } = this.#kernel;
    if (this.#rows.keys.size === 0) return undefined;
    const [id, value] = random.pick([...this.#rows.keys]);
    const bytes = Buffer.from(value, 'latin1');
    bytes[random.below(bytes.length)] ^= 1 << random.below(8);
    const keys = new Map(this.#rows.keys).set(id, bytes.toString('latin1'));
    this.#rows = { keys, contents: this.#rows.contents };
    return id;
  }
}

function byId(a: KeyRecord, b: KeyRecord): number {
  return a.id < b.id ? -1 : 1;
}
