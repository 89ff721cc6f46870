/**
 * A cache of answers about accounts: a ring of bytes, with room before each answer for the head of its
 * response. An answer cannot change while the ledger is at the same height, and dashboards ask more
 * often than blocks come. Until the ring overwrites it, it is served with the same bytes.
 * Caching takes no copy and makes no garbage.
 */

import { AnswerWriter } from '../../info/answer-writer.ts';
import { writeAccount } from '../../info/clearinghouse.ts';
import type { StateView } from '../../state/state.ts';

const RING_BYTES = 1 << 22;
/** More than any head and nearly any answer takes; a lap of the ring ends when less is left. */
const HEAD_ROOM = 1024;
const ANSWER_ROOM = 1 << 16;
/** Maximum number of cached answers; a power of two. */
const SLOTS = 1 << 13;

export class AccountAnswers {
  readonly #ring = new AnswerWriter(RING_BYTES);
  /** Bytes written in all laps so far. */
  #written = 0;
  /** By slot, the low bits of an account's row: the account, the height and the start of its answer. */
  readonly #accounts = new Int32Array(SLOTS);
  readonly #heights = new Float64Array(SLOTS).fill(-1);
  readonly #starts = new Float64Array(SLOTS);
  readonly #lengths = new Int32Array(SLOTS);
  /** Where the answer that was found last is in the ring. */
  #start = 0;
  #length = 0;

  /** Looks up or computes an account's answer; the other members then refer to it. */
  find(state: StateView, account: number): this {
    const slot = account & (SLOTS - 1);
    const isThere =
      this.#accounts[slot] === account &&
      this.#heights[slot] === state.height &&
      this.#starts[slot] >= this.#written - RING_BYTES;
    if (!isThere) this.#compute(state, account, slot);
    this.#start = this.#starts[slot] % RING_BYTES;
    this.#length = this.#lengths[slot];
    return this;
  }

  get length(): number {
    return this.#length;
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
    this.#written = start + HEAD_ROOM + this.#lengths[slot];
  }
}
