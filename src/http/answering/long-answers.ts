/**
 * Answers about many accounts, which take longer than others should wait. They are written in slices,
 * one after the other, with a turn of the event loop between two; after an answer to one key the next is
 * to another. An answer is of one height: if a block arrives while it is written, it is begun again.
 */

import type { StateQuestion } from '../../info/question.ts';
import { RequestError } from '../../info/request-error.ts';
import type { UpstreamAnswers } from '../../info/upstream-answers.ts';
import { AnswerWriter } from '../../info/writing/answer-writer.ts';
import type { StateView } from '../../state/state.ts';
import { CancelledAnswer, type Requester } from './cancellation.ts';
import { InFlightLimit } from './in-flight-limit.ts';
import { RoundRobin } from './round-robin.ts';
import type { Turns } from './turns.ts';
import type { UnsentBytes } from './unsent-bytes.ts';

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
   * To be called once, when the bytes are sent or never will be. `isFree` if nothing reads them any more:
   * the next answer is then written over them.
   */
  release(isFree: boolean): void;
}

/** How long they are worked on before requests get their turn. */
const SLICE_MS = 0.25;
/**
 * The same once nobody else has asked for ten milliseconds: a turn of the event loop takes time as well.
 * Among thousands of requests a second, one millisecond without any is nothing unusual.
 */
const SLICE_ALONE_MS = 1;
const ALONE_SLICES = 40;
/** How long a block waits at most for an answer that is being written, which it would spoil. */
const BLOCK_WAITS_MS_MAX = 25;
/** The same for an answer whose next attempt would be the last. */
const BLOCK_WAITS_LONGER_MS_MAX = 250;
/**
 * Buffers that wait for the next answer: one for each client that asks without a pause, up to this. To
 * allocate megabytes for an answer makes the engine collect garbage several times a second, for
 * milliseconds in which nobody is answered.
 */
const SPARE_MAX = 8;
/** Answers that may wait, some seconds of work, and those of one key. */
const WAITING_MAX = 256;
const KEY_WAITING_MAX = 32;
/** How often one is begun: the last time it is written in one go, which holds up all others. */
const ATTEMPTS_MAX = 5;
/** What may be written in one go: some ten milliseconds of work. */
const ONE_GO_BYTES_MAX = 8 << 20;

/** An answer that waits for its turn, or is being written. */
interface Job {
  readonly keyId: string;
  readonly question: LongQuestion;
  readonly readings: UpstreamAnswers | undefined;
  attempts: number;
  workedMs: number;
  /** Undefined while it waits: it takes no room then. */
  draft: Draft | undefined;
  resolve(outcome: LongOutcome): void;
  reject(error: unknown): void;
}

/** What becomes of a question; undefined if there is no state to answer from any more. */
export type LongOutcome = LongAnswer | RequestError | CancelledAnswer | undefined;

