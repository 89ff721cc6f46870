/**
 * Answers about the past, from the archive. Other requests should not wait until a long series is
 * computed, so answers are computed in slices. Keys take turns, and so do the answers of one key.
 */

import type { ArchiveAnswer } from '../../info/archive/archive-answer.ts';
import type { HistoryRange, HistoryView } from '../../info/archive/history-view.ts';
import { NO_ARCHIVE, type Present } from '../../info/archive/moment-height.ts';
import type { ArchiveQuestion } from '../../info/question.ts';
import { RequestError } from '../../info/request-error.ts';
import { Slice, SliceLoop } from '../../timing/slices.ts';
import { namesTag, pastTag } from '../message/entity-tag.ts';
import type { RequestHead } from '../message/request-head.ts';
import { CancelledAnswer, type Requester } from './cancellation.ts';
import { InFlightLimit } from './limits/in-flight-limit.ts';
import { RoundRobin } from './limits/round-robin.ts';
import type { Turns } from './limits/turns.ts';
import type { UnsentBytes } from './limits/unsent-bytes.ts';

/** The archived heights that can be asked about, and their times in milliseconds. */
type HeldRange = Omit<HistoryRange, 'text'>;

/** The archive as /health shows it. The object has no members if no archive exists. */
export interface PastHealth {
  /** The range of archived heights. The archive follows the ledger with a short delay. */
  readonly archive?: HeldRange;
  /** The reason why questions cannot be answered from the archive. */
  readonly archiveFault?: string;
}

/** Gives access to the archive, if an archive exists. */
export interface HistorySource {
  /** True if the service itself writes the archive. A missing archive is then being built. */
  readonly isKept: boolean;
  find(): HistoryView | undefined;
}

/** An answer about the past in the form that a client gets. */
export interface PastReply extends Omit<ArchiveAnswer, 'body'> {
  /** Undefined if the client already has the answer. */
  readonly body: string | Buffer | undefined;
  /** The entity tag; undefined if the answer has no tag. */
  readonly tag: string | undefined;
}

/** The length of a slice. Waiting requests are answered after each slice. */
const SLICE_MS = 0.25;
/**
 * Maximum number of answers in flight, in total and for one key. Each answer in flight needs memory
 * for its rows.
 */
const JOBS_MAX = 256;
const KEY_JOBS_MAX = 32;
/**
 * Maximum number of long answers that are computed at the same time, with at most one for each key.
 * Each long answer takes megabytes.
 */
const LONG_MAX = 4;

type Steps = Iterator<number, ArchiveAnswer, void>;

/** The key and the connection that ask about the past, and the function that charges the key. */
export interface PayingRequester extends Requester {
  /**
   * Charges what the work since the last call costs on top; returns why not, if that cannot be paid. `isStart` says
   * that the work has not started: the surcharge is what is known of its weight.
   */
  pay(surcharge: number, isStart: boolean): RequestError | undefined;
}

interface Job {
  readonly keyId: string;
  readonly pay: PayingRequester['pay'];
  readonly isLong: boolean;
  readonly steps: Steps;
  hasStarted: boolean;
  workedMs: number;
  finish(outcome: Outcome): void;
}

type Computed = ArchiveAnswer | RequestError;
type Outcome = Computed | CancelledAnswer;

/** The outcome of a question. */
export type PastOutcome = PastReply | RequestError | CancelledAnswer;

export interface PastAnswersOptions {
  readonly source: HistorySource | undefined;
  /**
   * Returns the reason why the archive may lack the newest blocks; returns undefined if the archive
   * has them.
   */
  findLag(): RequestError | undefined;
  /** Returns the id of the ledger that is served; returns undefined until the id is known. */
  ledgerId(): string | undefined;
  readonly turns: Turns;
  readonly unsent: UnsentBytes;
  /** Called after each slice of work, with the seconds that the slice took. */
  worked(seconds: number): void;
  /** Called if the archive cannot be read. */
  failed(error: Error): void;
}

