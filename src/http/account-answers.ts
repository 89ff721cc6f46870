/**
 * Answers about accounts, written into a ring of bytes one after the other, with room before each for
 * the head of a response. An answer stays until the ring has come around, and while the ledger is at
 * the same height it cannot change: whoever asks again is given the same bytes and the same tag.
 * Dashboards ask more often than blocks come. Keeping an answer costs no copy, and leaves the garbage
 * collector nothing to do.
 */

import { AnswerWriter } from '../info/answer-writer.ts';
import { writeAccount } from '../info/clearinghouse.ts';
import type { StateView } from '../state/state.ts';
import { tagOf } from './answer-tag.ts';

const RING_BYTES = 1 << 22;
/** More than any head takes, and more than nearly all answers: a lap ends before less is left. */
const HEAD_ROOM = 1024;
const ANSWER_ROOM = 1 << 16;
/** How many answers can be found again; a power of two. */
const SLOTS = 1 << 13;
/** The last member of an account is its time. */
const TIME_MEMBER = '"time":';

export class AccountAnswers {
  readonly #ring = new AnswerWriter(RING_BYTES);
  /** Bytes of all laps so far. */
  #written = 0;
  /** By the last bits of an account's row: whose answer it is, of which height, and where it starts. */
  readonly #accounts = new Int32Array(SLOTS);
  readonly #heights = new Float64Array(SLOTS).fill(-1);
  readonly #starts = new Float64Array(SLOTS);
  readonly #lengths = new Int32Array(SLOTS);
  /** Computed when first asked for; "" until then. */
  readonly #tags: string[] = new Array(SLOTS).fill('');
  /** The answer that was found last, and where it is in the ring. */
  #slot = 0;
  #start = 0;
  #length = 0;

  /** Finds or computes the answer about an account; the other members then speak of it. */
  find(state: StateView, account: number): this {
    const slot = account & (SLOTS - 1);
    const isThere =
      this.#accounts[slot] === account &&
      this.#heights[slot] === state.height &&
      this.#starts[slot] >= this.#written - RING_BYTES;
    if (!isThere) this.#compute(state, account, slot);
    this.#slot = slot;
    this.#start = this.#starts[slot] % RING_BYTES;
    this.#length = this.#lengths[slot];
    return this;
  }

  get length(): number {
    return this.#length;
  }

  /** Equal to the tag of the same answer as text. */
  get tag(): string {
    const known = this.#tags[this.#slot];
    if (known !== '') return known;
    const text = this.toString();
    const tag = tagOf(`${text.slice(0, text.lastIndexOf(TIME_MEMBER))}}`);
    this.#tags[this.#slot] = tag;
    return tag;
  }

  toString(): string {
    const body = this.#start + HEAD_ROOM;
    return this.#ring.textFrom(body, body + this.#length);
  }

  /** The answer after the head of its response. */
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
    this.#tags[slot] = '';
    this.#written = start + HEAD_ROOM + this.#lengths[slot];
  }
}
