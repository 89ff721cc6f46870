/**
 * Which accounts and addresses blocks have changed, for whoever pushes states: only subscriptions to
 * these are checked. Nothing is noted unless somebody watches.
 */

/** Rows; one may occur several times. */
export interface Changes {
  readonly accounts: readonly number[];
  /** Addresses with a new account, or other delegations. */
  readonly addresses: readonly number[];
}

const NONE: Changes = { accounts: [], addresses: [] };

export class ChangeLog {
  #isWatched = false;
  #accounts: number[] = [];
  #addresses: number[] = [];
  /** How many of each are of blocks that were committed. */
  #accountsCommitted = 0;
  #addressesCommitted = 0;

  /** From now on changes are noted, or no longer; `take` must be called regularly meanwhile. */
  watch(isWatched: boolean): void {
    this.#isWatched = isWatched;
    if (!isWatched) this.#clear();
  }

  noteAccount(row: number): void {
    if (this.#isWatched) this.#accounts.push(row);
  }

  noteAddress(row: number): void {
    if (this.#isWatched) this.#addresses.push(row);
  }

  /** The changes of whole blocks since the last call. */
  take(): Changes {
    if (this.#accountsCommitted === 0 && this.#addressesCommitted === 0) return NONE;
    const accounts = this.#accounts.splice(0, this.#accountsCommitted);
    const addresses = this.#addresses.splice(0, this.#addressesCommitted);
    this.#accountsCommitted = 0;
    this.#addressesCommitted = 0;
    return { accounts, addresses };
  }

  #clear(): void {
    this.#accounts = [];
    this.#addresses = [];
    this.commit();
  }

  commit(): void {
    this.#accountsCommitted = this.#accounts.length;
    this.#addressesCommitted = this.#addresses.length;
  }

  rollback(): void {
    this.#accounts.length = this.#accountsCommitted;
    this.#addresses.length = this.#addressesCommitted;
  }
}
