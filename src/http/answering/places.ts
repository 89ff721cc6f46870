/** Places for what takes longer than a turn: so many in all, and a part of them for each key. */

import { KeyCounts } from '../../access/key-counts.ts';
import { RequestError } from '../../info/request-error.ts';

interface PlacesOptions {
  /** What takes a place, in the plural. */
  readonly what: string;
  readonly countMax: number;
  readonly keyCountMax: number;
}

const RETRY_AFTER_SECONDS = 1;

export class Places {
  readonly #options: PlacesOptions;
  readonly #countByKey = new KeyCounts();
  #count = 0;

  constructor(options: PlacesOptions) {
    this.#options = options;
  }

  /** Why the key gets no further place; undefined if it gets one. */
  findShortage(keyId: string): RequestError | undefined {
    const { what, countMax, keyCountMax } = this.#options;
    if (this.#countByKey.of(keyId) >= keyCountMax) {
      const message = `${what}: this key has ${keyCountMax} under way, the limit; wait for one of them`;
      return new RequestError('rate_limited', message, undefined, RETRY_AFTER_SECONDS);
    }
    if (this.#count < countMax) return undefined;
    const message = `${what}: ${countMax} are under way here, the limit for all keys; try again`;
    return new RequestError('overloaded', message, undefined, RETRY_AFTER_SECONDS);
  }

  take(keyId: string): void {
    this.#count++;
    this.#countByKey.change(keyId, 1);
  }

  release(keyId: string): void {
    this.#count--;
    this.#countByKey.change(keyId, -1);
  }
}
