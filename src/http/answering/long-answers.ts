/**
 * Answers about many accounts. Other requests should not wait until a long answer is written, so
 * long answers are written in slices, with a turn of the event loop between two slices. Only one
 * answer is written at a time, and keys take turns. All parts of an answer are from one height: if
 * a block is applied while the answer is being written, the writing starts again.
 */

import type { StateQuestion } from '../../info/question.ts';
import { RequestError } from '../../info/request-error.ts';
import type { UpstreamAnswers } from '../../info/upstream-answers.ts';
import { AnswerWriter } from '../../info/writing/answer-writer.ts';
import type { StateView } from '../../state/state.ts';
import { type Slice, SliceLoop } from '../../timing/slices.ts';
import { CancelledAnswer, type Requester, weighWork } from './cancellation.ts';
import { InFlightLimit } from './limits/in-flight-limit.ts';
import { RoundRobin } from './limits/round-robin.ts';
import type { Turns } from './limits/turns.ts';
import type { UnsentBytes } from './limits/unsent-bytes.ts';

/** A question whose answer is written in pieces. */
export interface LongQuestion extends StateQuestion {
  readonly bytesExpected: number;
}

export function isLong(question: StateQuestion): question is LongQuestion {
  return question.bytesExpected !== undefined;
}

export interface LongAnswer {
  readonly bytes: Buffer;
  readonly height: number;
  readonly time: number;
  /**
   * Call this exactly once, when the bytes were sent, or will never be sent. `isFree` is true if
   * the bytes are no longer needed, so that the next answer may overwrite them.
   */
  release(isFree: boolean): void;
}

/** The length of a slice. Waiting requests are answered after each slice. */
const SLICE_MS = 0.25;
/**
 * The length of a slice if no other request came for ten milliseconds (`ALONE_SLICES` short
 * slices). Longer slices need fewer turns of the event loop. The condition is not a shorter time,
 * because gaps of one millisecond are common at thousands of requests a second.
 */
const SLICE_ALONE_MS = 1;
const ALONE_SLICES = 40;
/**
 * Maximum time that a block waits for an answer that is being written. If the block did not wait,
 * the writing would have to start again.
 */
const BLOCK_WAITS_MS_MAX = 25;
/** Maximum time that a block waits for the last attempt. */
const BLOCK_WAITS_LONGER_MS_MAX = 250;
/**
 * Maximum number of buffers that are reused for later answers. Without reuse, allocating megabytes
 * for each answer makes the engine collect garbage several times a second, and each collection
 * stops all answers for milliseconds.
 */
const SPARE_MAX = 8;
/**
 * Maximum number of waiting answers, in total and for one key. The total is some seconds of work.
 */
const WAITING_MAX = 256;
const KEY_WAITING_MAX = 32;
/**
 * Maximum number of attempts. If a block is applied during the last attempt, after its long wait,
 * the answer is refused.
 */
const ATTEMPTS_MAX = 4;
/**
 * The length of a slice while a block waits for the last attempt. During this time, other requests
 * are answered less often.
 */
const SLICE_LAST_MS = 2;

const INTERRUPTED = new RequestError(
  'overloaded',
  `users: new blocks have interrupted the answer ${ATTEMPTS_MAX} times, expected fewer users`,
  'users',
);

/**
 * The key and the connection that asked for a long answer, and the function that charges the key.
 */
export interface LongRequester extends Requester {
  /** Charges a weight in addition to the weight of the question. */
  pay(surcharge: number): void;
}

/** An answer that waits for its turn, or is being written. */
interface Job {
  readonly keyId: string;
  readonly question: LongQuestion;
  readonly upstreamAnswers: UpstreamAnswers | undefined;
  readonly pay: LongRequester['pay'];
  attempts: number;
  workedMs: number;
  /**
   * The weight that was charged, in addition to the question's weight, for attempts that were
   * thrown away.
   */
  surcharge: number;
  /**
   * The part that was written so far; undefined while the job waits, so that a waiting job needs no
   * memory.
   */
  draft: Draft | undefined;
  resolve(outcome: LongOutcome): void;
  reject(error: unknown): void;
}

/** The result of a question; undefined if there is no longer a state to answer from. */
export type LongOutcome = LongAnswer | RequestError | CancelledAnswer | undefined;

