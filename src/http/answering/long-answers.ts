/**
 * Answers about many accounts. Other requests should not wait until a long answer is written, so long answers
 * are written in slices, with a turn of the event loop between two slices. One answer is written after the
 * other, and keys take turns. All of an answer is from one height: if a block is applied while the answer is
 * being written, the answer is started again.
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
   * Call this exactly once, when the bytes were sent, or will never be sent. `isFree` says that nothing reads the
   * bytes any more, so that the next answer may overwrite them.
   */
  release(isFree: boolean): void;
}

/** Length of a slice, after which waiting requests are answered. */
const SLICE_MS = 0.25;
/**
 * Length of a slice if no other request came for ten milliseconds (`ALONE_SLICES` short slices). Longer slices
 * save turns of the event loop. One millisecond without a request would prove nothing: with thousands of
 * requests a second, such gaps are common.
 */
const SLICE_ALONE_MS = 1;
const ALONE_SLICES = 40;
/** Maximum time that a block waits for an answer that is being written. The block would force a new attempt. */
const BLOCK_WAITS_MS_MAX = 25;
/** Maximum time that a block waits for the last attempt. */
const BLOCK_WAITS_LONGER_MS_MAX = 250;
/**
 * Maximum number of buffers that are reused for later answers. Without reuse, allocating megabytes for each
 * answer makes the engine collect garbage several times a second, and each collection stops all answers for
 * milliseconds.
 */
const SPARE_MAX = 8;
/** Maximum number of waiting answers, which are some seconds of work; in total, and of one key. */
const WAITING_MAX = 256;
const KEY_WAITING_MAX = 32;
/** Maximum number of attempts. A block that comes after the long wait for the last attempt ends the answer. */
const ATTEMPTS_MAX = 4;
/** Length of a slice while a block waits for the last attempt: other requests come less often than otherwise. */
const SLICE_LAST_MS = 2;

const INTERRUPTED = new RequestError(
  'overloaded',
  `users: new blocks have interrupted the answer ${ATTEMPTS_MAX} times, expected fewer users`,
  'users',
);

/** Who asked for a long answer, and pays for it. */
export interface LongRequester extends Requester {
  /** Charges a weight on top of the weight of the question. */
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
  /** What was charged on top for attempts that were thrown away. */
  surcharge: number;
  /** Undefined while the job waits, so that a waiting job needs no memory. */
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
  /** Called after each slice of work, with its time. */
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
  /** The number of turns with answers to other requests, when the last slice was scheduled. */
  #answeredBefore = 0;
  /** Number of slices in a row without another request. */
  #aloneSlices = 0;
  /** Called when the answer that is being written is complete or cancelled. */
  readonly #waiters: (() => void)[] = [];

  constructor(options: LongAnswersOptions) {
    this.#options = options;
  }

  /** The refusal of one more answer of the key; undefined if the answer may wait in the queue. */
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

  /** Pauses for other requests only during the first attempt of an answer, and not while a block waits. */
  #isPauseDue(): boolean {
    const isAlone = this.#aloneSlices > 0;
    return !isAlone && this.#waiters.length === 0 && this.#current?.attempts === 1;
  }

  /** Resolves when the answer that is being written is complete; undefined if no answer is being written. */
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

  /** Returns true if a block waited. */
  #wakeWaiters(): boolean {
    const waiters = this.#waiters.splice(0);
    for (const wake of waiters) wake();
    return waiters.length > 0;
  }

  /** Works on one answer; false if others come first now. */
  #writeNext(slice: Slice): boolean {
    this.#current ??= this.#waiting.take();
    const job = this.#current;
    if (job === undefined) return false;
    const startedMs = performance.now();
    const isDone = this.#tryAdvance(job, slice);
    job.workedMs += performance.now() - startedMs;
    if (!isDone) return false;
    this.#current = undefined;
    // A block that has waited comes before the next answer.
    return !this.#wakeWaiters();
  }

  /** Writes until the slice is over; true if the job is done, or has failed. */
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
   * The draft of the answer at this height. An older draft is thrown away, and a new attempt starts; undefined
   * if that was the last attempt.
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
    // `clear` drops a buffer of an unusual size.
    out.clear();
    if (this.#spare.length < SPARE_MAX) this.#spare.push(out);
  }
}

/**
 * Blocks are no fault of the client, so the attempts before the last one are free up to the weight of the
 * question. What they took beyond that is charged.
 */
function chargeEarlierAttempts(job: Job): void {
  const due = weighWork(job.workedMs) - job.question.weight - job.surcharge;
  if (due <= 0) return;
  job.surcharge += due;
  job.pay(due);
}
