/**
 * Cancels the work on answers when the client is gone, or when the service stops. Each connection
 * has one `Cancellation`. Work that takes longer than a turn of the event loop registers with the
 * `Cancellation` of the connection that asked.
 */

import { RequestError } from '../../info/request-error.ts';

/** Maximum time for an answer, which includes the work and the time in queues. */
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

/** Called once, with the refusal. The client gets this refusal if the connection is still open. */
type End = (refusal: RequestError) => void;

export class Cancellation {
  #refusal: RequestError | undefined;
  readonly #ends = new Set<End>();

  /** The reason for the cancellation; undefined while the work is not cancelled. */
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

  /**
   * Registers a function that is called on cancellation. A function that is registered after the
   * cancellation is never called.
   */
  add(end: End): void {
    this.#ends.add(end);
  }

  delete(end: End): void {
    this.#ends.delete(end);
  }

  /**
   * Registers `end` like `add`, and also calls `end` after a deadline. Returns a function that
   * unregisters `end`.
   */
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

  /** Call this function when the wait is over, even after a failure. */
  stop(): void {
    this.#stop();
  }
}

/** The key and the connection that asked a question. */
export interface Requester {
  readonly keyId: string;
  readonly cancellation: Cancellation;
}

/** An answer that was cancelled. The weight of the work that was not done is refunded. */
export class CancelledAnswer {
  readonly refusal: RequestError;
  readonly #workedMs: number;

  /**
   * `workedMs` is infinite if the work took more time than the weight of the answer pays for.
   * Nothing is then refunded.
   */
  constructor(refusal: RequestError, workedMs: number) {
    this.refusal = refusal;
    this.#workedMs = workedMs;
  }

  /** Returns the part of the weight that pays for the work that was done. */
  workedOff(weight: number): number {
    return Math.min(weight, weighWork(this.#workedMs));
  }
}

/** Milliseconds of work for each unit of weight, measured on ordinary questions. */
const MS_PER_WEIGHT = 0.025;

/** Returns the weight that pays for this amount of work. */
export function weighWork(workedMs: number): number {
  return workedMs / MS_PER_WEIGHT;
}
