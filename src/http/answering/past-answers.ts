/**
 * Answers about the past, from the archive. A long series would hold up everybody else, so answers are
 * computed in slices. Keys have their turns one after the other, and so have the answers of a key.
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

/** The heights that can be asked about, and their times in milliseconds. */
type HeldRange = Omit<HistoryRange, 'text'>;

/** The archive as /health shows it. Without members if no archive exists. */
export interface PastHealth {
  /** What the archive holds: the archive follows the ledger with a short delay. */
  readonly archive?: HeldRange;
  /** Why questions are not answered from the archive. */
  readonly archiveFault?: string;
}

/** The archive, if there is one; what it holds is as of the last call. */
export interface HistorySource {
  /** Whether the service keeps the archive itself, so that one that is not there is being built. */
  readonly isKept: boolean;
  find(): HistoryView | undefined;
}

/** An answer about the past as a client gets it. */
export interface PastReply extends Omit<ArchiveAnswer, 'body'> {
  /** Undefined if the client has it already. */
  readonly body: string | Buffer | undefined;
  /** The entity tag, if it has one. */
  readonly tag: string | undefined;
}

/** How long answers are worked on before requests get their turn. */
const SLICE_MS = 0.25;
/** Answers that may be under way, and those of one key: each holds its rows. */
const JOBS_MAX = 256;
const KEY_JOBS_MAX = 32;
/** Long answers that are computed at the same time, one for each key: each takes megabytes. */
const LONG_MAX = 4;

type Steps = Iterator<number, ArchiveAnswer, void>;

/** Who asks about the past, and pays for it. */
export interface PayingRequester extends Requester {
  /** Charges what the work since the last call costs on top; returns why not, if that cannot be paid. */
  pay(surcharge: number): RequestError | undefined;
}

interface Job {
  readonly keyId: string;
  readonly pay: PayingRequester['pay'];
  readonly isLong: boolean;
  readonly steps: Steps;
  workedMs: number;
  finish(outcome: Outcome): void;
}

type Computed = ArchiveAnswer | RequestError;
type Outcome = Computed | CancelledAnswer;

/** What becomes of a question. */
export type PastOutcome = PastReply | RequestError | CancelledAnswer;

export interface PastAnswersOptions {
  readonly source: HistorySource | undefined;
  /** Why the archive may lack the newest blocks; undefined if it has them. */
  findLag(): RequestError | undefined;
  /** The name of the ledger that is served; undefined until it is known. */
  ledgerId(): string | undefined;
  readonly turns: Turns;
  readonly unsent: UnsentBytes;
  /** Called after each slice of work, with its time. */
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
  /** Those that are computed in turns. */
  readonly #jobs = new RoundRobin<Job>();
  readonly #slices = new SliceLoop({
    sliceMs: () => SLICE_MS,
    step: (slice) => this.#takeTurn(slice),
    hasMore: () => !this.#jobs.isEmpty,
    later: (run) => this.#options.turns.doLater(run),
  });
  /** Long ones that have not begun. */
  readonly #waitingLong = new RoundRobin<Job>();
  /** The keys of those that have. */
  readonly #longKeys = new Set<string>();

  constructor(options: PastAnswersOptions) {
    this.#options = options;
  }

  /** Undefined if no archive exists; a refusal if the archive cannot be read or belongs to another ledger. */
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

  /** At once, unless it takes longer than a slice or others wait. `present` is where the ledger is. */
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

  /** At once if it takes no longer than a slice and nobody else waits. */
  #compute(
    question: ArchiveQuestion,
    history: HistoryView,
    requester: PayingRequester,
  ): Outcome | Promise<Outcome> {
    const shortage = this.#inFlight.findShortage(requester.keyId);
    if (shortage !== undefined) return shortage;
    const { isLong } = question;
    const { keyId, pay } = requester;
    const job = { keyId, pay, isLong, steps: question.answer(history), workedMs: 0 };
    const answer = this.#jobs.isEmpty && !isLong ? this.#work(job, new Slice(SLICE_MS)) : undefined;
    if (answer !== undefined) return answer;
    const { refusal } = requester.cancellation;
    return refusal === undefined
      ? new Promise((resolve) => this.#begin(job, requester, resolve))
      : new CancelledAnswer(refusal, job.workedMs);
  }

  /** Lets the job have its turns until it is done, or given up. */
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

  /** Starts those that wait, as far as they may be computed at the same time. */
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

  /** One job has the whole slice. */
  #takeTurn(slice: Slice): boolean {
    const job = this.#jobs.take();
    if (job === undefined) return false;
    const answer = this.#work(job, slice);
    if (answer === undefined) this.#start(job);
    else this.#finish(job, answer);
    return false;
  }

  /** After a long one the next of its key may begin. */
  #finish(job: Job, outcome: Outcome): void {
    job.finish(outcome);
    if (!job.isLong) return;
    this.#longKeys.delete(job.keyId);
    this.#startLong();
  }

  #cancel(job: Job, refusal: RequestError): void {
    const isWaiting = this.#waitingLong.delete(job);
    this.#jobs.delete(job);
    // The rows that it holds are released.
    job.steps.return?.();
    const outcome = new CancelledAnswer(refusal, job.workedMs);
    if (isWaiting) job.finish(outcome);
    else this.#finish(job, outcome);
  }

  /** Works for a slice of time; undefined if that is not enough. */
  #work(job: Pick<Job, 'steps' | 'pay' | 'workedMs'>, slice: Slice): Computed | undefined {
    const answer = this.#guard(() => {
      for (;;) {
        const step = job.steps.next();
        if (step.done === true) return step.value;
        const shortage = step.value > 0 ? job.pay(step.value) : undefined;
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

  /** A refusal is returned; so is an archive that cannot be read, loudly. */
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

/** A POST has no tag: its question is not in the URL, which all POSTs share. */
function chooseTag(
  { ledgerId }: HistoryView,
  { type }: ArchiveQuestion,
  height: number | undefined,
  { method }: RequestHead,
): string | undefined {
  return height === undefined || method === 'POST' ? undefined : pastTag(ledgerId, type, height);
}

/** Whether the client has the answer. A star would match whatever is asked, also what is refused. */
function isHeld(tag: string, { ifNoneMatch }: RequestHead): boolean {
  return ifNoneMatch !== '*' && namesTag(ifNoneMatch, tag);
}

const UNCHANGED = { body: undefined, format: 'json', accountTime: -1 } as const;

const BEING_BUILT = new RequestError(
  'not_ready',
  'the archive is being built and holds nothing yet: try again in a moment',
);
