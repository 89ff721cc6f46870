/**
 * Long work is done in slices of a few milliseconds or less. Between two slices the event loop turns, so
 * that requests are answered and connections are accepted meanwhile.
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

/** A step of some work; true if that was the last step. */
export type WorkStep = () => boolean;

/** Does the steps of one piece of work. The first slice begins at once. Rejects with what a step throws. */
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

/** Work for which more may be added at any time. */
export interface OngoingWork {
  /** Returns how long the next slice may take. */
  sliceMs(): number;
  /** Does one step; false ends the slice before its time. */
  step(slice: Slice): boolean;
  /** True if another slice is needed. */
  hasMore(): boolean;
  /** Called after each slice, with its time. */
  worked?(seconds: number): void;
  /** Calls `run` when the next slice may begin: by default in the next turn of the event loop. */
  later?(run: () => void): void;
}

/** Does a slice of the work whenever there is some. */
export class SliceLoop {
  readonly #work: OngoingWork;
  #isPlanned = false;
  #isStopped = false;

  constructor(work: OngoingWork) {
    this.#work = work;
  }

  /** Plans the next slice, unless it is planned already. */
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

  /** Does one slice at once, and plans the next one if there is more to do. */
  runNow(): void {
    if (this.#isStopped) return;
    const work = this.#work;
    const slice = new Slice(work.sliceMs());
    while (work.hasMore() && work.step(slice) && !slice.isOver);
    work.worked?.(slice.seconds);
    if (work.hasMore()) this.start();
  }
}
