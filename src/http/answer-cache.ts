/**
 * Answers about accounts, as they were written, for as long as the ledger stays at one height: then
 * they cannot change. Dashboards ask for the same accounts again and again, more often than blocks
 * come. The bytes lie in one buffer that is filled once per height and then left as it is, so that
 * keeping an answer costs a copy, and nothing for the garbage collector to look at.
 */

import type { AnswerWriter } from '../info/answer-writer.ts';

const KEPT_BYTES = 1 << 22;
/** A power of two. */
const SLOTS = 1 << 13;

export class AnswerCache {
  readonly #bytes = Buffer.allocUnsafeSlow(KEPT_BYTES);
  /** By the last bits of an account's row: whose answer it is, of which height, and where. */
  readonly #accounts = new Int32Array(SLOTS);
  readonly #heights = new Float64Array(SLOTS).fill(-1);
  readonly #starts = new Int32Array(SLOTS);
  readonly #ends = new Int32Array(SLOTS);
  #height = -1;
  #used = 0;

  /** The slot in which the answer about an account at a height is kept; -1 where it is not. */
  find(height: number, account: number): number {
    const slot = account & (SLOTS - 1);
    return this.#heights[slot] === height && this.#accounts[slot] === account ? slot : -1;
  }

  lengthOf(slot: number): number {
    return this.#ends[slot] - this.#starts[slot];
  }

  write(out: AnswerWriter, slot: number): void {
    out.bytes(this.#bytes, this.#starts[slot], this.#ends[slot]);
  }

  /** Keeps an answer, if there is still room for this height. */
  keep(answer: AnswerWriter, height: number, account: number): void {
    if (height !== this.#height) {
      this.#height = height;
      this.#used = 0;
    }
    const end = this.#used + answer.length;
    if (end > KEPT_BYTES) return;
    answer.copyTo(this.#bytes, this.#used);
    const slot = account & (SLOTS - 1);
    this.#accounts[slot] = account;
    this.#heights[slot] = height;
    this.#starts[slot] = this.#used;
    this.#ends[slot] = end;
    this.#used = end;
  }
}
