/** A ledger that another process writes, asked offline at any of its heights. */

import assert from 'node:assert/strict';
import { answerQuestion } from '../../src/info/read-question.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { Replica } from '../../src/replica/replica.ts';
import type { StateView } from '../../src/state/state.ts';
import { restoreFrom } from '../../tools/harness/data-directory.ts';

export type Question = Readonly<Record<string, unknown>>;
/** Its form is that of its question. */
export type Answer = ReturnType<typeof JSON.parse>;

export class ReadLedger {
  readonly data: string;
  readonly #ledger: Ledger;
  /** Moves forward; where it is too far, another one is begun. */
  #replica: Replica | undefined;

  private constructor(data: string, ledger: Ledger) {
    this.data = data;
    this.#ledger = ledger;
  }

  static async open(data: string): Promise<ReadLedger> {
    return new ReadLedger(data, await openEmbeddedLedger(data));
  }

  async height(): Promise<number> {
    return (await this.#ledger.head()).height;
  }

  async stateAt(height: number): Promise<StateView> {
    if (this.#replica === undefined || this.#replica.point.height > height) {
      this.#replica = (await restoreFrom(this.#ledger, this.data, height)).replica;
    }
    const replica = this.#replica;
    for await (const batch of this.#ledger.read(replica.point.height, height)) {
      for (const block of batch) replica.apply(block);
    }
    assert.equal(replica.point.height, height);
    return replica.state;
  }

  async answerAt(height: number, question: Question): Promise<Answer> {
    return JSON.parse(answerQuestion(await this.stateAt(height), question));
  }

  /** The answers at some heights, one by one; where the ledger does not hold one, there is none. */
  async *answersFrom(
    first: number,
    last: number,
    question: Question,
  ): AsyncGenerator<Answer, void, undefined> {
    for (let height = first; height <= last; height++) {
      const state = await this.stateAt(height);
      try {
        yield JSON.parse(answerQuestion(state, question));
      } catch (error) {
        if (!state.isPartial || !(error instanceof RequestError)) throw error;
      }
    }
  }

  /** The heights of the blocks with this time. */
  async heightsAt(time: number): Promise<number[]> {
    const heights: number[] = [];
    for await (const batch of this.#ledger.read(0, await this.height())) {
      for (const { line, height } of batch) {
        if (JSON.parse(line.toString()).time === time) heights.push(height);
      }
    }
    return heights;
  }

  close(): Promise<void> {
    return this.#ledger.close();
  }
}
