/**
 * Checks subscriptions for a new state: after each batch of blocks, but not within the interval after
 * the last state was sent. The work is done in slices, so that requests are answered in between, and
 * round robin, so that no subscription starves.
 */

import type { StateView } from '../../state/state.ts';

export interface Scheduled {
  /** When it may be sent its next state. */
  dueMs: number;
  /** Sends what is new in the state; false if nothing is. */
  deliver(state: StateView): boolean;
}

/** How long subscriptions are worked on before requests get their turn. */
const SLICE_MS = 4;
/** Those that become due within this time are checked together. */
const PAUSE_MS_MIN = 5;

export class PushSchedule {
  readonly #intervalMs: number;
  readonly #readState: () => StateView | undefined;
  /** To be checked, in turn. */
  #stale = new Set<Scheduled>();
  /** Checked, and no new state since. */
  #fresh = new Set<Scheduled>();
  /** Sent, in the order in which they become due again. */
  readonly #cooling = new Set<Scheduled>();
  #slice: NodeJS.Immediate | undefined;
  #pause: NodeJS.Timeout | undefined;

  constructor(intervalMs: number, readState: () => StateView | undefined) {
    this.#intervalMs = intervalMs;
    this.#readState = readState;
  }

  /** Adds one that has just been sent a state, its first or one out of turn. */
  add(item: Scheduled): void {
    this.delete(item);
    this.#rest(item);
    this.#awaitCooling();
  }

  delete(item: Scheduled): void {
    this.#stale.delete(item);
    this.#fresh.delete(item);
    this.#cooling.delete(item);
  }

  /** Called when the state has advanced. */
  advance(): void {
    // Those that have waited longest stay in front.
    if (this.#stale.size === 0) [this.#stale, this.#fresh] = [this.#fresh, this.#stale];
    else {
      for (const item of this.#fresh) this.#stale.add(item);
      this.#fresh.clear();
    }
    this.#startSlice();
  }

  close(): void {
    clearImmediate(this.#slice);
    clearTimeout(this.#pause);
    this.#stale.clear();
    this.#fresh.clear();
    this.#cooling.clear();
  }

  #startSlice(): void {
    this.#slice ??= setImmediate(() => {
      this.#slice = undefined;
      this.#work();
    });
  }

  #work(): void {
    const state = this.#readState();
    if (state === undefined) return;
    const endMs = performance.now() + SLICE_MS;
    this.#thaw();
    for (const item of this.#stale) {
      if (performance.now() > endMs) {
        this.#startSlice();
        return;
      }
      this.#stale.delete(item);
      if (item.deliver(state)) this.#rest(item);
      else this.#fresh.add(item);
    }
    this.#awaitCooling();
  }

  #rest(item: Scheduled): void {
    if (this.#intervalMs === 0) {
      this.#fresh.add(item);
      return;
    }
    item.dueMs = performance.now() + this.#intervalMs;
    this.#cooling.add(item);
  }

  #thaw(): void {
    const nowMs = performance.now();
    for (const item of this.#cooling) {
      if (item.dueMs > nowMs) return;
      this.#cooling.delete(item);
      this.#stale.add(item);
    }
  }

  #awaitCooling(): void {
    const [next] = this.#cooling;
    if (next === undefined || this.#pause !== undefined) return;
    const pauseMs = Math.max(PAUSE_MS_MIN, next.dueMs - performance.now());
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      this.#startSlice();
    }, pauseMs);
  }
}
