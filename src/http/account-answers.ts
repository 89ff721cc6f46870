/**
 * Answers about accounts, written into a ring of bytes one after the other, with room before each for
 * the head of a response. An answer stays until the ring has come around, and as long as the ledger is
 * at the same height it cannot change: whoever asks again is given the same bytes. Dashboards do, more
 * often than blocks come. Keeping an answer so costs nothing, and leaves the garbage collector nothing
 * to look at.
 */

import { AnswerWriter } from '../info/answer-writer.ts';
import { writeAccount } from '../info/clearinghouse.ts';
import type { StateView } from '../state/state.ts';

const RING_BYTES = 1 << 22;
/** More than any head takes, and more than nearly all answers: a lap ends before less is left. */
const HEAD_ROOM = 1024;
const ANSWER_ROOM = 1 << 16;
/** How many answers are found again; a power of two. */
const SLOTS = 1 << 13;

export class AccountAnswers {
  readonly #ring = new AnswerWriter(RING_BYTES);
  /** Bytes of all laps so far. */
  #written = 0;
  /** By the last bits of an account's row: whose answer it is, of which height, and where it starts. */
  readonly #accounts = new Int32Array(SLOTS);
  readonly #heights = new Float64Array(SLOTS).fill(-1);
  readonly #starts = new Float64Array(SLOTS);
  readonly #lengths = new Int32Array(SLOTS);
  /** Where in the ring the answer is that was asked for last. */
  #start = 0;
  #length = 0;

  /** Finds or computes the answer about an account, and returns its length. */
  answer(state: StateView, account: number): number {
    const slot = account & (SLOTS - 1);
    const isThere =
      this.#accounts[slot] === account &&
      this.#heights[slot] === state.height &&
      this.#starts[slot] >= this.#written - RING_BYTES;
    if (!isThere) this.#compute(state, account, slot);
    this.#start = this.#starts[slot] % RING_BYTES;
    this.#length = this.#lengths[slot];
    return this.#length;
  }

  /** The last answer, with the head of its response. */
  textAfter(head: AnswerWriter): string {
    const body = this.#start + HEAD_ROOM;
    return this.#ring.textFrom(this.#ring.putBefore(body, head), body + this.#length);
  }

  #compute(state: StateView, account: number, slot: number): void {
    const place = this.#written % RING_BYTES;
    const isLapOver = place + HEAD_ROOM + ANSWER_ROOM > RING_BYTES;
    const start = isLapOver ? this.#written - place + RING_BYTES : this.#written;
    const body = (start % RING_BYTES) + HEAD_ROOM;
    this.#ring.moveTo(body);
    writeAccount(this.#ring, state, account);
    this.#accounts[slot] = account;
    this.#heights[slot] = state.height;
    this.#starts[slot] = start;
    this.#lengths[slot] = this.#ring.length - body;
    this.#written = start + HEAD_ROOM + this.#lengths[slot];
  }
}
