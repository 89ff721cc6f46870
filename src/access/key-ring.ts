/** The keys of a serving process by the hash of their secrets: a cache that polls the store. */

import type { KeyReader } from './key-store.ts';
import type { Key } from './keys.ts';

const REFRESH_MS = 20;
const SAVE_USE_MS = 5_000;
/** Delay before saving last uses again after a failure, which is logged each time. */
const RETRY_USE_MS = 60_000;

export interface RingOptions {
  /** Called when keys cannot be read; the cached ones stay in use. */
  warn(message: string): void;
  /** Called when last uses cannot be saved; nothing depends on them. */
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
  /** The time never goes back, even if this machine's clock is set back: an expired key stays expired. */
  #timeMs = Date.now();
  #steadyMs = performance.now();
  readonly #timers: NodeJS.Timeout[] = [];

  /** Throws if keys cannot be read: a service must not start without them. */
  constructor(reader: KeyReader, options: RingOptions) {
    this.#reader = reader;
    this.#options = options;
    this.#read();
    this.#timers.push(setInterval(() => this.#refresh(), REFRESH_MS));
    this.#timers.push(setInterval(() => void this.#saveUse(), SAVE_USE_MS));
  }

  /** The live key of a secret; counts as a use. Undefined if unknown, revoked or expired. */
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

  /** True if the secret has a live key; does not count as a use. */
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

  /** If a refresh fails, the cached keys stay. Each failure is logged once, not fifty times a second. */
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

  /** The uses are saved by the next attempt. */
  #postpone(used: ReadonlyMap<string, number>, { message }: Error): void {
    this.#pausedUntilMs = performance.now() + RETRY_USE_MS;
    this.#usedMsById = new Map([...used, ...this.#usedMsById]);
    this.#options.warnOfUse(`could not save when keys were last used: ${message}`);
  }
}
