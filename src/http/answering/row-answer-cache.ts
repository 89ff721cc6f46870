/**
 * A cache of answers that are made of one row each, such as the answer about an account. An answer
 * cannot change while the ledger is at the same height, and dashboards ask more often than blocks
 * are applied.
 *
 * The cache is a ring buffer, with room before each answer for the head of its response. The same
 * bytes are served again until the ring overwrites the answer. Caching copies nothing and creates
 * no garbage.
 */

import type { StateQuestion } from '../../info/question.ts';
import type { RowAnswers, StateQuestionType } from '../../info/question-type.ts';
import type { UpstreamAnswers } from '../../info/upstream-answers.ts';
import { AnswerWriter } from '../../info/writing/answer-writer.ts';
import type { StateView } from '../../state/state.ts';

const RING_BYTES = 1 << 22;
/**
 * No head is longer than HEAD_ROOM, and few answers are longer than ANSWER_ROOM. If less room than
 * both together is left, writing continues at the start of the ring.
 */
const HEAD_ROOM = 1024;
const ANSWER_ROOM = 1 << 16;
/** Maximum number of cached answers; a power of two. */
const SLOTS = 1 << 13;

export class RowAnswerCache {
  readonly #rows: RowAnswers;
  readonly #ring = new AnswerWriter(RING_BYTES);
  /**
   * The total number of bytes written. The position in the ring is this number modulo RING_BYTES.
   */
  #written = 0;
  /**
   * The row, the height, the start and the length of the answer in each slot. The slot of an answer
   * is the low bits of its row.
   */
  readonly #rowsBySlot = new Int32Array(SLOTS);
  readonly #heights = new Float64Array(SLOTS).fill(-1);
  readonly #starts = new Float64Array(SLOTS);
  readonly #lengths = new Int32Array(SLOTS);
  /** The start of the answer that was found last, in the ring. */
  #start = 0;
  #length = 0;

  constructor(rows: RowAnswers) {
    this.#rows = rows;
  }

  /**
   * Finds the answer of a row in the cache, or computes it. The other members then refer to this
   * answer.
   */
  find(state: StateView, row: number): this {
    const slot = row & (SLOTS - 1);
    const isThere =
      this.#rowsBySlot[slot] === row &&
      this.#heights[slot] === state.height &&
      this.#starts[slot] >= this.#written - RING_BYTES;
    if (!isThere) this.#compute(state, row, slot);
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

  /** Returns the head of the response and the answer as one text. */
  textAfter(head: AnswerWriter): string {
    const body = this.#start + HEAD_ROOM;
    return this.#ring.textFrom(this.#ring.putBefore(body, head), body + this.#length);
  }

  #compute(state: StateView, row: number, slot: number): void {
    const place = this.#written % RING_BYTES;
    const isLapOver = place + HEAD_ROOM + ANSWER_ROOM > RING_BYTES;
    const start = isLapOver ? this.#written - place + RING_BYTES : this.#written;
    const body = (start % RING_BYTES) + HEAD_ROOM;
    this.#ring.moveTo(body);
    this.#rows.write(this.#ring, state, row);
    this.#rowsBySlot[slot] = row;
    this.#heights[slot] = state.height;
    this.#starts[slot] = start;
    this.#lengths[slot] = this.#ring.length - body;
    this.#written = start + HEAD_ROOM + this.#lengths[slot];
  }
}

/** The caches of all types whose answers are made of one row. */
export class RowAnswerCaches {
  readonly #byType = new Map<StateQuestionType, RowAnswerCache>();

  /**
   * Answers from the cache, unless the answer is not made of one row, or subjects were read for it.
   */
  answer(
    question: StateQuestion,
    state: StateView,
    upstream: UpstreamAnswers | undefined,
  ): string | RowAnswerCache {
    const { questionType } = question;
    const row = upstream === undefined ? question.findRow(state) : undefined;
    const isUnknown = row === 0 && state.isPartial;
    if (row === undefined || isUnknown) return question.answer(state, upstream);
    return this.#cacheOf(questionType).find(state, row);
  }

  #cacheOf(questionType: StateQuestionType): RowAnswerCache {
    const known = this.#byType.get(questionType);
    if (known !== undefined) return known;
    if (questionType.rows === undefined) throw new Error(`${questionType.type} has no rows`);
    const cache = new RowAnswerCache(questionType.rows);
    this.#byType.set(questionType, cache);
    return cache;
  }
}
