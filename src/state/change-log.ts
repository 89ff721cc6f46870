/**
 * Which accounts and addresses blocks have changed, for whoever pushes states: only subscriptions to
 * these are looked at. Nothing is noted unless somebody watches.
 */

/** Rows, each at most once a block. */
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

  /** The changes since the last call, between two blocks. */
  take(): Changes {
    if (this.#accounts.length === 0 && this.#addresses.length === 0) return NONE;
    const changes = { accounts: this.#accounts, addresses: this.#addresses };
    this.#clear();
    return changes;
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