/** The part of an answer that was written so far. */
interface Draft {
  readonly height: number;
  readonly out: AnswerWriter;
  readonly steps: Iterator<number>;
}

export interface LongAnswersOptions {
  readonly turns: Turns;
  readonly unsent: UnsentBytes;
  readState(): StateView | undefined;
  /** Called after each slice of work, with the seconds that the slice took. */
  worked(seconds: number): void;
}

export class LongAnswers {
  readonly #options: LongAnswersOptions;
  readonly #inFlight = new InFlightLimit({
    what: 'answers about many accounts',
    countMax: WAITING_MAX,
    keyCountMax: KEY_WAITING_MAX,
  });
  readonly #waiting = new RoundRobin<Job>();
  /** The job whose answer is being written. */
  #current: Job | undefined;
  readonly #slices = new SliceLoop({
    sliceMs: () => this.#chooseSliceMs(),
    step: (slice) => this.#writeNext(slice),
    hasMore: () => this.#current !== undefined || !this.#waiting.isEmpty,
    worked: (seconds) => this.#options.worked(seconds),
    later: (run) => this.#planSlice(run),
  });
  readonly #spare: AnswerWriter[] = [];
  /** The value of `answeredCount` when the last slice was scheduled. */
  #answeredBefore = 0;
  /** The number of slices in a row during which no other request was answered. */
  #aloneSlices = 0;
  /** Functions that are called when the answer that is being written is complete or cancelled. */
  readonly #waiters: (() => void)[] = [];

  constructor(options: LongAnswersOptions) {
    this.#options = options;
  }

  /**
   * Returns the refusal of one more answer of the key; returns undefined if the answer may wait in
   * the queue.
   */
  findShortage(keyId: string): RequestError | undefined {
    return this.#inFlight.findShortage(keyId) ?? this.#options.unsent.findOverload();
  }

  write(
    question: LongQuestion,
    upstreamAnswers: UpstreamAnswers | undefined,
    { keyId, cancellation, pay }: LongRequester,
  ): Promise<LongOutcome> {
    const { refusal } = cancellation;
    if (refusal !== undefined) return Promise.resolve(new CancelledAnswer(refusal, 0));
    this.#inFlight.take(keyId);
    let stop: () => void = () => undefined;
    const writing = new Promise<LongOutcome>((resolve, reject) => {
      const begun = { attempts: 0, workedMs: 0, surcharge: 0, draft: undefined };
      const job = { keyId, question, upstreamAnswers, pay, ...begun, resolve, reject };
      stop = cancellation.addWithDeadline((reason) => this.#cancel(job, reason));
      this.#waiting.add(job);
      this.#slices.start();
    });
    return writing.finally(() => {
      stop();
      this.#inFlight.release(keyId);
    });
  }

  #cancel(job: Job, refusal: RequestError): void {
    if (this.#current === job) {
      this.#current = undefined;
      this.#wakeWaiters();
      if (job.draft !== undefined) this.#keepSpare(job.draft.out);
    } else {
      this.#waiting.delete(job);
    }
    job.resolve(new CancelledAnswer(refusal, job.workedMs));
  }

  #planSlice(run: () => void): void {
    const { turns } = this.#options;
    const isAlone = turns.answeredCount === this.#answeredBefore;
    this.#aloneSlices = isAlone ? this.#aloneSlices + 1 : 0;
    this.#answeredBefore = turns.answeredCount;
    if (this.#isPauseDue()) turns.doAfterPause(run);
    else turns.doLater(run);
  }

  #chooseSliceMs(): number {
    const isLast = this.#current?.attempts === ATTEMPTS_MAX;
    if (isLast && this.#waiters.length > 0) return SLICE_LAST_MS;
    return this.#aloneSlices < ALONE_SLICES ? SLICE_MS : SLICE_ALONE_MS;
  }

  /**
   * Returns true if the next slice must wait for a pause. Pauses are only made during the first
   * attempt of an answer, and not while a block waits.
   */
  #isPauseDue(): boolean {
    const isAlone = this.#aloneSlices > 0;
    return !isAlone && this.#waiters.length === 0 && this.#current?.attempts === 1;
  }

  /**
   * Returns a promise that resolves when the answer that is being written is complete, or when the
   * maximum wait is over. Returns undefined if no answer is being written.
   */
  untilWritten(): Promise<void> | undefined {
    const job = this.#current;
    if (job?.draft === undefined) return undefined;
    const isLast = job.attempts === ATTEMPTS_MAX;
    const waitMsMax = isLast ? BLOCK_WAITS_LONGER_MS_MAX : BLOCK_WAITS_MS_MAX;
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, waitMsMax);
      this.#waiters.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Wakes the blocks that wait. Returns true if a block waited. */
  #wakeWaiters(): boolean {
    const waiters = this.#waiters.splice(0);
    for (const wake of waiters) wake();
    return waiters.length > 0;
  }

  /** Works on one answer. Returns true if the slice may continue with another answer. */
  #writeNext(slice: Slice): boolean {
    this.#current ??= this.#waiting.take();
    const job = this.#current;
    if (job === undefined) return false;
    const startedMs = performance.now();
    const isDone = this.#tryAdvance(job, slice);
    job.workedMs += performance.now() - startedMs;
    if (!isDone) return false;
    this.#current = undefined;
    // A block that has waited is applied before the next answer is written.
    return !this.#wakeWaiters();
  }

  /** Writes until the slice is over. Returns true if the job is done, or has failed. */
  #tryAdvance(job: Job, slice: Slice): boolean {
    try {
      return this.#advance(job, slice);
    } catch (error) {
      if (error instanceof RequestError) job.resolve(error);
      else job.reject(error);
      return true;
    }
  }

  #advance(job: Job, slice: Slice): boolean {
    const state = this.#options.readState();
    if (state === undefined) {
      job.resolve(undefined);
      return true;
    }
    const unsent = job.draft === undefined ? this.#options.unsent.findOverload() : undefined;
    if (unsent !== undefined) throw unsent;
    const draft = this.#draftOf(job, state);
    if (draft === undefined) {
      // The attempts took more work than the weight of the answer pays for, so nothing is refunded.
      job.resolve(new CancelledAnswer(INTERRUPTED, Number.POSITIVE_INFINITY));
      return true;
    }
    const { out, steps } = draft;
    while (steps.next().done !== true) {
      if (slice.isOver) return false;
    }
    const { height, time } = state;
    job.resolve({ height, time, ...this.#handOut(out) });
    return true;
  }

  #handOut(out: AnswerWriter): Pick<LongAnswer, 'bytes' | 'release'> {
    const bytes = out.bytesFrom(0);
    const noteSent = this.#options.unsent.add(bytes);
    return {
      bytes,
      release: (isFree) => {
        noteSent();
        if (isFree) this.#keepSpare(out);
      },
    };
  }

  /**
   * Returns the draft of the answer at this height. Throws away an older draft and starts a new
   * attempt. Returns undefined if the older draft was the last attempt.
   */
  #draftOf(job: Job, state: StateView): Draft | undefined {
    const { draft: earlier, question, upstreamAnswers } = job;
    if (earlier?.height === state.height) return earlier;
    chargeEarlierAttempts(job);
    if (job.attempts === ATTEMPTS_MAX) {
      if (earlier !== undefined) this.#keepSpare(earlier.out);
      return undefined;
    }
    const out = earlier?.out ?? this.#spare.pop() ?? new AnswerWriter(question.bytesExpected);
    out.moveTo(0);
    const steps = question.writePieces(out, state, upstreamAnswers);
    job.attempts += 1;
    job.draft = { height: state.height, out, steps };
    return job.draft;
  }

  #keepSpare(out: AnswerWriter): void {
    // `clear` drops the buffer if its size is unusual.
    out.clear();
    if (this.#spare.length < SPARE_MAX) this.#spare.push(out);
  }
}

/**
 * Charges for the attempts that were thrown away. The client did not cause the blocks, so earlier
 * attempts are free up to the weight of the question. Only work beyond this weight is charged.
 */
function chargeEarlierAttempts(job: Job): void {
  const due = weighWork(job.workedMs) - job.question.weight - job.surcharge;
  if (due <= 0) return;
  job.surcharge += due;
  job.pay(due);
}
