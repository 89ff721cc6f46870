/**
 * When subscriptions are looked at: once their answer may have changed, but not within the interval
 * after they were last sent a state. Those of a connection that are due at nearly the same time are
 * looked at together, so that they go out in one write, then and from then on. The work is done in
 * slices, so that requests are answered in between, and round robin, so that no connection starves.
 */

import type { StateView } from '../../state/state.ts';

/** A subscription, as far as it is scheduled. */
export interface Scheduled {
  readonly owner: Owner;
  /** When it may be sent its next state, while it rests. */
  dueMs: number;
  isResting: boolean;
  /** Its answer may have changed since it was sent. */
  isMarked: boolean;
}

/** The connection of some of them. */
export interface Owner {
  /** Those whose answer may have changed. */
  readonly stale: Pick<Set<Scheduled>, 'add' | 'delete' | 'size'>;
  /** Sends what is new, as much as goes into one write; true if it has more to send. */
  deliver(state: StateView): boolean;
}

/** How long subscriptions are worked on before requests get their turn. */
const SLICE_MS = 4;
/** Those that become due within this time are looked at together. */
const PAUSE_MS_MIN = 5;
/** Of a connection, those too that become due within this share of the interval. */
const EARLY_SHARE_MAX = 0.1;

export interface ScheduleOptions {
  /** Time between two states of a subscription. */
  readonly intervalMs: number;
  readState(): StateView | undefined;
  /** Called after each slice of work, with its time. */
  worked(seconds: number): void;
}

export class PushSchedule {
  readonly #options: ScheduleOptions;
  /** Those with something to look at, in turn. */
  readonly #queue = new Set<Owner>();
  /** Sent, in the order in which they become due again. */
  readonly #resting = new Set<Scheduled>();
  #slice: NodeJS.Immediate | undefined;
  #pause: NodeJS.Timeout | undefined;

  constructor(options: ScheduleOptions) {
    this.#options = options;
  }

  /** Its answer may have changed. */
  mark(item: Scheduled): void {
    item.isMarked = true;
    if (item.isResting) return;
    item.owner.stale.add(item);
    this.enqueue(item.owner);
  }

  /** Takes a connection in again, which could not be sent more before. */
  enqueue(owner: Owner): void {
    if (owner.stale.size === 0) return;
    this.#queue.add(owner);
    this.#startSlice();
  }

  /** It was sent a state: it rests for the interval. */
  rest(item: Scheduled): void {
    const { intervalMs } = this.#options;
    if (intervalMs === 0) return;
    item.dueMs = performance.now() + intervalMs;
    item.isResting = true;
    this.#resting.delete(item);
    this.#resting.add(item);
    this.#awaitDue();
  }

  /** Takes in those that will be due soon, beside others of their connection. */
  hasten(items: Iterable<Scheduled>): void {
    const soonMs = performance.now() + this.#options.intervalMs * EARLY_SHARE_MAX;
    for (const item of items) {
      if (!item.isResting || !item.isMarked || item.dueMs > soonMs) continue;
      this.#resting.delete(item);
      item.isResting = false;
      item.owner.stale.add(item);
    }
  }

  delete(item: Scheduled): void {
    item.owner.stale.delete(item);
    this.#resting.delete(item);
  }

  /** Forgets a connection. */
  release(owner: Owner): void {
    this.#queue.delete(owner);
  }

  close(): void {
    clearImmediate(this.#slice);
    clearTimeout(this.#pause);
    this.#queue.clear();
    this.#resting.clear();
  }

  #startSlice(): void {
    this.#slice ??= setImmediate(() => {
      this.#slice = undefined;
      this.#work();
    });
  }

  #work(): void {
    const { readState, worked } = this.#options;
    const state = readState();
    if (state === undefined) return;
    const startedMs = performance.now();
    const endMs = startedMs + SLICE_MS;
    for (const owner of this.#queue) {
      this.#queue.delete(owner);
      if (owner.deliver(state)) this.#queue.add(owner);
      if (performance.now() > endMs) break;
    }
    worked((performance.now() - startedMs) / 1000);
    if (this.#queue.size > 0) this.#startSlice();
  }

  #awaitDue(): void {
    // First, since finding the first of a set steps over all that were deleted before it.
    if (this.#pause !== undefined) return;
    const [next] = this.#resting;
    if (next === undefined) return;
    const pauseMs = Math.max(PAUSE_MS_MIN, next.dueMs - performance.now());
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      this.#wakeDue();
      this.#awaitDue();
    }, pauseMs);
  }

  #wakeDue(): void {
    const nowMs = performance.now();
    for (const item of this.#resting) {
      if (item.dueMs > nowMs) return;
      this.#resting.delete(item);
      item.isResting = false;
      if (item.isMarked) this.mark(item);
    }
  }
}
