/**
 * The end of waiting for answers: the client is gone, or the service stops. Each connection has one, and
 * whatever takes longer than a turn for one of its requests ends with it.
 */

import { RequestError } from '../../info/request-error.ts';

/** How long an answer may be worked on, and wait for its turns. */
const ANSWER_MS_MAX = 30_000;

export const STOPPING = new RequestError('not_ready', 'the service is stopping');

/** Mostly nobody reads it: a client that is gone ends its side too. */
export const CLIENT_GONE = new RequestError(
  'malformed_request',
  'connection: got its end before the answer was ready, expected it to stay open until then',
);

const TOO_LATE = new RequestError(
  'overloaded',
  `the answer was not ready after ${ANSWER_MS_MAX / 1000} s, the limit: ask for less, or try again`,
);

/** Called once, with the refusal that the client gets if it still reads. */
type End = (refusal: RequestError) => void;

export class Abandonment {
  #refusal: RequestError | undefined;
  readonly #ends = new Set<End>();

  /** Why nothing more is worked on or waited for; undefined while somebody waits. */
  get refusal(): RequestError | undefined {
    return this.#refusal;
  }

  abandon(refusal: RequestError): void {
    if (this.#refusal !== undefined) return;
    this.#refusal = refusal;
    const ends = [...this.#ends];
    this.#ends.clear();
    for (const end of ends) end(refusal);
  }

  /** Has `end` called when it comes to that; not if it has already. */
  add(end: End): void {
    this.#ends.add(end);
  }

  delete(end: End): void {
    this.#ends.delete(end);
  }

  /** The same as `add`, and at the latest when an answer takes too long; returns what takes it back. */
  addWithDeadline(end: End): () => void {
    const stop = () => {
      clearTimeout(timer);
      this.delete(end);
    };
    const timer = setTimeout(() => {
      stop();
      end(TOO_LATE);
    }, ANSWER_MS_MAX);
    timer.unref();
    this.add(end);
    return stop;
  }
}

/** What a wait ends with that took too long, or that was given up. */
export const LATE = 'late';

/** A wait for something that does not end early by itself. */
export class Wait {
  /** Resolves when the wait is too long, or nobody waits any more. */
  readonly late: Promise<typeof LATE>;
  #stop: () => void = () => undefined;

  constructor(msMax: number, abandonment: Abandonment) {
    this.late = new Promise((resolve) => {
      const end = () => resolve(LATE);
      const timer = setTimeout(end, msMax);
      abandonment.add(end);
      this.#stop = () => {
        clearTimeout(timer);
        abandonment.delete(end);
      };
    });
  }

  /** To be called when it is over, in whatever way. */
  stop(): void {
    this.#stop();
  }
}

/** Whose answer it is. */
export interface Requester {
  readonly keyId: string;
  readonly abandonment: Abandonment;
}

/** An answer that was given up; what was not worked is refunded. */
export class AbandonedAnswer {
  readonly refusal: RequestError;
  readonly #workedMs: number;

  /** `workedMs` is infinite if the work took more than the answer weighs: then nothing is refunded. */
  constructor(refusal: RequestError, workedMs: number) {
    this.refusal = refusal;
    this.#workedMs = workedMs;
  }

  /** How much of the weight the work was worth. */
  workedOff(weight: number): number {
    return Math.min(weight, this.#workedMs / MS_PER_WEIGHT);
  }
}

/** What an ordinary question takes for each unit of its weight. */
const MS_PER_WEIGHT = 0.025;
