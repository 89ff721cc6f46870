/** Compares the events of a run with the guarantees, and stores the first violation. */

import type { Kernel } from '../system/kernel.ts';
import type { TrueBlock, Truth } from './truth.ts';

export class Judge {
  readonly #kernel: Kernel;
  readonly #truth: Truth;
  readonly #acknowledged = new Map<number, TrueBlock>();
  #violation: string | undefined;
  /** The number of events by kind, for the report. */
  readonly counts = new Map<string, number>();

  constructor(kernel: Kernel, truth: Truth) {
    this.#kernel = kernel;
    this.#truth = truth;
  }

  get violation(): string | undefined {
    return this.#violation;
  }

  violate(what: string): void {
    this.#kernel.trace(`violation: ${what}`);
    this.#violation ??= `at ${this.#kernel.nowMs.toFixed(1)} ms: ${what}`;
  }

  count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  /** Called when a writer has acknowledged a block as durable. */
  acknowledge(block: TrueBlock): void {
    this.#kernel.trace(`acknowledged ${block.height} ${block.hash.toString('hex')}`);
    this.count('blocks acknowledged');
    const earlier = this.#acknowledged.get(block.height);
    if (earlier !== undefined && earlier !== block) {
      this.violate(`two different blocks ${block.height} were acknowledged`);
    }
    this.#acknowledged.set(block.height, block);
  }

  get acknowledgedHeight(): number {
    return Math.max(0, ...this.#acknowledged.keys());
  }

  /** Returns the blocks from which an answer at a height may come. */
  possible(height: number): readonly TrueBlock[] {
    const acknowledged = this.#acknowledged.get(height);
    return acknowledged === undefined ? this.#truth.at(height) : [acknowledged];
  }

  /** Checks that every acknowledged block after the base is in the ledger, unchanged. */
  checkStored(records: ReadonlyMap<number, Buffer>, baseHeight: number, damaged: number): void {
    for (const [height, { hash, line }] of this.#acknowledged) {
      if (height <= baseHeight || height === damaged) continue;
      const stored = records.get(height);
      if (stored === undefined) this.violate(`block ${height} was acknowledged, and is lost`);
      else if (!stored.equals(Buffer.concat([hash, line]))) {
        this.violate(`block ${height} was acknowledged, and is another one now`);
      }
    }
  }
}
