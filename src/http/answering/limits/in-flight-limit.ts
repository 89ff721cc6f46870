/** Limits how many requests of one kind are in flight: in total, and for each key. */

import { KeyCounts } from '../../../access/key-counts.ts';
import { RequestError } from '../../../info/request-error.ts';

interface InFlightLimitOptions {
  /** The kind of request, in the plural, for error messages. */
  readonly what: string;
  readonly countMax: number;
  readonly keyCountMax: number;
}

const RETRY_AFTER_SECONDS = 1;

export class InFlightLimit {
  readonly #options: InFlightLimitOptions;
  readonly #countByKey = new KeyCounts();
  #count = 0;

  constructor(options: InFlightLimitOptions) {
    this.#options = options;
  }

  /**
   * Returns the refusal of one more request of the key; returns undefined if the request may start.
   */
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
