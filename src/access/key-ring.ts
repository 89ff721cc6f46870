/** The keys of a serving process, by the hash of their secrets: the store's, REFRESH_MS later. */

import type { Key, KeyReader } from './keys.ts';

const REFRESH_MS = 20;
const NOTE_USE_MS = 5_000;
/** After a failure nothing is noted for so long, and it is said once in that time. */
const PAUSE_MS = 60_000;

export interface RingOptions {
  /** Keys cannot be read just now; answering goes on with those known. */
  warn(message: string): void;
  /** When keys were last used could not be noted: a convenience is lost. */
  warnOfUse(message: string): void;
}

export class KeyRing {
  readonly #reader: KeyReader;
  readonly #options: RingOptions;
  #version = -1;
  #keyByHash = new Map<string, Key>();
  #usedMsById = new Map<string, number>();
  #noting: Promise<void> | undefined;
  #pausedUntilMs = 0;
  #readFailure = '';
  readonly #timers: NodeJS.Timeout[] = [];

  /** Throws where keys cannot be read: a start is the time to say so. */
  constructor(reader: KeyReader, options: RingOptions) {
    this.#reader = reader;
    this.#options = options;
    this.#read();
    this.#timers.push(setInterval(() => this.#refresh(), REFRESH_MS));
    this.#timers.push(setInterval(() => void this.#noteUse(), NOTE_USE_MS));
  }

  /** The key that a secret of this hash opens; undefined where there is none, or no longer. */
  find(secretHash: string, nowMs: number): Key | undefined {
    if (!this.isLive(secretHash, nowMs)) return undefined;
    const key = this.#keyByHash.get(secretHash);
    if (key !== undefined) this.#usedMsById.set(key.id, nowMs);
    return key;
  }

  /** Whether a secret of this hash opens a key; that is no use of the key. */
  isLive(secretHash: string, nowMs: number): boolean {
    const key = this.#keyByHash.get(secretHash);
    return key !== undefined && (key.expiresMs === undefined || nowMs < key.expiresMs);
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#noting;
    await this.#noteUse();
  }

  /** Keys that cannot be read stay as they were. Each failure is told once, not fifty times a second. */
  #refresh(): void {
    try {
      this.#read();
      this.#readFailure = '';
    } catch (error) {
      const { message } = error as Error;
      if (message !== this.#readFailure) this.#options.warn(`keys stay as they were: ${message}`);
      this.#readFailure = message;
    }
  }

  #read(): void {
    const version = this.#reader.version();
    if (version === this.#version) return;
    const keys = this.#reader.all();
    for (const fault of this.#reader.faults) this.#options.warn(fault);
    this.#keyByHash = new Map(
      keys.flatMap((key) => key.secrets.map(({ hash }) => [hash, key] as const)),
    );
    this.#version = version;
  }

  async #noteUse(): Promise<void> {
    if (this.#noting !== undefined || this.#usedMsById.size === 0) return;
    if (performance.now() < this.#pausedUntilMs) return;
    const used = this.#usedMsById;
    this.#usedMsById = new Map();
    this.#noting = this.#reader.noteUse(used).catch((error: Error) => this.#keepFor(used, error));
    await this.#noting;
    this.#noting = undefined;
  }

  /** When keys were used is a convenience: it is tried again later, and answering goes on. */
  #keepFor(used: ReadonlyMap<string, number>, { message }: Error): void {
    this.#pausedUntilMs = performance.now() + PAUSE_MS;
    this.#usedMsById = new Map([...used, ...this.#usedMsById]);
    this.#options.warnOfUse(`when keys were last used could not be noted: ${message}`);
  }
}
