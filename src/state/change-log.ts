/**
 * Notes which accounts and addresses the last blocks have changed. Push checks only the
 * subscriptions to these accounts and addresses. Nothing is noted until push has subscriptions.
 */

/** Rows of accounts and of addresses. The same row may occur several times. */
export interface Changes {
  readonly accounts: readonly number[];
  /** Addresses that have a new account, or whose delegations have changed. */
  readonly addresses: readonly number[];
}

const NONE: Changes = { accounts: [], addresses: [] };

export class ChangeLog {
  #isWatched = false;
  #accounts: number[] = [];
  #addresses: number[] = [];
  /** The number of accounts and addresses that belong to committed blocks. */
  #accountsCommitted = 0;
  #addressesCommitted = 0;

  /** Starts or stops noting changes. While changes are noted, `take` must be called regularly. */
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

  /** Removes and returns the changes of committed blocks since the last call. */
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
