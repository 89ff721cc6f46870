/**
 * Divides long work into slices of a few milliseconds or less. Between two slices the event loop
 * turns, so that meanwhile the process answers requests and accepts connections.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';

/** The time that one slice may take. */
export class Slice {
  readonly #startedMs = performance.now();
  readonly endMs: number;

  constructor(sliceMs: number) {
    this.endMs = this.#startedMs + sliceMs;
  }

  get isOver(): boolean {
    return performance.now() >= this.endMs;
  }

  get seconds(): number {
    return (performance.now() - this.#startedMs) / 1000;
  }
}

/** Does one step of some work. Returns true if this step was the last step. */
export type WorkStep = () => boolean;

/**
 * Does the steps of one piece of work. The first slice starts at once. If a step throws, rejects
 * with the error.
 */
export async function runInSlices(
  step: WorkStep,
  sliceMs: number,
  worked?: (seconds: number) => void,
): Promise<void> {
  for (;;) {
    const slice = new Slice(sliceMs);
    let isDone = step();
    while (!isDone && !slice.isOver) isDone = step();
    worked?.(slice.seconds);
    if (isDone) return;
    await nextTurn();
  }
}

/** Work to which more work can be added at any time. */
export interface OngoingWork {
  /** Returns how long the next slice may take. */
  sliceMs(): number;
  /** Does one step. Returns false to end the slice early. */
  step(slice: Slice): boolean;
  /** Returns true if another slice is needed. */
  hasMore(): boolean;
  /** Called after each slice, with the seconds that the slice took. */
  worked?(seconds: number): void;
  /**
   * Calls `run` when the next slice may start. Without this function, the next slice starts in the
   * next turn of the event loop.
   */
  later?(run: () => void): void;
}

/** Does slices of the work while there is work to do. */
export class SliceLoop {
  readonly #work: OngoingWork;
  #isPlanned = false;
  #isStopped = false;

  constructor(work: OngoingWork) {
    this.#work = work;
  }

  /** Plans the next slice, unless a slice is planned already. */
  start(): void {
    if (this.#isPlanned || this.#isStopped) return;
    this.#isPlanned = true;
    const run = () => this.#run();
    if (this.#work.later === undefined) setImmediate(run);
    else this.#work.later(run);
  }

  stop(): void {
    this.#isStopped = true;
  }

  #run(): void {
    this.#isPlanned = false;
    this.runNow();
  }

  /** Does one slice at once, and plans the next slice if there is more to do. */
  runNow(): void {
    if (this.#isStopped) return;
    const work = this.#work;
    const slice = new Slice(work.sliceMs());
    while (work.hasMore() && work.step(slice) && !slice.isOver);
    work.worked?.(slice.seconds);
    if (work.hasMore()) this.start();
  }
}
