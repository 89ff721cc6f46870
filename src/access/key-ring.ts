/** The keys of a serving process by the hash of their secrets: a cache that polls the store. */

import type { KeyReader } from './key-store.ts';
import type { Key } from './keys.ts';

const REFRESH_MS = 20;
const NOTE_USE_MS = 5_000;
/** After a failure, how long until last uses are saved again; it is logged once in that time. */
const PAUSE_MS = 60_000;

export interface RingOptions {
  /** Keys cannot be read; answering goes on with the cached ones. */
  warn(message: string): void;
  /** Last uses could not be saved; nothing depends on them. */
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

  /** Throws where keys cannot be read: a start must not hide it. */
  constructor(reader: KeyReader, options: RingOptions) {
    this.#reader = reader;
    this.#options = options;
    this.#read();
    this.#timers.push(setInterval(() => this.#refresh(), REFRESH_MS));
    this.#timers.push(setInterval(() => void this.#noteUse(), NOTE_USE_MS));
  }

  /** The key of a secret, and counts as a use; undefined if unknown, revoked or expired. */
  find(secretHash: string, nowMs: number): Key | undefined {
    if (!this.isLive(secretHash, nowMs)) return undefined;
    const key = this.#keyByHash.get(secretHash);
    if (key !== undefined) this.#usedMsById.set(key.id, nowMs);
    return key;
  }

  /** Whether the secret's key is valid; does not count as a use. */
  isLive(secretHash: string, nowMs: number): boolean {
    const key = this.#keyByHash.get(secretHash);
    return key !== undefined && (key.expiresMs === undefined || nowMs < key.expiresMs);
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#noting;
    await this.#noteUse();
  }

  /** On failure the cached keys stay. Each failure is logged once, not fifty times a second. */
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
    this.#noting = this.#reader.noteUse(used).catch((error: Error) => this.#postpone(used, error));
    await this.#noting;
    this.#noting = undefined;
  }

  /** Keeps the uses for the next attempt. */
  #postpone(used: ReadonlyMap<string, number>, { message }: Error): void {
    this.#pausedUntilMs = performance.now() + PAUSE_MS;
    this.#usedMsById = new Map([...used, ...this.#usedMsById]);
    this.#options.warnOfUse(`when keys were last used could not be noted: ${message}`);
  }
}
