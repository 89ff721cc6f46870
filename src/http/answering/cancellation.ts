/**
 * Cancels the work on answers when the client is gone, or when the service stops. Each connection has one
 * `Cancellation`. Work that takes longer than a turn of the event loop registers with the `Cancellation` of
 * the connection that asked.
 */

import { RequestError } from '../../info/request-error.ts';

/** Deadline of an answer: for the work, and for waiting in queues. */
const ANSWER_MS_MAX = 30_000;

export const STOPPING = new RequestError('not_ready', 'the service is stopping');

/** Usually nobody reads this refusal, because the client has closed the connection. */
export const CLIENT_GONE = new RequestError(
  'malformed_request',
  'connection: got its end before the answer was ready, expected it to stay open until then',
);

const TOO_LATE = new RequestError(
  'overloaded',
  `the answer was not ready after ${ANSWER_MS_MAX / 1000} s, the limit: ask for less, or try again`,
);

/** Called once, with the refusal that the client gets if the client still reads. */
type End = (refusal: RequestError) => void;

export class Cancellation {
  #refusal: RequestError | undefined;
  readonly #ends = new Set<End>();

  /** Why the work was cancelled; undefined while the client waits for its answers. */
  get refusal(): RequestError | undefined {
    return this.#refusal;
  }

  cancel(refusal: RequestError): void {
    if (this.#refusal !== undefined) return;
    this.#refusal = refusal;
    const ends = [...this.#ends];
    this.#ends.clear();
    for (const end of ends) end(refusal);
  }

  /** Registers a function to be called on cancellation; after a cancellation, the function is never called. */
  add(end: End): void {
    this.#ends.add(end);
  }

  delete(end: End): void {
    this.#ends.delete(end);
  }

  /** Like `add`, with a deadline after which `end` is called too; returns a function that unregisters `end`. */
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

/** The result of a wait that was cancelled or took too long. */
export const LATE = 'late';

/** A deadline for a promise that cannot be cancelled. */
export class Wait {
  /** Resolves after the maximum time, or when the work is cancelled. */
  readonly late: Promise<typeof LATE>;
  #stop: () => void = () => undefined;

  constructor(msMax: number, cancellation: Cancellation) {
    this.late = new Promise((resolve) => {
      const end = () => resolve(LATE);
      const timer = setTimeout(end, msMax);
      cancellation.add(end);
      this.#stop = () => {
        clearTimeout(timer);
        cancellation.delete(end);
      };
    });
  }

  /** To be called when the wait is over, also after a failure. */
  stop(): void {
    this.#stop();
  }
}

/** Who asked a question. */
export interface Requester {
  readonly keyId: string;
  readonly cancellation: Cancellation;
}

/** An answer that was cancelled. The weight of the work that was not done is refunded. */
export class CancelledAnswer {
  readonly refusal: RequestError;
  readonly #workedMs: number;

  /** `workedMs` is infinite if the work took more than the weight of the answer. Then nothing is refunded. */
  constructor(refusal: RequestError, workedMs: number) {
    this.refusal = refusal;
    this.#workedMs = workedMs;
  }

  /** The part of the weight that pays for the work that was done. */
  workedOff(weight: number): number {
    return Math.min(weight, weighWork(this.#workedMs));
  }
}

/** The work on an ordinary question takes this time for each unit of the question's weight. */
const MS_PER_WEIGHT = 0.025;

/** The weight that pays for so much work. */
export function weighWork(workedMs: number): number {
  return workedMs / MS_PER_WEIGHT;
}
