/**
 * Group commit: the blocks that are gathered while one batch is stored are the next batch. A slow
 * disk therefore means larger batches, not a longer queue of small ones.
 */

import type { LedgerWriter, StoredBlock } from '../ledger/ledger.ts';

export class Committer {
  readonly #ledger: LedgerWriter;
  readonly #durable: (height: number) => void;
  #gathered: StoredBlock[] = [];
  #gatheredBytes = 0;
  #storing: Promise<void> | undefined;
  #failure: Error | undefined;
  /** Rejects the promise of `unlessFailed`. */
  #interrupt: (failure: Error) => void = () => undefined;

  /** `durable` is called with the last height of each batch once it is durable. */
  constructor(ledger: LedgerWriter, durable: (height: number) => void) {
    this.#ledger = ledger;
    this.#durable = durable;
  }

  get gatheredBytes(): number {
    return this.#gatheredBytes;
  }

  gather(block: StoredBlock): void {
    this.#gathered.push(block);
    this.#gatheredBytes += block.line.length;
  }

  /** Stores the gathered blocks in the background, after the batch in flight. */
  start(): void {
    if (this.#storing !== undefined || this.#gathered.length === 0) return;
    this.#storing = this.#storeAll();
    // Handled here too, since `settle` may not be called before it rejects.
    this.#storing.catch((failure: Error) => {
      this.#failure = failure;
      this.#interrupt(failure);
    });
  }

  /**
   * Waits for `work`, one call at a time. Rejects as soon as a batch fails, since nothing that
   * `work` gives could be stored after it.
   */
  unlessFailed<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#interrupt = reject;
      work.then(resolve, reject);
      if (this.#failure !== undefined) reject(this.#failure);
    });
  }

  /** Resolves when all gathered blocks are durable. */
  async settle(): Promise<void> {
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
    const batch = this.#gathered;
    this.#gathered = [];
    this.#gatheredBytes = 0;
    return batch;
  }
}
