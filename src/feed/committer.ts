/**
 * Group commit: blocks that arrive while one batch is being stored form the next batch. So a slow
 * disk leads to larger batches, not to a longer queue of small batches.
 */

import type { LedgerWriter, StoredBlock } from '../ledger/ledger.ts';

export class Committer {
  readonly #ledger: Pick<LedgerWriter, 'append'>;
  readonly #durable: (height: number) => void;
  #pending: StoredBlock[] = [];
  #pendingBytes = 0;
  #storing: Promise<void> | undefined;
  #failure: Error | undefined;
  /** Rejects the promise of `unlessFailed`. */
  #interrupt: (failure: Error) => void = () => undefined;

  /** `durable` is called with the last height of each batch once it is durable. */
  constructor(ledger: Pick<LedgerWriter, 'append'>, durable: (height: number) => void) {
    this.#ledger = ledger;
    this.#durable = durable;
  }

  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  add(block: StoredBlock): void {
    this.#pending.push(block);
    this.#pendingBytes += block.line.length;
  }

  /** Stores the pending blocks in the background, after the batch in flight. */
  start(): void {
    if (this.#storing !== undefined || this.#pending.length === 0) return;
    this.#storing = this.#storeAll();
    // The failure is also handled here, because the promise may reject before `flush` is called.
    this.#storing.catch((failure: Error) => {
      this.#failure = failure;
      this.#interrupt(failure);
    });
  }

  /** Waits for `work`, but rejects as soon as a batch fails. Calls must not overlap. */
  unlessFailed<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#interrupt = reject;
      work.then(resolve, reject);
      if (this.#failure !== undefined) reject(this.#failure);
    });
  }

  /** Resolves when all pending blocks are durable. */
  async flush(): Promise<void> {
    this.start();
    await this.#storing;
  }

  async #storeAll(): Promise<void> {
    for (let batch = this.#take(); batch.length > 0; batch = this.#take()) {
      await this.#ledger.append(batch);
      this.#durable(batch[batch.length - 1].height);
    }
    this.#storing = undefined;
  }

  #take(): StoredBlock[] {
    const batch = this.#pending;
    this.#pending = [];
    this.#pendingBytes = 0;
    return batch;
  }
}
