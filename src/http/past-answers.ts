/**
 * Answers about the past, from the archive. A long series would hold up everybody else, so answers are
 * computed in slices, in turns where several are asked for.
 */

import {
  type HistoryAnswer,
  type HistoryQuestion,
  SeriesQuestion,
} from '../info/history-question.ts';
import type { HistoryRange, HistoryView } from '../info/history-view.ts';
import { NO_ARCHIVE, type Present } from '../info/moment.ts';
import { RequestError } from '../info/request-error.ts';
import { namesTag, pastTag } from './entity-tag.ts';
import type { RequestHead } from './request-head.ts';
import type { Turns } from './turns.ts';
import type { UnsentBytes } from './unsent-bytes.ts';

/** The archive, if there is one; what it holds is as of the last call. */
export interface HistorySource {
  /** Whether the service keeps the archive itself, so that one that is not there is being built. */
  readonly isKept: boolean;
  find(): HistoryView | undefined;
}

/** An answer about the past as a client gets it. */
export interface PastReply extends Omit<HistoryAnswer, 'body'> {
  /** Undefined if the client has it already. */
  readonly body: string | Buffer | undefined;
  /** The entity tag, if it has one. */
  readonly tag: string | undefined;
}

/** How long answers are worked on before requests get their turn. */
const SLICE_MS = 0.25;
/** Answers that may be under way: each holds its rows, and takes a share of every turn. */
const JOBS_MAX = 256;

interface Job {
  readonly isLong: boolean;
  readonly steps: Iterator<number, HistoryAnswer, void>;
  resolve(answer: HistoryAnswer | RequestError): void;
}

export interface PastAnswersOptions {
  readonly source: HistorySource | undefined;
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
  /** Those that are computed in turns. */
  readonly #jobs: Job[] = [];
  /** Long ones that wait for the one that is being written: each takes megabytes. */
  readonly #waitingLong: Job[] = [];

  constructor(options: PastAnswersOptions) {
    this.#options = options;
  }

  /** Undefined if there is no archive, or it cannot be read. */
  range(): HistoryRange | undefined {
    const range = this.#guard(() => this.#findOwn()?.range());
    return range instanceof RequestError ? undefined : range;
  }

  /** At once, unless it takes longer than a slice or others wait. `present` is where the ledger is. */
  answer(
    asked: HistoryQuestion,
    head: RequestHead,
    present: Present,
  ): PastReply | RequestError | Promise<PastReply | RequestError> {
    const history = this.#guard(() => this.#findOwn() ?? this.#describeAbsence());
    if (history instanceof RequestError) return history;
    const question = head.wantsCsv && asked instanceof SeriesQuestion ? asked.asCsv() : asked;
    const height = this.#guard(() => question.findHeight(history, present));
    if (height instanceof RequestError) return height;
    const tag = chooseTag(history, question, height, head);
    if (height !== undefined && tag !== undefined && isHeld(tag, head)) {
      const isFixed = question.isFixedAt(height, history);
      return { ...UNCHANGED, height, time: history.timeOf(height), isFixed, tag };
    }
    const answer = this.#compute(question, history);
    const addTag = (result: HistoryAnswer | RequestError) =>
      result instanceof RequestError
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
    question: HistoryQuestion,
    history: HistoryView,
  ): HistoryAnswer | RequestError | Promise<HistoryAnswer | RequestError> {
    if (this.#jobs.length + this.#waitingLong.length >= JOBS_MAX) return TOO_MANY;
    const { isLong } = question;
    const steps = question.answer(history);
    const answer = this.#jobs.length === 0 && !isLong ? this.#work(steps) : undefined;
    if (answer !== undefined) return answer;
    return new Promise((resolve) => {
      const job = { isLong, steps, resolve };
      if (isLong && this.#jobs.some((other) => other.isLong)) this.#waitingLong.push(job);
      else this.#start(job);
    });
  }

  #start(job: Job): void {
    const overload = job.isLong ? this.#options.unsent.findOverload() : undefined;
    if (overload !== undefined) {
      this.#finish(job, overload);
      return;
    }
    this.#jobs.push(job);
    if (this.#jobs.length === 1) this.#continueLater();
  }

  /** After a long one the next may begin. */
  #finish({ isLong, resolve }: Job, answer: HistoryAnswer | RequestError): void {
    resolve(answer);
    const next = isLong ? this.#waitingLong.shift() : undefined;
    if (next !== undefined) this.#start(next);
  }

  #continueLater(): void {
    this.#options.turns.doLater(() => {
      const job = this.#jobs.shift();
      if (job === undefined) return;
      const answer = this.#work(job.steps);
      // Before `#finish`: it may start the only job, which would be continued twice.
      if (this.#jobs.length > 0 || answer === undefined) this.#continueLater();
      if (answer === undefined) this.#jobs.push(job);
      else this.#finish(job, answer);
    });
  }

  /** Works for a slice of time; undefined if that is not enough. */
  #work(steps: Job['steps']): HistoryAnswer | RequestError | undefined {
    const startedMs = performance.now();
    const answer = this.#guard(() => {
      for (;;) {
        const step = steps.next();
        if (step.done === true) return step.value;
        if (performance.now() - startedMs >= SLICE_MS) return undefined;
      }
    });
    this.#options.worked((performance.now() - startedMs) / 1000);
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
  { type }: HistoryQuestion,
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

const TOO_MANY = new RequestError(
  'overloaded',
  `${JOBS_MAX} answers about the past are being computed, expected fewer: try again`,
);
