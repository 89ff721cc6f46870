/**
 * The keys of a serving process, by the hash of their secrets: a cache that polls the store of
 * keys.
 */

import type { KeyReader } from './key-store.ts';
import type { Key } from './keys.ts';

const REFRESH_MS = 20;
const SAVE_USE_MS = 5_000;
/** The delay before last uses are saved again after a failure. Each failure is logged. */
const RETRY_USE_MS = 60_000;

export interface RingOptions {
  /** Called when keys cannot be read. The cached keys stay in use. */
  warn(message: string): void;
  /** Called when the times of last use cannot be saved. Nothing depends on these times. */
  warnOfUse(message: string): void;
}

export class KeyRing {
  readonly #reader: KeyReader;
  readonly #options: RingOptions;
  #version = -1;
  #keyByHash = new Map<string, Key>();
  #usedMsById = new Map<string, number>();
  #saving: Promise<void> | undefined;
  #pausedUntilMs = 0;
  #readFailure = '';
  /**
   * This time never goes back, even if this machine's clock is set back, so an expired key stays
   * expired.
   */
  #timeMs = Date.now();
  #steadyMs = performance.now();
  readonly #timers: NodeJS.Timeout[] = [];

  /** Throws if keys cannot be read, because a service must not start without keys. */
  constructor(reader: KeyReader, options: RingOptions) {
    this.#reader = reader;
    this.#options = options;
    this.#read();
    this.#timers.push(setInterval(() => this.#refresh(), REFRESH_MS));
    this.#timers.push(setInterval(() => void this.#saveUse(), SAVE_USE_MS));
  }

  /**
   * Returns the live key that has a secret with this hash, and counts as a use of the key. Returns
   * undefined if the secret is unknown, or its key is revoked or expired.
   */
  find(secretHash: string, nowMs: number): Key | undefined {
    const key = this.#keyByHash.get(secretHash);
    if (key === undefined || this.#isExpired(key, nowMs)) return undefined;
    this.#usedMsById.set(key.id, nowMs);
    return key;
  }

  /** This number is different after every change. */
  get version(): number {
    return this.#version;
  }

  /**
   * True if a secret with this hash belongs to a live key. The call does not count as a use of the
   * key.
   */
  isLive(secretHash: string, nowMs: number): boolean {
    const key = this.#keyByHash.get(secretHash);
    return key !== undefined && !this.#isExpired(key, nowMs);
  }

  #isExpired({ expiresMs }: Key, nowMs: number): boolean {
    if (expiresMs === undefined) return false;
    this.#advanceTime();
    return Math.max(nowMs, this.#timeMs) >= expiresMs;
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.#saving;
    await this.#saveUse();
  }

  /**
   * Reads the keys again. If that fails, the cached keys stay in use. A repeated failure is logged
   * once, not fifty times a second.
   */
  #refresh(): void {
    try {
      this.#read();
      this.#readFailure = '';
    } catch (error) {
      const { message } = error as Error;
      if (message !== this.#readFailure)
        this.#options.warn(`keys could not be read, the cached ones stay in use: ${message}`);
      this.#readFailure = message;
    }
  }

  #advanceTime(): void {
    const steadyMs = performance.now();
    this.#timeMs = Math.max(Date.now(), this.#timeMs + steadyMs - this.#steadyMs);
    this.#steadyMs = steadyMs;
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

  async #saveUse(): Promise<void> {
    if (this.#saving !== undefined || this.#usedMsById.size === 0) return;
    if (performance.now() < this.#pausedUntilMs) return;
    const used = this.#usedMsById;
    this.#usedMsById = new Map();
    this.#saving = this.#reader.saveUse(used).catch((error: Error) => this.#postpone(used, error));
    await this.#saving;
    this.#saving = undefined;
  }

  /** Gives the times of last use to the next attempt to save them. */
  #postpone(used: ReadonlyMap<string, number>, { message }: Error): void {
    this.#pausedUntilMs = performance.now() + RETRY_USE_MS;
    this.#usedMsById = new Map([...used, ...this.#usedMsById]);
    this.#options.warnOfUse(`could not save when keys were last used: ${message}`);
  }
}
