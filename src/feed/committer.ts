/**
 * Stores blocks in batches: whatever has gathered while one batch is made durable is the next one.
 * A slow disk therefore means larger batches, not a longer queue of small ones.
 */

import type { LedgerWriter, StoredBlock } from '../ledger/ledger.ts';

export class Committer {
  readonly #ledger: LedgerWriter;
  readonly #durable: (height: number) => void;
  #gathered: StoredBlock[] = [];
  #gatheredBytes = 0;
  #storing: Promise<void> | undefined;
  #failure: Error | undefined;
  /** Rejects whoever waits for something else than the store. */
  #interrupt: (failure: Error) => void = () => undefined;

  /** `durable` is called with the last height of each batch, once it would survive a power cut. */
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

  /** Begins to store what was gathered, unless a batch is on its way: then it comes after that. */
  start(): void {
    if (this.#storing !== undefined || this.#gathered.length === 0) return;
    this.#storing = this.#storeAll();
    // `settle` throws it too; until somebody calls that, it must not count as unhandled.
    this.#storing.catch((failure: Error) => {
      this.#failure = failure;
      this.#interrupt(failure);
    });
  }

  /**
   * Waits for something else while batches are stored, one thing at a time: a batch that fails ends
   * the wait at once, since nothing that is gathered after it can be stored.
   */
  unlessFailed<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#interrupt = reject;
      work.then(resolve, reject);
      if (this.#failure !== undefined) reject(this.#failure);
    });
  }

  /** Waits until all that was gathered is durable. */
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