/** What has been written of an answer. */
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
  /** The one that is being written. */
  #current: Job | undefined;
  #isSliceComing = false;
  readonly #spare: AnswerWriter[] = [];
  /** Turns with answers to others, when the last slice was asked for. */
  #answeredBefore = 0;
  /** Slices in a row during which nobody else asked. */
  #aloneSlices = 0;
  /** Those who wait for the end of the answer that is being written. */
  readonly #waiters: (() => void)[] = [];

  constructor(options: LongAnswersOptions) {
    this.#options = options;
  }

  /** Why the key's next answer may not wait; undefined if it may. */
  findShortage(keyId: string): RequestError | undefined {
    return this.#inFlight.findShortage(keyId) ?? this.#options.unsent.findOverload();
  }

  write(
    question: LongQuestion,
    readings: UpstreamAnswers | undefined,
    { keyId, cancellation }: Requester,
  ): Promise<LongOutcome> {
    const { refusal } = cancellation;
    if (refusal !== undefined) return Promise.resolve(new CancelledAnswer(refusal, 0));
    this.#inFlight.take(keyId);
    let stop: () => void = () => undefined;
    const writing = new Promise<LongOutcome>((resolve, reject) => {
      const begun = { attempts: 0, workedMs: 0, draft: undefined };
      const job = { keyId, question, readings, ...begun, resolve, reject };
      stop = cancellation.addWithDeadline((reason) => this.#cancel(job, reason));
      this.#waiting.add(job);
      this.#startSlice();
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

  #startSlice(): void {
    if (this.#isSliceComing) return;
    this.#isSliceComing = true;
    const { turns } = this.#options;
    const isAlone = turns.answeredCount === this.#answeredBefore;
    this.#aloneSlices = isAlone ? this.#aloneSlices + 1 : 0;
    this.#answeredBefore = turns.answeredCount;
    const work = () => this.#work();
    if (this.#isPauseDue()) turns.doAfterPause(work);
    else turns.doLater(work);
  }

  /** Pauses for others only during an answer's first attempt, and not while a block waits. */
  #isPauseDue(): boolean {
    const isAlone = this.#aloneSlices > 0;
    return !isAlone && this.#waiters.length === 0 && this.#current?.attempts === 1;
  }

  /** Resolves when the answer that is being written is complete; undefined if none is. */
  untilWritten(): Promise<void> | undefined {
    const job = this.#current;
    if (job?.draft === undefined) return undefined;
    const isLastButOne = job.attempts === ATTEMPTS_MAX - 1;
    const waitMsMax = isLastButOne ? BLOCK_WAITS_LONGER_MS_MAX : BLOCK_WAITS_MS_MAX;
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, waitMsMax);
      this.#waiters.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** True if somebody waited. */
  #wakeWaiters(): boolean {
    const waiters = this.#waiters.splice(0);
    for (const wake of waiters) wake();
    return waiters.length > 0;
  }

  #work(): void {
    this.#isSliceComing = false;
    const startedMs = performance.now();
    const endMs = startedMs + (this.#aloneSlices < ALONE_SLICES ? SLICE_MS : SLICE_ALONE_MS);
    let nowMs = startedMs;
    while (nowMs < endMs) {
      this.#current ??= this.#waiting.take();
      const job = this.#current;
      if (job === undefined) break;
      const isDone = this.#tryAdvance(job, endMs);
      const beganMs = nowMs;
      nowMs = performance.now();
      job.workedMs += nowMs - beganMs;
      if (!isDone) break;
      this.#current = undefined;
      // A block that has waited comes before the next answer.
      if (this.#wakeWaiters()) break;
    }
    this.#options.worked((nowMs - startedMs) / 1000);
    if (this.#current !== undefined || !this.#waiting.isEmpty) this.#startSlice();
  }

  /** Writes until this time; true if the job is done, or has failed. */
  #tryAdvance(job: Job, endMs: number): boolean {
    try {
      return this.#advance(job, endMs);
    } catch (error) {
      if (error instanceof RequestError) job.resolve(error);
      else job.reject(error);
      return true;
    }
  }

  #advance(job: Job, endMs: number): boolean {
    const state = this.#options.readState();
    if (state === undefined) {
      job.resolve(undefined);
      return true;
    }
    const unsent = job.draft === undefined ? this.#options.unsent.findOverload() : undefined;
    if (unsent !== undefined) throw unsent;
    const { out, steps } = this.#draftOf(job, state);
    const isInOneGo = job.attempts === ATTEMPTS_MAX;
    while (steps.next().done !== true) {
      const excess = isInOneGo ? findOverlength(out) : undefined;
      if (excess !== undefined) {
        // The answer was started several times, which took more work than it weighs.
        job.resolve(new CancelledAnswer(excess, Number.POSITIVE_INFINITY));
        return true;
      }
      if (!isInOneGo && performance.now() >= endMs) return false;
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

  /** What has been written of this height's answer: nothing, if it is begun. */
  #draftOf(job: Job, state: StateView): Draft {
    if (job.draft?.height === state.height) return job.draft;
    const { question, readings } = job;
    const out = job.draft?.out ?? this.#spare.pop() ?? new AnswerWriter(question.bytesExpected);
    out.moveTo(0);
    const steps = question.writePieces(out, state, readings);
    job.attempts += 1;
    job.draft = { height: state.height, out, steps };
    return job.draft;
  }

  #keepSpare(out: AnswerWriter): void {
    // A buffer of an unusual size is given up.
    out.clear();
    if (this.#spare.length < SPARE_MAX) this.#spare.push(out);
  }
}

/** Why the answer is given up: it is longer than may be written in one go. Undefined if it is not. */
function findOverlength({ length }: AnswerWriter): RequestError | undefined {
  if (length <= ONE_GO_BYTES_MAX) return undefined;
  const message =
    `users: the answer has more than ${ONE_GO_BYTES_MAX} bytes and takes longer to write than the ` +
    'time between blocks, expected fewer users';
  return new RequestError('overloaded', message, 'users');
}