export class PastAnswers {
  readonly #options: PastAnswersOptions;
  readonly #inFlight = new InFlightLimit({
    what: 'answers about the past',
    countMax: JOBS_MAX,
    keyCountMax: KEY_JOBS_MAX,
  });
  /** The jobs that are being computed; they take turns. */
  readonly #jobs = new RoundRobin<Job>();
  readonly #slices = new SliceLoop({
    sliceMs: () => SLICE_MS,
    step: (slice) => this.#takeTurn(slice),
    hasMore: () => !this.#jobs.isEmpty,
    later: (run) => this.#options.turns.doLater(run),
  });
  /** The long jobs that have not started. */
  readonly #waitingLong = new RoundRobin<Job>();
  /** The keys whose long jobs have started. */
  readonly #longKeys = new Set<string>();

  constructor(options: PastAnswersOptions) {
    this.#options = options;
  }

  /**
   * Returns the range of archived heights. Returns undefined if no archive exists, and a refusal if
   * the archive cannot be read or belongs to another ledger.
   */
  range(): HistoryRange | RequestError | undefined {
    return this.#guard(() => this.#findOwn()?.range());
  }

  describe(): PastHealth {
    const range = this.range();
    if (range === undefined) return {};
    if (range instanceof RequestError) return { archiveFault: range.message };
    const { first, firstTime, last, lastTime } = range;
    return { archive: { first, firstTime, last, lastTime } };
  }

  /**
   * Answers a question. Returns a promise if the answer takes longer than a slice, or if other
   * answers are being computed. `present` is the newest block of the ledger.
   */
  answer(
    asked: ArchiveQuestion,
    head: RequestHead,
    present: Present,
    requester: PayingRequester,
  ): PastOutcome | Promise<PastOutcome> {
    const history = this.#guard(() => this.#findOwn() ?? this.#describeAbsence());
    if (history instanceof RequestError) return history;
    const question = (head.wantsCsv ? asked.asCsv?.() : undefined) ?? asked;
    const height = this.#guard(() => question.findHeight(history, present));
    if (height instanceof RequestError) return height;
    const lag = question.isUntilNow(history) ? this.#options.findLag() : undefined;
    if (lag !== undefined) return lag;
    const tag = chooseTag(history, question, height, head);
    if (height !== undefined && tag !== undefined && isHeld(tag, head)) {
      const isFixed = question.isFixedAt(height, history);
      return { ...UNCHANGED, height, time: history.timeOf(height), isFixed, tag };
    }
    const answer = this.#compute(question, history, requester);
    const addTag = (result: Outcome) =>
      result instanceof RequestError || result instanceof CancelledAnswer
        ? result
        : { ...result, tag: chooseTag(history, question, height && result.height, head) };
    return answer instanceof Promise ? answer.then(addTag) : addTag(answer);
  }

  /** What is known of the question's weight before the work starts; its base weight if it will be refused. */
  weighStart(question: ArchiveQuestion): number {
    const weight = this.#guard(() => {
      const history = this.#findOwn();
      return history && weighFirstStep(question, history);
    });
    return typeof weight === 'number' ? weight : question.weight;
  }

  /** A folder may hold the archive of another ledger, which was copied there. */
  #findOwn(): HistoryView | undefined {
    const history = this.#options.source?.find();
    const served = this.#options.ledgerId();
    if (history === undefined || served === undefined) return history;
    if (history.ledgerId !== served) {
      const ids = `got ${history.ledgerId}, expected ${served}`;
      throw new Error(`it is of another ledger, ${ids}; delete its folder to rebuild it`);
    }
    return history;
  }

  #describeAbsence(): RequestError {
    return this.#options.source?.isKept ? BEING_BUILT : NO_ARCHIVE;
  }

  /**
   * Computes an answer. Returns the answer at once if it takes no longer than a slice and no other
   * answer is being computed; otherwise returns a promise.
   */
  #compute(
    question: ArchiveQuestion,
    history: HistoryView,
    requester: PayingRequester,
  ): Outcome | Promise<Outcome> {
    const shortage = this.#inFlight.findShortage(requester.keyId);
    if (shortage !== undefined) return shortage;
    const { isLong } = question;
    const { keyId, pay } = requester;
    const steps = question.answer(history);
    const job = { keyId, pay, isLong, steps, hasStarted: false, workedMs: 0 };
    const answer = this.#jobs.isEmpty && !isLong ? this.#work(job, new Slice(SLICE_MS)) : undefined;
    if (answer !== undefined) return answer;
    const { refusal } = requester.cancellation;
    return refusal === undefined
      ? new Promise((resolve) => this.#begin(job, requester, resolve))
      : new CancelledAnswer(refusal, job.workedMs);
  }

  /** Gives the job its turns until the job is done or cancelled. */
  #begin(
    begun: Omit<Job, 'finish'>,
    { keyId, cancellation }: Requester,
    resolve: (outcome: Outcome) => void,
  ): void {
    const stop = cancellation.addWithDeadline((refusal) => this.#cancel(job, refusal));
    const finish = (outcome: Outcome) => {
      stop();
      this.#inFlight.release(keyId);
      resolve(outcome);
    };
    const job = { ...begun, finish };
    this.#inFlight.take(keyId);
    if (job.isLong) {
      this.#waitingLong.add(job);
      this.#startLong();
    } else {
      this.#start(job);
    }
  }

  /** Starts waiting long jobs, up to the limit of jobs that are computed at the same time. */
  #startLong(): void {
    const isFirst = (keyId: string) => !this.#longKeys.has(keyId);
    while (this.#longKeys.size < LONG_MAX) {
      const job = this.#waitingLong.take(isFirst);
      if (job === undefined) return;
      const overload = this.#options.unsent.findOverload();
      if (overload !== undefined) {
        job.finish(overload);
      } else {
        this.#longKeys.add(job.keyId);
        this.#start(job);
      }
    }
  }

  #start(job: Job): void {
    this.#jobs.add(job);
    this.#slices.start();
  }

  /** Gives the whole slice to one job. */
  #takeTurn(slice: Slice): boolean {
    const job = this.#jobs.take();
    if (job === undefined) return false;
    const answer = this.#work(job, slice);
    if (answer === undefined) this.#start(job);
    else this.#finish(job, answer);
    return false;
  }

  /** Ends a job. After a long job, the next long job of the same key may start. */
  #finish(job: Job, outcome: Outcome): void {
    job.finish(outcome);
    if (!job.isLong) return;
    this.#longKeys.delete(job.keyId);
    this.#startLong();
  }

  #cancel(job: Job, refusal: RequestError): void {
    const isWaiting = this.#waitingLong.delete(job);
    this.#jobs.delete(job);
    // This call releases the rows of the job.
    job.steps.return?.();
    const outcome = new CancelledAnswer(refusal, job.workedMs);
    if (isWaiting) job.finish(outcome);
    else this.#finish(job, outcome);
  }

  /** Works for a slice of time; undefined if that is not enough. */
  #work(job: Omit<Job, 'finish'>, slice: Slice): Computed | undefined {
    const answer = this.#guard(() => {
      for (;;) {
        const step = job.steps.next();
        if (step.done === true) return step.value;
        const shortage = step.value > 0 ? job.pay(step.value, !job.hasStarted) : undefined;
        job.hasStarted = true;
        if (shortage !== undefined) {
          job.steps.return?.();
          return shortage;
        }
        if (slice.isOver) return undefined;
      }
    });
    const { seconds } = slice;
    job.workedMs += seconds * 1000;
    this.#options.worked(seconds);
    return answer;
  }

  /**
   * Returns the result of the work, or the refusal that the work throws. If the archive cannot be
   * read, reports the failure and returns a refusal.
   */
  #guard<T>(work: () => T): T | RequestError {
    try {
      return work();
    } catch (error) {
      if (error instanceof RequestError) return error;
      this.#options.failed(error as Error);
      const reason = (error as Error).message;
      return new RequestError('not_ready', `the archive cannot be read: ${reason}`);
    }
  }
}

function weighFirstStep(question: ArchiveQuestion, history: HistoryView): number {
  const steps = question.answer(history);
  try {
    const step = steps.next();
    return question.weight + (step.done === true ? 0 : step.value);
  } finally {
    steps.return?.(undefined as never);
  }
}

/** A POST has no tag: its question is not in the URL, which all POSTs share. */
function chooseTag(
  { ledgerId }: HistoryView,
  { type }: ArchiveQuestion,
  height: number | undefined,
  { method }: RequestHead,
): string | undefined {
  return height === undefined || method === 'POST' ? undefined : pastTag(ledgerId, type, height);
}

/**
 * Returns true if the client already has the answer. A star is not accepted here, because it would
 * match any question, including a question that must be refused.
 */
function isHeld(tag: string, { ifNoneMatch }: RequestHead): boolean {
  return ifNoneMatch !== '*' && namesTag(ifNoneMatch, tag);
}

const UNCHANGED = { body: undefined, format: 'json', accountTime: -1 } as const;

const BEING_BUILT = new RequestError(
  'not_ready',
  'the archive is being built and holds nothing yet: try again in a moment',
);
